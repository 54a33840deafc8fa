import type { JsonObject } from '../../src/domain/kernel/json.ts';
import { untilAllCompleted } from '../database.ts';
import { chain, type Definition, fanOut, loopOf, loopOfForks, parentOf } from '../definitions.ts';
import { inProcess } from '../doors/in-process.ts';
import type { Figures } from '../figures.ts';
import { round } from '../measure.ts';
import { measured } from '../measured.ts';
import { measuredLoad, type Scenario, share, TIMEOUT_MS, withWorkers } from './scenario.ts';

type Shape = Readonly<{ name: string; definition: Definition; input?: JsonObject; tasks: number; runs: number }>;

/** Several runs of one shape, after one to warm up. */
const several = ({ name, definition, input, tasks, runs }: Shape): Scenario => ({
  name: `in-process: ${name}`,
  run: (database) =>
    withWorkers(inProcess, database, 0, async (open, clock) => {
      await open.register(definition);
      const load = { definition, ...(input === undefined ? {} : { input }), runs, tasksPerRun: tasks, warmUp: 1 };
      return measuredLoad(inProcess, database, open, clock, load);
    }),
});

/** One run of many tasks by itself; its early and its late passes are compared. */
const one = ({ name, definition, input = {}, tasks }: Omit<Shape, 'runs'>): Scenario => ({
  name: `in-process: ${name}`,
  run: (database) =>
    withWorkers(inProcess, database, 0, async (open, clock) => {
      await open.register(definition);
      const figures = await measured(database, open, clock, { workflows: 1, tasks }, async () => {
        await open.start(definition.name, input);
        await clock.tasks(tasks);
        await untilAllCompleted(database.client, definition.name, TIMEOUT_MS);
      });
      return { ...figures, ...tenths(clock.reportedAt()) };
    }),
});

/** Time for the second tenth of the tasks and for the last: equal when a pass costs the same however large the run is. */
const tenths = (at: readonly number[]): Figures => {
  const tenth = Math.floor(at.length / 10);
  const span = (from: number, to: number): number => (at[to] ?? 0) - (at[from] ?? 0);
  return {
    'second tenth ms': round(span(tenth, 2 * tenth), 0),
    'last tenth ms': round(span(at.length - tenth - 1, at.length - 1), 0),
  };
};

const items = (count: number): JsonObject => ({ items: Array.from({ length: count }, (_, index) => ({ index })) });

const fork = (branches: number): Omit<Shape, 'runs'> => ({
  name: `fan-out of ${branches}`,
  definition: fanOut,
  input: items(branches),
  tasks: branches,
});

const CHILDREN = 10;

const children = (runs: number): Scenario => ({
  name: `in-process: ${CHILDREN} sub-workflows`,
  run: (database) =>
    withWorkers(inProcess, database, 0, async (open, clock) => {
      const child = chain(1, 'child');
      await open.register(child);
      const definition = parentOf(CHILDREN, child.name);
      await open.register(definition);
      return measuredLoad(inProcess, database, open, clock, { definition, runs, tasksPerRun: CHILDREN, warmUp: 1 });
    }),
});

const LONG_LOOP = 1_000;
const BRANCHES_OF_BIG_RUN = 10_000;

export const shapes = (runs: number): readonly Scenario[] => [
  several({ ...fork(10), runs: share(runs, 0.1) }),
  several({ ...fork(100), runs: share(runs, 0.01) }),
  one(fork(1_000)),
  one(fork(10_000)),
  one({ name: `loop of ${LONG_LOOP}`, definition: loopOf(LONG_LOOP), tasks: LONG_LOOP }),
  children(share(runs, 0.05)),
  one({
    name: `run of ${3 * BRANCHES_OF_BIG_RUN} tasks`,
    definition: loopOfForks,
    input: items(BRANCHES_OF_BIG_RUN),
    tasks: 3 * BRANCHES_OF_BIG_RUN,
  }),
];
