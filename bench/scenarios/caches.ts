import { untilAllCompleted } from '../database.ts';
import { chain } from '../definitions.ts';
import { withLibrary } from '../doors/http.ts';
import { inParallel, numbers, round } from '../measure.ts';
import { measured } from '../measured.ts';
import { TaskClock } from '../task-clock.ts';
import { withoutWorkers } from './idle.ts';
import { type Scenario, share, TIMEOUT_MS } from './scenario.ts';

const LENGTH = 3;
const START_WIDTH = 50;
const WARM_RUNS = 20;

/** A server that has just been started: nothing compiled, nothing prepared, no definition or run in memory. */
const firstRun: Scenario = {
  name: 'cold caches: the first run of a new server',
  run: async (database) => {
    const definition = chain(LENGTH);
    await withoutWorkers(database, (open) => open.register(definition));
    const since = performance.now();
    const clock = new TaskClock(LENGTH);
    const open = await withLibrary.open(database);
    const readyMs = performance.now() - since;
    const stopWorkers = await open.work(clock);
    const runOne = async (run: number): Promise<number> => {
      const ended = clock.end(run);
      const startedAt = performance.now();
      clock.startSent(run);
      await open.start(definition.name, { run });
      await ended;
      return performance.now() - startedAt;
    };
    const firstMs = await runOne(0);
    const first = clock.samples();
    clock.reset();
    for (const run of numbers(1, WARM_RUNS)) await runOne(run);
    const warm = clock.figures();
    await stopWorkers();
    await open.close();
    return {
      'server ready ms': round(readyMs, 0),
      'first run ms': round(firstMs, 1),
      'its start to first task ms': round(first.firsts[0] ?? Number.NaN, 1),
      'its first report to next task ms': round(first.steps[0] ?? Number.NaN, 1),
      ...Object.fromEntries(Object.entries(warm).map(([name, value]) => [`${name}, ${WARM_RUNS} later runs`, value])),
    };
  },
};

/** Runs that another process began: each has to be read and folded before it can go on. */
const inherited = (runs: number): Scenario => ({
  name: `cold caches: ${runs} chains of ${LENGTH} that another server began`,
  run: async (database) => {
    const definition = chain(LENGTH);
    await withoutWorkers(database, async (open) => {
      await open.register(definition);
      await inParallel(numbers(0, runs), START_WIDTH, (run) => open.start(definition.name, { run }));
    });
    const clock = new TaskClock(LENGTH);
    const open = await withLibrary.open(database);
    let stopWorkers = async (): Promise<void> => undefined;
    try {
      return await measured(database, open, clock, { workflows: runs, tasks: runs * LENGTH }, async () => {
        stopWorkers = await open.work(clock);
        await clock.tasks(runs * LENGTH);
        await untilAllCompleted(database.client, definition.name, TIMEOUT_MS);
      });
    } finally {
      await stopWorkers();
      await open.close();
    }
  },
});

export const caches = (runs: number): readonly Scenario[] => [firstRun, inherited(share(runs, 0.3))];
