import { withoutUndefined } from '../../../../domain/definition/without-undefined.ts';
import type { ExecutionId } from '../../../../domain/kernel/brand.ts';
import { err, ok, type Result } from '../../../../domain/kernel/result.ts';
import type { ApiError } from '../../api-error.ts';
import { conductorRoute, type Handled, json, type NamespaceCall, NOTHING, type Route, text } from '../../route.ts';
import { INTEGER_MAX } from '../../schemas/common.ts';
import {
  type ExecuteQuery,
  executeQuery,
  inputBody,
  type StartBody,
  startQuery,
  startRequest,
  waitMsOf,
} from '../schemas/workflow.ts';
import { startOf } from '../start-of.ts';
import { runResponseOf } from '../wire/run-response.ts';

type Call = NamespaceCall<string, unknown, unknown>;

/** The input that was uploaded before, if the request names one. */
const withInput = async (call: Call, body: Partial<StartBody>): Promise<Result<Partial<StartBody>, ApiError>> => {
  const { externalInputPayloadStoragePath: path } = body;
  if (path === undefined || path === '') return ok(body);
  const input = await call.useCases.payloads.load(call.namespace, path);
  if (input.ok) return ok({ ...body, input: input.value });
  const { message } = input.error;
  return err({ code: 'VALIDATION_FAILED', message, path: 'externalInputPayloadStoragePath' });
};

const started = async (call: Call, given: Partial<StartBody>): Promise<Result<ExecutionId, ApiError>> => {
  const body = await withInput(call, given);
  if (!body.ok) return body;
  const request = startOf(call, body.value);
  if (!request.ok) return request;
  const run = await call.useCases.executions.start(call.namespace, request.value);
  return run.ok ? ok(run.value.executionId) : run;
};

const startedAsText = async (call: Call, body: Partial<StartBody>): Handled => {
  const id = await started(call, body);
  return id.ok ? ok(text(id.value)) : id;
};

/** A version that is no version of ours is one that nobody has. */
const versionOf = (given: string): number | undefined => {
  const version = /^\d{1,10}$/.test(given) ? Number(given) : INTEGER_MAX;
  return version === 0 ? undefined : Math.min(version, INTEGER_MAX);
};

const start = conductorRoute({
  method: 'POST',
  path: '/workflow',
  summary: 'Start a run.',
  scope: 'executions:start',
  body: startRequest,
  bodyKind: 'payload',
  bodyNamesScope: true,
  bodyScopes: ({ name, workflowDef }) => startScopes(name ?? workflowDef?.name),
  handle: (call) => startedAsText(call, call.body),
});

/** A start whose body names the workflow needs the scope of that workflow; without a name it is refused anyway. */
const startScopes = (name: unknown): readonly string[] =>
  typeof name === 'string' ? [`executions:start:${name}`] : [];

const startByName = conductorRoute({
  method: 'POST',
  path: '/workflow/:name',
  summary: 'Start a run of a workflow; the body is its input.',
  scope: 'executions:start:{name}',
  query: startQuery,
  body: inputBody,
  bodyKind: 'payload',
  bodyOptional: true,
  handle: ({ query, body: input, ...call }) =>
    startedAsText({ ...call, query, body: input }, { ...withoutUndefined(query), name: call.params.name, input }),
});

const startByVersion = conductorRoute({
  method: 'POST',
  path: '/workflow/start/:name/:version',
  summary: 'Start a run of a version; the body is its input.',
  scope: 'executions:start:{name}',
  query: startQuery,
  body: inputBody,
  bodyKind: 'payload',
  bodyOptional: true,
  handle: (call) => {
    const { name, version } = call.params;
    const asked = { ...withoutUndefined(call.query), version: versionOf(version), name, input: call.body };
    return startedAsText(call, asked);
  },
});

/** Starts a run and answers when it has ended, waits for a signal, or the time is up. */
const executed = async (call: Call, body: Partial<StartBody>, asked: ExecuteQuery): Handled => {
  const id = await started(call, body);
  if (!id.ok) return id;
  const blocked = await call.useCases.executions.waitUntilBlocked(call.namespace, id.value, {
    waitMs: waitMsOf(asked.waitForSeconds),
    untilTaskRefs: asked.waitUntilTaskRef,
    signal: call.signal,
  });
  if (!blocked.ok) return blocked;
  const response = runResponseOf(blocked.value, asked.returnStrategy, asked.requestId ?? call.requestId);
  return ok(response === undefined ? NOTHING : json(200, response));
};

const execute = conductorRoute({
  method: 'POST',
  path: '/workflow/execute/:name/:version',
  summary:
    'Start a run and wait for its end, for a task that waits for a signal, for one of the named tasks, or for the time.',
  scope: 'executions:start:{name}',
  query: executeQuery,
  body: startRequest,
  bodyKind: 'payload',
  bodyOptional: true,
  handle: (call) =>
    executed(call, { ...call.body, name: call.params.name, version: versionOf(call.params.version) }, call.query),
});

const executeByName = conductorRoute({
  method: 'POST',
  path: '/workflow/execute/:name',
  summary: 'The same with the body as the input.',
  scope: 'executions:start:{name}',
  query: executeQuery,
  body: inputBody,
  bodyKind: 'payload',
  bodyOptional: true,
  handle: (call) =>
    executed(call, { name: call.params.name, version: call.query.version, input: call.body }, call.query),
});

const executeByGet = conductorRoute({
  method: 'GET',
  path: '/workflow/execute/:name',
  summary: 'The same without an input.',
  scope: 'executions:start:{name}',
  query: executeQuery,
  handle: (call) => executed(call, { name: call.params.name, version: call.query.version }, call.query),
});

export const workflowStartRoutes: readonly Route[] = [start, startByVersion, execute, executeByName, executeByGet];

/** Stands behind every other: its parameter would take their last segment. */
export const workflowStartByNameRoutes: readonly Route[] = [startByName];
