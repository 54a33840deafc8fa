import type { Namespace } from '../../domain/kernel/brand.ts';
import type {
  EventDedupe,
  EventHandlerRun,
  EventHandlerStore,
  EventHandlerTx,
  NewEventHandlerRun,
} from '../../ports/event-handler-store.ts';
import { inNamespace, type StoredHandlerRun } from './rows.ts';
import type { Serializer } from './serializer.ts';
import type { MemoryState } from './state.ts';

export const dedupeKeyOf = ({ namespace, handler, dedupeId }: EventDedupe): string =>
  JSON.stringify([namespace, handler, dedupeId]);
export const handlerRunKeyOf = ({ namespace, handler, messageId }: NewEventHandlerRun): string =>
  JSON.stringify([namespace, handler, messageId]);

/** What is done about events, in the transaction of a message. */
export const eventHandlerWrites = (state: MemoryState): EventHandlerTx => {
  const { eventHandlers, eventHandlerRuns, eventDedupes } = state.tables;
  return {
    handlersOf: async (namespace, event) =>
      [...eventHandlers.byName.in(namespace)]
        .map(({ handler }) => handler)
        .filter((handler) => handler.event === event && handler.active),
    findHandler: async (namespace, name) => eventHandlers.get(inNamespace(namespace, name))?.handler,
    claimEventDedupe: async (dedupe, keptMs) => {
      const seen = eventDedupes.get(dedupeKeyOf(dedupe));
      if (seen !== undefined && seen.seenAt >= state.now() - keptMs) return false;
      eventDedupes.put({ ...dedupe, seenAt: state.now() });
      return true;
    },
    recordEventHandlerRun: async (run, keepMax) => {
      const order = eventHandlerRuns.get(handlerRunKeyOf(run))?.order ?? state.nextOrder();
      eventHandlerRuns.put({ ...run, order, recordedAt: state.now() });
      const ofHandler = [...eventHandlerRuns.byHandler.in(inNamespace(run.namespace, run.handler))];
      for (const beyond of ofHandler.slice(keepMax)) eventHandlerRuns.delete(handlerRunKeyOf(beyond));
    },
  };
};

const runOf = ({ order, ...run }: StoredHandlerRun): EventHandlerRun => ({ ...run, id: String(order) });

const runsOf = ({ tables }: MemoryState, namespace: Namespace, handler: string | undefined) =>
  handler === undefined
    ? tables.eventHandlerRuns.byNamespace.in(namespace)
    : tables.eventHandlerRuns.byHandler.in(inNamespace(namespace, handler));

/** Handlers of events in memory; each write is a transaction of its own. */
export const createEventHandlerStore = (state: MemoryState, serializer: Serializer): EventHandlerStore => {
  const { eventHandlers, eventHandlerRuns } = state.tables;
  const committed = <T>(work: () => T): Promise<T> =>
    serializer.transaction(async () => {
      const result = work();
      state.journal.commit();
      return result;
    });
  return {
    putHandler: (row) =>
      committed(() => {
        const present = eventHandlers.get(inNamespace(row.namespace, row.handler.name));
        const { createdAt, createdBy } = present ?? row;
        const stored = { ...row, createdAt, createdBy };
        eventHandlers.put(stored);
        return { outcome: present === undefined ? 'created' : 'replaced', row: stored };
      }),
    findHandlerRow: (namespace, name) => serializer.read(() => eventHandlers.get(inNamespace(namespace, name))),
    listHandlers: (namespace, { event, active }, { limit, after = '' }) =>
      serializer.read(() =>
        [...eventHandlers.byName.in(namespace)]
          .filter(({ handler }) => handler.name > after)
          .filter(({ handler }) => handler.event === (event ?? handler.event))
          .filter(({ handler }) => handler.active === (active ?? handler.active))
          .slice(0, limit),
      ),
    deleteHandler: (namespace, name) =>
      committed(() => {
        const runs = [...eventHandlerRuns.byHandler.in(inNamespace(namespace, name))];
        for (const run of runs) eventHandlerRuns.delete(handlerRunKeyOf(run));
        return eventHandlers.delete(inNamespace(namespace, name)) !== undefined;
      }),
    listHandlerRuns: (namespace, handler, { limit, before }) =>
      serializer.read(() =>
        [...runsOf(state, namespace, handler)]
          .filter(({ order }) => before === undefined || order < Number(before))
          .slice(0, limit)
          .map(runOf),
      ),
  };
};
