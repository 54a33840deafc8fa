import { z } from 'zod';
import { nameProblem } from '../domain/definition/names.ts';
import { err, ok } from '../domain/kernel/result.ts';
import type { SemaphoreStore } from '../ports/limits.ts';
import { decodeCursor, encodeCursor } from './cursor.ts';
import type { UseCases } from './use-cases.ts';

const KEY = z.string();

const noSemaphore = (name: string) => err({ code: 'NOT_FOUND', message: `There is no semaphore ${name}.` } as const);

/** What people do with the semaphores of a namespace. Errors: NOT_FOUND, INVALID_NAME, INVALID_CURSOR. */
export const createSemaphoreUseCases = (store: SemaphoreStore): UseCases['semaphores'] => ({
  put: async (namespace, name, permits) => {
    const problem = nameProblem(name, 'name', 'v1');
    if (problem !== undefined) return err(problem);
    return ok(await store.putSemaphore(namespace, name, permits));
  },
  get: async (namespace, name) => {
    const semaphore = await store.findSemaphore(namespace, name);
    return semaphore === undefined ? noSemaphore(name) : ok(semaphore);
  },
  list: async (namespace, limit, cursor) => {
    const scope = `${namespace}/semaphores`;
    const after = cursor === undefined ? undefined : decodeCursor(scope, cursor, KEY);
    if (after?.ok === false) return after;
    const found = await store.listSemaphores(namespace, { limit: limit + 1, ...(after && { after: after.value }) });
    const items = found.slice(0, limit);
    const last = items.at(-1);
    if (found.length <= limit || last === undefined) return ok({ items });
    return ok({ items, nextCursor: encodeCursor(scope, last.name) });
  },
  delete: async (namespace, name) => ((await store.deleteSemaphore(namespace, name)) ? ok(null) : noSemaphore(name)),
});
