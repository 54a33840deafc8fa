import type { Namespace } from '../../domain/kernel/brand.ts';
import type { EngineTx } from '../../ports/engine-store.ts';
import type { InternalEvent, OutboxIndex } from '../../ports/outbox-index.ts';
import { inNamespace } from './rows.ts';
import type { MemoryState } from './state.ts';

/** What was sent to the internal sink, of each name the newest. */
export const internalEventWrites = (state: MemoryState): Pick<EngineTx, 'recordInternalEvent'> => ({
  recordInternalEvent: async (event, keepMax) => {
    const { internalEvents: table } = state.tables;
    table.put({ ...event, order: state.nextOrder(), recordedAt: state.now() });
    const ofSink = [...table.bySink.in(inNamespace(event.namespace, event.sink))];
    for (const { order } of ofSink.slice(keepMax)) table.delete(String(order));
  },
});

export const internalEvents = (
  state: MemoryState,
  namespace: Namespace,
  sink: string,
  { limit, before }: Parameters<OutboxIndex['internalEvents']>[2],
): readonly InternalEvent[] =>
  [...state.tables.internalEvents.bySink.in(inNamespace(namespace, sink))]
    .filter(({ order }) => before === undefined || order < Number(before))
    .slice(0, limit)
    .map(({ order, namespace: _, ...event }) => ({ id: String(order), ...event }));
