/** Thrown by a handler, it fails the task for good: no retry. Any other error fails the attempt, and retries follow. */
export class TerminalError extends Error {
  override readonly name = 'TerminalError';
}

/** Why a handler's signal aborted: another attempt may run, and what this one answers no longer counts. */
export class LeaseLostError extends Error {
  override readonly name = 'LeaseLostError';
}

/** Why a handler's signal aborted: the worker stops and the time for finishing is over. */
export class WorkerStoppingError extends Error {
  override readonly name = 'WorkerStoppingError';
}
