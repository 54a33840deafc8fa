import type { Instant, Namespace } from '../../domain/kernel/brand.ts';
import type { QueueDepth } from '../../ports/execution-index.ts';
import { optional } from './optional.ts';
import { inNamespace, type OpenTask } from './rows.ts';
import type { MemoryState } from './state.ts';

type Stage = 'ready' | 'leased' | 'delayed';

const stageOf = (row: OpenTask, now: Instant): Stage => {
  if (row.lease !== undefined) return 'leased';
  return row.visibleAt <= now ? 'ready' : 'delayed';
};

const depthOf = (state: MemoryState, namespace: Namespace, queue: string, rows: readonly OpenTask[]): QueueDepth => {
  const now = state.now();
  const ready = rows.filter((row) => stageOf(row, now) === 'ready');
  const oldest = ready.reduce((least, row) => Math.min(least, row.visibleAt), Number.POSITIVE_INFINITY);
  const taskName = rows[0]?.task.taskName ?? queue;
  const limit = state.taskDefinitions.get(inNamespace(namespace, taskName))?.definition.concurrentExecLimit;
  return {
    queue,
    ready: ready.length,
    leased: rows.filter((row) => stageOf(row, now) === 'leased').length,
    delayed: rows.filter((row) => stageOf(row, now) === 'delayed').length,
    ...optional('oldestReadyAgeMs', ready.length === 0 ? undefined : now - oldest),
    ...optional('concurrentExecLimit', limit === 0 ? undefined : limit),
  };
};

/** Each queue of the namespace that holds work for a worker or the server, by name. */
export const queueDepths = (state: MemoryState, namespace: Namespace): readonly QueueDepth[] => {
  const byQueue = Map.groupBy(state.tables.openTasks.queued.in(namespace), (row) => row.task.queue);
  return [...byQueue]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([queue, rows]) => depthOf(state, namespace, queue, rows));
};
