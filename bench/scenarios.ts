import type { UseCases } from '../src/application/use-cases.ts';
import type { JsonObject } from '../src/domain/kernel/json.ts';
import type { LeasedTask } from '../src/ports/engine-store.ts';
import { NAMESPACE, startEngine } from '../test/support/engine-harness.ts';
import { type BenchDatabase, untilCompleted } from './database.ts';
import { chain, fanOut, loopOf, loopOfForks } from './definitions.ts';
import { inParallel, quantile, round } from './measure.ts';

export type Figures = Readonly<Record<string, number | string>>;
export type Scenario = Readonly<{ name: string; run: (database: BenchDatabase) => Promise<Figures> }>;

const START_WIDTH = 200;
const WORKER_LOOPS = 4;
const LEASE_COUNT = 100;
const TIMEOUT_MS = 300_000;

const register = async (useCases: UseCases, definition: JsonObject): Promise<void> => {
  const outcome = await useCases.definitions.registerWorkflow(NAMESPACE, definition, 'v1', true);
  if (!outcome.ok) throw new Error(outcome.error.message);
};

/** Workers in this process: lease a batch, complete it, until stopped. */
const startWorkers = (useCases: UseCases, seen: (tasks: readonly LeasedTask[]) => void): (() => Promise<void>) => {
  const stopping = new AbortController();
  const loop = async (index: number): Promise<void> => {
    while (!stopping.signal.aborted) {
      const leased = await useCases.workers.lease({
        namespace: NAMESPACE,
        queues: ['step'],
        workerId: `bench-${index}`,
        count: LEASE_COUNT,
        waitMs: 5_000,
        signal: stopping.signal,
      });
      if (!leased.ok || leased.value.length === 0) continue;
      seen(leased.value);
      await useCases.workers.report(
        NAMESPACE,
        leased.value.map(({ taskId, leaseToken }) => ({
          taskId,
          leaseToken,
          status: 'COMPLETED',
          output: { ok: true },
        })),
      );
    }
  };
  const loops = Array.from({ length: WORKER_LOOPS }, (_, index) => loop(index));
  return async () => {
    stopping.abort();
    await Promise.all(loops);
  };
};

const startRuns = (useCases: UseCases, name: string, runs: number, input: JsonObject): Promise<void> =>
  inParallel(Array.from({ length: runs }).keys(), START_WIDTH, async (id) => {
    const started = await useCases.executions.start(NAMESPACE, {
      name,
      input: { id, ...input },
      priority: 0,
      idempotencyStrategy: 'RETURN_EXISTING',
    });
    if (!started.ok) throw new Error(started.error.message);
  });

/** Chains of worker tasks with workers in the same process, as many in flight as fit. */
export const inProcessChain = (length: number, runs: number): Scenario => ({
  name: `in-process chain of ${length}`,
  run: async (database) => {
    const engine = await startEngine({ url: database.url, allowUnsafeDurability: false });
    const definition = chain(length);
    await register(engine.useCases, definition);
    const stopWorkers = startWorkers(engine.useCases, () => undefined);
    const name = `chain-${length}`;
    await startRuns(engine.useCases, name, Math.ceil(runs / 10), {});
    await untilCompleted(database.client, name, Math.ceil(runs / 10), TIMEOUT_MS);
    const before = await database.counters();
    const cpuBefore = process.cpuUsage();
    const since = performance.now();
    await startRuns(engine.useCases, name, runs, {});
    await untilCompleted(database.client, name, runs + Math.ceil(runs / 10), TIMEOUT_MS);
    const seconds = (performance.now() - since) / 1_000;
    const cpu = process.cpuUsage(cpuBefore);
    const after = await database.counters();
    await stopWorkers();
    await engine.stop();
    const tasks = runs * length;
    return {
      runs,
      'workflows/s': round(runs / seconds, 0),
      'tasks/s': round(tasks / seconds, 0),
      'transactions/task': round((after.transactions - before.transactions) / tasks, 3),
      'rows/task': round((after.rows - before.rows) / tasks, 1),
      'WAL bytes/task': round((after.walBytes - before.walBytes) / tasks, 0),
      'Node CPU ms/task': round((cpu.user + cpu.system) / 1_000 / tasks, 3),
      ...(before.cpuMs === undefined || after.cpuMs === undefined
        ? {}
        : { 'PostgreSQL CPU ms/task': round((after.cpuMs - before.cpuMs) / tasks, 3) }),
    };
  },
});

/** One run of many tasks; its early and its late passes are compared. */
const oneRun = (
  label: string,
  definition: JsonObject & Readonly<{ name: string }>,
  tasks: number,
  input: JsonObject,
): Scenario => ({
  name: label,
  run: async (database) => {
    const engine = await startEngine({ url: database.url, allowUnsafeDurability: false });
    await register(engine.useCases, definition);
    const leasedAt: number[] = [];
    const stopWorkers = startWorkers(engine.useCases, (leased) => {
      for (const _ of leased) leasedAt.push(performance.now());
    });
    const since = performance.now();
    await startRuns(engine.useCases, definition.name, 1, input);
    await untilCompleted(database.client, definition.name, 1, TIMEOUT_MS);
    const seconds = (performance.now() - since) / 1_000;
    await stopWorkers();
    await engine.stop();
    return { tasks, seconds: round(seconds, 2), 'tasks/s': round(tasks / seconds, 0), ...halves(leasedAt) };
  },
});

const itemsOf = (count: number): JsonObject => ({ items: Array.from({ length: count }, (_, n) => ({ n })) });

/** A dynamic fork of many branches. */
export const bigFork = (branches: number): Scenario =>
  oneRun(`dynamic fork of ${branches}`, { ...fanOut, name: 'fan-out' }, branches, itemsOf(branches));

/** A loop of many iterations, one worker task each. */
export const longLoop = (times: number): Scenario =>
  oneRun(`loop of ${times}`, { ...loopOf(times), name: `loop-${times}` }, times, {});

/** Three dynamic forks of many branches in a loop. */
export const bigRun = (branches: number): Scenario =>
  oneRun(`run of ${3 * branches} tasks`, { ...loopOfForks, name: 'loop-of-forks' }, 3 * branches, itemsOf(branches));

/** Time for the second tenth of the tasks and for the last: equal when a pass costs the same however large the run is. */
const halves = (at: readonly number[]): Figures => {
  const tenth = Math.floor(at.length / 10);
  const span = (from: number, to: number): number => (at[to] ?? 0) - (at[from] ?? 0);
  return {
    'second tenth ms': round(span(tenth, 2 * tenth), 0),
    'last tenth ms': round(span(at.length - tenth - 1, at.length - 1), 0),
  };
};

export const latencyFigures = (label: string, samples: readonly number[]): Figures => ({
  [`${label} p50 ms`]: round(quantile(samples, 0.5), 2),
  [`${label} p99 ms`]: round(quantile(samples, 0.99), 2),
});
