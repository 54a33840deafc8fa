import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

const REPOSITORY = join(import.meta.dirname, '..', '..', '..');

// Stands in for npm: it notes how it was called, then installs what the lockfile names, or fails as told.
const FAKE_NPM = `#!/bin/sh
echo "npm $*" >> "$CALLS"
echo "npm talks on stdout"
if [ -n "$NPM_FAILS" ]; then echo "npm error $NPM_FAILS" >&2; exit 1; fi
rm -rf node_modules && mkdir -p node_modules && cp package-lock.json node_modules/.package-lock.json`;

const lockfile = (version: string) =>
  JSON.stringify({
    packages: {
      '': { name: 'example' },
      'node_modules/needed': { version },
      'node_modules/for-another-system': { version: '1.0.0', optional: true },
    },
  });

let root: string;
let calls: string;
const children = new Set<ChildProcess>();

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'rondo-launcher-'));
  calls = join(root, 'calls');
  await cp(join(REPOSITORY, 'scripts'), join(root, 'scripts'), { recursive: true });
  await mkdir(join(root, 'fake-bin'));
  await writeFile(join(root, 'fake-bin', 'npm'), FAKE_NPM);
  await chmod(join(root, 'fake-bin', 'npm'), 0o755);
  await writeFile(join(root, 'package-lock.json'), lockfile('1.0.0'));
});

afterEach(async () => {
  for (const child of children) child.kill('SIGKILL');
  children.clear();
  await rm(root, { recursive: true, force: true });
});

const launch = (args: readonly string[], env: Record<string, string> = {}) => {
  const child = spawn(process.execPath, [join(root, 'scripts', 'run.mjs'), ...args], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    // Away from the terminal of the person who runs the tests, where SIGINT is left to the terminal.
    detached: true,
    env: {
      ...process.env,
      PATH: [join(root, 'fake-bin'), process.env.PATH].join(delimiter),
      CALLS: calls,
      ...env,
    },
  });
  children.add(child);
  return child;
};

const run = async (args: readonly string[], env: Record<string, string> = {}) => {
  const child = launch(args, env);
  const exited = once(child, 'exit');
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const [exitCode] = await exited;
  return { exitCode, stdout, stderr };
};

const hello = () => run(['node', '-e', 'console.log("hello")']);

const npmCalls = async (): Promise<readonly string[]> =>
  (await readFile(calls, 'utf8').catch(() => '')).split('\n').filter((line) => line !== '');

describe('installing', () => {
  test('packages that are missing are installed first, without scripts and without a word on stdout', async () => {
    const { exitCode, stdout, stderr } = await hello();
    expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: 'hello\n' });
    expect(stderr).toContain('rondo: the packages are not installed yet: running npm ci');
    expect(await npmCalls()).toEqual([expect.stringMatching(/^npm ci --ignore-scripts --no-audit --no-fund/)]);
  });

  test('packages that another checkout lends by a link are left alone when they are not those of the lockfile', async () => {
    const lent = join(root, 'of-another-checkout');
    await mkdir(join(lent, 'precious'), { recursive: true });
    await symlink(lent, join(root, 'node_modules'));
    const { exitCode, stdout, stderr } = await hello();
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    expect(stderr).toContain('is a link: install where it leads');
    expect(await npmCalls()).toEqual([]);
    expect(await readdir(lent)).toEqual(['precious']);
  });

  test('packages that are as the lockfile says are left alone', async () => {
    await hello();
    const second = await hello();
    expect(second).toEqual({ exitCode: 0, stdout: 'hello\n', stderr: '' });
    expect(await npmCalls()).toHaveLength(1);
  });

  test('a changed lockfile brings the packages up to date', async () => {
    await hello();
    await writeFile(join(root, 'package-lock.json'), lockfile('1.0.1'));
    const { stderr } = await hello();
    expect(stderr).toContain('rondo: package-lock.json has changed since the last install');
    expect(await npmCalls()).toHaveLength(2);
  });

  test('packages that the user installed with npm are recognised', async () => {
    await mkdir(join(root, 'node_modules'));
    const installed = JSON.stringify({ packages: { 'node_modules/needed': { version: '1.0.0' } } });
    await writeFile(join(root, 'node_modules', '.package-lock.json'), installed);
    expect(await hello()).toEqual({ exitCode: 0, stdout: 'hello\n', stderr: '' });
    expect(await npmCalls()).toEqual([]);
  });

  test('packages of another system are replaced', async () => {
    await hello();
    const stamp = join(root, 'node_modules', '.rondo-install');
    const [hash] = (await readFile(stamp, 'utf8')).split(' ');
    await writeFile(stamp, `${hash} plan9-mips\n`);
    await hello();
    expect(await npmCalls()).toHaveLength(2);
  });

  test('of launchers that start at once, one installs and all run', async () => {
    const results = await Promise.all([hello(), hello(), hello()]);
    expect(results.map(({ exitCode, stdout }) => ({ exitCode, stdout }))).toEqual(
      results.map(() => ({ exitCode: 0, stdout: 'hello\n' })),
    );
    expect(await npmCalls()).toHaveLength(1);
  });

  test('a lock whose holder died does not block the next launcher', async () => {
    const lock = join(root, '.rondo-install.lock');
    await mkdir(lock);
    const dead = spawn(process.execPath, ['-e', '']);
    await once(dead, 'exit');
    await writeFile(join(lock, 'holder'), `${dead.pid}\n${hostname()}\ntoken`);
    expect(await hello()).toMatchObject({ exitCode: 0, stdout: 'hello\n' });
  });

  test('a lock that its holder no longer refreshes does not block the next launcher, whoever has the pid now', async () => {
    const lock = join(root, '.rondo-install.lock');
    await mkdir(lock);
    await writeFile(join(lock, 'holder'), `${process.pid}\nanother-machine\ntoken`);
    const longAgo = new Date(Date.now() - 3_600_000);
    await utimes(lock, longAgo, longAgo);
    expect(await hello()).toMatchObject({ exitCode: 0, stdout: 'hello\n' });
  });

  test('without a network the last line says so, and the command is not run', async () => {
    const { exitCode, stdout, stderr } = await run(['node', '-e', 'console.log("hello")'], {
      NPM_FAILS: 'code EAI_AGAIN',
    });
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    expect(stderr.trim().split('\n').at(-1)).toMatch(/^rondo: installing .* registry cannot be reached/);
  });

  test('a failed install is tried again', async () => {
    await run(['node', '-e', ''], { NPM_FAILS: 'code ENOSPC' });
    expect(await hello()).toMatchObject({ exitCode: 0, stdout: 'hello\n' });
  });
});

describe('running', () => {
  beforeEach(hello);

  test('the command gets the right Node first in PATH, the installed tools after it, and its arguments as they are', async () => {
    const { stdout } = await run([
      'node',
      '-p',
      'JSON.stringify([process.env.PATH, process.argv.slice(1)])',
      'a b',
      '*',
    ]);
    const [path, args] = JSON.parse(stdout) as [string, string[]];
    expect(path.split(delimiter).slice(0, 2)).toEqual([dirname(process.execPath), join(root, 'node_modules', '.bin')]);
    expect(args).toEqual(['a b', '*']);
  });

  test('the exit code is that of the command', async () => {
    expect(await run(['node', '-e', 'process.exit(7)'])).toMatchObject({ exitCode: 7 });
    expect(await run(['node', '-e', 'process.kill(process.pid, "SIGTERM")'])).toMatchObject({ exitCode: 143 });
  });

  test('an unknown command is one clear line', async () => {
    const { exitCode, stderr } = await run(['no-such-command']);
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/^rondo: no-such-command cannot be run: .*\n$/);
  });

  const REPORTING = `for (const signal of ['SIGINT', 'SIGHUP']) process.on(signal, () => console.log(signal));
    process.on('SIGTERM', () => process.exit(5)); setInterval(() => {}, 1000); console.log('ready')`;

  test.each(['SIGINT', 'SIGHUP'] as const)('%s reaches the command once, however often it comes', async (signal) => {
    const child = launch(['node', '-e', REPORTING]);
    const exited = once(child, 'exit');
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    expect(await lines.next()).toMatchObject({ value: 'ready' });
    child.kill(signal);
    expect(await lines.next()).toMatchObject({ value: signal });
    child.kill(signal);
    // Signals are handled in order of their numbers, so what ends the command comes after a repetition would.
    child.kill('SIGTERM');
    expect(await exited).toEqual([5, null]);
    expect(await lines.next()).toMatchObject({ done: true });
  });
});
