import { withoutUndefined } from '../../../domain/definition/without-undefined.ts';
import { ok } from '../../../domain/kernel/result.ts';
import { json, NO_CONTENT, namespaceRoute, type Route } from '../route.ts';
import { pageQuery } from '../schemas/common.ts';
import {
  type EventHandlerBody,
  type EventHandlerPageBody,
  type EventHandlerPutBody,
  type EventHandlerRunPageBody,
  type EventHandlerTestBody,
  eventHandler,
  eventHandlerPage,
  eventHandlerPut,
  eventHandlerQuery,
  eventHandlerRequest,
  eventHandlerRunPage,
  eventHandlerTest,
  eventHandlerTestRequest,
  type PublishedBody,
  published,
  publishRequest,
} from '../schemas/event-handlers.ts';
import {
  eventHandlerBody,
  eventHandlerOf,
  eventHandlerRunBody,
  judgementBody,
  scopeOfAction,
} from '../wire/event-handler-wire.ts';
import { cursorOf } from './cursor-of.ts';

const list = namespaceRoute({
  method: 'GET',
  path: '/event-handlers',
  summary: 'List the event handlers by name.',
  scope: 'eventHandlers:read',
  query: eventHandlerQuery,
  replies: { 200: eventHandlerPage },
  handle: async ({ useCases, namespace, query }) => {
    const { limit, cursor, event, active } = query;
    const page = await useCases.eventHandlers.list(namespace, withoutUndefined({ event, active }), limit, cursor);
    if (!page.ok) return page;
    const eventHandlers = page.value.items.map(eventHandlerBody);
    return ok(json<EventHandlerPageBody>(200, { eventHandlers, ...cursorOf(page.value) }));
  },
});

const get = namespaceRoute({
  method: 'GET',
  path: '/event-handlers/:name',
  summary: 'Read an event handler.',
  scope: 'eventHandlers:read',
  replies: { 200: eventHandler },
  handle: async ({ useCases, namespace, params }) => {
    const found = await useCases.eventHandlers.get(namespace, params.name);
    return found.ok ? ok(json<EventHandlerBody>(200, eventHandlerBody(found.value))) : found;
  },
});

const put = namespaceRoute({
  method: 'PUT',
  path: '/event-handlers/:name',
  summary: 'Register an event handler, or replace it.',
  scope: 'eventHandlers:write',
  body: eventHandlerRequest,
  bodyKind: 'payload',
  bodyScopes: ({ actions }) => actions.map(({ action, input }) => scopeOfAction({ type: action, input })),
  replies: { 200: eventHandlerPut, 201: eventHandlerPut },
  handle: async ({ useCases, namespace, params, body, principal }) => {
    const handler = eventHandlerOf(params.name, body);
    const stored = await useCases.eventHandlers.put(namespace, handler, principal.id);
    if (!stored.ok) return stored;
    const { outcome, row } = stored.value;
    return ok(json<EventHandlerPutBody>(outcome === 'created' ? 201 : 200, { ...eventHandlerBody(row), outcome }));
  },
});

const remove = namespaceRoute({
  method: 'DELETE',
  path: '/event-handlers/:name',
  summary: 'Delete an event handler and its log.',
  scope: 'eventHandlers:write',
  replies: { 204: null },
  handle: async ({ useCases, namespace, params }) => {
    const deleted = await useCases.eventHandlers.delete(namespace, params.name);
    return deleted.ok ? ok(NO_CONTENT) : deleted;
  },
});

const test = namespaceRoute({
  method: 'POST',
  path: '/event-handlers/:name/test',
  summary: 'Show what an event handler would do with a message; nothing is done.',
  scope: 'eventHandlers:read',
  body: eventHandlerTestRequest,
  bodyKind: 'payload',
  replies: { 200: eventHandlerTest },
  handle: async ({ useCases, namespace, params, body }) => {
    const judged = await useCases.eventHandlers.test(namespace, params.name, body.payload);
    return judged.ok ? ok(json<EventHandlerTestBody>(200, judgementBody(judged.value))) : judged;
  },
});

const runs = namespaceRoute({
  method: 'GET',
  path: '/event-handlers/:name/runs',
  summary: 'List what each message did through an event handler, newest first.',
  scope: 'eventHandlers:read',
  query: pageQuery,
  replies: { 200: eventHandlerRunPage },
  handle: async ({ useCases, namespace, params, query }) => {
    const page = await useCases.eventHandlers.runs(namespace, params.name, query.limit, query.cursor);
    if (!page.ok) return page;
    const done = page.value.items.map(eventHandlerRunBody);
    return ok(json<EventHandlerRunPageBody>(200, { runs: done, ...cursorOf(page.value) }));
  },
});

const publish = namespaceRoute({
  method: 'POST',
  path: '/events',
  summary: 'Publish an event from outside; of one id only the first counts.',
  scope: 'events:publish',
  body: publishRequest,
  bodyKind: 'payload',
  replies: { 200: published, 201: published },
  handle: async ({ useCases, namespace, body }) => {
    const { event, id, payload } = body;
    const sent = await useCases.eventHandlers.publish(namespace, { event, payload, ...withoutUndefined({ id }) });
    return sent.ok ? ok(json<PublishedBody>(sent.value.duplicate ? 200 : 201, sent.value)) : sent;
  },
});

export const eventHandlerRoutes: readonly Route[] = [list, get, put, remove, test, runs, publish];
