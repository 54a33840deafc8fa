import type { SequencedEvent } from '../domain/execution/events.ts';
import { projectView } from '../domain/execution/project-view.ts';
import { keyOf } from '../domain/execution/task-key.ts';
import type { ExecutionView, TaskView } from '../domain/execution/view.ts';
import type { ExecutionId } from '../domain/kernel/brand.ts';
import type { JsonObject, JsonValue } from '../domain/kernel/json.ts';
import { jsonBytes } from '../domain/kernel/json-depth.ts';

/** Largest account of a failed run that its failure workflow is given, about; all of it counts but what names the run. */
export const FAILED_WORKFLOW_BYTES_MAX = 1_048_576;
/** Larger inputs and outputs, of the run or of one task, are left out of it. */
export const FAILED_PAYLOAD_BYTES_MAX = 65_536;

type Payloads = Readonly<Record<string, JsonValue | undefined>>;

/** Payloads that fit; the names of those that do not stand beside what is left. */
const fitting = (payloads: Payloads): JsonObject => {
  const kept: Record<string, JsonValue> = {};
  const truncated: string[] = [];
  for (const [name, value] of Object.entries(payloads)) {
    const fits = value === undefined || jsonBytes(value) <= FAILED_PAYLOAD_BYTES_MAX;
    kept[name] = fits ? (value ?? {}) : {};
    if (!fits) truncated.push(name);
  }
  return truncated.length === 0 ? kept : { ...kept, truncated };
};

const taskModel = (view: ExecutionView, task: TaskView): JsonObject => ({
  taskId: task.taskId,
  taskType: task.type,
  taskDefName: task.taskName,
  referenceTaskName: keyOf(task),
  iteration: task.iteration,
  status: task.status,
  retryCount: task.attempt - 1,
  retried: task.retried,
  workflowInstanceId: view.executionId,
  workflowType: view.name,
  scheduledTime: task.scheduledAt,
  startTime: task.startedAt ?? 0,
  endTime: task.endedAt ?? 0,
  workerId: task.workerId ?? null,
  reasonForIncompletion: task.reason ?? null,
  ...fitting({ inputData: task.input, outputData: task.output }),
});

/** The tasks that ran last, as many as the budget holds, in the order of history. */
const lastTasks = (view: ExecutionView, bytesMax: number): readonly JsonObject[] => {
  const models: JsonObject[] = [];
  let bytes = 0;
  for (const task of [...view.tasks].reverse()) {
    const model = taskModel(view, task);
    bytes += jsonBytes(model);
    if (bytes > bytesMax) break;
    models.unshift(model);
  }
  return models;
};

const FAILURES: ReadonlySet<string> = new Set(['FAILED', 'FAILED_WITH_TERMINAL_ERROR', 'TIMED_OUT']);

/**
 * A run as Conductor's model tells it, from its log up to the end that is told of. Bounded: payloads above 64 KiB are left
 * out and named in `truncated`, tasks beyond 1 MiB are left out from the oldest on and counted in `tasksLeftOut`.
 */
export const failedWorkflowOf = (executionId: ExecutionId, log: readonly SequencedEvent[]): JsonObject => {
  const view = projectView(executionId, log);
  const { input, output, variables } = view;
  const whole = {
    workflowId: executionId,
    workflowName: view.name,
    workflowType: view.name,
    workflowVersion: view.version,
    version: view.version,
    status: view.status,
    reasonForIncompletion: view.reason ?? null,
    correlationId: view.correlationId ?? null,
    parentWorkflowId: view.parent?.executionId ?? null,
    priority: view.priority,
    startTime: view.startedAt,
    endTime: view.endedAt ?? 0,
    failedReferenceTaskNames: view.failedTask === undefined ? [] : [view.failedTask],
    failedTaskNames: [
      ...new Set(view.tasks.filter(({ status }) => FAILURES.has(status)).map((one) => one.taskName)),
    ].slice(0, 100),
    ...fitting({ input, output, variables }),
  };
  const tasks = lastTasks(view, FAILED_WORKFLOW_BYTES_MAX - jsonBytes(whole));
  return { ...whole, tasks, tasksLeftOut: view.tasks.length - tasks.length };
};
