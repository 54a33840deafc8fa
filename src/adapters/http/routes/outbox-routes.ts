import { z } from 'zod';
import { ok } from '../../../domain/kernel/result.ts';
import { json, NO_CONTENT, namespaceRoute, type Route } from '../route.ts';
import { pageQuery } from '../schemas/common.ts';
import {
  type DeadLetterPageBody,
  deadLetterPage,
  type InternalEventPageBody,
  internalEventPage,
} from '../schemas/doors.ts';
import { deadLetterOf, internalEventOf } from '../wire/outbox-wire.ts';
import { cursorOf } from './cursor-of.ts';

const SINK_CHARS_MAX = 1_024;

const listDeadLetters = namespaceRoute({
  method: 'GET',
  path: '/dead-letters',
  summary: 'List the messages that were given up, oldest first.',
  scope: 'deadLetters:read',
  query: pageQuery,
  replies: { 200: deadLetterPage },
  handle: async ({ useCases, namespace, query }) => {
    const page = await useCases.outbox.deadLetters(namespace, query.limit, query.cursor);
    if (!page.ok) return page;
    const deadLetters = page.value.items.map(deadLetterOf);
    return ok(json<DeadLetterPageBody>(200, { deadLetters, ...cursorOf(page.value) }));
  },
});

const redrive = namespaceRoute({
  method: 'POST',
  path: '/dead-letters/:id/redrive',
  summary: 'Deliver a dead letter again, as if never tried, at its old place in the order of its key.',
  scope: 'deadLetters:control',
  replies: { 204: null },
  handle: async ({ useCases, namespace, params }) => {
    const redriven = await useCases.outbox.redrive(namespace, params.id);
    return redriven.ok ? ok(NO_CONTENT) : redriven;
  },
});

const deleteDeadLetter = namespaceRoute({
  method: 'DELETE',
  path: '/dead-letters/:id',
  summary: 'Delete a dead letter: it is never delivered.',
  scope: 'deadLetters:control',
  replies: { 204: null },
  handle: async ({ useCases, namespace, params }) => {
    const deleted = await useCases.outbox.deleteDeadLetter(namespace, params.id);
    return deleted.ok ? ok(NO_CONTENT) : deleted;
  },
});

const listEvents = namespaceRoute({
  method: 'GET',
  path: '/events',
  summary: 'List what was sent to a name of the internal sink, newest first.',
  scope: 'events:read',
  query: pageQuery.extend({ sink: z.string().min(1).max(SINK_CHARS_MAX) }),
  replies: { 200: internalEventPage },
  handle: async ({ useCases, namespace, query }) => {
    const page = await useCases.outbox.internalEvents(namespace, query.sink, query.limit, query.cursor);
    if (!page.ok) return page;
    const events = page.value.items.map(internalEventOf);
    return ok(json<InternalEventPageBody>(200, { events, ...cursorOf(page.value) }));
  },
});

export const outboxRoutes: readonly Route[] = [listDeadLetters, redrive, deleteDeadLetter, listEvents];
