/**
 * A test runner for Stryker that loads all tests of the domain once and runs for each mutant only those that reach it, in
 * the same process, the likeliest to fail first. Vitest would load its modules anew for every mutant: seconds instead of
 * milliseconds, for the ten thousand mutants of the domain.
 */
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { Script } from 'node:vm';
import { declareFactoryPlugin, PluginKind } from '@stryker-mutator/api/plugin';
import {
  type DryRunResult,
  DryRunStatus,
  type MutantRunOptions,
  type MutantRunResult,
  MutantRunStatus,
  type TestResult,
  type TestRunner,
  TestStatus,
} from '@stryker-mutator/api/test-runner';
import { beginFile, files, type Test, type TestFile } from './registry.ts';
import { EXCLUDED, INCLUDED } from './tests.ts';

/** What the instrumented sources read and write. */
type Instrument = {
  activeMutant?: string | undefined;
  currentTestId?: string | undefined;
  mutantCoverage?: { static: Record<string, number>; perTest: Record<string, Record<string, number>> };
  hitCount?: number | undefined;
  hitLimit?: number | undefined;
};

const instrument: Instrument = {};
Object.assign(globalThis, { __stryker__: instrument });

const VITEST = pathToFileURL(resolve(import.meta.dirname, 'vitest.ts')).href;

/** Milliseconds after which a test that waits has failed. */
const TEST_MS_MAX = 10_000;

/**
 * Milliseconds of processor time, by the initial run, of the tests that one mutant is put to, the quickest first: what
 * only slower tests would find counts as not found.
 */
const MUTANT_MS_MAX = 5_000;

/** A test that takes this much longer than it takes by itself, and this at least, never ends: the machine may be busy. */
const ENDLESS_FACTOR = 50;
const ENDLESS_MS_MIN = 3_000;

/** Where the process that made the initial run leaves for the others how long each test takes. */
const DURATIONS = 'test-durations.json';

const importTests = async (): Promise<void> => {
  registerHooks({
    resolve: (specifier, context, next) =>
      specifier === 'vitest' && context.parentURL !== VITEST
        ? { url: VITEST, shortCircuit: true }
        : next(specifier, context),
  });
  for (const path of globSync([...INCLUDED], { exclude: [...EXCLUDED] }).sort()) {
    beginFile(path);
    await import(pathToFileURL(resolve(path)).href);
  }
};

const within = async (result: unknown): Promise<void> => {
  if (!(result instanceof Promise)) return;
  const stop = new AbortController();
  const late = delay(TEST_MS_MAX, undefined, { signal: stop.signal }).then(
    () => {
      throw new Error('the test did not end');
    },
    () => undefined,
  );
  await Promise.race([result, late]).finally(() => stop.abort());
};

const CALL = '__call__';
const call = new Script(`globalThis.${CALL}()`);

/** Calls what may never come back: only a script of its own can be ended from outside. */
const bounded = (run: () => unknown, timeout: number): unknown => {
  Object.assign(globalThis, { [CALL]: run });
  return call.runInThisContext({ timeout });
};

type Failure = Readonly<{ message: string; isEndless: boolean }>;

/** Undefined: it passed. */
const failureOf = async (file: TestFile, test: Test, timeoutMs: number): Promise<Failure | undefined> => {
  try {
    for (const hook of file.before) await within(bounded(hook, timeoutMs));
    try {
      await within(bounded(test.run, timeoutMs));
    } finally {
      for (const hook of file.after) await within(bounded(hook, timeoutMs));
    }
    return undefined;
  } catch (error) {
    const isEndless = (error as { code?: unknown } | undefined)?.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT';
    return { message: error instanceof Error ? error.message : String(error), isEndless };
  }
};

class InProcessRunner implements TestRunner {
  private readonly fileOf = new Map<string, TestFile>();
  private readonly testOf = new Map<string, Test>();
  private readonly duration = new Map<string, number>();
  /** How many mutants a test has found, by the file of the mutant. */
  private readonly kills = new Map<string, Map<string, number>>();
  /** The last mutant left a mark on the process, in a cache say: the next begins in a new one, which Stryker sees to. */
  private isMarked = false;

  capabilities() {
    return { reloadEnvironment: false };
  }

  async init(): Promise<void> {
    // What a mutant left behind is told by the test that waits for it, if by any.
    process.on('unhandledRejection', () => undefined);
    await importTests();
    for (const file of files) {
      for (const test of file.tests) {
        this.testOf.set(test.id, test);
        this.fileOf.set(test.id, file);
      }
    }
  }

  async dryRun(): Promise<DryRunResult> {
    const results: TestResult[] = [];
    for (const test of this.testOf.values()) results.push(await this.timed(test));
    instrument.currentTestId = undefined;
    writeFileSync(DURATIONS, JSON.stringify([...this.duration]));
    const coverage = instrument.mutantCoverage;
    return {
      status: DryRunStatus.Complete,
      tests: results,
      ...(coverage === undefined ? {} : { mutantCoverage: coverage }),
    };
  }

  private async timed(test: Test): Promise<TestResult> {
    instrument.currentTestId = test.id;
    const began = process.cpuUsage();
    const failure = await this.run(test);
    const { user, system } = process.cpuUsage(began);
    const timeSpentMs = (user + system) / 1_000;
    this.duration.set(test.id, timeSpentMs);
    const result = { id: test.id, name: test.name, timeSpentMs, fileName: resolve(test.file) };
    return failure === undefined
      ? { ...result, status: TestStatus.Success }
      : { ...result, status: TestStatus.Failed, failureMessage: failure.message };
  }

  async mutantRun(options: MutantRunOptions): Promise<MutantRunResult> {
    if (this.isMarked) process.exit(1);
    this.readDurations();
    const kills = this.killsIn(options.activeMutant.fileName);
    const ids = this.affordable(options.testFilter ?? [...this.testOf.keys()], kills);
    instrument.hitCount = 0;
    instrument.hitLimit = options.hitLimit;
    for (const [index, id] of ids.entries()) {
      const test = this.testOf.get(id);
      if (test === undefined) return { status: MutantRunStatus.Error, errorMessage: `there is no test ${id}` };
      instrument.activeMutant = options.activeMutant.id;
      const failure = await this.run(test);
      instrument.activeMutant = undefined;
      if (failure === undefined) continue;
      this.isMarked = (await this.run(test)) !== undefined;
      kills.set(id, (kills.get(id) ?? 0) + 1);
      const isLooping = (instrument.hitCount ?? 0) > (options.hitLimit ?? Number.POSITIVE_INFINITY);
      if (failure.isEndless || isLooping) return { status: MutantRunStatus.Timeout, reason: failure.message };
      return { status: MutantRunStatus.Killed, killedBy: [id], failureMessage: failure.message, nrOfTests: index + 1 };
    }
    return { status: MutantRunStatus.Survived, nrOfTests: ids.length };
  }

  private readDurations(): void {
    if (this.duration.size > 0 || !existsSync(DURATIONS)) return;
    const told = JSON.parse(readFileSync(DURATIONS, 'utf8')) as [string, number][];
    for (const [id, ms] of told) this.duration.set(id, ms);
  }

  /** As many as may be run, those that found mutants of the same file before the others. */
  private affordable(ids: readonly string[], kills: ReadonlyMap<string, number>): readonly string[] {
    const durationOf = (id: string): number => this.duration.get(id) ?? 0;
    const rank = (id: string): number => durationOf(id) / (1 + 10 * (kills.get(id) ?? 0));
    let spent = 0;
    return [...ids]
      .sort((a, b) => rank(a) - rank(b))
      .filter((id) => {
        spent += durationOf(id);
        return spent <= MUTANT_MS_MAX;
      });
  }

  private run(test: Test): Promise<Failure | undefined> {
    const file = this.fileOf.get(test.id);
    if (file === undefined) throw new Error(`no file declares ${test.id}`);
    const usualMs = this.duration.get(test.id) ?? TEST_MS_MAX;
    return failureOf(file, test, Math.ceil(ENDLESS_MS_MIN + ENDLESS_FACTOR * usualMs));
  }

  private killsIn(fileName: string): Map<string, number> {
    const known = this.kills.get(fileName) ?? new Map<string, number>();
    this.kills.set(fileName, known);
    return known;
  }
}

export const strykerPlugins = [declareFactoryPlugin(PluginKind.TestRunner, 'in-process', () => new InProcessRunner())];
