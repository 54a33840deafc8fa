import { z } from 'zod';
import { ok } from '../../../../domain/kernel/result.ts';
import { conductorRoute, json, NO_CONTENT, NOTHING, type Route, text } from '../../route.ts';
import { taskIdFrom } from '../../routes/worker-routes.ts';
import { LOG_LINE_CHARS_MAX } from '../../schemas/workers.ts';
import { everyPage } from '../every-page.ts';
import { taskResult } from '../schemas/tasks.ts';
import { polledTaskOf } from '../wire/polled-task.ts';

const update = conductorRoute({
  method: 'POST',
  path: '/tasks',
  summary: 'Say how a task stands. Of one that has ended, or that another worker holds, nothing is changed.',
  scope: 'tasks:report',
  body: taskResult,
  bodyKind: 'payload',
  handle: async ({ useCases, namespace, principal, body }) => {
    const answer = await useCases.tasks.update(namespace, body, principal.id);
    return answer.ok ? ok(text(body.taskId)) : answer;
  },
});

const updateV2 = conductorRoute({
  method: 'POST',
  path: '/tasks/update-v2',
  summary: 'The same, answered with the next task of the same kind for the worker, if there is one.',
  scope: 'tasks:report',
  body: taskResult,
  bodyKind: 'payload',
  handle: async ({ useCases, namespace, principal, body, signal }) => {
    const next = await useCases.tasks.updateAndTakeNext(namespace, body, principal.id, signal);
    // On a 404 Conductor's clients conclude that this route does not exist, and never use it again.
    if (!next.ok) return next.error.code === 'NOT_FOUND' ? ok(NO_CONTENT) : next;
    return ok(next.value === undefined ? NO_CONTENT : json(200, polledTaskOf(next.value)));
  },
});

/** A line may come as JSON text, as the JavaScript client sends it, or as it is. */
const lineOf = (body: string): string => {
  if (!body.startsWith('"')) return body;
  try {
    const parsed: unknown = JSON.parse(body);
    return typeof parsed === 'string' ? parsed : body;
  } catch {
    return body;
  }
};

const log = conductorRoute({
  method: 'POST',
  path: '/tasks/:taskId/log',
  summary: 'Append a line to the log of a task.',
  scope: 'tasks:report',
  body: z.string(),
  bodyKind: 'text',
  handle: async ({ useCases, namespace, params, body }) => {
    const taskId = taskIdFrom(params.taskId);
    if (!taskId.ok) return taskId;
    const line = lineOf(body).slice(0, LOG_LINE_CHARS_MAX);
    const appended = await useCases.tasks.appendLogs(namespace, taskId.value, [line]);
    return appended.ok ? ok(NOTHING) : appended;
  },
});

const logs = conductorRoute({
  method: 'GET',
  path: '/tasks/:taskId/log',
  summary: 'The log of a task.',
  scope: 'tasks:read',
  handle: async ({ useCases, namespace, params }) => {
    const taskId = taskIdFrom(params.taskId);
    if (!taskId.ok) return ok(NO_CONTENT);
    const lines = await everyPage((limit, cursor) => useCases.workers.logs(namespace, taskId.value, limit, cursor));
    if (!lines.ok) return lines;
    if (lines.value.length === 0) return ok(NO_CONTENT);
    return ok(
      json(
        200,
        lines.value.map(({ line, at }) => ({ log: line, taskId: taskId.value, createdTime: at })),
      ),
    );
  },
});

export const taskUpdateRoutes: readonly Route[] = [update, updateV2, log, logs];
