import type { ExecutionId, Instant } from '../../domain/kernel/brand.ts';
import type { CloseTask, EngineTx, EnqueueTask, Owed } from '../../ports/engine-store.ts';
import { optional } from './optional.ts';
import { reportOn } from './reports.ts';
import { attemptKey, type ClosedTask, type OpenTask, timerKey } from './rows.ts';
import type { MemoryState } from './state.ts';

/** Whether the attempt was ever opened: its identity is taken for good, open or closed (promise 6). */
export const isKnownAttempt = (state: MemoryState, { executionId, item }: Owed<EnqueueTask>): boolean => {
  const key = attemptKey(executionId, item);
  return state.tables.openTasks.byAttempt.first(key) !== undefined || state.tables.closedTasks.has(key);
};

const enqueue = (state: MemoryState, { namespace, executionId, item }: Owed<EnqueueTask>): void =>
  state.tables.openTasks.put({
    executionId,
    namespace,
    task: item,
    order: state.nextOrder(),
    visibleAt: item.visibleAt,
    ready: false,
  });

const canceled = ({ task, startedAt, lease }: OpenTask, at: Instant): Omit<CloseTask, 'type'> => ({
  ref: task.ref,
  iteration: task.iteration,
  attempt: task.attempt,
  taskId: task.taskId,
  taskType: task.taskType,
  taskName: task.taskName,
  scheduledAt: task.scheduledAt,
  status: 'CANCELED',
  endedAt: at,
  ...optional('startedAt', startedAt),
  ...optional('workerId', lease?.workerId),
});

/** The attempt leaves the queue and is on record as closed. */
export const recordClosed = (state: MemoryState, closed: ClosedTask): void => {
  state.tables.openTasks.delete(closed.closed.taskId);
  state.tables.closedTasks.put(closed);
};

const cancelRun = (state: MemoryState, executionId: ExecutionId, at: Instant): void => {
  const { openTasks, timers } = state.tables;
  for (const row of [...openTasks.byRun.in(executionId)]) {
    recordClosed(state, { executionId, namespace: row.namespace, closed: canceled(row, at) });
  }
  for (const timer of [...timers.byRun.in(executionId)]) timers.delete(timerKey(timer));
};

/** Attempts as the pass opens and closes them. */
export const openTaskWrites = (
  state: MemoryState,
): Pick<EngineTx, 'enqueueTasks' | 'closeTasks' | 'cancelOpenWork' | 'openTaskIds'> => ({
  enqueueTasks: async (tasks) => {
    const absorbed = new Set<ExecutionId>();
    for (const owed of tasks) {
      if (isKnownAttempt(state, owed)) absorbed.add(owed.executionId);
      else enqueue(state, owed);
    }
    return absorbed;
  },
  closeTasks: async (tasks) => {
    for (const { executionId, namespace, item } of tasks) {
      const open = state.tables.openTasks.get(item.taskId);
      const report = open && reportOn(open);
      recordClosed(state, { executionId, namespace, closed: item, ...optional('report', report) });
    }
  },
  cancelOpenWork: async (ended) => {
    for (const { executionId, at } of ended) cancelRun(state, executionId, at);
  },
  openTaskIds: async (executionId) => [...state.tables.openTasks.byRun.in(executionId)].map((row) => row.task.taskId),
});
