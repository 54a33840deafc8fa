import type { z } from 'zod';
import type { StartRequest } from '../../../application/use-cases.ts';
import { withoutUndefined } from '../../../domain/definition/without-undefined.ts';
import { err, ok, type Result } from '../../../domain/kernel/result.ts';
import type { ApiError } from '../api-error.ts';
import { headerValues } from '../headers.ts';
import { type CallContext, json, namespaceRoute, type Route } from '../route.ts';
import {
  type ExecutionDetailBody,
  executeRequest,
  executionDetail,
  IDEMPOTENCY_KEY,
  type StartedExecutionBody,
  startedExecution,
  startRequest,
} from '../schemas/executions.ts';
import { detailOf, startedOf } from '../wire/execution-wire.ts';

const MS_PER_SECOND = 1_000;

type StartBody = z.output<typeof startRequest>;

/** The key of the header or of the body; both may be given when they agree. */
const idempotencyKeyOf = ({ request }: CallContext, body: StartBody): Result<string | undefined, ApiError> => {
  const values = headerValues(request, 'idempotency-key');
  if (values.length === 0) return ok(body.idempotencyKey);
  const [key = ''] = values;
  const isValid = values.length === 1 && IDEMPOTENCY_KEY.test(key);
  if (isValid && (body.idempotencyKey === undefined || body.idempotencyKey === key)) return ok(key);
  const message = isValid
    ? 'The Idempotency-Key header and the idempotencyKey of the body differ.'
    : 'The Idempotency-Key header must be one key of 1 to 255 printable ASCII characters.';
  return err({ code: 'INVALID_HEADER', message, path: 'Idempotency-Key' });
};

const startRequestOf = (call: CallContext, name: string, body: StartBody): Result<StartRequest, ApiError> => {
  const key = idempotencyKeyOf(call, body);
  if (!key.ok) return key;
  const { version, input, correlationId, priority, idempotencyStrategy, taskToDomain } = body;
  const given = { name, version, input, correlationId, priority, idempotencyStrategy, taskToDomain };
  return ok(withoutUndefined({ ...given, idempotencyKey: key.value }));
};

const start = namespaceRoute({
  method: 'POST',
  path: '/executions/:name',
  summary: 'Start a run. 200 instead of 201 when its idempotency key led to a run that existed.',
  scope: 'executions:start:{name}',
  body: startRequest,
  bodyKind: 'payload',
  replies: { 200: startedExecution, 201: startedExecution },
  handle: async (call) => {
    const request = startRequestOf(call, call.params.name, call.body);
    if (!request.ok) return request;
    const started = await call.useCases.executions.start(call.namespace, request.value);
    if (!started.ok) return started;
    return ok(json<StartedExecutionBody>(started.value.created ? 201 : 200, startedOf(started.value)));
  },
});

const execute = namespaceRoute({
  method: 'POST',
  path: '/executions/:name/execute',
  summary: 'Start a run and wait for its end, for the end of one task, or for the time: then the state so far.',
  scope: 'executions:start:{name}',
  body: executeRequest,
  bodyKind: 'payload',
  replies: { 200: executionDetail },
  handle: async (call) => {
    const { useCases, namespace, body, signal } = call;
    const request = startRequestOf(call, call.params.name, body);
    if (!request.ok) return request;
    const started = await useCases.executions.start(namespace, request.value);
    if (!started.ok) return started;
    const { waitSeconds, waitUntilTaskRef: untilTaskRef } = body;
    const wait = withoutUndefined({ waitMs: waitSeconds * MS_PER_SECOND, untilTaskRef, signal });
    const detail = await useCases.executions.wait(namespace, started.value.executionId, wait);
    return detail.ok ? ok(json<ExecutionDetailBody>(200, detailOf(detail.value))) : detail;
  },
});

export const startRoutes: readonly Route[] = [start, execute];
