import type { Namespace } from '../../domain/kernel/brand.ts';
import type { EngineTx } from '../../ports/engine-store.ts';
import type { DeadLetter, OutboxIndex } from '../../ports/outbox-index.ts';
import type { OutboxRow } from './rows.ts';
import type { MemoryState } from './state.ts';

const letterOf = ({ message, createdAt, deadAt, lastFailure }: OutboxRow): DeadLetter => ({
  id: message.id,
  executionId: message.executionId,
  topic: message.topic,
  orderingKey: message.orderingKey,
  payload: message.payload,
  attempts: message.attempts,
  createdAt,
  deadAt: deadAt ?? createdAt,
  lastFailure: lastFailure ?? '',
});

export const deadLetters = (
  state: MemoryState,
  namespace: Namespace,
  { limit, after = '0' }: Parameters<OutboxIndex['deadLetters']>[1],
): readonly DeadLetter[] =>
  [...state.tables.outbox.dead.in(namespace)]
    .filter(({ order }) => order > Number(after))
    .slice(0, limit)
    .map(letterOf);

const deadOf = (state: MemoryState, namespace: Namespace, ids: readonly string[]): readonly OutboxRow[] =>
  ids
    .map((id) => state.tables.outbox.get(id))
    .filter((row) => row !== undefined)
    .filter((row) => row.dead && row.message.namespace === namespace);

/** What people do with messages that were given up. A redriven one keeps its place: its order is its id. */
export const deadLetterWrites = (state: MemoryState): Pick<EngineTx, 'redriveDeadLetters' | 'deleteDeadLetters'> => ({
  redriveDeadLetters: async (namespace, ids) => {
    const chosen = deadOf(state, namespace, ids);
    for (const { deadAt: _, ...row } of chosen) {
      const message = { ...row.message, attempts: 0 };
      state.tables.outbox.put({ ...row, message, dead: false, nextAttemptAt: state.now() });
    }
    return chosen.length;
  },
  deleteDeadLetters: async (namespace, ids) => {
    const chosen = deadOf(state, namespace, ids);
    for (const { message } of chosen) state.tables.outbox.delete(message.id);
    return chosen.length;
  },
});
