/**
 * Runs the suite and says how it ended. Arguments go to vitest. The very last line is the number of tests,
 * as `N passed, N failed` with `, N skipped` where any were.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { closingLine, readCounts } from './test-counts.ts';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const scratch = mkdtempSync(join(tmpdir(), 'rondo-test-report-'));
const report = join(scratch, 'report.json');

const vitest = spawn(
  process.execPath,
  [
    join(root, 'node_modules', 'vitest', 'vitest.mjs'),
    'run',
    '--reporter=default',
    '--reporter=json',
    `--outputFile.json=${report}`,
    ...process.argv.slice(2),
  ],
  { stdio: 'inherit' },
);

// A terminal sends Ctrl-C to vitest too. This process must outlive it, to report and to clean up.
process.on('SIGINT', () => undefined);
process.on('SIGTERM', () => vitest.kill('SIGTERM'));

vitest.on('exit', (code, signal) => {
  const exitCode = code ?? 128 + (signal === null ? 0 : constants.signals[signal]);
  const counts = readCounts(report, exitCode);
  rmSync(scratch, { recursive: true, force: true });
  process.exitCode = exitCode;
  process.stdout.write(`${closingLine(counts)}\n`);
});
