import type { ReportAnswer } from '../../../application/use-cases.ts';
import { withoutUndefined } from '../../../domain/definition/without-undefined.ts';
import { type LeaseToken, parseLeaseToken, parseTaskId, type TaskId, taskIdOf } from '../../../domain/kernel/brand.ts';
import { err, ok, type Result } from '../../../domain/kernel/result.ts';
import type { TaskReport } from '../../../ports/engine-store.ts';
import { type ApiError, NOT_FOUND } from '../api-error.ts';
import { json, NO_CONTENT, namespaceRoute, type Route } from '../route.ts';
import { pageQuery } from '../schemas/common.ts';
import {
  type HeartbeatAnswerBody,
  heartbeatAnswer,
  heartbeatRequest,
  type LeaseAnswerBody,
  type LogPageBody,
  leaseAnswer,
  leaseRequest,
  logPage,
  logsRequest,
  type ReportAnswerBody,
  type ReportManyAnswerBody,
  releaseRequest,
  reportAnswer,
  reportManyAnswer,
  reportManyRequest,
  reportRequest,
} from '../schemas/workers.ts';
import { isoText } from '../wire/instant-wire.ts';
import { leasedTaskOf, reportAnswerOf } from '../wire/worker-wire.ts';
import { cursorOf } from './cursor-of.ts';

const MS_PER_SECOND = 1_000;
/** No lease ever gets it, so a malformed token is refused exactly like a wrong one, by whoever knows the task. */
const TOKEN_OF_NO_LEASE = '00000000-0000-0000-0000-000000000000' as LeaseToken;

const tokenOf = (text: string): LeaseToken => parseLeaseToken(text) ?? TOKEN_OF_NO_LEASE;

export const taskIdFrom = (text: string): Result<TaskId, ApiError> => {
  const parts = parseTaskId(text);
  return parts === undefined ? err(NOT_FOUND) : ok(taskIdOf(parts.executionId, parts.scheduledSeq));
};

const leaseMsOf = (seconds: number | undefined) => (seconds === undefined ? undefined : seconds * MS_PER_SECOND);

const lease = namespaceRoute({
  method: 'POST',
  path: '/queues/:queue/lease',
  summary: 'Lease tasks; waits for some when there are none.',
  scope: 'queues:lease:{queue}',
  body: leaseRequest,
  bodyScopes: ({ queues }) => queues.map((queue) => `queues:lease:${queue}`),
  replies: { 200: leaseAnswer },
  handle: async ({ useCases, namespace, params, body, signal }) => {
    const { workerId, count, waitSeconds, leaseSeconds } = body;
    const queues = [...new Set([params.queue, ...body.queues])];
    const waitMs = waitSeconds * MS_PER_SECOND;
    const call = { namespace, queues, workerId, count, waitMs, leaseMs: leaseMsOf(leaseSeconds), signal };
    const tasks = await useCases.workers.lease(withoutUndefined(call));
    return tasks.ok ? ok(json<LeaseAnswerBody>(200, { tasks: tasks.value.map(leasedTaskOf) })) : tasks;
  },
});

const heartbeat = namespaceRoute({
  method: 'POST',
  path: '/tasks/:id/heartbeat',
  summary: 'Extend a lease, with progress if there is any to tell.',
  scope: 'tasks:report',
  body: heartbeatRequest,
  replies: { 200: heartbeatAnswer },
  handle: async ({ useCases, namespace, params, body }) => {
    const taskId = taskIdFrom(params.id);
    if (!taskId.ok) return taskId;
    const leaseMs = leaseMsOf(body.leaseSeconds);
    const beat = { taskId: taskId.value, leaseToken: tokenOf(body.leaseToken), leaseMs, progress: body.progress };
    const answer = await useCases.workers.heartbeat(namespace, withoutUndefined(beat));
    if (!answer.ok) return answer;
    const leaseExpiresAt = isoText(answer.value.leaseExpiresAt);
    return ok(json<HeartbeatAnswerBody>(200, { taskId: taskId.value, leaseExpiresAt }));
  },
});

const appendLogs = namespaceRoute({
  method: 'POST',
  path: '/tasks/:id/logs',
  summary: 'Append lines to the log of a leased task.',
  scope: 'tasks:report',
  body: logsRequest,
  replies: { 204: null },
  handle: async ({ useCases, namespace, params, body }) => {
    const taskId = taskIdFrom(params.id);
    if (!taskId.ok) return taskId;
    const held = { taskId: taskId.value, leaseToken: tokenOf(body.leaseToken) };
    const answer = await useCases.workers.appendLogs(namespace, held, body.lines);
    return answer.ok ? ok(NO_CONTENT) : answer;
  },
});

const readLogs = namespaceRoute({
  method: 'GET',
  path: '/tasks/:id/logs',
  summary: 'Read the log of a task.',
  scope: 'tasks:read',
  query: pageQuery,
  replies: { 200: logPage },
  handle: async ({ useCases, namespace, params, query }) => {
    const taskId = taskIdFrom(params.id);
    if (!taskId.ok) return taskId;
    const page = await useCases.workers.logs(namespace, taskId.value, query.limit, query.cursor);
    if (!page.ok) return page;
    const lines = page.value.items.map(({ at, line }) => ({ at: isoText(at), line }));
    return ok(json<LogPageBody>(200, { lines, ...cursorOf(page.value) }));
  },
});

const report = namespaceRoute({
  method: 'POST',
  path: '/tasks/:id/report',
  summary: 'Report how a leased task ended; the same report again gets the same answer.',
  scope: 'tasks:report',
  body: reportRequest,
  bodyKind: 'payload',
  replies: { 200: reportAnswer },
  handle: async ({ useCases, namespace, params, body }) => {
    const taskId = taskIdFrom(params.id);
    if (!taskId.ok) return taskId;
    const given = { ...body, taskId: taskId.value, leaseToken: tokenOf(body.leaseToken) };
    const [answer] = await useCases.workers.report(namespace, [withoutUndefined(given)]);
    if (answer === undefined) throw new Error('a report got no answer');
    if (!answer.result.ok) return answer.result;
    const { repeated } = answer.result.value;
    return ok(json<ReportAnswerBody>(200, { taskId: taskId.value, status: 'settled', repeated }));
  },
});

const reportMany = namespaceRoute({
  method: 'POST',
  path: '/tasks/report',
  summary: 'Report how many leased tasks ended; one answer each, in order.',
  scope: 'tasks:report',
  body: reportManyRequest,
  bodyKind: 'payload',
  replies: { 200: reportManyAnswer },
  handle: async ({ useCases, namespace, body }) => {
    const reports = body.reports.map((given) => ({ given, taskId: taskIdFrom(given.taskId) }));
    const wellFormed = reports.flatMap(({ given, taskId }): readonly TaskReport[] =>
      taskId.ok ? [withoutUndefined({ ...given, taskId: taskId.value, leaseToken: tokenOf(given.leaseToken) })] : [],
    );
    const settled: readonly ReportAnswer[] =
      wellFormed.length === 0 ? [] : await useCases.workers.report(namespace, wellFormed);
    const inOrder = settled.values();
    const answers = reports.map(({ given, taskId }) =>
      taskId.ok ? answerOf(inOrder.next().value) : unknownTask(given.taskId),
    );
    return ok(json<ReportManyAnswerBody>(200, { answers }));
  },
});

type Answer = ReportManyAnswerBody['answers'][number];

const answerOf = (answer: ReportAnswer | undefined): Answer => {
  if (answer === undefined) throw new Error('a report got no answer');
  return reportAnswerOf(answer);
};

const unknownTask = (taskId: string): Answer => ({
  taskId,
  status: 'refused',
  error: NOT_FOUND.code,
  message: NOT_FOUND.message,
});

const release = namespaceRoute({
  method: 'POST',
  path: '/tasks/:id/release',
  summary: 'Give a lease back: the same attempt is there for others at once.',
  scope: 'tasks:report',
  body: releaseRequest,
  replies: { 204: null },
  handle: async ({ useCases, namespace, params, body }) => {
    const taskId = taskIdFrom(params.id);
    if (!taskId.ok) return taskId;
    const held = { taskId: taskId.value, leaseToken: tokenOf(body.leaseToken) };
    const answer = await useCases.workers.release(namespace, held);
    return answer.ok ? ok(NO_CONTENT) : answer;
  },
});

export const workerRoutes: readonly Route[] = [lease, heartbeat, appendLogs, readLogs, reportMany, report, release];
