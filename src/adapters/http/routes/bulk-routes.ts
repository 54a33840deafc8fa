import type { BulkAnswer, ReplayedExecution } from '../../../application/use-cases.ts';
import { withoutUndefined } from '../../../domain/definition/without-undefined.ts';
import type { ReplayDifference } from '../../../domain/execution/replay.ts';
import type { ExecutionStatus } from '../../../domain/execution/statuses.ts';
import { ok } from '../../../domain/kernel/result.ts';
import { json, NO_CONTENT, namespaceRoute, type Route } from '../route.ts';
import {
  type BulkAnswerBody,
  bulkAnswer,
  bulkRequest,
  type ReplayAnswerBody,
  replayAnswer,
  replayRequest,
  runAgainRequest,
  type StartedExecutionBody,
  startedExecution,
} from '../schemas/executions.ts';
import { historyEventOf } from '../wire/event-wire.ts';
import { startedOf } from '../wire/execution-wire.ts';
import { executionIdOf } from './execution-routes.ts';

const bulk = namespaceRoute({
  method: 'POST',
  path: '/executions/bulk',
  summary: 'Do one thing with up to 1,000 runs: one answer for each, and none stops the others.',
  scope: 'executions:control',
  body: bulkRequest,
  bodyScopes: ({ action }) => (action === 'delete' ? ['executions:delete'] : []),
  replies: { 200: bulkAnswer },
  handle: async ({ useCases, namespace, principal, body }) => {
    const { ids, action, reason } = body;
    const call = withoutUndefined({ action, by: principal.id, reason });
    const answers = (await useCases.executions.bulk(namespace, ids, call)).map(answerBodyOf);
    const done = answers.filter(({ outcome }) => outcome === 'done').length;
    return ok(json<BulkAnswerBody>(200, { answers, done, refused: answers.length - done }));
  },
});

const answerBodyOf = ({ id, result }: BulkAnswer): BulkAnswerBody['answers'][number] => {
  if (result.ok) {
    const status = result.value as ExecutionStatus | undefined;
    return { id, outcome: 'done', ...(status !== undefined && { status }) };
  }
  const { code, message, details } = result.error;
  return { id, outcome: 'refused', error: code, message, ...(details !== undefined && { details }) };
};

const remove = namespaceRoute({
  method: 'DELETE',
  path: '/executions/:id',
  summary: 'Remove a run that has ended, with its history, tasks, logs and idempotency key. Its children stay.',
  scope: 'executions:delete',
  replies: { 204: null },
  handle: async ({ useCases, namespace, params }) => {
    const id = executionIdOf(params.id);
    if (!id.ok) return id;
    const deleted = await useCases.executions.delete(namespace, id.value);
    return deleted.ok ? ok(NO_CONTENT) : deleted;
  },
});

const runAgain = namespaceRoute({
  method: 'POST',
  path: '/executions/:id/run-again',
  summary: 'Start a new run with the definition version and the input of this one, or with what is given instead.',
  scope: 'executions:control',
  body: runAgainRequest,
  bodyKind: 'payload',
  bodyOptional: true,
  replies: { 201: startedExecution },
  handle: async ({ useCases, namespace, params, body }) => {
    const id = executionIdOf(params.id);
    if (!id.ok) return id;
    const started = await useCases.executions.runAgain(namespace, id.value, withoutUndefined(body));
    return started.ok ? ok(json<StartedExecutionBody>(201, startedOf(started.value))) : started;
  },
});

const replay = namespaceRoute({
  method: 'POST',
  path: '/executions/:id/replay',
  summary: 'Derive a run again from its log, with its own version or as a preview of another. Nothing is carried out.',
  scope: 'executions:read',
  body: replayRequest,
  bodyOptional: true,
  replies: { 200: replayAnswer },
  handle: async ({ useCases, namespace, params, body }) => {
    const id = executionIdOf(params.id);
    if (!id.ok) return id;
    const replayed = await useCases.executions.replay(namespace, id.value, body.version);
    return replayed.ok ? ok(json<ReplayAnswerBody>(200, replayedOf(replayed.value))) : replayed;
  },
});

const replayedOf = (replayed: ReplayedExecution): ReplayAnswerBody => {
  const { executionId, name, version, recorded, difference, preview } = replayed;
  return {
    workflowId: executionId,
    name,
    version,
    recorded,
    same: difference === undefined,
    ...(difference !== undefined && { difference: differenceOf(difference) }),
    ...(preview !== undefined && {
      preview: { events: preview.events.map(historyEventOf), unused: [...preview.unused] },
    }),
  };
};

const differenceOf = ({ seq, recorded, derived }: ReplayDifference): ReplayAnswerBody['difference'] => ({
  seq,
  ...(recorded !== undefined && { recorded: historyEventOf({ seq, event: recorded }) }),
  ...(derived !== undefined && { derived: historyEventOf({ seq, event: derived }) }),
});

export const bulkRoutes: readonly Route[] = [bulk, remove, runAgain, replay];
