import type { JsonObject, JsonValue } from '../domain/kernel/json.ts';

/** What one task takes and gives. The output is a JSON object; `void` stands for the empty one. */
// biome-ignore lint/suspicious/noConfusingVoidType: a handler without a return statement is a handler of `void`.
export type TaskContract = Readonly<{ input: unknown; output: object | void }>;

/** Contracts by task name: `createWorker<Tasks>` checks every handler against them. */
export type TaskContracts = Readonly<Record<string, TaskContract>>;

/** Without contracts every input is a JSON object and every object is an output. */
// biome-ignore lint/suspicious/noConfusingVoidType: see TaskContract.
export type AnyTasks = Readonly<Record<string, { input: JsonObject; output: object | void }>>;

/** One attempt of a task, leased by this worker. */
export type WorkerTask<Input = JsonObject> = Readonly<{
  /** Names this attempt; a retry has another. */
  taskId: string;
  workflowId: string;
  /** Reference in the definition; inside a loop it ends in `__` and the iteration. */
  taskRef: string;
  taskName: string;
  /** 0 outside loops, else counted from 1. */
  iteration: number;
  /** Counted from 1. */
  attempt: number;
  input: Input;
}>;

export type TaskContext = Readonly<{
  workerId: string;
  /**
   * Aborts when the result can no longer count: the lease was lost (reason `LeaseLostError`), or the worker stops and
   * the time for finishing is over (reason `WorkerStoppingError`).
   */
  signal: AbortSignal;
  /** Adds a line to the log of this attempt. Lines travel in batches; best effort. */
  log(line: string): void;
  /** Shows how far the attempt is: any JSON value; the newest wins. Extends the lease as well. */
  progress(value: JsonValue): void;
}>;

export type TaskHandler<Input = JsonObject, Output = unknown> = (
  task: WorkerTask<Input>,
  context: TaskContext,
) => Output | Promise<Output>;

export type HandlersOf<Tasks extends TaskContracts> = Readonly<{
  [Name in keyof Tasks]: TaskHandler<Tasks[Name]['input'], Tasks[Name]['output']>;
}>;

/** Something went wrong beside the handlers; the worker goes on unless `done` rejects. */
export type WorkerProblem = Readonly<{
  during: 'lease' | 'heartbeat' | 'log' | 'report' | 'release';
  taskId?: string;
  error: Error;
}>;

export type WorkerOptions<Tasks extends TaskContracts> = Readonly<{
  /** The server, such as `http://127.0.0.1:8080`. */
  url: string;
  /** `default` unless told. */
  namespace?: string;
  apiKey?: string;
  /** Shown with the tasks it holds; host, process and a random part unless told. */
  workerId?: string;
  /** Handlers that run at once; 10 unless told. */
  concurrency?: number;
  /** By task name. */
  handlers: HandlersOf<Tasks>;
  /** Queues to poll, served in this order; unless told, the names of the handlers. */
  queues?: readonly string[];
  /** How long a lease lasts without a heartbeat; unless told, what the definition of each task says. */
  leaseSeconds?: number;
  /** How long a poll is parked at the server; 30 unless told. */
  pollWaitSeconds?: number;
  /** How long `stop` lets running handlers finish; 30 unless told. */
  drainSeconds?: number;
  /** Told of troubles the worker lives with; unless given they go to stderr, one line each. */
  onProblem?: (problem: WorkerProblem) => void;
}>;

export type Worker = Readonly<{
  workerId: string;
  /** Begins to poll. A worker starts once. */
  start(): void;
  /**
   * Ends the parked poll at once, lets running handlers finish up to the drain time, gives the leases of the others back,
   * and resolves when the last result is delivered. Calling it again waits for the same end.
   */
  stop(): Promise<void>;
  /** Resolves after `stop`; rejects with the `ApiError` when the server refuses this worker for good. */
  done: Promise<void>;
}>;
