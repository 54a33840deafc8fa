import type { EngineStore } from '../../ports/engine-store.ts';
import { inNamespace, type OpenTask } from './rows.ts';
import type { MemoryState } from './state.ts';

const limitOf = (state: MemoryState, row: OpenTask): number =>
  state.taskDefinitions.get(inNamespace(row.namespace, row.task.taskName))?.definition.concurrentExecLimit ?? 0;

/** Whether a lease of this task has to look at a limit. */
export const isLimited = (state: MemoryState, row: OpenTask): boolean => limitOf(state, row) > 0;

/** Whether the limit of the task definition lets one more task of this name be leased. */
export const hasRoom = (state: MemoryState, row: OpenTask): boolean => {
  const name = inNamespace(row.namespace, row.task.taskName);
  const limit = limitOf(state, row);
  return limit === 0 || state.tables.openTasks.leasedByName.count(name) < limit;
};

/** The candidates that hold a task which could be leased now. */
export const readyQueues = (
  state: MemoryState,
  candidates: Parameters<EngineStore['readyQueues']>[0],
): Awaited<ReturnType<EngineStore['readyQueues']>> => {
  const { ready, delayed } = state.tables.openTasks;
  const now = state.now();
  return candidates.filter(({ namespace, queue }) => {
    for (const row of ready.in(inNamespace(namespace, queue))) if (hasRoom(state, row)) return true;
    for (const row of delayed.in(queue)) {
      if (row.visibleAt > now) return false;
      if (row.namespace === namespace && row.task.family === 'worker' && hasRoom(state, row)) return true;
    }
    return false;
  });
};
