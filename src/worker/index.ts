import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { HttpClient } from '../client/http-client.ts';
import type { AnyTasks, TaskContracts, TaskHandler, Worker, WorkerOptions, WorkerProblem } from './contracts.ts';
import { TaskWorker } from './task-worker.ts';
import { WorkerApi } from './worker-api.ts';

export { ApiError, TransportError } from '../client/client-error.ts';
export type { JsonObject, JsonValue } from '../domain/kernel/json.ts';
export type {
  AnyTasks,
  TaskContext,
  TaskContract,
  TaskContracts,
  TaskHandler,
  Worker,
  WorkerOptions,
  WorkerProblem,
  WorkerTask,
} from './contracts.ts';
export { LeaseLostError, TerminalError, WorkerStoppingError } from './errors.ts';

const CONCURRENCY_DEFAULT = 10;
const CONCURRENCY_MAX = 1_000;
const POLL_WAIT_SECONDS_DEFAULT = 30;
const POLL_WAIT_SECONDS_MAX = 60;
const DRAIN_SECONDS_DEFAULT = 30;

/**
 * Makes a worker: it leases tasks of its queues in batches, runs the handlers, keeps the leases alive and reports.
 * Name the contracts of the tasks as type argument to have every handler checked against them.
 * @throws TypeError when the options cannot work
 */
export const createWorker = <Tasks extends TaskContracts = AnyTasks>(
  options: WorkerOptions<NoInfer<Tasks>>,
): Worker => {
  // The server promises that a task's input is what its definition made of it; the contract is the user's word for that.
  const handlers = options.handlers as Readonly<Record<string, TaskHandler<unknown>>>;
  const queues = [...(options.queues ?? Object.keys(handlers))];
  if (!isFilled(queues)) throw new TypeError('a worker needs at least one handler');
  const pollWaitSeconds = options.pollWaitSeconds ?? POLL_WAIT_SECONDS_DEFAULT;
  return new TaskWorker({
    api: new WorkerApi(new HttpClient(options)),
    workerId: options.workerId ?? `${hostname()}-${process.pid}-${randomUUID().slice(0, 8)}`,
    handlers: new Map(Object.entries(handlers)),
    queues,
    concurrency: whole('concurrency', options.concurrency ?? CONCURRENCY_DEFAULT, CONCURRENCY_MAX),
    leaseSeconds: options.leaseSeconds,
    pollWaitSeconds: whole('pollWaitSeconds', pollWaitSeconds, POLL_WAIT_SECONDS_MAX),
    drainMs: (options.drainSeconds ?? DRAIN_SECONDS_DEFAULT) * 1000,
    onProblem: options.onProblem ?? printProblem,
  });
};

const isFilled = <T>(list: readonly T[]): list is readonly [T, ...T[]] => list.length > 0;

const whole = (name: string, value: number, max: number): number => {
  if (Number.isInteger(value) && value >= 1 && value <= max) return value;
  throw new TypeError(`${name} is a whole number from 1 to ${max}, not ${value}`);
};

const printProblem = ({ during, taskId, error }: WorkerProblem): void => {
  console.error(`rondo worker: ${during}${taskId === undefined ? '' : ` of ${taskId}`}: ${error.message}`);
};
