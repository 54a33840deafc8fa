import type { TaskStatus } from '../../domain/execution/statuses.ts';
import { type ExecutionId, type Instant, type Namespace, parseTaskId, type TaskId } from '../../domain/kernel/brand.ts';
import type { ExecutionIndex, FoundTasks, TaskFilter } from '../../ports/execution-index.ts';
import type { MemoryState } from './state.ts';

type Attempt = Readonly<{
  taskId: TaskId;
  executionId: ExecutionId;
  taskType: string;
  taskName: string;
  status: TaskStatus;
  scheduledAt: Instant;
  startedAt: Instant | undefined;
  endedAt: Instant | undefined;
}>;

const open = (state: MemoryState, namespace: Namespace): readonly Attempt[] =>
  [...state.tables.openTasks.values()]
    .filter((row) => row.namespace === namespace)
    .map(({ executionId, task, lease, startedAt }) => ({
      taskId: task.taskId,
      executionId,
      taskType: task.taskType,
      taskName: task.taskName,
      status: lease !== undefined || task.family === 'waiting' ? 'IN_PROGRESS' : 'SCHEDULED',
      scheduledAt: task.scheduledAt,
      startedAt,
      endedAt: undefined,
    }));

const closed = (state: MemoryState, namespace: Namespace): readonly Attempt[] =>
  [...state.tables.closedTasks.values()]
    .filter((row) => row.namespace === namespace)
    .map(({ executionId, closed: { taskId, taskType, taskName, status, scheduledAt, startedAt, endedAt } }) => ({
      taskId,
      executionId,
      taskType,
      taskName,
      status,
      scheduledAt,
      startedAt,
      endedAt,
    }));

const isIn = <T>(values: readonly T[] | undefined, value: T | undefined): boolean =>
  values === undefined || (value !== undefined && values.includes(value));

const isBetween = (at: Instant | undefined, from: Instant | undefined, to: Instant | undefined): boolean =>
  (from === undefined || (at !== undefined && at >= from)) && (to === undefined || (at !== undefined && at < to));

const typeOf = ({ taskType, taskName }: Attempt): string =>
  taskType === 'SIMPLE' || taskType === 'DYNAMIC' ? taskName : taskType;

const fits = (state: MemoryState, filter: TaskFilter, attempt: Attempt): boolean => {
  const run = state.tables.executions.get(attempt.executionId);
  return (
    isIn(filter.executionIds, attempt.executionId) &&
    isIn(filter.taskIds, attempt.taskId) &&
    isIn(filter.workflowNames, run?.name) &&
    isIn(filter.correlationIds, run?.correlationId) &&
    isIn(filter.taskNames, attempt.taskName) &&
    isIn(filter.types, typeOf(attempt)) &&
    isIn(filter.statuses, attempt.status) &&
    isBetween(attempt.scheduledAt, filter.scheduledAfter, filter.scheduledBefore) &&
    isBetween(attempt.startedAt, filter.startedAfter, filter.startedBefore) &&
    isBetween(attempt.endedAt, filter.endedAfter, filter.endedBefore)
  );
};

const seqOf = ({ taskId }: Attempt): number => parseTaskId(taskId)?.scheduledSeq ?? 0;

const newestFirst = (a: Attempt, b: Attempt): number =>
  a.executionId === b.executionId ? seqOf(b) - seqOf(a) : a.executionId < b.executionId ? 1 : -1;

export const searchTasks = (
  state: MemoryState,
  namespace: Namespace,
  filter: TaskFilter,
  { offset, limit, countMax }: Parameters<ExecutionIndex['searchTasks']>[2],
): FoundTasks => {
  const found = [...open(state, namespace), ...closed(state, namespace)]
    .filter((attempt) => fits(state, filter, attempt))
    .sort(newestFirst);
  return {
    taskIds: found.slice(offset, offset + limit).map(({ taskId }) => taskId),
    total: Math.min(found.length, countMax),
  };
};
