import { createWorker, type Worker } from 'rondo/worker';
import { type Connection, runUntilStopped } from '../connection.ts';

type LoopTasks = {
  check_job: { input: { readyAfter: number }; output: { ready: boolean } };
};

export const createLoopWorker = (connection: Connection): Worker =>
  createWorker<LoopTasks>({
    ...connection,
    handlers: { check_job: ({ input, iteration }) => ({ ready: iteration >= input.readyAfter }) },
  });

if (import.meta.main) await runUntilStopped(createLoopWorker);
