import type { z } from 'zod';
import type { OperatorAction } from '../../../application/use-cases.ts';
import { withoutUndefined } from '../../../domain/definition/without-undefined.ts';
import { ok } from '../../../domain/kernel/result.ts';
import { json, namespaceRoute, type Route } from '../route.ts';
import {
  cancelTaskRequest,
  type ExecutionSummaryBody,
  executionSummary,
  jumpRequest,
  type RerunTasksAnswerBody,
  rerunRequest,
  rerunTasksAnswer,
  rerunTasksRequest,
  restartRequest,
  skipTaskRequest,
  upgradeRequest,
  variablesRequest,
} from '../schemas/executions.ts';
import { summaryOf } from '../wire/execution-wire.ts';
import { executionIdOf } from './execution-routes.ts';

type Asking = Readonly<{ reason?: string | undefined }>;

/** A route that changes the course of one run; the body without its reason is the action. */
const operatorRoute = <Body extends Asking>(route: {
  verb: OperatorAction['type'];
  summary: string;
  body: z.ZodType<Body>;
  bodyOptional?: boolean;
  actionOf: (body: Body) => OperatorAction;
}): Route =>
  namespaceRoute({
    method: 'POST',
    path: `/executions/:id/${route.verb}` as '/executions/:id/action',
    summary: route.summary,
    scope: 'executions:control',
    body: route.body,
    bodyKind: 'payload',
    bodyOptional: route.bodyOptional ?? false,
    replies: { 200: route.verb === 'rerun-tasks' ? rerunTasksAnswer : executionSummary },
    handle: async ({ useCases, namespace, params, principal, body }) => {
      const id = executionIdOf(params.id);
      if (!id.ok) return id;
      const asked = body.reason === undefined ? { by: principal.id } : { by: principal.id, reason: body.reason };
      const done = await useCases.executions.operate(namespace, id.value, route.actionOf(body), asked);
      if (!done.ok) return done;
      const summary = summaryOf(done.value.summary);
      return route.verb === 'rerun-tasks'
        ? ok(json<RerunTasksAnswerBody>(200, { ...summary, stale: [...done.value.stale] }))
        : ok(json<ExecutionSummaryBody>(200, summary));
    },
  });

export const operatorRoutes: readonly Route[] = [
  operatorRoute({
    verb: 'rerun',
    summary: 'Let a task of an ended run and all that follows from it run again, or the whole run.',
    body: rerunRequest,
    bodyOptional: true,
    actionOf: ({ reason: _, ...rest }) => ({ type: 'rerun', ...withoutUndefined(rest) }),
  }),
  operatorRoute({
    verb: 'rerun-tasks',
    summary: 'Let named tasks of a paused or ended run run again, alone or with what follows from them.',
    body: rerunTasksRequest,
    actionOf: ({ taskRefs, cascade }) => ({ type: 'rerun-tasks', taskRefs, cascade: cascade ?? false }),
  }),
  operatorRoute({
    verb: 'restart',
    summary: 'Begin an ended run again from its first task, by the definition as it is now when asked so.',
    body: restartRequest,
    bodyOptional: true,
    actionOf: ({ useLatestDefinitions }) => ({ type: 'restart', useLatestDefinitions: useLatestDefinitions ?? false }),
  }),
  operatorRoute({
    verb: 'skip-task',
    summary: 'Skip the open task, or one that has not begun when it is reached.',
    body: skipTaskRequest,
    actionOf: ({ reason: _, taskRef, ...rest }) => ({ type: 'skip-task', taskRef, ...withoutUndefined(rest) }),
  }),
  operatorRoute({
    verb: 'cancel-task',
    summary: 'Cancel the open attempt of a task and pause the run; resumed, the task gets another attempt.',
    body: cancelTaskRequest,
    actionOf: ({ taskRef }) => ({ type: 'cancel-task', taskRef }),
  }),
  operatorRoute({
    verb: 'variables',
    summary: 'Merge variables into those of an open run.',
    body: variablesRequest,
    actionOf: ({ variables }) => ({ type: 'variables', variables }),
  }),
  operatorRoute({
    verb: 'jump',
    summary: 'Go on at a task: what is before it in its sequence is skipped, what ran behind it runs again.',
    body: jumpRequest,
    actionOf: ({ reason: _, taskRef, ...rest }) => ({ type: 'jump', taskRef, ...withoutUndefined(rest) }),
  }),
  operatorRoute({
    verb: 'upgrade',
    summary: 'Move an open run to another version of its definition, where what has begun allows it.',
    body: upgradeRequest,
    bodyOptional: true,
    actionOf: ({ reason: _, ...rest }) => ({ type: 'upgrade', ...withoutUndefined(rest) }),
  }),
];
