import { ok } from '../../../domain/kernel/result.ts';
import type { SemaphoreUse } from '../../../ports/limits.ts';
import { json, NO_CONTENT, namespaceRoute, type Route } from '../route.ts';
import { pageQuery } from '../schemas/common.ts';
import {
  type SemaphoreBody,
  type SemaphorePageBody,
  type SemaphorePutBody,
  semaphore,
  semaphorePage,
  semaphorePut,
  semaphoreRequest,
} from '../schemas/semaphores.ts';
import { isoText } from '../wire/instant-wire.ts';
import { cursorOf } from './cursor-of.ts';

const semaphoreOf = ({ name, permits, held, createdAt, updatedAt }: SemaphoreUse): SemaphoreBody => ({
  name,
  permits,
  held,
  createdAt: isoText(createdAt),
  updatedAt: isoText(updatedAt),
});

const list = namespaceRoute({
  method: 'GET',
  path: '/semaphores',
  summary: 'List the semaphores, with the permits that are held.',
  scope: 'semaphores:read',
  query: pageQuery,
  replies: { 200: semaphorePage },
  handle: async ({ useCases, namespace, query }) => {
    const page = await useCases.semaphores.list(namespace, query.limit, query.cursor);
    if (!page.ok) return page;
    const semaphores = page.value.items.map(semaphoreOf);
    return ok(json<SemaphorePageBody>(200, { semaphores, ...cursorOf(page.value) }));
  },
});

const get = namespaceRoute({
  method: 'GET',
  path: '/semaphores/:name',
  summary: 'Read a semaphore: its permits, and how many are held.',
  scope: 'semaphores:read',
  replies: { 200: semaphore },
  handle: async ({ useCases, namespace, params }) => {
    const found = await useCases.semaphores.get(namespace, params.name);
    return found.ok ? ok(json<SemaphoreBody>(200, semaphoreOf(found.value))) : found;
  },
});

const put = namespaceRoute({
  method: 'PUT',
  path: '/semaphores/:name',
  summary: 'Set up a semaphore, or change how many permits it has.',
  scope: 'semaphores:write',
  body: semaphoreRequest,
  replies: { 200: semaphorePut, 201: semaphorePut },
  handle: async ({ useCases, namespace, params, body }) => {
    const stored = await useCases.semaphores.put(namespace, params.name, body.permits);
    if (!stored.ok) return stored;
    const { outcome } = stored.value;
    const answer = { ...semaphoreOf(stored.value.semaphore), outcome };
    return ok(json<SemaphorePutBody>(outcome === 'created' ? 201 : 200, answer));
  },
});

const remove = namespaceRoute({
  method: 'DELETE',
  path: '/semaphores/:name',
  summary: 'Delete a semaphore: its name holds nothing back any more.',
  scope: 'semaphores:write',
  replies: { 204: null },
  handle: async ({ useCases, namespace, params }) => {
    const deleted = await useCases.semaphores.delete(namespace, params.name);
    return deleted.ok ? ok(NO_CONTENT) : deleted;
  },
});

export const semaphoreRoutes: readonly Route[] = [list, get, put, remove];
