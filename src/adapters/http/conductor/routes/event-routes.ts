import { z } from 'zod';
import type { UseCases } from '../../../../application/use-cases.ts';
import type { Namespace } from '../../../../domain/kernel/brand.ts';
import { isJsonObject, type JsonObject } from '../../../../domain/kernel/json.ts';
import { err, ok, type Result } from '../../../../domain/kernel/result.ts';
import type { EventHandlerFilter, EventHandlerRow, EventHandlerRun } from '../../../../ports/event-handler-store.ts';
import type { ApiError } from '../../api-error.ts';
import { conductorRoute, json, NOTHING, type Route } from '../../route.ts';
import { NAME_CHARS_MAX } from '../../schemas/common.ts';
import { scopeOfAction } from '../../wire/event-handler-wire.ts';
import { everyPage, PAGE_ITEMS } from '../every-page.ts';
import { eventHandlers } from '../schemas/event-handlers.ts';
import { object, query } from '../schemas/fields.ts';
import { executionBodiesOf, handlerBodyOf, messageBodyOf } from '../wire/event-handlers.ts';
import { queueConfigRoutes } from './queue-config-routes.ts';
import { tagRoutesOf } from './tag-routes.ts';

const SCOPES = { read: 'eventHandlers:read', write: 'eventHandlers:write' } as const;
const OFFSET_MAX = 1_000_000;

type Given = z.output<typeof eventHandlers>;

const scopesOf = (given: Given): readonly string[] =>
  given.flatMap(({ handler }) => handler.actions.map((action) => scopeOfAction(action)));

const withTags = async (
  { tags }: UseCases,
  namespace: Namespace,
  rows: readonly EventHandlerRow[],
): Promise<readonly JsonObject[]> => {
  const names = rows.map(({ handler }) => handler.name);
  const found = await tags.of(namespace, 'EVENT_HANDLER', names);
  return rows.map((row) => handlerBodyOf(row, found.get(row.handler.name)));
};

const allOf = (useCases: UseCases, namespace: Namespace, filter: EventHandlerFilter) =>
  everyPage((limit, cursor) => useCases.eventHandlers.list(namespace, filter, limit, cursor));

const store = async (
  useCases: UseCases,
  namespace: Namespace,
  given: Given,
  by: string,
  refuse: (isThere: boolean, name: string) => ApiError | undefined,
): Promise<Result<null, ApiError>> => {
  for (const { handler, tags } of given) {
    const present = await useCases.eventHandlers.get(namespace, handler.name);
    const refusal = refuse(present.ok, handler.name);
    if (refusal !== undefined) return err(refusal);
    const stored = await useCases.eventHandlers.put(namespace, handler, by);
    if (!stored.ok) return stored;
    if (tags === undefined) continue;
    const tagged = await useCases.tags.replace(namespace, { kind: 'EVENT_HANDLER', name: handler.name }, tags);
    if (!tagged.ok) return tagged;
  }
  return ok(null);
};

const create = conductorRoute({
  method: 'POST',
  path: '/event',
  summary: 'Register event handlers, one or a list; a name that exists is refused.',
  scope: SCOPES.write,
  body: eventHandlers,
  bodyKind: 'payload',
  bodyScopes: scopesOf,
  handle: async ({ useCases, namespace, body, principal }) => {
    const stored = await store(useCases, namespace, body, principal.id, (isThere, name) =>
      isThere ? { code: 'ALREADY_EXISTS', message: `EventHandler with name ${name} already exists!` } : undefined,
    );
    return stored.ok ? ok(NOTHING) : stored;
  },
});

const update = conductorRoute({
  method: 'PUT',
  path: '/event',
  summary: 'Replace an event handler.',
  scope: SCOPES.write,
  body: eventHandlers,
  bodyKind: 'payload',
  bodyScopes: scopesOf,
  handle: async ({ useCases, namespace, body, principal }) => {
    const stored = await store(useCases, namespace, body, principal.id, (isThere, name) =>
      isThere ? undefined : { code: 'NOT_FOUND', message: `EventHandler with name ${name} not found!` },
    );
    return stored.ok ? ok(NOTHING) : stored;
  },
});

/** Orkes' clients ask for the last, a name without its letters. */
const lists = (['/event', '/event/handler', '/event/handler/'] as const).map((path) =>
  conductorRoute({
    method: 'GET',
    path,
    summary: 'All event handlers.',
    scope: SCOPES.read,
    handle: async ({ useCases, namespace }) => {
      const rows = await allOf(useCases, namespace, {});
      return rows.ok ? ok(json(200, await withTags(useCases, namespace, rows.value))) : rows;
    },
  }),
);

const get = conductorRoute({
  method: 'GET',
  path: '/event/handler/:name',
  summary: 'An event handler.',
  scope: SCOPES.read,
  handle: async ({ useCases, namespace, params }) => {
    const found = await useCases.eventHandlers.get(namespace, params.name);
    if (!found.ok) return found;
    const [body] = await withTags(useCases, namespace, [found.value]);
    return ok(json(200, body));
  },
});

const ofEvent = conductorRoute({
  method: 'GET',
  path: '/event/:event',
  summary: 'The handlers of an event.',
  scope: SCOPES.read,
  query: z.object({ activeOnly: query.flag(true) }),
  handle: async ({ useCases, namespace, params: { event }, query: { activeOnly } }) => {
    const rows = await allOf(useCases, namespace, activeOnly ? { event, active: true } : { event });
    return rows.ok ? ok(json(200, await withTags(useCases, namespace, rows.value))) : rows;
  },
});

const remove = conductorRoute({
  method: 'DELETE',
  path: '/event/:name',
  summary: 'Delete an event handler.',
  scope: SCOPES.write,
  handle: async ({ useCases, namespace, params }) => {
    const deleted = await useCases.eventHandlers.delete(namespace, params.name);
    return deleted.ok ? ok(NOTHING) : deleted;
  },
});

/** How much each handler has done: messages of its log, which keeps the newest. */
const withCounts = async (useCases: UseCases, namespace: Namespace, filter: EventHandlerFilter) => {
  const rows = await allOf(useCases, namespace, filter);
  if (!rows.ok) return rows;
  const results: JsonObject[] = [];
  for (const { handler } of rows.value) {
    const runs = await useCases.eventHandlers.runs(namespace, handler.name, PAGE_ITEMS);
    const messages = runs.ok ? runs.value.items : [];
    results.push({
      name: handler.name,
      event: handler.event,
      active: handler.active,
      numberOfMessages: messages.length,
      numberOfActions: messages.reduce((sum, { actions }) => sum + actions.length, 0),
    });
  }
  return ok(json(200, { totalHits: results.length, results }));
};

const active = conductorRoute({
  method: 'GET',
  path: '/event/execution',
  summary: 'The active handlers, and how much each has done.',
  scope: SCOPES.read,
  handle: ({ useCases, namespace }) => withCounts(useCases, namespace, { active: true }),
});

const counts = conductorRoute({
  method: 'GET',
  path: '/event/message',
  summary: 'All handlers, and how much each has done.',
  scope: SCOPES.read,
  query: z.object({ from: query.integerOr(0, OFFSET_MAX, 0) }),
  handle: ({ useCases, namespace }) => withCounts(useCases, namespace, {}),
});

const executions = conductorRoute({
  method: 'GET',
  path: '/event/execution/:name',
  summary: 'What messages did through a handler, newest first.',
  scope: SCOPES.read,
  query: z.object({ from: query.integerOr(0, OFFSET_MAX, 0) }),
  handle: async ({ useCases, namespace, params, query: { from } }) => {
    const runs = await useCases.eventHandlers.runs(namespace, params.name, PAGE_ITEMS);
    return runs.ok ? ok(json(200, runs.value.items.slice(from).flatMap(executionBodiesOf))) : runs;
  },
});

const messages = conductorRoute({
  method: 'GET',
  path: '/event/message/:event',
  summary: 'The messages of an event, newest first, and what each did.',
  scope: SCOPES.read,
  query: z.object({ from: query.integerOr(0, OFFSET_MAX, 0) }),
  handle: async ({ useCases, namespace, params: { event }, query: { from } }) => {
    const found = await useCases.outbox.internalEvents(namespace, event, PAGE_ITEMS);
    if (!found.ok) return found;
    const runs = await runsOfEvent(useCases, namespace, event);
    if (!runs.ok) return runs;
    const bodies = found.value.items
      .slice(from)
      .map((each) => messageBodyOf(each, runs.value.get(each.messageId) ?? []));
    return ok(json(200, bodies));
  },
});

const runsOfEvent = async (
  useCases: UseCases,
  namespace: Namespace,
  event: string,
): Promise<Result<ReadonlyMap<string, readonly EventHandlerRun[]>, ApiError>> => {
  const rows = await allOf(useCases, namespace, { event });
  if (!rows.ok) return rows;
  const byMessage = new Map<string, EventHandlerRun[]>();
  for (const { handler } of rows.value) {
    const runs = await useCases.eventHandlers.runs(namespace, handler.name, PAGE_ITEMS);
    for (const run of runs.ok ? runs.value.items : []) {
      byMessage.set(run.messageId, [...(byMessage.get(run.messageId) ?? []), run]);
    }
  }
  return ok(byMessage);
};

const incoming = conductorRoute({
  method: 'POST',
  path: '/event/handleIncomingEvent',
  summary: 'Publish an event: `event` names it; the payload is `payload`, or all the rest.',
  scope: 'events:publish',
  body: object,
  bodyKind: 'payload',
  bodyIsData: true,
  handle: async ({ useCases, namespace, body }) => {
    const { event, id, payload, ...rest } = body;
    if (typeof event !== 'string') {
      return err({ code: 'VALIDATION_FAILED', message: 'An incoming event needs its name in `event`.', path: 'event' });
    }
    const named = typeof id === 'string' && id !== '' ? { id: id.slice(0, NAME_CHARS_MAX) } : {};
    const sent = await useCases.eventHandlers.publish(namespace, {
      event,
      payload: isJsonObject(payload) ? payload : { ...rest, ...(payload === undefined ? {} : { payload }) },
      ...named,
    });
    return sent.ok ? ok(NOTHING) : sent;
  },
});

export const eventRoutes: readonly Route[] = [
  create,
  update,
  ...lists,
  incoming,
  active,
  executions,
  counts,
  messages,
  ...queueConfigRoutes,
  get,
  ofEvent,
  remove,
  ...tagRoutesOf({
    path: '/event/:name/tags',
    kind: 'EVENT_HANDLER',
    scopes: SCOPES,
    find: ({ eventHandlers: handlers }, namespace, name) => handlers.get(namespace, name),
    putAdds: true,
  }),
];
