import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import type { CliIo } from '../../../src/adapters/cli/cli-io.ts';
import { type EngineCommands, runCli } from '../../../src/adapters/cli/program.ts';
import { replayFile } from '../../../src/testing/replay-file.ts';
import { runTestFile } from '../../../src/testing/run-test-file.ts';
import { simple } from '../../support/builders.ts';

const EXAMPLES = ['order/order', 'loop/loop', 'fan-out/fan-out'].map((name) => `examples/${name}.test.json`);

const server: EngineCommands = {
  runDev: async () => undefined,
  runServe: async () => undefined,
  runMigrate: async () => [],
  runBootstrap: async ({ namespace }) => ({ namespace, key: '', scopes: [] }),
  replayFile,
  runTestFile,
};

/** Runs `rondo test` over files in memory, or on the disk where there is none of that name. */
const rondoTest = async (files: Readonly<Record<string, unknown>>, ...argv: readonly string[]) => {
  const written = { out: '', err: '' };
  const io: CliIo = {
    out: (text) => {
      written.out += text;
    },
    err: (text) => {
      written.err += text;
    },
    colour: false,
    env: {},
    readFile: async (path) => (path in files ? JSON.stringify(files[path]) : readFile(path, 'utf8')),
    readStdin: async () => '',
  };
  const exitCode = await runCli(['test', ...argv], server, io);
  return { exitCode, ...written };
};

const definition = { name: 'flow', version: 1, tasks: [simple('a'), simple('b')] };
const fileOf = (
  expected: unknown,
  mocks: unknown = { a: { output: { n: 1 } }, b: { output: { n: [1, 2], more: 3 } } },
) => ({
  definitions: [definition],
  cases: [{ name: 'the case', mocks, expect: expected }],
});

describe('rondo test', () => {
  it.each(EXAMPLES)('passes %s', async (file) => {
    expect(await rondoTest({}, file)).toMatchObject({ exitCode: 0, err: '', out: expect.stringMatching(/passed\n$/) });
  });

  it('takes an object that holds more than is expected, and no list that does', async () => {
    expect((await rondoTest({ f: fileOf({ output: { n: [1, 2] } }) }, 'f')).exitCode).toBe(0);
    expect((await rondoTest({ f: fileOf({ output: { n: [1] } }) }, 'f')).exitCode).toBe(1);
  });

  it('shows what was expected and what was found, each under its path, and exits 1', async () => {
    const expected = {
      status: 'FAILED',
      output: { n: [1, 3] },
      tasks: { a: { status: 'COMPLETED', attempts: 2 }, b: null, c: 'COMPLETED' },
      reason: 'why',
      unmocked: ['x'],
      elapsedSecondsMin: 1,
    };
    const { exitCode, out } = await rondoTest({ f: fileOf(expected) }, 'f');
    expect(exitCode).toBe(1);
    const lines = out.split('\n').map((line) => line.trim());
    expect(lines[1]).toMatch(/^FAIL {2}the case/);
    for (const [path, minus, plus] of [
      ['status', '"FAILED"', '"COMPLETED"'],
      ['reason', '"why"', 'null'],
      ['output.n[1]', '3', '2'],
      ['tasks.a.attempts', '2', '1'],
      ['tasks.b', 'null', '"COMPLETED"'],
      ['tasks.c', '"COMPLETED"', 'null'],
      ['elapsedSecondsMin', '1', '0'],
    ]) {
      const at = lines.indexOf(path ?? '');
      expect(lines.slice(at + 1, at + 3)).toEqual([`- ${minus}`, `+ ${plus}`]);
    }
    expect(lines.at(-2)).toBe('0 passed, 1 failed');
  });

  it('fails a case whose definition or input is refused, and says why', async () => {
    const broken = { ...fileOf({}), definitions: [{ ...definition, tasks: [simple('a'), simple('a')] }] };
    const { exitCode, out } = await rondoTest({ f: broken }, 'f');
    expect([exitCode, out]).toEqual([1, expect.stringContaining('DUPLICATE_REFERENCE')]);
  });

  it('lists tasks that nobody mocks', async () => {
    const { exitCode, out } = await rondoTest({ f: fileOf({ status: 'COMPLETED' }, {}) }, 'f');
    expect([exitCode, out]).toEqual([0, expect.stringContaining('not mocked: a, b')]);
  });

  it.each([
    ['is not there', {}, 'no such file'],
    ['is no test file', { 'f.json': { cases: [] } }, 'definitions'],
    ['has a field that means nothing', { 'f.json': { ...fileOf({ stauts: 'COMPLETED' }) } }, 'cases[0].expect'],
    ['names a definition that is not there', { 'f.json': { ...fileOf({}), definitions: ['none.json'] } }, 'none.json'],
    [
      'tests a workflow that it does not have',
      { 'f.json': { definitions: [definition], cases: [{ name: 'x', workflow: 'y', expect: {} }] } },
      'no definition y',
    ],
  ])('exits 2 for a file that %s', async (_, files, text) => {
    const { exitCode, out } = await rondoTest({ good: fileOf({}), ...files }, 'good', 'f.json');
    expect([exitCode, out]).toEqual([2, expect.stringContaining(text)]);
    expect(out).toContain('1 passed, 1 bad files');
  });

  it('answers programs in JSON', async () => {
    const { exitCode, out } = await rondoTest({ f: fileOf({ status: 'FAILED' }) }, 'f', '--json');
    expect(exitCode).toBe(1);
    expect(JSON.parse(out)).toMatchObject({
      files: [
        {
          file: 'f',
          cases: [
            {
              name: 'the case',
              passed: false,
              differences: [{ path: 'status', expected: 'FAILED', found: 'COMPLETED' }],
            },
          ],
        },
      ],
    });
  });
});
