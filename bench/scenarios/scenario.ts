import type { JsonObject } from '../../src/domain/kernel/json.ts';
import { type BenchDatabase, untilAllCompleted } from '../database.ts';
import type { Definition } from '../definitions.ts';
import type { Door, OpenDoor } from '../doors/door.ts';
import type { Figures } from '../figures.ts';
import { inParallel, numbers } from '../measure.ts';
import { measured, type Work } from '../measured.ts';
import { TaskClock } from '../task-clock.ts';

export type Scenario = Readonly<{
  name: string;
  /** Takes so long that it is run only when a part of its name is asked for. */
  byNameOnly?: boolean;
  /** The database has Rondo's tables and nothing in them. */
  run: (database: BenchDatabase) => Promise<Figures>;
}>;

export const TIMEOUT_MS = 300_000;

/** An open door with workers behind it, and all that was opened is closed in the end. */
export const withWorkers = async <T>(
  door: Door,
  database: BenchDatabase,
  length: number,
  use: (open: OpenDoor, clock: TaskClock) => Promise<T>,
): Promise<T> => {
  const open = await door.open(database);
  try {
    const clock = new TaskClock(length);
    const stopWorkers = await open.work(clock);
    try {
      return await use(open, clock);
    } finally {
      await stopWorkers();
    }
  } finally {
    await open.close();
  }
};

export type Load = Readonly<{
  definition: Definition;
  input?: JsonObject;
  runs: number;
  tasksPerRun: number;
  warmUp: number;
}>;

const startMarked = async (
  open: OpenDoor,
  clock: TaskClock,
  { definition, input }: Load,
  run: number,
): Promise<void> => {
  clock.startSent(run);
  await open.start(definition.name, { ...input, run });
};

/** As many runs as fit: they are started as fast as the door takes them, and all are to complete. */
const saturate = async (
  door: Door,
  database: BenchDatabase,
  open: OpenDoor,
  clock: TaskClock,
  load: Load,
  from: number,
  runs: number,
): Promise<void> => {
  await inParallel(numbers(from, runs), door.startWidth, (run) => startMarked(open, clock, load, run));
  await clock.tasks(runs * load.tasksPerRun);
  await untilAllCompleted(database.client, load.definition.name, TIMEOUT_MS);
};

/** So many runs at a time, each begun when one has ended. */
const closedLoop = (open: OpenDoor, clock: TaskClock, load: Load, from: number, runs: number, width: number) =>
  inParallel(numbers(from, runs), width, async (run) => {
    const ended = clock.end(run);
    await startMarked(open, clock, load, run);
    await ended;
  });

export const workOf = ({ runs, tasksPerRun }: Load): Work => ({ workflows: runs, tasks: runs * tasksPerRun });

/** The figures of so many runs through the door, after the warm-up: as many in flight as fit. */
export const saturated = (door: Door, database: BenchDatabase, load: Load): Promise<Figures> =>
  withWorkers(door, database, load.tasksPerRun, async (open, clock) => {
    await open.register(load.definition);
    return measuredLoad(door, database, open, clock, load);
  });

export const measuredLoad = async (
  door: Door,
  database: BenchDatabase,
  open: OpenDoor,
  clock: TaskClock,
  load: Load,
): Promise<Figures> => {
  if (load.warmUp > 0) await saturate(door, database, open, clock, load, 0, load.warmUp);
  return measured(database, open, clock, workOf(load), () =>
    saturate(door, database, open, clock, load, load.warmUp, load.runs),
  );
};

/** The figures of a closed loop: one chain after the other, or so many side by side. */
export const closed = (door: Door, database: BenchDatabase, load: Load, inFlight: number): Promise<Figures> =>
  withWorkers(door, database, load.tasksPerRun, async (open, clock) => {
    await open.register(load.definition);
    await closedLoop(open, clock, load, 0, load.warmUp, Math.min(10, load.warmUp));
    const figures = await measured(database, open, clock, workOf(load), () =>
      closedLoop(open, clock, load, load.warmUp, load.runs, inFlight),
    );
    await untilAllCompleted(database.client, load.definition.name, TIMEOUT_MS);
    return figures;
  });

/** A share of the runs asked for, at least one. */
export const share = (runs: number, part: number): number => Math.max(1, Math.ceil(runs * part));
