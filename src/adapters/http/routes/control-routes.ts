import type { UseCases } from '../../../application/use-cases.ts';
import { withoutUndefined } from '../../../domain/definition/without-undefined.ts';
import { ok } from '../../../domain/kernel/result.ts';
import { json, namespaceRoute, type Route } from '../route.ts';
import {
  controlRequest,
  type DecideAnswerBody,
  decideAnswer,
  type ExecutionSummaryBody,
  emptyRequest,
  executionSummary,
  retryRequest,
  type SignalAnswerBody,
  signalAnswer,
  signalRequest,
  terminateRequest,
} from '../schemas/executions.ts';
import { summaryOf } from '../wire/execution-wire.ts';
import { executionIdOf } from './execution-routes.ts';

type Action = 'pause' | 'resume';

const SUMMARIES: Readonly<Record<Action, string>> = {
  pause: 'Pause a run: leased work may report, nothing new is scheduled.',
  resume: 'Resume a paused run.',
};

const perform = (executions: UseCases['executions'], action: Action): UseCases['executions'][Action] =>
  executions[action].bind(executions);

const controlRoute = (action: Action): Route =>
  namespaceRoute({
    method: 'POST',
    path: `/executions/:id/${action}` as '/executions/:id/action',
    summary: SUMMARIES[action],
    scope: 'executions:control',
    body: controlRequest,
    bodyOptional: true,
    replies: { 200: executionSummary },
    handle: async ({ useCases, namespace, params, principal, body }) => {
      const id = executionIdOf(params.id);
      if (!id.ok) return id;
      const summary = await perform(useCases.executions, action)(namespace, id.value, principal.id, body.reason);
      return summary.ok ? ok(json<ExecutionSummaryBody>(200, summaryOf(summary.value))) : summary;
    },
  });

const terminate = namespaceRoute({
  method: 'POST',
  path: '/executions/:id/terminate',
  summary: 'End a run now and cancel what is open.',
  scope: 'executions:control',
  body: terminateRequest,
  bodyOptional: true,
  replies: { 200: executionSummary },
  handle: async ({ useCases, namespace, params, principal, body }) => {
    const id = executionIdOf(params.id);
    if (!id.ok) return id;
    const { reason, triggerFailureWorkflow } = body;
    const summary = await useCases.executions.terminate(
      namespace,
      id.value,
      principal.id,
      reason,
      triggerFailureWorkflow,
    );
    return summary.ok ? ok(json<ExecutionSummaryBody>(200, summaryOf(summary.value))) : summary;
  },
});

const retry = namespaceRoute({
  method: 'POST',
  path: '/executions/:id/retry',
  summary: 'Reopen a failed run at its failed tasks, and the runs above it that failed because of it.',
  scope: 'executions:control',
  body: retryRequest,
  bodyOptional: true,
  replies: { 200: executionSummary },
  handle: async ({ useCases, namespace, params, principal, body }) => {
    const id = executionIdOf(params.id);
    if (!id.ok) return id;
    const { reason, resumeSubworkflowTasks } = body;
    const { executions } = useCases;
    const summary = await executions.retry(namespace, id.value, principal.id, reason, resumeSubworkflowTasks);
    return summary.ok ? ok(json<ExecutionSummaryBody>(200, summaryOf(summary.value))) : summary;
  },
});

const signal = namespaceRoute({
  method: 'POST',
  path: '/executions/:id/signal',
  summary: 'End the named, or the first blocked, WAIT or YIELD; kept for it when it has not begun.',
  scope: 'executions:signal',
  body: signalRequest,
  bodyKind: 'payload',
  bodyOptional: true,
  replies: { 200: signalAnswer },
  handle: async ({ useCases, namespace, params, principal, body, signal: aborted }) => {
    const id = executionIdOf(params.id);
    if (!id.ok) return id;
    const { taskRef: ref, status, output } = body;
    const call = withoutUndefined({ ref, status, output });
    const answer = await useCases.executions.signal(namespace, id.value, call, principal.id);
    if (!answer.ok) return answer;
    const { delivered } = answer.value;
    const wait = { waitMs: body.waitSeconds * 1_000, untilBlocked: true, signal: aborted };
    const after = body.waitSeconds === 0 ? undefined : await useCases.executions.wait(namespace, id.value, wait);
    if (after?.ok === false) return after;
    const summary = after === undefined ? answer.value.summary : after.value.row;
    return ok(json<SignalAnswerBody>(200, { ...summaryOf(summary), delivered }));
  },
});

const decide = namespaceRoute({
  method: 'POST',
  path: '/executions/:id/decide',
  summary: 'Derive everything the run still owes from its log, and put back what is missing.',
  scope: 'executions:control',
  body: emptyRequest,
  bodyOptional: true,
  replies: { 200: decideAnswer },
  handle: async ({ useCases, namespace, params }) => {
    const id = executionIdOf(params.id);
    if (!id.ok) return id;
    const answer = await useCases.executions.decide(namespace, id.value);
    if (!answer.ok) return answer;
    const { summary, repaired } = answer.value;
    return ok(json<DecideAnswerBody>(200, { ...summaryOf(summary), repaired }));
  },
});

export const controlRoutes: readonly Route[] = [
  controlRoute('pause'),
  controlRoute('resume'),
  terminate,
  retry,
  signal,
  decide,
];
