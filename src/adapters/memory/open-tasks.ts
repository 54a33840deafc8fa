import type { ExecutionId, Instant, Namespace } from '../../domain/kernel/brand.ts';
import type { CloseTask, EngineTx, EnqueueTask, Owed } from '../../ports/engine-store.ts';
import { optional } from './optional.ts';
import { reportOn } from './reports.ts';
import { attemptKey, type ClosedTask, inNamespace, type OpenTask, timerKey } from './rows.ts';
import type { MemoryState } from './state.ts';

/** Whether the attempt was ever opened: its identity is taken for good, open or closed (promise 6). */
export const isKnownAttempt = (state: MemoryState, { executionId, item }: Owed<EnqueueTask>): boolean => {
  const key = attemptKey(executionId, item);
  return state.tables.openTasks.byAttempt.first(key) !== undefined || state.tables.closedTasks.has(key);
};

/** The queue that a task stands in, at its priority: within it turns are taken. */
export const turnLine = (namespace: Namespace, { family, queue, priority }: EnqueueTask): string =>
  `${family === 'system' ? '' : namespace}/${queue}/${priority}`;

const turnOf = (state: MemoryState, { namespace, executionId, item }: Owed<EnqueueTask>): number =>
  item.family === 'waiting'
    ? 0
    : state.turns.turnOf({
        line: turnLine(namespace, item),
        flow: item.family === 'system' ? namespace : item.workflowName,
        run: executionId,
        scheduledAt: item.scheduledAt,
      });

/** In a queue with nothing in it nobody stands in line. */
const noteEmpty = (state: MemoryState, { namespace, item }: Owed<EnqueueTask>): void => {
  const { ready, readySystem, delayed } = state.tables.openTasks;
  const head =
    item.family === 'system' ? readySystem.first(item.queue) : ready.first(inNamespace(namespace, item.queue));
  const now = state.now();
  if (head !== undefined || (delayed.first(item.queue)?.visibleAt ?? now + 1) <= now) return;
  state.turns.empty(turnLine(namespace, item));
};

const enqueue = (state: MemoryState, owed: Owed<EnqueueTask>): void => {
  const { namespace, executionId, item } = owed;
  noteEmpty(state, owed);
  state.tables.openTasks.put({
    executionId,
    namespace,
    task: item,
    turn: turnOf(state, owed),
    order: state.nextOrder(),
    visibleAt: item.visibleAt,
    ready: false,
  });
};

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
