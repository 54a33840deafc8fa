import { untilAllCompleted } from '../database.ts';
import { chain, unserved } from '../definitions.ts';
import type { Door } from '../doors/door.ts';
import { oneTaskPolls, withLibrary } from '../doors/http.ts';
import { inProcess } from '../doors/in-process.ts';
import { atRate, inParallel, numbers } from '../measure.ts';
import { measured } from '../measured.ts';
import { TaskClock } from '../task-clock.ts';
import { closed, measuredLoad, type Scenario, share, TIMEOUT_MS, withWorkers } from './scenario.ts';

const LENGTH = 3;
/** Every connection of the pool has prepared its statements by then. */
const WARM_UP_RUNS_MAX = 300;

const warmUpOf = (runs: number): number => Math.min(WARM_UP_RUNS_MAX, share(runs, 0.5));

/** Open loop: so many chains a second, whether or not the earlier ones have ended. */
const atRateOf = (door: Door, perSecond: number, runs: number, warmUp: number): Scenario => ({
  name: `${door.name}: latency at ${perSecond} workflows/s`,
  run: (database) =>
    withWorkers(door, database, LENGTH, async (open, clock) => {
      const load = { definition: chain(LENGTH), runs: warmUp, tasksPerRun: LENGTH, warmUp: 0 };
      await open.register(load.definition);
      await measuredLoad(door, database, open, clock, load);
      return measured(database, open, clock, { workflows: runs, tasks: runs * LENGTH }, async () => {
        await atRate(runs, perSecond, async (index) => {
          clock.startSent(warmUp + index);
          await open.start(load.definition.name, { run: warmUp + index });
        });
        await clock.tasks(runs * LENGTH);
        await untilAllCompleted(database.client, load.definition.name, TIMEOUT_MS);
      });
    }),
});

/** Closed loop: a chain begins when the one before has ended, so nothing waits for anything but itself. */
const oneInFlight = (door: Door, runs: number, warmUp: number): Scenario => ({
  name: `${door.name}: latency with one in flight`,
  run: (database) => closed(door, database, { definition: chain(LENGTH), runs, tasksPerRun: LENGTH, warmUp }, 1),
});

const startOnly = (door: Door, runs: number): Scenario => ({
  name: `${door.name}: start only`,
  run: async (database) => {
    const open = await door.open(database);
    try {
      await open.register(unserved);
      const start = (run: number): Promise<void> => open.start(unserved.name, { run });
      const warmUp = share(runs, 0.1);
      await inParallel(numbers(0, warmUp), door.startWidth, start);
      return await measured(database, open, new TaskClock(1), { workflows: runs, tasks: runs }, () =>
        inParallel(numbers(warmUp, runs), door.startWidth, start),
      );
    } finally {
      await open.close();
    }
  },
});

export const latencies = (runs: number): readonly Scenario[] => [
  oneInFlight(inProcess, share(runs, 0.15), warmUpOf(runs)),
  oneInFlight(withLibrary, share(runs, 0.15), warmUpOf(runs)),
  oneInFlight(oneTaskPolls, share(runs, 0.15), warmUpOf(runs)),
  atRateOf(withLibrary, 1, share(runs, 1 / 300), warmUpOf(runs)),
  atRateOf(withLibrary, 10, share(runs, 1 / 60), warmUpOf(runs)),
  atRateOf(withLibrary, 100, share(runs, 1 / 3), warmUpOf(runs)),
  atRateOf(oneTaskPolls, 100, share(runs, 1 / 3), warmUpOf(runs)),
  atRateOf(withLibrary, 500, share(runs, 1), warmUpOf(runs)),
  startOnly(inProcess, runs),
  startOnly(withLibrary, share(runs, 0.5)),
];
