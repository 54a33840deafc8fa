import type { Plan } from '../definition/plan.ts';
import type { ExecutionId, Instant } from '../kernel/brand.ts';
import type { JsonObject, JsonValue } from '../kernel/json.ts';
import type { Asked, DeadlineKind, ParentLink, TaskSlot } from './events.ts';
import type { AttemptStatus, ReportStatus, ResultStatus } from './statuses.ts';

/** What was reported of an attempt: by its worker, the system-task runner, a timer, the reclaimer or a signal. */
export type TaskOutcome = Readonly<
  TaskSlot & {
    attempt: number;
    status: Exclude<AttemptStatus, 'SKIPPED' | 'COMPLETED_WITH_ERRORS'>;
    output: JsonObject;
    reason?: string;
    /** Set when the clock ended the attempt. */
    deadline?: DeadlineKind;
    workerId?: string;
    startedAt?: Instant;
    /** Of an attempt that was put off: how often it was, and the seconds asked for last. */
    callbacks?: number;
    callbackSeconds?: number;
    /** The retry budget of the task allows no retry; who puts the outcome to the run has asked the store. */
    budgetSpent?: boolean;
  }
>;

/** What an outsider asks of one run. `by` names the principal for the history. */
export type ExecutionRequest =
  | Readonly<{ type: 'SettleTask'; outcome: TaskOutcome }>
  | Readonly<{
      type: 'Signal';
      /** Absent: the first blocked WAIT, YIELD or HUMAN. */
      ref?: string;
      status: ReportStatus;
      output: JsonObject;
      by: string;
    }>
  /** A message for the run; its id was drawn by who brings it. */
  | Readonly<{ type: 'ReceiveMessage'; id: string; payload: JsonObject; by: string }>
  | Readonly<{
      type: 'CompleteTask';
      /** Names the attempt: the seq of the event that scheduled it. */
      scheduledSeq?: number;
      /** Instead: the wire ref of the task, or the ref of a task in a loop: then where it ran last. */
      ref?: string;
      status: ResultStatus;
      output: JsonObject;
      reason?: string;
      by: string;
      /** Also a task that a worker holds or may take; what its holder reports later is refused. */
      ofWorkersToo: boolean;
    }>
  | Readonly<{ type: 'Pause'; by: string; reason?: string }>
  | Readonly<{ type: 'Resume'; by: string; reason?: string }>
  /** The failure workflow starts only where it is asked for: who ends a run may know that nothing has failed. */
  | Readonly<{ type: 'Terminate'; by: string; reason?: string; triggerFailureWorkflow?: boolean }>
  | Readonly<{ type: 'Retry'; by: string; reason?: string; resumesChildren?: boolean }>
  /** A parent that was retried takes its child up again: the child goes on, or on from where it failed. */
  | Readonly<{ type: 'Adopt'; parent: ParentLink; by: string }>
  /** A child was retried: the parent that failed because of it goes on with it. */
  | Readonly<{ type: 'ReviveFor'; child: ExecutionId; link: ParentLink; by: string }>
  | Readonly<
      Asked & {
        type: 'Rerun';
        /** Wire ref, or the ref of a task in a loop: then where it ran last. Absent: the whole run. */
        from?: string;
        taskInput?: JsonObject;
        input?: JsonObject;
        correlationId?: string;
      }
    >
  | Readonly<Asked & { type: 'RerunTasks'; tasks: readonly string[]; cascade: boolean }>
  /** With a plan: of the definition to follow from now on, pinned by its hash. */
  | Readonly<Asked & { type: 'Restart'; plan?: Plan }>
  | Readonly<Asked & { type: 'SkipTask'; ref: string; input?: JsonObject; output?: JsonObject }>
  | Readonly<Asked & { type: 'CancelTask'; ref: string }>
  | Readonly<Asked & { type: 'SetVariables'; variables: JsonObject; appends?: boolean }>
  | Readonly<Asked & { type: 'Jump'; to: string; input?: JsonObject }>
  | Readonly<
      Asked & {
        type: 'Upgrade';
        plan: Plan;
        input?: JsonObject;
        /** Outputs of new tasks that stand before others that ran already, by ref. */
        taskOutputs: Readonly<Record<string, JsonObject>>;
      }
    >
  | Readonly<{ type: 'PassExecutionDeadline' }>
  /** The store has given a queued run its place. */
  | Readonly<{ type: 'Admit' }>
  /** The store has no place for a run that was just reopened. */
  | Readonly<{ type: 'AwaitAdmission'; key: string }>;

/** Why a request was refused. The codes are those of the API. */
export type Rejection = Readonly<{
  code:
    | 'TERMINAL_STATE'
    | 'INVALID_STATE'
    | 'NOT_FOUND'
    | 'LEASE_LOST'
    | 'LIMIT_EXCEEDED'
    | 'PAYLOAD_TOO_LARGE'
    | 'VALIDATION_FAILED';
  message: string;
  /** Facts for a program; never prose alone. */
  details?: JsonValue;
}>;
