import { isJsonObject } from '../domain/kernel/json.ts';
import { type InternalHandler, nothingMore } from './message-handler.ts';

/** Events kept of one name of the internal sink of a namespace; the oldest go. */
export const INTERNAL_EVENTS_KEPT_MAX = 1_000;

/** Keeps what was sent to `conductor:…` and `internal:…`, to be read, and for handlers of events to come. */
export const internalSinkHandler: InternalHandler = {
  kind: 'internal',
  handle: async (tx, { namespace, executionId, payload: message }) => {
    const { messageId, sink, payload } = message;
    if (typeof messageId !== 'string' || typeof sink !== 'string' || !isJsonObject(payload)) {
      throw new Error('the message is no event');
    }
    await tx.recordInternalEvent({ namespace, executionId, sink, messageId, payload }, INTERNAL_EVENTS_KEPT_MAX);
    return nothingMore;
  },
};
