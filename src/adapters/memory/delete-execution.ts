import type { ExecutionId } from '../../domain/kernel/brand.ts';
import { type EngineTx, workflowKey } from '../../ports/engine-store.ts';
import { attemptKey, inNamespace } from './rows.ts';
import type { MemoryState } from './state.ts';

const freeKey = ({ tables }: MemoryState, executionId: ExecutionId): void => {
  const row = tables.executions.get(executionId);
  if (row?.idempotencyKey === undefined) return;
  for (const key of [row.idempotencyKey, workflowKey(row.name, row.idempotencyKey)]) {
    const held = inNamespace(row.namespace, key);
    if (tables.idempotencyKeys.get(held)?.executionId === executionId) tables.idempotencyKeys.delete(held);
  }
};

/** The removal of a run that has ended, with all that is known of it. */
export const deleteWrites = (state: MemoryState): Pick<EngineTx, 'deleteExecution'> => ({
  deleteExecution: async (executionId) => {
    const { tables, events, logs } = state;
    if (tables.outbox.byRun.first(executionId) !== undefined) return 'undelivered';
    freeKey(state, executionId);
    for (const { closed } of [...tables.closedTasks.byRun.in(executionId)]) {
      logs.drop(closed.taskId);
      tables.closedTasks.delete(attemptKey(executionId, closed));
    }
    for (const { message } of [...tables.outbox.values()]) {
      if (message.executionId === executionId) tables.outbox.delete(message.id);
    }
    events.drop(executionId);
    tables.executions.delete(executionId);
    return 'deleted';
  },
});
