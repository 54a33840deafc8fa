/** Statuses keep Conductor's spelling. */
export type ClosedExecutionStatus = 'COMPLETED' | 'FAILED' | 'TIMED_OUT' | 'TERMINATED';
export type ExecutionStatus = 'RUNNING' | 'PAUSED' | ClosedExecutionStatus;

/** How one attempt of a worker, system or waiting task can end. */
export type AttemptStatus =
  | 'COMPLETED'
  | 'COMPLETED_WITH_ERRORS'
  | 'FAILED'
  | 'FAILED_WITH_TERMINAL_ERROR'
  | 'TIMED_OUT'
  | 'CANCELED'
  | 'SKIPPED';

/** How an operator can end; it has no attempts. */
export type OperatorStatus = 'COMPLETED' | 'COMPLETED_WITH_ERRORS' | 'FAILED_WITH_TERMINAL_ERROR' | 'FAILED';

/** What a worker may report. */
export type ReportStatus = 'COMPLETED' | 'FAILED' | 'FAILED_WITH_TERMINAL_ERROR';

/** The same at Conductor's door, where a worker may also give its task up: what its step then needs it never gets. */
export type ResultStatus = ReportStatus | 'CANCELED';

export type TaskStatus = 'SCHEDULED' | 'IN_PROGRESS' | AttemptStatus;

export const isClosedExecution = (status: ExecutionStatus): status is ClosedExecutionStatus =>
  status !== 'RUNNING' && status !== 'PAUSED';
