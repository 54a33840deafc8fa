import type { BenchDatabase, Counters } from './database.ts';
import type { OpenDoor } from './doors/door.ts';
import type { Figures } from './figures.ts';
import { round } from './measure.ts';
import { busyMsOfMachine, cpuMsOfTree } from './processes.ts';
import type { TaskClock } from './task-clock.ts';

export type Work = Readonly<{ workflows: number; tasks: number }>;

type Reading = Readonly<{
  postgres: Counters;
  bench: number;
  engine: number | undefined;
  busy: number | undefined;
}>;

/**
 * Does the work and says what it took: the one way in which scenarios measure. A checkpoint comes first, so that each pays
 * for the full pages it writes.
 */
export const measured = async (
  database: BenchDatabase,
  door: OpenDoor,
  clock: TaskClock,
  { workflows, tasks }: Work,
  work: () => Promise<void>,
): Promise<Figures> => {
  await database.checkpoint();
  clock.reset();
  const before = await read(database, door);
  const since = performance.now();
  await work();
  const seconds = (performance.now() - since) / 1_000;
  const after = await read(database, door);
  return {
    workflows,
    tasks,
    'workflows/s': round(workflows / seconds, 1),
    'tasks/s': round(tasks / seconds, 0),
    ...clock.figures(),
    ...costs(before, after, tasks),
    ...cpu(before, after, door, seconds, tasks),
  };
};

const read = async (database: BenchDatabase, door: OpenDoor): Promise<Reading> => {
  const { user, system } = process.cpuUsage();
  return {
    postgres: await database.counters(),
    bench: (user + system) / 1_000,
    engine: door.pid === process.pid ? undefined : cpuMsOfTree(door.pid),
    busy: busyMsOfMachine(),
  };
};

const costs = ({ postgres: before }: Reading, { postgres: after }: Reading, tasks: number): Figures => ({
  'transactions/task': round((after.transactions - before.transactions) / tasks, 3),
  'rows/task': round((after.rows - before.rows) / tasks, 1),
  'WAL bytes/task': round((after.walBytes - before.walBytes) / tasks, 0),
});

/** Of the engine, of the bench beside it with its workers, of PostgreSQL, and how busy the machine was with anything else. */
const cpu = (before: Reading, after: Reading, door: OpenDoor, seconds: number, tasks: number): Figures => {
  const bench = after.bench - before.bench;
  const engine = difference(before.engine, after.engine);
  const postgres = difference(before.postgres.cpuMs, after.postgres.cpuMs);
  const busy = difference(before.busy, after.busy);
  const own = bench + (engine ?? 0) + (postgres ?? 0);
  return {
    ...(door.pid === process.pid
      ? { 'Node CPU ms/task': round(bench / tasks, 3) }
      : { ...each('Node CPU ms/task', engine, tasks), 'client CPU ms/task': round(bench / tasks, 3) }),
    ...each('PostgreSQL CPU ms/task', postgres, tasks),
    ...(busy === undefined || postgres === undefined
      ? {}
      : { 'foreign CPU cores': round(Math.max(0, busy - own) / 1_000 / seconds, 2) }),
  };
};

const each = (name: string, value: number | undefined, tasks: number): Figures =>
  value === undefined ? {} : { [name]: round(value / tasks, 3) };

const difference = (before: number | undefined, after: number | undefined): number | undefined =>
  before === undefined || after === undefined ? undefined : after - before;
