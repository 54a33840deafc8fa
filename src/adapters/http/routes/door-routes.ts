import type { IncomingMessage } from 'node:http';
import { withoutUndefined } from '../../../domain/definition/without-undefined.ts';
import { err, ok } from '../../../domain/kernel/result.ts';
import type { ApiError } from '../api-error.ts';
import { headerValues } from '../headers.ts';
import { json, namespaceRoute, publicRoute, type Route } from '../route.ts';
import {
  type CallbackAnswerBody,
  callbackAnswer,
  completeTaskRequest,
  type MessageAnswerBody,
  messageAnswer,
  messagePayload,
  type WebhookAnswerBody,
  webhookAnswer,
  webhookPayload,
} from '../schemas/doors.ts';
import { type ExecutionSummaryBody, executionSummary } from '../schemas/executions.ts';
import { summaryOf } from '../wire/execution-wire.ts';
import { executionIdOf } from './execution-routes.ts';
import { taskIdFrom } from './worker-routes.ts';

const completeTask = namespaceRoute({
  method: 'POST',
  path: '/tasks/:id/complete',
  summary: 'End a task that waits for a person or an answer; the same call again gets the same answer.',
  scope: 'tasks:complete',
  body: completeTaskRequest,
  bodyKind: 'payload',
  bodyOptional: true,
  replies: { 200: executionSummary },
  handle: async ({ useCases, namespace, params, principal, body }) => {
    const taskId = taskIdFrom(params.id);
    if (!taskId.ok) return taskId;
    const summary = await useCases.doors.completeTask(namespace, taskId.value, withoutUndefined(body), principal.id);
    return summary.ok ? ok(json<ExecutionSummaryBody>(200, summaryOf(summary.value))) : summary;
  },
});

const sendMessage = namespaceRoute({
  method: 'POST',
  path: '/executions/:id/messages',
  summary: 'Leave a message for a run; PULL_WORKFLOW_MESSAGES takes them in the order of arrival.',
  scope: 'executions:signal',
  body: messagePayload,
  bodyIsData: true,
  replies: { 201: messageAnswer },
  handle: async ({ useCases, namespace, params, principal, body }) => {
    const id = executionIdOf(params.id);
    if (!id.ok) return id;
    const sent = await useCases.doors.sendMessage(namespace, id.value, body, principal.id);
    return sent.ok ? ok(json<MessageAnswerBody>(201, sent.value)) : sent;
  },
});

const webhook = namespaceRoute({
  method: 'POST',
  path: '/webhooks/:name',
  summary: 'Bring a payload in: it ends every WAIT_FOR_WEBHOOK whose matches it fits.',
  scope: 'webhooks:receive:{name}',
  body: webhookPayload,
  bodyIsData: true,
  replies: { 200: webhookAnswer },
  handle: async ({ useCases, namespace, params, body }) =>
    ok(json<WebhookAnswerBody>(200, { matched: await useCases.doors.webhook(namespace, params.name, body) })),
});

/** One body for every cause: who may not end the task learns nothing about it, not even whether there is one. */
const REFUSED: ApiError = { code: 'UNAUTHENTICATED', message: 'Credentials are missing or not valid.' };

const onlyHeader = (request: IncomingMessage, name: string): string | undefined => {
  const values = headerValues(request, name);
  return values.length === 1 ? values[0] : undefined;
};

const callback = publicRoute({
  method: 'POST',
  path: '/v1/hooks/:token',
  summary: 'The one-time callback of a WAIT_FOR_WEBHOOK; the same payload again gets the same answer.',
  body: webhookPayload,
  replies: { 200: callbackAnswer },
  handle: async ({ useCases, params, body, bytes, request }) => {
    const accepted = await useCases.doors.callback({
      token: params.token,
      payload: body,
      bytes,
      timestamp: onlyHeader(request, 'x-rondo-timestamp'),
      signature: onlyHeader(request, 'x-rondo-signature'),
    });
    return accepted ? ok(json<CallbackAnswerBody>(200, { status: 'accepted' })) : err(REFUSED);
  },
});

export const doorRoutes: readonly Route[] = [callback, completeTask, sendMessage, webhook];
