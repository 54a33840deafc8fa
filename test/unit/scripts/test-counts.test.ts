import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { closingLine, readCounts } from '../../../scripts/test-counts.ts';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rondo-test-counts-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

type File = { status: string; tests: readonly string[] };

const lineFor = async (files: readonly File[], exitCode: number): Promise<string> => {
  const path = join(folder, 'report.json');
  const testResults = files.map(({ status, tests }) => ({
    status,
    assertionResults: tests.map((each) => ({ status: each })),
  }));
  await writeFile(path, JSON.stringify({ testResults }));
  return closingLine(readCounts(path, exitCode));
};

test('a green run names its tests and no failure', async () => {
  expect(await lineFor([{ status: 'passed', tests: ['passed', 'passed'] }], 0)).toBe('2 passed, 0 failed');
});

test('tests that did not run are named, whether skipped or still to be written', async () => {
  const files = [{ status: 'passed', tests: ['passed', 'skipped', 'pending', 'todo'] }];
  expect(await lineFor(files, 0)).toBe('1 passed, 0 failed, 3 skipped');
});

test('a failed test counts once, also where its file is marked as failed', async () => {
  expect(await lineFor([{ status: 'failed', tests: ['passed', 'failed'] }], 1)).toBe('1 passed, 1 failed');
});

test('a file that cannot be loaded counts as a failure', async () => {
  const files = [
    { status: 'failed', tests: [] },
    { status: 'passed', tests: ['passed'] },
  ];
  expect(await lineFor(files, 1)).toBe('1 passed, 1 failed');
});

test('a run that failed outside its tests, or before it could report, never ends with 0 failed', async () => {
  expect(await lineFor([{ status: 'passed', tests: ['passed'] }], 1)).toBe('1 passed, 1 failed');
  expect(closingLine(readCounts(join(folder, 'missing.json'), 1))).toBe('0 passed, 1 failed');
});
