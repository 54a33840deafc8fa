import type { ExecutionDetail, StartedExecution } from '../../../application/use-cases.ts';
import type { ExecutionView, TaskView } from '../../../domain/execution/view.ts';
import type { OpenTaskRow } from '../../../ports/engine-store.ts';
import type { ExecutionSummary } from '../../../ports/execution-index.ts';
import type {
  ExecutionDetailBody,
  ExecutionStateBody,
  ExecutionSummaryBody,
  StartedExecutionBody,
  TaskBody,
} from '../schemas/executions.ts';
import { parentOf } from './event-wire.ts';
import { isoFields, isoText } from './instant-wire.ts';

export const startedOf = ({ executionId, status, name, version, created }: StartedExecution): StartedExecutionBody => ({
  workflowId: executionId,
  status,
  name,
  version,
  created,
});

export const summaryOf = (summary: ExecutionSummary): ExecutionSummaryBody => ({
  workflowId: summary.executionId,
  name: summary.name,
  version: summary.version,
  status: summary.status,
  ...(summary.correlationId !== undefined && { correlationId: summary.correlationId }),
  ...(summary.idempotencyKey !== undefined && { idempotencyKey: summary.idempotencyKey }),
  priority: summary.priority,
  ...(summary.parentExecutionId !== undefined && { parentWorkflowId: summary.parentExecutionId }),
  startedAt: isoText(summary.startedAt),
  updatedAt: isoText(summary.updatedAt),
  ...isoFields(summary, ['endedAt']),
  ...(summary.reason !== undefined && { reason: summary.reason }),
  ...(summary.failedTask !== undefined && { failedTask: summary.failedTask }),
  ...(summary.awaitingAdmission && { awaitingAdmission: true as const }),
});

/** A task of the history, with the live lease of its open attempt laid over it. */
export const taskOf = (view: TaskView, live?: OpenTaskRow): TaskBody => {
  const { ref, scheduledAt, visibleAt, startedAt, endedAt, fireAt, ...plain } = view;
  return {
    ...plain,
    taskRef: ref,
    scheduledAt: isoText(scheduledAt),
    ...isoFields(view, ['visibleAt', 'startedAt', 'endedAt', 'fireAt']),
    ...(live !== undefined && view.endedAt === undefined && leaseOf(live)),
  };
};

const leaseOf = (live: OpenTaskRow): Partial<TaskBody> => ({
  queue: live.queue,
  ...isoFields(live, ['visibleAt', 'startedAt']),
  ...(live.progress !== undefined && { progress: live.progress }),
  ...(live.leased && {
    status: 'IN_PROGRESS',
    ...(live.workerId !== undefined && { workerId: live.workerId }),
    ...isoFields(live, ['leaseExpiresAt']),
  }),
});

/** A run in wire names; `live` are its open rows, none for a state of the past. */
export const stateOf = (view: ExecutionView, live: readonly OpenTaskRow[] = []): ExecutionStateBody => {
  const { executionId, parent, startedAt, endedAt, lastRetriedAt, tasks, ...plain } = view;
  const liveById = new Map(live.map((row) => [row.taskId, row]));
  return {
    ...plain,
    workflowId: executionId,
    ...(parent !== undefined && { parent: parentOf(parent) }),
    startedAt: isoText(startedAt),
    ...isoFields(view, ['endedAt', 'lastRetriedAt']),
    tasks: tasks.map((task) => taskOf(task, liveById.get(task.taskId))),
  };
};

export const detailOf = ({ row, view, live, waitingFor }: ExecutionDetail): ExecutionDetailBody => ({
  ...stateOf(view, live),
  updatedAt: isoText(row.updatedAt),
  ...(row.idempotencyKey !== undefined && { idempotencyKey: row.idempotencyKey }),
  waitingFor: waitingFor.map(({ ref, ...rest }) => ({ taskRef: ref, ...rest })),
  ...(row.parked !== undefined && { parked: { ...row.parked, retryAt: isoText(row.parked.retryAt) } }),
});
