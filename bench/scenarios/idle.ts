import type { BenchDatabase } from '../database.ts';
import { waiting } from '../definitions.ts';
import type { OpenDoor } from '../doors/door.ts';
import { V1, withLibrary } from '../doors/http.ts';
import { sender, serve } from '../doors/server.ts';
import type { Figures } from '../figures.ts';
import { inParallel, numbers, pauseMs, round } from '../measure.ts';
import { cpuMsOfTree, memoryMib } from '../processes.ts';
import { type Scenario, share } from './scenario.ts';

const SECONDS_MAX = 30;
/** From the last poll that is sent until all are parked and what the starts left behind is done. */
const SETTLE_MS = 3_000;
const POLL_WAIT_SECONDS = 60;
const QUEUES = 10;
const START_WIDTH = 50;

/** What a server costs that has nothing to do: runs that wait for hours, and workers that wait for tasks. */
const idleCost = (waitingRuns: number, pollers: number, seconds: number): Scenario => ({
  name: `idle: ${waitingRuns} waiting runs, ${pollers} parked pollers, ${seconds} s`,
  run: async (database) => {
    const server = await serve(database);
    const { send, close } = sender(server.url, pollers + START_WIDTH);
    try {
      await send('POST', `${V1}/definitions/workflows`, waiting);
      await inParallel(numbers(0, waitingRuns), START_WIDTH, async () => {
        await send('POST', `${V1}/executions/${waiting.name}`, { input: {} });
      });
      const leaving = new AbortController();
      const polls = numbers(0, pollers).map((index) => {
        const lease = { workerId: `bench-${index}`, count: 1, waitSeconds: POLL_WAIT_SECONDS };
        return send('POST', `${V1}/queues/idle-${index % QUEUES}/lease`, lease, leaving.signal).catch((error) => {
          if (!leaving.signal.aborted) throw error;
        });
      });
      await pauseMs(SETTLE_MS);
      const figures = await idled(database, server.pid, seconds);
      leaving.abort();
      await Promise.all(polls);
      return figures;
    } finally {
      close();
      await server.stop();
    }
  },
});

const idled = async (database: BenchDatabase, pid: number, seconds: number): Promise<Figures> => {
  const before = { postgres: await database.counters(), engine: cpuMsOfTree(pid) };
  const since = performance.now();
  await pauseMs(seconds * 1_000);
  const ms = performance.now() - since;
  const after = { postgres: await database.counters(), engine: cpuMsOfTree(pid) };
  const percent = (from: number | undefined, to: number | undefined): number =>
    round(((to ?? Number.NaN) - (from ?? Number.NaN)) / (ms / 100), 2);
  return {
    'Node CPU % of a core': percent(before.engine, after.engine),
    'PostgreSQL CPU % of a core': percent(before.postgres.cpuMs, after.postgres.cpuMs),
    'Node memory MiB': memoryMib(pid) ?? Number.NaN,
    // The two readings are four transactions themselves, the first of which is counted before.
    'queries/s': round(Math.max(0, after.postgres.transactions - before.postgres.transactions - 2) / (ms / 1_000), 2),
  };
};

/** For scenarios that need an open door without workers. */
export const withoutWorkers = async <T>(database: BenchDatabase, use: (open: OpenDoor) => Promise<T>): Promise<T> => {
  const open = await withLibrary.open(database);
  try {
    return await use(open);
  } finally {
    await open.close();
  }
};

export const idle = (runs: number): readonly Scenario[] => [
  idleCost(share(runs, 10 / 3), share(runs, 1 / 3), Math.min(SECONDS_MAX, share(runs, 0.01))),
];
