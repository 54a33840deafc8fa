import { keyOf } from '../../../../domain/execution/task-key.ts';
import type { TaskView } from '../../../../domain/execution/view.ts';
import type { ExecutionId, Instant } from '../../../../domain/kernel/brand.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../../domain/kernel/json.ts';
import type { OpenTaskRow } from '../../../../ports/engine-store.ts';
import { type PinnedWire, stepByRef } from './pinned.ts';

const MS_PER_SECOND = 1_000;

/** Of the run that a task belongs to, what Conductor repeats in it. */
export type TaskRun = Readonly<{
  executionId: ExecutionId;
  name: string;
  version: number;
  priority: number;
  correlationId?: string;
  pinned: PinnedWire;
}>;

/** What is known of a task, wherever it comes from: a run that is read, or a lease. */
export type TaskFacts = Readonly<
  Omit<TaskView, 'retried' | 'subWorkflowId' | 'deadline' | 'fireAt' | 'compensates' | 'fromCache'> &
    Partial<Pick<TaskView, 'retried' | 'subWorkflowId'>> & {
      /** Its place among the tasks of the run, from 1. */
      seq?: number;
      /** Leases of the attempt so far. */
      pollCount?: number;
      /** Of the attempt before it. */
      retriedTaskId?: string;
      /** When the first attempt began. */
      firstStartedAt?: Instant;
      updatedAt?: Instant;
      /** How long its holder may be silent, and for how long it was put off last, where a lease tells. */
      responseTimeoutSeconds?: number;
      callbackAfterSeconds?: number;
    }
>;

/** Conductor's Task. Instants are milliseconds since the epoch, 0 for what has not happened. */
export type TaskBody = Readonly<{
  taskType: string;
  status: string;
  inputData: JsonObject;
  referenceTaskName: string;
  retryCount: number;
  seq: number;
  correlationId?: string;
  pollCount: number;
  taskDefName: string;
  scheduledTime: number;
  startTime: number;
  endTime: number;
  updateTime: number;
  startDelayInSeconds: number;
  retriedTaskId?: string;
  retried: boolean;
  executed: boolean;
  callbackFromWorker: boolean;
  responseTimeoutSeconds: number;
  workflowInstanceId: string;
  workflowType: string;
  taskId: string;
  reasonForIncompletion?: string;
  callbackAfterSeconds: number;
  workerId?: string;
  outputData: JsonObject;
  workflowTask: JsonObject;
  domain?: string;
  rateLimitPerFrequency: number;
  rateLimitFrequencyInSeconds: number;
  workflowPriority: number;
  iteration: number;
  subWorkflowId?: string;
  subworkflowChanged: boolean;
  firstStartTime: number;
  loopOverTask: boolean;
  queueWaitTime: number;
}>;

/** Conductor calls what a worker does by its name, and a fork by what it becomes. */
export const taskTypeOf = ({ type, taskName }: Pick<TaskView, 'type' | 'taskName'>): string => {
  if (type === 'SIMPLE' || type === 'DYNAMIC') return taskName;
  return type === 'FORK_JOIN' || type === 'FORK_JOIN_DYNAMIC' ? 'FORK' : type;
};

const INNER_QUEUE = '$';

/** A queue is the name of the task, behind its domain where it has one. */
const domainOf = ({ queue, taskName }: Pick<TaskView, 'queue' | 'taskName'>): string | undefined =>
  queue === undefined || queue.startsWith(INNER_QUEUE) || !queue.endsWith(`:${taskName}`)
    ? undefined
    : queue.slice(0, -taskName.length - 1);

const numberIn = (from: JsonValue | undefined, name: string, fallback: number): number => {
  const value = isJsonObject(from) ? from[name] : undefined;
  return typeof value === 'number' ? value : fallback;
};

const objectOf = (value: JsonValue | undefined): JsonObject => (isJsonObject(value) ? value : {});

/** The step a task stands for; one that data brought in is told by what is known of the task. */
const workflowTaskOf = (task: TaskFacts, { pinned }: TaskRun): JsonObject =>
  stepByRef(pinned, task.ref) ?? { name: task.taskName, taskReferenceName: task.ref, type: task.type };

const isEnded = ({ endedAt }: TaskFacts): boolean => endedAt !== undefined;

/** How long an open task is put off. */
const callbackAfter = ({ visibleAt, endedAt }: TaskFacts, updatedAt: Instant): number =>
  visibleAt === undefined || endedAt !== undefined || visibleAt <= updatedAt
    ? 0
    : Math.ceil((visibleAt - updatedAt) / MS_PER_SECOND);

const optionalFields = (task: TaskFacts, run: TaskRun): Partial<TaskBody> => {
  const domain = domainOf(task);
  return {
    ...(run.correlationId !== undefined && { correlationId: run.correlationId }),
    ...(task.retriedTaskId !== undefined && { retriedTaskId: task.retriedTaskId }),
    ...(task.reason !== undefined && { reasonForIncompletion: task.reason }),
    ...(task.workerId !== undefined && { workerId: task.workerId }),
    ...(domain !== undefined && { domain }),
    ...(task.subWorkflowId !== undefined && { subWorkflowId: task.subWorkflowId }),
  };
};

export const taskBodyOf = (task: TaskFacts, run: TaskRun): TaskBody => {
  const { scheduledAt, startedAt, endedAt, iteration, attempt } = task;
  const workflowTask = workflowTaskOf(task, run);
  const { taskDefinition } = workflowTask;
  const updatedAt = task.updatedAt ?? endedAt ?? startedAt ?? scheduledAt;
  return {
    taskType: taskTypeOf(task),
    status: task.status,
    inputData: objectOf(task.input),
    referenceTaskName: keyOf(task),
    retryCount: attempt - 1,
    seq: task.seq ?? 1,
    pollCount: task.pollCount ?? (startedAt === undefined ? 0 : 1),
    taskDefName: task.taskName,
    scheduledTime: scheduledAt,
    startTime: startedAt ?? 0,
    endTime: endedAt ?? 0,
    updateTime: updatedAt,
    startDelayInSeconds: numberIn(workflowTask, 'startDelay', 0),
    retried: task.retried ?? false,
    executed: isEnded(task),
    callbackFromWorker: true,
    responseTimeoutSeconds: task.responseTimeoutSeconds ?? numberIn(taskDefinition, 'responseTimeoutSeconds', 0),
    workflowInstanceId: run.executionId,
    workflowType: run.name,
    taskId: task.taskId,
    callbackAfterSeconds: task.callbackAfterSeconds ?? callbackAfter(task, updatedAt),
    outputData: task.output ?? {},
    workflowTask,
    rateLimitPerFrequency: numberIn(taskDefinition, 'rateLimitPerFrequency', 0),
    rateLimitFrequencyInSeconds: numberIn(taskDefinition, 'rateLimitFrequencyInSeconds', 1),
    workflowPriority: run.priority,
    iteration,
    subworkflowChanged: false,
    firstStartTime: task.firstStartedAt ?? startedAt ?? 0,
    loopOverTask: iteration > 0,
    queueWaitTime: startedAt === undefined ? 0 : Math.max(0, startedAt - scheduledAt),
    ...optionalFields(task, run),
  };
};

type Earlier = Readonly<{ taskId: string; firstStartedAt: Instant | undefined }>;

const NO_ROWS: ReadonlyMap<string, OpenTaskRow> = new Map();

/** What the worker of an open attempt has told of it, and how often it came back to be looked at again. */
const soFar = (task: TaskView, row: OpenTaskRow | undefined): Partial<TaskFacts> => {
  if (row === undefined || task.endedAt !== undefined) return {};
  const { progress, callbacks = 0, callbackSeconds, leased, workerId } = row;
  return {
    ...(isJsonObject(progress) && { output: progress }),
    ...(callbackSeconds !== undefined && {
      callbackAfterSeconds: callbackSeconds,
      pollCount: callbacks + (leased ? 1 : 0),
    }),
    ...(workerId !== undefined && { workerId }),
    ...(row.startedAt !== undefined && { startedAt: row.startedAt }),
  };
};

/** Every attempt of every task of a run, in the order in which they were scheduled. */
export const taskBodiesOf = (
  tasks: readonly TaskView[],
  run: TaskRun,
  live: ReadonlyMap<string, OpenTaskRow> = NO_ROWS,
): readonly TaskBody[] => {
  const before = new Map<string, Earlier>();
  const told = new Set<string>();
  const bodies: TaskBody[] = [];
  for (const task of tasks) {
    // Steps of a case that was not taken have no facts of their own, and Conductor does not tell of them.
    if (task.status === 'SKIPPED' && told.has(task.taskId)) continue;
    told.add(task.taskId);
    const key = keyOf(task);
    const earlier = task.attempt > 1 ? before.get(key) : undefined;
    const firstStartedAt = earlier?.firstStartedAt ?? task.startedAt;
    before.set(key, { taskId: task.taskId, firstStartedAt });
    bodies.push(
      taskBodyOf(
        {
          ...task,
          ...soFar(task, live.get(task.taskId)),
          seq: bodies.length + 1,
          ...(earlier !== undefined && { retriedTaskId: earlier.taskId }),
          ...(firstStartedAt !== undefined && { firstStartedAt }),
        },
        run,
      ),
    );
  }
  return bodies;
};
