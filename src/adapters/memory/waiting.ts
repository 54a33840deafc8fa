import type { Namespace, TaskId } from '../../domain/kernel/brand.ts';
import type { EngineTx, WaitingOutcome } from '../../ports/engine-store.ts';
import { optional } from './optional.ts';
import { setOutcome } from './outcomes.ts';
import type { OpenTask } from './rows.ts';
import type { MemoryState } from './state.ts';

const openAttempt = (state: MemoryState, namespace: Namespace, taskId: TaskId): OpenTask | undefined => {
  const row = state.tables.openTasks.get(taskId);
  return row?.namespace === namespace && row.outcome === undefined ? row : undefined;
};

const settle = (state: MemoryState, row: OpenTask, { status, output, reason, by }: WaitingOutcome): void =>
  setOutcome(state, row, { status, output, ...optional('reason', reason), ...optional('workerId', by) });

/** What ends waiting attempts from outside of the queue. */
export const waitingWrites = (state: MemoryState): Pick<EngineTx, 'settleWaiting' | 'holdAttempt'> => ({
  settleWaiting: async (namespace, outcomes) => {
    const settled = new Set<TaskId>();
    for (const outcome of outcomes) {
      const row = openAttempt(state, namespace, outcome.taskId);
      if (row?.task.family !== 'waiting') continue;
      settle(state, row, outcome);
      settled.add(outcome.taskId);
    }
    return settled;
  },
  holdAttempt: async (namespace, taskId) => openAttempt(state, namespace, taskId) !== undefined,
});
