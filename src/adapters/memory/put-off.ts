import { addMs, type Namespace, type TaskId } from '../../domain/kernel/brand.ts';
import type { EngineTx, LogLine, OpenLease, PutOff } from '../../ports/engine-store.ts';
import { optional } from './optional.ts';
import type { OpenTask } from './rows.ts';
import type { MemoryState } from './state.ts';

const MS_PER_SECOND = 1_000;

const unsettled = (state: MemoryState, namespace: Namespace, taskId: TaskId): OpenTask | undefined => {
  const row = state.tables.openTasks.get(taskId);
  return row?.namespace === namespace && row.outcome === undefined ? row : undefined;
};

export const openLeaseOf = (state: MemoryState, namespace: Namespace, taskId: TaskId): OpenLease | undefined => {
  const row = unsettled(state, namespace, taskId);
  if (row === undefined) return undefined;
  const { family, queue } = row.task;
  return {
    family,
    queue,
    ...optional('leaseToken', row.lease?.token),
    ...optional('workerId', row.lease?.workerId ?? row.lastWorkerId),
  };
};

const putOff = (
  state: MemoryState,
  namespace: Namespace,
  { taskId, leaseToken, afterSeconds, progress }: PutOff,
): Awaited<ReturnType<EngineTx['putOffTask']>> => {
  const row = unsettled(state, namespace, taskId);
  if (row === undefined || row.task.family === 'system' || row.lease?.token !== leaseToken) return undefined;
  const { lease, callbackSeconds: _before, ...free } = row;
  const isQueued = row.task.family === 'worker';
  const visibleAt = isQueued ? addMs(state.now(), afterSeconds * MS_PER_SECOND) : row.visibleAt;
  state.tables.openTasks.put({
    ...free,
    progress,
    visibleAt,
    ready: false,
    ...(lease !== undefined && { callbacks: (row.callbacks ?? 0) + 1, lastWorkerId: lease.workerId }),
    ...(isQueued && { callbackSeconds: afterSeconds }),
  });
  return { queue: row.task.queue, visibleAt };
};

const wasScheduled = (state: MemoryState, namespace: Namespace, taskId: TaskId): boolean => {
  const row = state.tables.openTasks.get(taskId) ?? state.tables.closedTasks.byTask.first(taskId);
  return row?.namespace === namespace;
};

const appendLines = (state: MemoryState, namespace: Namespace, taskId: TaskId, lines: readonly LogLine[]): boolean => {
  if (!wasScheduled(state, namespace, taskId)) return false;
  for (const { at, line } of lines) state.logs.append(taskId, { id: state.nextOrder(), namespace, at, line });
  return true;
};

/** What is done with attempts that stay open, by their holders and by others. */
export const putOffWrites = (state: MemoryState): Pick<EngineTx, 'putOffTask' | 'appendTaskLogs'> => ({
  putOffTask: async (namespace, request) => putOff(state, namespace, request),
  appendTaskLogs: async (namespace, taskId, lines) => appendLines(state, namespace, taskId, lines),
});
