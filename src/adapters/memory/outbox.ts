import { addMs, type Instant } from '../../domain/kernel/brand.ts';
import type { DeliveryFailure, EngineTx, Owed, PublishMessage } from '../../ports/engine-store.ts';
import { inNamespace, type OutboxRow } from './rows.ts';
import type { MemoryState } from './state.ts';
import { ALL, dedupKeyOf } from './tables.ts';

/** The oldest message of each ordering key: while it waits to be tried again, its followers wait with it. */
export const deliveryHeads = (state: MemoryState): readonly OutboxRow[] => {
  const heads = new Map<string, OutboxRow>();
  for (const row of state.tables.outbox.deliverable.in(ALL)) {
    const key = inNamespace(row.message.namespace, row.message.orderingKey);
    if (!heads.has(key)) heads.set(key, row);
  }
  return [...heads.values()];
};

const putMessage = (state: MemoryState, { namespace, executionId, item }: Owed<PublishMessage>): void => {
  const { topic, dedupKey, orderingKey, payload, visibleAt } = item;
  if (state.tables.outbox.byDedup.first(dedupKeyOf({ executionId, dedupKey })) !== undefined) return;
  const order = state.nextOrder();
  state.tables.outbox.put({
    message: { id: String(order), namespace, executionId, topic, dedupKey, orderingKey, payload, attempts: 0 },
    order,
    nextAttemptAt: Math.max(visibleAt ?? 0, state.now()) as Instant,
    createdAt: state.now(),
    dead: false,
  });
};

const markFailed = (state: MemoryState, { id, reason, retryAfterMs, dead }: DeliveryFailure): void => {
  const row = state.tables.outbox.get(id);
  if (row === undefined) return;
  state.tables.outbox.put({
    ...row,
    message: { ...row.message, attempts: row.message.attempts + 1 },
    nextAttemptAt: addMs(state.now(), retryAfterMs),
    dead,
    ...(dead ? { deadAt: state.now() } : {}),
    lastFailure: reason,
  });
};

/** What leaves the engine: at least once, in order per key; a dead letter is kept but no longer stands in the way. */
export const outboxWrites = (
  state: MemoryState,
): Pick<EngineTx, 'putMessages' | 'claimMessages' | 'markDelivered' | 'markFailed'> => ({
  putMessages: async (messages) => {
    for (const message of messages) putMessage(state, message);
  },
  claimMessages: async (limit, holdMs) => {
    const now = state.now();
    const due = deliveryHeads(state).filter((row) => row.nextAttemptAt <= now);
    const longest = due.toSorted((a, b) => a.nextAttemptAt - b.nextAttemptAt || a.order - b.order);
    const claimed = longest.slice(0, limit).toSorted((a, b) => a.order - b.order);
    for (const row of claimed) state.tables.outbox.put({ ...row, nextAttemptAt: addMs(now, holdMs) });
    return claimed.map((row) => row.message);
  },
  markDelivered: async (ids) => {
    let found = 0;
    for (const id of ids) if (state.tables.outbox.delete(id) !== undefined) found += 1;
    return found;
  },
  markFailed: async (failures) => {
    for (const failure of failures) markFailed(state, failure);
  },
});
