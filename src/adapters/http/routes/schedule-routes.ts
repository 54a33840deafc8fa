import { withoutUndefined } from '../../../domain/definition/without-undefined.ts';
import type { Instant } from '../../../domain/kernel/brand.ts';
import { ok } from '../../../domain/kernel/result.ts';
import { json, NO_CONTENT, namespaceRoute, type Route } from '../route.ts';
import { pageQuery } from '../schemas/common.ts';
import {
  type FiredScheduleBody,
  firedSchedule,
  type PreviewBody,
  pauseScheduleRequest,
  preview,
  previewQuery,
  previewRequest,
  type ScheduleBody,
  type SchedulePageBody,
  type SchedulePutBody,
  type ScheduleRunPageBody,
  schedule,
  schedulePage,
  schedulePut,
  scheduleQuery,
  scheduleRequest,
  scheduleRunPage,
} from '../schemas/schedules.ts';
import { isoText } from '../wire/instant-wire.ts';
import { scheduleBody, scheduleOf, scheduleRunBody, timesOf } from '../wire/schedule-wire.ts';
import { cursorOf } from './cursor-of.ts';

const previewOf = (instants: readonly Instant[]) => json<PreviewBody>(200, { runs: instants.map(isoText) });

const list = namespaceRoute({
  method: 'GET',
  path: '/schedules',
  summary: 'List the schedules by name.',
  scope: 'schedules:read',
  query: scheduleQuery,
  replies: { 200: schedulePage },
  handle: async ({ useCases, namespace, query }) => {
    const { limit, cursor, workflow: workflowName, paused, text } = query;
    const filter = withoutUndefined({ workflowName, paused, text });
    const page = await useCases.schedules.list(namespace, filter, limit, cursor);
    if (!page.ok) return page;
    const schedules = page.value.items.map(scheduleBody);
    return ok(json<SchedulePageBody>(200, { schedules, ...cursorOf(page.value) }));
  },
});

const previewTimes = namespaceRoute({
  method: 'POST',
  path: '/schedules/preview',
  summary: 'Show when crons would fire, without registering anything.',
  scope: 'schedules:read',
  body: previewRequest,
  replies: { 200: preview },
  handle: async ({ useCases, body }) => {
    const instants = await useCases.schedules.preview(timesOf(body), body.count, body.after);
    return instants.ok ? ok(previewOf(instants.value)) : instants;
  },
});

const get = namespaceRoute({
  method: 'GET',
  path: '/schedules/:name',
  summary: 'Read a schedule, and when it fires next.',
  scope: 'schedules:read',
  replies: { 200: schedule },
  handle: async ({ useCases, namespace, params }) => {
    const found = await useCases.schedules.get(namespace, params.name);
    return found.ok ? ok(json<ScheduleBody>(200, scheduleBody(found.value))) : found;
  },
});

const put = namespaceRoute({
  method: 'PUT',
  path: '/schedules/:name',
  summary: 'Register a schedule, or replace it; what is due stays due where its times are the same.',
  scope: 'schedules:write',
  bodyScopes: ({ workflow }) => [`executions:start:${workflow.name}`],
  body: scheduleRequest,
  bodyKind: 'payload',
  replies: { 200: schedulePut, 201: schedulePut },
  handle: async ({ useCases, namespace, params, body, principal }) => {
    const { paused, pausedReason } = body;
    const asked = { schedule: scheduleOf(params.name, body), by: principal.id };
    const stored = await useCases.schedules.put(namespace, { ...asked, ...withoutUndefined({ paused, pausedReason }) });
    if (!stored.ok) return stored;
    const { outcome, row } = stored.value;
    return ok(json<SchedulePutBody>(outcome === 'created' ? 201 : 200, { ...scheduleBody(row), outcome }));
  },
});

const remove = namespaceRoute({
  method: 'DELETE',
  path: '/schedules/:name',
  summary: 'Delete a schedule and its history; the runs that it started stay.',
  scope: 'schedules:write',
  replies: { 204: null },
  handle: async ({ useCases, namespace, params }) => {
    const deleted = await useCases.schedules.delete(namespace, params.name);
    return deleted.ok ? ok(NO_CONTENT) : deleted;
  },
});

const pause = namespaceRoute({
  method: 'POST',
  path: '/schedules/:name/pause',
  summary: 'Pause a schedule: the instants that pass meanwhile are passed over.',
  scope: 'schedules:control',
  body: pauseScheduleRequest,
  bodyOptional: true,
  replies: { 200: schedule },
  handle: async ({ useCases, namespace, params, body, principal }) => {
    const paused = await useCases.schedules.pause(namespace, params.name, principal.id, body.reason);
    return paused.ok ? ok(json<ScheduleBody>(200, scheduleBody(paused.value))) : paused;
  },
});

const resume = namespaceRoute({
  method: 'POST',
  path: '/schedules/:name/resume',
  summary: 'Let a paused schedule go on, from now.',
  scope: 'schedules:control',
  replies: { 200: schedule },
  handle: async ({ useCases, namespace, params, principal }) => {
    const resumed = await useCases.schedules.resume(namespace, params.name, principal.id);
    return resumed.ok ? ok(json<ScheduleBody>(200, scheduleBody(resumed.value))) : resumed;
  },
});

const fire = namespaceRoute({
  method: 'POST',
  path: '/schedules/:name/fire',
  summary: 'Start a run of a schedule now, beside its times.',
  scope: 'schedules:control',
  replies: { 201: firedSchedule },
  handle: async ({ useCases, namespace, params }) => {
    const fired = await useCases.schedules.fire(namespace, params.name);
    return fired.ok ? ok(json<FiredScheduleBody>(201, { workflowId: fired.value.executionId })) : fired;
  },
});

const previewSchedule = namespaceRoute({
  method: 'GET',
  path: '/schedules/:name/preview',
  summary: 'Show when a schedule fires next.',
  scope: 'schedules:read',
  query: previewQuery,
  replies: { 200: preview },
  handle: async ({ useCases, namespace, params, query }) => {
    const instants = await useCases.schedules.previewOf(namespace, params.name, query.count);
    return instants.ok ? ok(previewOf(instants.value)) : instants;
  },
});

const runs = namespaceRoute({
  method: 'GET',
  path: '/schedules/:name/runs',
  summary: 'List what became of the firings of a schedule, newest first.',
  scope: 'schedules:read',
  query: pageQuery,
  replies: { 200: scheduleRunPage },
  handle: async ({ useCases, namespace, params, query }) => {
    const page = await useCases.schedules.runs(namespace, params.name, query.limit, query.cursor);
    if (!page.ok) return page;
    return ok(json<ScheduleRunPageBody>(200, { runs: page.value.items.map(scheduleRunBody), ...cursorOf(page.value) }));
  },
});

export const scheduleRoutes: readonly Route[] = [
  list,
  previewTimes,
  get,
  put,
  remove,
  pause,
  resume,
  fire,
  previewSchedule,
  runs,
];
