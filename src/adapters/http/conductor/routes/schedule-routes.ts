import { z } from 'zod';
import type { UseCases } from '../../../../application/use-cases.ts';
import { withoutUndefined } from '../../../../domain/definition/without-undefined.ts';
import type { Instant, Namespace } from '../../../../domain/kernel/brand.ts';
import type { JsonObject } from '../../../../domain/kernel/json.ts';
import { ok, type Result } from '../../../../domain/kernel/result.ts';
import type { ScheduleFilter, ScheduleRow } from '../../../../ports/schedule-store.ts';
import type { ApiError } from '../../api-error.ts';
import { conductorRoute, json, type Method, NOTHING, type Route } from '../../route.ts';
import { everyPage } from '../every-page.ts';
import { runFilter } from '../schedule-search.ts';
import { query } from '../schemas/fields.ts';
import { MILLIS_MAX, scheduleNames, workflowSchedule } from '../schemas/schedules.ts';
import { scheduleBodyOf, scheduleOf, scheduleRunBodyOf } from '../wire/schedules.ts';
import { tagRoutesOf } from './tag-routes.ts';

/** What Conductor's preview gives at most. */
const PREVIEW_MAX = 5;
const PAGE_DEFAULT = 100;
const PAGE_MAX = 5_000;
const OFFSET_MAX = 1_000_000;
/** Why the schedules are paused that an administrator paused all together: those alone are resumed together. */
const PAUSED_BY_ALL = 'All schedules were paused by an administrator.';

const SCOPES = { read: 'schedules:read', write: 'schedules:write', control: 'schedules:control' } as const;

const withTags = async (
  { tags }: UseCases,
  namespace: Namespace,
  rows: readonly ScheduleRow[],
): Promise<readonly JsonObject[]> => {
  const found = await tags.of(
    namespace,
    'SCHEDULE',
    rows.map(({ schedule }) => schedule.name),
  );
  return rows.map((row) => scheduleBodyOf(row, found.get(row.schedule.name)));
};

const allOf = ({ schedules }: UseCases, namespace: Namespace, filter: ScheduleFilter) =>
  everyPage((limit, cursor) => schedules.list(namespace, filter, limit, cursor));

const save = conductorRoute({
  method: 'POST',
  path: '/scheduler/schedules',
  summary: 'Register a schedule, or replace it.',
  scope: SCOPES.write,
  body: workflowSchedule,
  bodyKind: 'payload',
  bodyScopes: ({ startWorkflowRequest }) => [`executions:start:${startWorkflowRequest.name}`],
  handle: async ({ useCases, namespace, body, principal }) => {
    const { paused, pausedReason } = body;
    const asked = { schedule: scheduleOf(body), by: principal.id, ...withoutUndefined({ paused, pausedReason }) };
    const stored = await useCases.schedules.put(namespace, asked);
    if (!stored.ok) return stored;
    if (body.tags !== undefined) {
      const tagged = await useCases.tags.replace(namespace, { kind: 'SCHEDULE', name: body.name }, body.tags);
      if (!tagged.ok) return tagged;
    }
    const [saved] = await withTags(useCases, namespace, [stored.value.row]);
    return ok(json(200, saved));
  },
});

const list = conductorRoute({
  method: 'GET',
  path: '/scheduler/schedules',
  summary: 'The schedules, of one workflow or all.',
  scope: SCOPES.read,
  query: z.object({ workflowName: query.text }),
  handle: async ({ useCases, namespace, query: { workflowName } }) => {
    const rows = await allOf(useCases, namespace, withoutUndefined({ workflowName }));
    return rows.ok ? ok(json(200, await withTags(useCases, namespace, rows.value))) : rows;
  },
});

const search = conductorRoute({
  method: 'GET',
  path: '/scheduler/schedules/search',
  summary: 'Search the schedules.',
  scope: SCOPES.read,
  query: z.object({
    workflowName: query.text,
    scheduleName: query.text,
    paused: query.text,
    freeText: query.text,
    start: query.integerOr(0, OFFSET_MAX, 0),
    size: query.integerOr(1, PAGE_MAX, PAGE_DEFAULT),
    sort: query.list,
  }),
  handle: async ({
    useCases,
    namespace,
    query: { workflowName, scheduleName, paused, freeText, start, size, sort },
  }) => {
    const flag = paused === undefined ? {} : { paused: paused.toLowerCase() === 'true' };
    const text = freeText === undefined || freeText === '*' ? {} : { text: freeText };
    const rows = await allOf(useCases, namespace, { ...withoutUndefined({ workflowName }), ...flag, ...text });
    if (!rows.ok) return rows;
    const part = scheduleName?.toLowerCase() ?? '';
    const found = rows.value.filter(({ schedule }) => schedule.name.toLowerCase().includes(part));
    const ordered = sort[0]?.toUpperCase().endsWith(':DESC') === true ? found.toReversed() : found;
    const results = await withTags(useCases, namespace, ordered.slice(start, start + size));
    return ok(json(200, { totalHits: found.length, results }));
  },
});

const tagged = conductorRoute({
  method: 'GET',
  path: '/scheduler/schedules/tags',
  summary: 'The schedules with a tag, given as key:value.',
  scope: SCOPES.read,
  query: z.object({ tag: query.text }),
  handle: async ({ useCases, namespace, query: { tag = '' } }) => {
    const [key = '', ...value] = tag.split(':');
    const names = await useCases.tags.namesWith(namespace, 'SCHEDULE', { key, value: value.join(':') });
    const rows: ScheduleRow[] = [];
    for (const name of names) {
      const found = await useCases.schedules.get(namespace, name);
      if (found.ok) rows.push(found.value);
    }
    return ok(json(200, await withTags(useCases, namespace, rows)));
  },
});

const get = conductorRoute({
  method: 'GET',
  path: '/scheduler/schedules/:name',
  summary: 'A schedule.',
  scope: SCOPES.read,
  handle: async ({ useCases, namespace, params }) => {
    const found = await useCases.schedules.get(namespace, params.name);
    if (!found.ok) return found;
    const [body] = await withTags(useCases, namespace, [found.value]);
    return ok(json(200, body));
  },
});

const remove = conductorRoute({
  method: 'DELETE',
  path: '/scheduler/schedules/:name',
  summary: 'Delete a schedule.',
  scope: SCOPES.write,
  handle: async ({ useCases, namespace, params }) => {
    const deleted = await useCases.schedules.delete(namespace, params.name);
    return deleted.ok ? ok(NOTHING) : deleted;
  },
});

/** Conductor has both for PUT, Orkes for GET. */
const METHODS = ['PUT', 'GET'] as const satisfies readonly Method[];

const pause = METHODS.map((method) =>
  conductorRoute({
    method,
    path: '/scheduler/schedules/:name/pause',
    summary: 'Pause a schedule.',
    scope: SCOPES.control,
    query: z.object({ reason: query.text }),
    handle: async ({ useCases, namespace, params, query: { reason }, principal }) => {
      const paused = await useCases.schedules.pause(namespace, params.name, principal.id, reason);
      return paused.ok ? ok(NOTHING) : paused;
    },
  }),
);

const resume = METHODS.map((method) =>
  conductorRoute({
    method,
    path: '/scheduler/schedules/:name/resume',
    summary: 'Let a paused schedule go on.',
    scope: SCOPES.control,
    handle: async ({ useCases, namespace, params, principal }) => {
      const resumed = await useCases.schedules.resume(namespace, params.name, principal.id);
      return resumed.ok ? ok(NOTHING) : resumed;
    },
  }),
);

const nextFew = conductorRoute({
  method: 'GET',
  path: '/scheduler/nextFewSchedules',
  summary: 'When a cron would fire next.',
  scope: SCOPES.read,
  query: z.object({
    cronExpression: query.text,
    zoneId: query.text,
    scheduleStartTime: query.integer(0, MILLIS_MAX),
    scheduleEndTime: query.integer(0, MILLIS_MAX),
    limit: query.integerOr(1, OFFSET_MAX, PREVIEW_MAX),
  }),
  handle: async ({
    useCases,
    query: { cronExpression = '', zoneId = 'UTC', scheduleStartTime, scheduleEndTime, limit },
  }) => {
    const times = {
      crons: [{ expression: cronExpression, zone: zoneId }],
      ...(scheduleStartTime ? { startAt: scheduleStartTime as Instant } : {}),
      ...(scheduleEndTime ? { endAt: scheduleEndTime as Instant } : {}),
    };
    const instants = await useCases.schedules.preview(times, Math.min(limit, PREVIEW_MAX));
    return instants.ok ? ok(json(200, instants.value)) : instants;
  },
});

const searchExecutions = conductorRoute({
  method: 'GET',
  path: '/scheduler/search/executions',
  summary: 'Search what became of the firings, newest first.',
  scope: SCOPES.read,
  query: z.object({
    query: query.text,
    freeText: query.text,
    start: query.integerOr(0, OFFSET_MAX, 0),
    size: query.integerOr(1, PAGE_MAX, PAGE_DEFAULT),
    sort: query.list,
  }),
  handle: async ({ useCases, namespace, query: { query: text, freeText, start, size, sort } }) => {
    const filter = runFilter(text, freeText);
    if (!filter.ok) return filter;
    const runs = await everyPage((limit, cursor) => useCases.schedules.runs(namespace, undefined, limit, cursor));
    if (!runs.ok) return runs;
    const rows = await allOf(useCases, namespace, {});
    if (!rows.ok) return rows;
    const schedules = new Map(rows.value.map(({ schedule }) => [schedule.name, schedule]));
    const found = runs.value.filter(filter.value);
    const ordered = sort[0]?.toUpperCase().endsWith(':ASC') === true ? found.toReversed() : found;
    const results = ordered.slice(start, start + size).map((run) => scheduleRunBodyOf(run, schedules.get(run.name)));
    return ok(json(200, { totalHits: found.length, results }));
  },
});

const changeAll = async (
  useCases: UseCases,
  namespace: Namespace,
  by: string,
  action: 'pause' | 'resume',
): Promise<Result<null, ApiError>> => {
  const rows = await allOf(useCases, namespace, { paused: action === 'resume' });
  if (!rows.ok) return rows;
  for (const { schedule, pausedReason } of rows.value) {
    if (action === 'pause') await useCases.schedules.pause(namespace, schedule.name, by, PAUSED_BY_ALL);
    else if (pausedReason === PAUSED_BY_ALL) await useCases.schedules.resume(namespace, schedule.name, by);
  }
  return ok(null);
};

const admin = (['pause', 'resume'] as const).map((action) =>
  conductorRoute({
    method: 'GET',
    path: `/scheduler/admin/${action}`,
    summary:
      action === 'pause'
        ? 'Pause every schedule that is going.'
        : 'Let those go on that were paused all together; what was paused by itself stays so.',
    scope: SCOPES.control,
    handle: async ({ useCases, namespace, principal }) => {
      const changed = await changeAll(useCases, namespace, principal.id, action);
      return changed.ok ? ok(json(200, {})) : changed;
    },
  }),
);

const requeue = conductorRoute({
  method: 'GET',
  path: '/scheduler/admin/requeue',
  summary: 'Nothing is ever queued aside: the times of a schedule are its queue.',
  scope: SCOPES.control,
  handle: async () => ok(json(200, {})),
});

const bulk = (['pause', 'resume'] as const).map((action) =>
  conductorRoute({
    method: 'PUT',
    path: `/scheduler/bulk/${action}`,
    summary: `${action === 'pause' ? 'Pause' : 'Resume'} several schedules; one answer for each name.`,
    scope: SCOPES.control,
    body: scheduleNames,
    handle: async ({ useCases, namespace, body, principal }) => {
      const errors: (readonly [string, string])[] = [];
      const bulkSuccessfulResults: string[] = [];
      for (const name of body) {
        const changed = await useCases.schedules[action](namespace, name, principal.id);
        if (changed.ok) bulkSuccessfulResults.push(name);
        else errors.push([name, changed.error.message]);
      }
      const bulkErrorResults = Object.fromEntries(errors);
      return ok(json(200, { bulkErrorResults, bulkSuccessfulResults, message: 'Bulk Request has been processed.' }));
    },
  }),
);

export const scheduleRoutes: readonly Route[] = [
  save,
  list,
  search,
  tagged,
  nextFew,
  searchExecutions,
  ...admin,
  requeue,
  ...bulk,
  get,
  remove,
  ...pause,
  ...resume,
  ...tagRoutesOf({
    path: '/scheduler/schedules/:name/tags',
    kind: 'SCHEDULE',
    scopes: SCOPES,
    find: ({ schedules }, namespace, name) => schedules.get(namespace, name),
    putAdds: true,
  }),
];
