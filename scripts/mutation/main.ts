/**
 * `npm run mutate -- <folders and files>`: changes the named sources of the domain one place at a time and says which
 * changes no test notices. `--every N` tries one function of N (`sample.ts`), where all would take too long.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
process.chdir(root);

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { every: { type: 'string', default: '1' } },
});
const every = Number(values.every);
if (!Number.isInteger(every) || every < 1) {
  process.stderr.write('--every takes a whole number from 1\n');
  process.exit(2);
}

const named = positionals.length === 0 ? ['src/domain'] : positionals;
const patternOf = (path: string): string =>
  existsSync(path) && statSync(path).isDirectory() ? `${path.replace(/\/$/, '')}/**/*.ts` : path;

const stryker = join(root, 'node_modules', '@stryker-mutator', 'core', 'bin', 'stryker.js');
const { status } = spawnSync(process.execPath, [stryker, 'run', '--mutate', named.map(patternOf).join(',')], {
  stdio: 'inherit',
  env: { ...process.env, RONDO_MUTATE_EVERY: values.every },
});
process.exitCode = status ?? 1;
