import { z } from 'zod';
import type { TaskUpdate } from '../../../../application/unfenced/task-update.ts';
import type { UseCases } from '../../../../application/use-cases.ts';
import type { Namespace } from '../../../../domain/kernel/brand.ts';
import { err, ok, type Result } from '../../../../domain/kernel/result.ts';
import type { ApiError } from '../../api-error.ts';
import { conductorRoute, json, NO_CONTENT, NOTHING, type Route, text } from '../../route.ts';
import { taskIdFrom } from '../../routes/worker-routes.ts';
import { LOG_LINE_CHARS_MAX } from '../../schemas/workers.ts';
import { everyPage } from '../every-page.ts';
import { type GivenUpdate, taskResult } from '../schemas/tasks.ts';
import { polledTaskOf } from '../wire/polled-task.ts';

/** The update with the output that it names, if it names one. */
const withOutput = async (
  { payloads }: UseCases,
  namespace: Namespace,
  { outputPath, ...update }: GivenUpdate,
): Promise<Result<TaskUpdate, ApiError>> => {
  if (outputPath === undefined) return ok(update);
  const output = await payloads.load(namespace, outputPath);
  if (output.ok) return ok({ ...update, output: output.value });
  const { message } = output.error;
  return err({ code: 'VALIDATION_FAILED', message, path: 'externalOutputPayloadStoragePath' });
};

const update = conductorRoute({
  method: 'POST',
  path: '/tasks',
  summary: 'Say how a task stands. Of one that has ended, or that another worker holds, nothing is changed.',
  scope: 'tasks:report',
  body: taskResult,
  bodyKind: 'payload',
  handle: async ({ useCases, namespace, principal, body }) => {
    const given = await withOutput(useCases, namespace, body);
    if (!given.ok) return given;
    const answer = await useCases.tasks.update(namespace, given.value, principal.id);
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
    const given = await withOutput(useCases, namespace, body);
    if (!given.ok) return given;
    const next = await useCases.tasks.updateAndTakeNext(namespace, given.value, principal.id, signal);
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
