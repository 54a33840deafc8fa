import { z } from 'zod';
import type { Namespace } from '../domain/kernel/brand.ts';
import { err, ok } from '../domain/kernel/result.ts';
import type { EngineStore } from '../ports/engine-store.ts';
import type { OutboxIndex } from '../ports/outbox-index.ts';
import type { WakeSignal } from '../ports/wake-signal.ts';
import { decodeCursor, encodeCursor } from './cursor.ts';
import type { Page, UseCases } from './use-cases.ts';

/** Ids are the bigints of the store, as text. */
const ID = /^\d{1,18}$/;
const idCursor = z.string().regex(ID);

const paged = <T extends { id: string }>(scope: string, found: readonly T[], limit: number): Page<T> => {
  const items = found.slice(0, limit);
  const last = items.at(-1);
  return found.length <= limit || last === undefined ? { items } : { items, nextCursor: encodeCursor(scope, last.id) };
};

const noLetter = (id: string) => err({ code: 'NOT_FOUND', message: `There is no dead letter ${id}.` } as const);

/** What is done with messages after they left their runs. */
export const createOutboxUseCases = (engine: EngineStore, index: OutboxIndex, wake: WakeSignal): UseCases['outbox'] => {
  /** Of an id that no store could have given, nothing is asked. */
  const touch = async (namespace: Namespace, id: string, method: 'redriveDeadLetters' | 'deleteDeadLetters') =>
    ID.test(id) && (await engine.transaction((tx) => tx[method](namespace, [id]))) > 0 ? ok(null) : noLetter(id);
  return {
    deadLetters: async (namespace, limit, cursor) => {
      const scope = `${namespace}/dead-letters`;
      const after = cursor === undefined ? undefined : decodeCursor(scope, cursor, idCursor);
      if (after !== undefined && !after.ok) return after;
      const page = after === undefined ? { limit: limit + 1 } : { limit: limit + 1, after: after.value };
      return ok(paged(scope, await index.deadLetters(namespace, page), limit));
    },
    redrive: async (namespace, id) => {
      const redriven = await touch(namespace, id, 'redriveDeadLetters');
      if (redriven.ok) wake.publish(['outbox']);
      return redriven;
    },
    deleteDeadLetter: (namespace, id) => touch(namespace, id, 'deleteDeadLetters'),
    internalEvents: async (namespace, sink, limit, cursor) => {
      const scope = `${namespace}/events/${sink}`;
      const before = cursor === undefined ? undefined : decodeCursor(scope, cursor, idCursor);
      if (before !== undefined && !before.ok) return before;
      const page = before === undefined ? { limit: limit + 1 } : { limit: limit + 1, before: before.value };
      return ok(paged(scope, await index.internalEvents(namespace, sink, page), limit));
    },
  };
};
