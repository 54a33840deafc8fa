import { createWorker, type Worker } from 'rondo/worker';
import { type Connection, runUntilStopped } from '../connection.ts';

type FanOutTasks = {
  list_numbers: { input: { count: number }; output: { numbers: { n: number }[] } };
  square: { input: { n: number }; output: { square: number } };
  add_up: { input: { squares: Record<string, { square: number }> }; output: { total: number; branches: number } };
};

export const createFanOutWorker = (connection: Connection): Worker =>
  createWorker<FanOutTasks>({
    ...connection,
    concurrency: 200,
    handlers: {
      list_numbers: ({ input }) => ({ numbers: Array.from({ length: input.count }, (_, index) => ({ n: index + 1 })) }),
      square: ({ input }) => ({ square: input.n ** 2 }),
      add_up: ({ input }) => {
        const squares = Object.values(input.squares);
        return { total: squares.reduce((sum, { square }) => sum + square, 0), branches: squares.length };
      },
    },
  });

if (import.meta.main) await runUntilStopped(createFanOutWorker);
