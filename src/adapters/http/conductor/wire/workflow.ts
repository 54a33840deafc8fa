import type { ExecutionDetail } from '../../../../application/use-cases.ts';
import { keyOf } from '../../../../domain/execution/task-key.ts';
import type { TaskView } from '../../../../domain/execution/view.ts';
import type { JsonObject } from '../../../../domain/kernel/json.ts';
import type { OpenTaskRow } from '../../../../ports/engine-store.ts';
import { pinnedWireOf } from './pinned.ts';
import { type TaskBody, type TaskRun, taskBodiesOf } from './task.ts';

/** Conductor's Workflow. Instants are milliseconds since the epoch, 0 for what has not happened. */
export type WorkflowBody = Readonly<{
  createTime: number;
  createdBy?: string;
  updateTime: number;
  status: string;
  startTime: number;
  endTime: number;
  workflowId: string;
  parentWorkflowId?: string;
  parentWorkflowTaskId?: string;
  tasks: readonly TaskBody[];
  input: JsonObject;
  output: JsonObject;
  correlationId?: string;
  reRunFromWorkflowId?: string;
  reasonForIncompletion?: string;
  taskToDomain: Readonly<Record<string, string>>;
  failedReferenceTaskNames: readonly string[];
  failedTaskNames: readonly string[];
  workflowDefinition: JsonObject;
  priority: number;
  variables: JsonObject;
  lastRetriedTime: number;
  history: readonly JsonObject[];
  idempotencyKey?: string;
  rateLimited: boolean;
  workflowName: string;
  workflowVersion: number;
}>;

const UNSUCCESSFUL: ReadonlySet<string> = new Set(['FAILED', 'FAILED_WITH_TERMINAL_ERROR', 'TIMED_OUT']);

const failedOf = (tasks: readonly TaskView[], nameOf: (task: TaskView) => string): readonly string[] => [
  ...new Set(tasks.filter(({ status }) => UNSUCCESSFUL.has(status)).map(nameOf)),
];

/** What Conductor repeats of a run in each of its tasks. */
export const taskRunOf = ({ view, plan }: ExecutionDetail): TaskRun => ({
  executionId: view.executionId,
  name: view.name,
  version: view.version,
  priority: view.priority,
  ...(view.correlationId !== undefined && { correlationId: view.correlationId }),
  pinned: pinnedWireOf(plan),
});

/** The open attempts of a run, by their ids. */
export const liveRowsOf = ({ live }: ExecutionDetail) =>
  new Map<string, OpenTaskRow>(live.map((row) => [row.taskId, row]));

const optionalFields = ({ view, row }: ExecutionDetail): Partial<WorkflowBody> => ({
  ...(view.createdBy !== undefined && { createdBy: view.createdBy }),
  ...(view.parent !== undefined && {
    parentWorkflowId: view.parent.executionId,
    parentWorkflowTaskId: view.parent.taskId,
  }),
  ...(view.correlationId !== undefined && { correlationId: view.correlationId }),
  ...(view.copyOf !== undefined && { reRunFromWorkflowId: view.copyOf }),
  ...(view.reason !== undefined && { reasonForIncompletion: view.reason }),
  ...(row.idempotencyKey !== undefined && { idempotencyKey: row.idempotencyKey }),
});

export const workflowBodyOf = (detail: ExecutionDetail, includeTasks = true): WorkflowBody => {
  const { view, row } = detail;
  const run = taskRunOf(detail);
  return {
    createTime: view.startedAt,
    updateTime: row.updatedAt,
    status: view.status,
    startTime: view.startedAt,
    endTime: view.endedAt ?? 0,
    workflowId: view.executionId,
    tasks: includeTasks ? taskBodiesOf(view.tasks, run, liveRowsOf(detail)) : [],
    input: view.input,
    output: view.output ?? {},
    taskToDomain: view.taskToDomain ?? {},
    failedReferenceTaskNames: failedOf(view.tasks, keyOf),
    failedTaskNames: failedOf(view.tasks, ({ taskName }) => taskName),
    workflowDefinition: run.pinned.workflowDefinition,
    priority: view.priority,
    variables: view.variables,
    lastRetriedTime: view.lastRetriedAt ?? 0,
    history: [],
    rateLimited: view.awaitingAdmission ?? false,
    workflowName: view.name,
    workflowVersion: view.version,
    ...optionalFields(detail),
  };
};
