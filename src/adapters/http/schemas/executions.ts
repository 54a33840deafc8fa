import { z } from 'zod';
import { HELD_BACK_BY } from '../../../application/use-cases.ts';
import { RERUN_TASKS_MAX } from '../../../domain/execution/rerun-tasks.ts';
import {
  count,
  cursorText,
  INTEGER_MAX,
  instantInput,
  instantText,
  integerQuery,
  jsonObject,
  jsonValue,
  limitQuery,
  nameText,
  PAGE_ITEMS_MAX,
  pageLimit,
  reasonText,
  seqQuery,
  uuidText,
  versionNumber,
  WAIT_SECONDS_MAX,
} from './common.ts';

const PRIORITY_MAX = 99;
const WAIT_SECONDS_DEFAULT = 30;
/** Printable ASCII: what a header can carry too. */
export const IDEMPOTENCY_KEY = /^[\x21-\x7e](?:[\x20-\x7e]{0,253}[\x21-\x7e])?$/;

export const executionStatus = z.enum(['RUNNING', 'PAUSED', 'COMPLETED', 'FAILED', 'TIMED_OUT', 'TERMINATED']);
export const taskStatus = z.enum([
  'SCHEDULED',
  'IN_PROGRESS',
  'COMPLETED',
  'COMPLETED_WITH_ERRORS',
  'FAILED',
  'FAILED_WITH_TERMINAL_ERROR',
  'TIMED_OUT',
  'CANCELED',
  'SKIPPED',
]);
export const reportStatus = z.enum(['COMPLETED', 'FAILED', 'FAILED_WITH_TERMINAL_ERROR']);
const deadlineKind = z.enum(['SCHEDULE_TO_START', 'START_TO_CLOSE', 'SCHEDULE_TO_CLOSE', 'HEARTBEAT']);

export const startRequest = z.strictObject({
  version: versionNumber.optional(),
  input: jsonObject.default({}),
  correlationId: nameText.optional(),
  priority: z.int().min(0).max(PRIORITY_MAX).default(0),
  idempotencyKey: z.string().regex(IDEMPOTENCY_KEY, 'expected 1 to 255 printable ASCII characters').optional(),
  idempotencyStrategy: z.enum(['RETURN_EXISTING', 'FAIL', 'FAIL_ON_RUNNING']).default('RETURN_EXISTING'),
  taskToDomain: z.record(nameText, nameText).optional(),
});
export type StartBody = z.input<typeof startRequest>;

export const executeRequest = startRequest.extend({
  /** Answers at the latest after this time, with the state so far. */
  waitSeconds: z.int().min(0).max(WAIT_SECONDS_MAX).default(WAIT_SECONDS_DEFAULT),
  /** Answers as soon as this task has ended, too. */
  waitUntilTaskRef: nameText.optional(),
});

export const startedExecution = z.strictObject({
  workflowId: uuidText,
  status: executionStatus,
  name: z.string(),
  version: z.int(),
  /** False when an idempotency key led to a run that existed. */
  created: z.boolean(),
});
export type StartedExecutionBody = z.output<typeof startedExecution>;

export const executionSummary = z.strictObject({
  workflowId: uuidText,
  name: z.string(),
  version: z.int(),
  status: executionStatus,
  correlationId: z.string().optional(),
  idempotencyKey: z.string().optional(),
  priority: z.int(),
  parentWorkflowId: uuidText.optional(),
  startedAt: instantText,
  updatedAt: instantText,
  endedAt: instantText.optional(),
  reason: z.string().optional(),
  failedTask: z.string().optional(),
  /** It is queued for a place under a limit on runs: nothing is scheduled yet. */
  awaitingAdmission: z.literal(true).optional(),
});
export type ExecutionSummaryBody = z.output<typeof executionSummary>;

export const task = z.strictObject({
  taskId: z.string(),
  taskRef: z.string(),
  /** 0: not in a loop. */
  iteration: z.int(),
  attempt: z.int(),
  type: z.string(),
  taskName: z.string(),
  status: taskStatus,
  queue: z.string().optional(),
  input: jsonValue,
  output: jsonObject.optional(),
  reason: z.string().optional(),
  deadline: deadlineKind.optional(),
  workerId: z.string().optional(),
  scheduledAt: instantText,
  visibleAt: instantText.optional(),
  startedAt: instantText.optional(),
  endedAt: instantText.optional(),
  /** A waiting task that ends by the clock: when. */
  fireAt: instantText.optional(),
  /** SUB_WORKFLOW: the run that it waits for, or waited for. */
  subWorkflowId: uuidText.optional(),
  /** Of the live lease. */
  leaseExpiresAt: instantText.optional(),
  progress: jsonValue.optional(),
  /** A compensation: the task it undoes, by its ref with the suffixes of its loops. */
  compensates: z.string().optional(),
  /** A further attempt follows this one. */
  retried: z.boolean(),
  fromCache: z.literal(true).optional(),
});
export type TaskBody = z.output<typeof task>;

const parentLink = z.strictObject({
  workflowId: uuidText,
  /** The attempt that waits for this run. */
  taskId: z.string(),
  taskRef: z.string(),
  iteration: z.int(),
  attempt: z.int(),
});

/** A run as history up to `seq` tells it. */
export const executionState = z.strictObject({
  workflowId: uuidText,
  namespace: z.string(),
  name: z.string(),
  version: z.int(),
  definitionHash: z.string(),
  status: executionStatus,
  seq: count,
  input: jsonObject,
  output: jsonObject.optional(),
  variables: jsonObject,
  priority: z.int(),
  correlationId: z.string().optional(),
  parent: parentLink.optional(),
  startedAt: instantText,
  endedAt: instantText.optional(),
  reason: z.string().optional(),
  failedTask: z.string().optional(),
  awaitingAdmission: z.literal(true).optional(),
  /** The run that this one repeats. */
  copyOf: uuidText.optional(),
  createdBy: z.string().optional(),
  taskToDomain: z.record(z.string(), z.string()).optional(),
  lastRetriedAt: instantText.optional(),
  tasks: z.array(task),
});
export type ExecutionStateBody = z.output<typeof executionState>;

export const waitingFor = z.strictObject({
  taskRef: z.string(),
  iteration: z.int(),
  taskId: z.string().optional(),
  gate: z.enum(HELD_BACK_BY),
  why: z.string(),
});

/** The state, live leases laid over it, and why nothing moves. */
export const executionDetail = executionState.extend({
  updatedAt: instantText,
  idempotencyKey: z.string().optional(),
  waitingFor: z.array(waitingFor),
  parked: z.strictObject({ attempts: z.int(), reason: z.string(), retryAt: instantText }).optional(),
});
export type ExecutionDetailBody = z.output<typeof executionDetail>;

export const executionTasks = z.strictObject({ tasks: z.array(task) });
export type ExecutionTasksBody = z.output<typeof executionTasks>;

export const historyQuery = z.strictObject({ after: seqQuery.default(0), limit: limitQuery });
export const stateQuery = z.strictObject({ seq: integerQuery(1, Number.MAX_SAFE_INTEGER) });

/** One fact of the log; its further fields follow its type. */
export const historyEvent = z.looseObject({
  seq: z.int().min(1),
  type: z.enum([
    'ExecutionStarted',
    'TaskScheduled',
    'TaskClosed',
    'TaskDeadlineMissed',
    'OperatorResolved',
    'TaskRefused',
    'TaskTakenFromCache',
    'OperatorOpened',
    'LoopIterated',
    'OperatorClosed',
    'SignalBuffered',
    'MessageReceived',
    'ExecutionPaused',
    'ExecutionResumed',
    'ExecutionDeadlineMissed',
    'CompensationStarted',
    'CompensationEnded',
    'ExecutionClosed',
    'ExecutionRetried',
    'ExecutionRerun',
    'TasksRerun',
    'ExecutionRestarted',
    'ExecutionJumped',
    'ExecutionUpgraded',
    'EnvironmentRead',
    'VariablesSet',
    'SkipRequested',
    'TaskSkipped',
    'TaskCanceled',
    'ExecutionAdopted',
    'ExecutionQueued',
    'ExecutionAdmitted',
  ]),
  at: instantText,
});
export type HistoryEventBody = z.output<typeof historyEvent>;

export const historyPage = z.strictObject({
  events: z.array(historyEvent),
  /** Pass it as `after` for the next page; absent on the last. */
  nextCursor: z.string().optional(),
});
export type HistoryPageBody = z.output<typeof historyPage>;

export const searchRequest = z.strictObject({
  workflowIds: z.array(uuidText).min(1).max(PAGE_ITEMS_MAX).optional(),
  statuses: z.array(executionStatus).min(1).optional(),
  /** Exact, or a prefix when it ends in `*`. */
  name: nameText.optional(),
  version: versionNumber.optional(),
  correlationId: nameText.optional(),
  idempotencyKey: nameText.optional(),
  parentWorkflowId: uuidText.optional(),
  startedAfter: instantInput.optional(),
  startedBefore: instantInput.optional(),
  awaitingAdmission: z.boolean().optional(),
  limit: pageLimit,
  cursor: cursorText.optional(),
});
export type SearchBody = z.input<typeof searchRequest>;

export const executionPage = z.strictObject({
  executions: z.array(executionSummary),
  nextCursor: z.string().optional(),
});
export type ExecutionPageBody = z.output<typeof executionPage>;

export const executionTree = z.strictObject({
  /** The run itself first, then those below it, the oldest first. */
  executions: z.array(executionSummary),
  /** There are more runs than are shown. */
  truncated: z.boolean(),
});
export type ExecutionTreeBody = z.output<typeof executionTree>;

export const controlRequest = z.strictObject({ reason: reasonText.optional() });
export type ControlBody = z.input<typeof controlRequest>;

export const retryRequest = controlRequest.extend({
  /** Failed SUB_WORKFLOWs go on with the children they had, down to the deepest that failed, instead of new ones. */
  resumeSubworkflowTasks: z.boolean().default(false),
});
export type RetryBody = z.input<typeof retryRequest>;

export const terminateRequest = controlRequest.extend({
  /** Starts the failure workflow of the definition too, with the failureStatus TERMINATED. */
  triggerFailureWorkflow: z.boolean().default(false),
});
export type TerminateBody = z.input<typeof terminateRequest>;

export const BULK_IDS_MAX = 1_000;

export const bulkRequest = z.strictObject({
  action: z.enum(['pause', 'resume', 'retry', 'restart', 'terminate', 'delete']),
  /** One that names no run of the namespace is answered so, and does not refuse the others. */
  ids: z.array(nameText).min(1).max(BULK_IDS_MAX),
  reason: reasonText.optional(),
});
export type BulkBody = z.input<typeof bulkRequest>;

export const bulkAnswer = z.strictObject({
  /** In the order of the ids. */
  answers: z.array(
    z.discriminatedUnion('outcome', [
      z.strictObject({ id: z.string(), outcome: z.literal('done'), status: executionStatus.optional() }),
      z.strictObject({
        id: z.string(),
        outcome: z.literal('refused'),
        error: z.string(),
        message: z.string(),
        details: jsonValue.optional(),
      }),
    ]),
  ),
  done: count,
  refused: count,
});
export type BulkAnswerBody = z.output<typeof bulkAnswer>;

export const runAgainRequest = z.strictObject({
  input: jsonObject.optional(),
  version: versionNumber.optional(),
  /** The highest version there is, instead of that of the run. */
  latest: z.boolean().default(false),
  correlationId: nameText.optional(),
  priority: z.int().min(0).max(PRIORITY_MAX).optional(),
});
export type RunAgainBody = z.input<typeof runAgainRequest>;

export const replayRequest = z.strictObject({
  /** Another version: a preview of what it would have decided. */
  version: versionNumber.optional(),
});

export const replayAnswer = z.strictObject({
  workflowId: uuidText,
  name: z.string(),
  version: z.int(),
  /** Events on record. */
  recorded: count,
  /** Derived as it is on record. */
  same: z.boolean(),
  difference: z
    .strictObject({ seq: count, recorded: historyEvent.optional(), derived: historyEvent.optional() })
    .optional(),
  preview: z
    .strictObject({
      events: z.array(historyEvent),
      /** Seqs on record of what was told and has no place in this version. */
      unused: z.array(count),
    })
    .optional(),
});
export type ReplayAnswerBody = z.output<typeof replayAnswer>;

export const signalRequest = z.strictObject({
  /** Absent: the first blocked WAIT or YIELD. */
  taskRef: nameText.optional(),
  status: reportStatus.default('COMPLETED'),
  output: jsonObject.default({}),
  /** Answers when the run has ended, is paused or waits again, at the latest after this time. */
  waitSeconds: z.int().min(0).max(WAIT_SECONDS_MAX).default(0),
});
export type SignalBody = z.input<typeof signalRequest>;

export const signalAnswer = executionSummary.extend({
  /** False when it is kept for a task that has not begun. */
  delivered: z.boolean(),
});
export type SignalAnswerBody = z.output<typeof signalAnswer>;

const because = { reason: reasonText.optional() };

export const rerunRequest = z.strictObject({
  ...because,
  /** The wire ref of a task, or the ref of one in a loop: then where it ran last. Absent: the whole run. */
  fromTaskRef: nameText.optional(),
  /** The same by the task's id. */
  fromTaskId: nameText.optional(),
  /** In place of what the definition says. */
  taskInput: jsonObject.optional(),
  workflowInput: jsonObject.optional(),
  correlationId: nameText.optional(),
});
export type RerunBody = z.input<typeof rerunRequest>;

export const rerunTasksRequest = z.strictObject({
  ...because,
  taskRefs: z.array(nameText).min(1).max(RERUN_TASKS_MAX),
  /** Also all that follows from them; else the answer lists what is stale. */
  cascade: z.boolean().default(false),
});
export type RerunTasksBody = z.input<typeof rerunTasksRequest>;

export const rerunTasksAnswer = executionSummary.extend({ stale: z.array(z.string()) });
export type RerunTasksAnswerBody = z.output<typeof rerunTasksAnswer>;

export const restartRequest = z.strictObject({ ...because, useLatestDefinitions: z.boolean().default(false) });
export type RestartBody = z.input<typeof restartRequest>;

export const skipTaskRequest = z.strictObject({
  ...because,
  taskRef: nameText,
  taskInput: jsonObject.optional(),
  taskOutput: jsonObject.optional(),
});
export type SkipTaskBody = z.input<typeof skipTaskRequest>;

export const cancelTaskRequest = z.strictObject({ ...because, taskRef: nameText });
export type CancelTaskBody = z.input<typeof cancelTaskRequest>;

export const variablesRequest = z.strictObject({ ...because, variables: jsonObject });
export type VariablesBody = z.input<typeof variablesRequest>;

export const jumpRequest = z.strictObject({ ...because, taskRef: nameText, taskInput: jsonObject.optional() });
export type JumpBody = z.input<typeof jumpRequest>;

export const upgradeRequest = z.strictObject({
  ...because,
  /** Absent: the highest there is. */
  version: versionNumber.optional(),
  /** Merged into the input of the run. */
  workflowInput: jsonObject.optional(),
  /** Outputs, by ref, of new tasks that stand before others that have begun: the run is past them. */
  taskOutput: z.record(nameText, jsonObject).optional(),
});
export type UpgradeBody = z.input<typeof upgradeRequest>;

export const emptyRequest = z.strictObject({});

export const decideAnswer = executionSummary.extend({ repaired: z.int().max(INTEGER_MAX) });
export type DecideAnswerBody = z.output<typeof decideAnswer>;

/** Checked by the stream itself: every malformed position is INVALID_CURSOR. */
export const streamQuery = z.strictObject({ after: z.string().optional() });
