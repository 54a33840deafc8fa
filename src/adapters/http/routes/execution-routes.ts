import { withoutUndefined } from '../../../domain/definition/without-undefined.ts';
import { type ExecutionId, parseExecutionId } from '../../../domain/kernel/brand.ts';
import { err, ok, type Result } from '../../../domain/kernel/result.ts';
import { type ApiError, NOT_FOUND } from '../api-error.ts';
import { json, namespaceRoute, type Route } from '../route.ts';
import {
  type ExecutionDetailBody,
  type ExecutionPageBody,
  type ExecutionStateBody,
  type ExecutionSummaryBody,
  type ExecutionTasksBody,
  type ExecutionTreeBody,
  executionDetail,
  executionPage,
  executionState,
  executionSummary,
  executionTasks,
  executionTree,
  type HistoryPageBody,
  historyPage,
  historyQuery,
  searchRequest,
  stateQuery,
} from '../schemas/executions.ts';
import { historyEventOf } from '../wire/event-wire.ts';
import { detailOf, stateOf, summaryOf } from '../wire/execution-wire.ts';
import { cursorOf } from './cursor-of.ts';

/** The run a path names; a malformed id is answered like one that does not exist. */
export const executionIdOf = (text: string): Result<ExecutionId, ApiError> => {
  const id = parseExecutionId(text);
  return id === undefined ? err(NOT_FOUND) : ok(id);
};

const get = namespaceRoute({
  method: 'GET',
  path: '/executions/:id',
  summary: 'Read a run: its tasks, live leases, and why nothing moves.',
  scope: 'executions:read',
  replies: { 200: executionDetail },
  handle: async ({ useCases, namespace, params }) => {
    const id = executionIdOf(params.id);
    if (!id.ok) return id;
    const detail = await useCases.executions.get(namespace, id.value);
    return detail.ok ? ok(json<ExecutionDetailBody>(200, detailOf(detail.value))) : detail;
  },
});

const status = namespaceRoute({
  method: 'GET',
  path: '/executions/:id/status',
  summary: 'Read the summary of a run.',
  scope: 'executions:read',
  replies: { 200: executionSummary },
  handle: async ({ useCases, namespace, params }) => {
    const id = executionIdOf(params.id);
    if (!id.ok) return id;
    const summary = await useCases.executions.status(namespace, id.value);
    return summary.ok ? ok(json<ExecutionSummaryBody>(200, summaryOf(summary.value))) : summary;
  },
});

const tree = namespaceRoute({
  method: 'GET',
  path: '/executions/:id/tree',
  summary: 'Read the summaries of a run and of all runs below it.',
  scope: 'executions:read',
  replies: { 200: executionTree },
  handle: async ({ useCases, namespace, params }) => {
    const id = executionIdOf(params.id);
    if (!id.ok) return id;
    const found = await useCases.executions.tree(namespace, id.value);
    if (!found.ok) return found;
    const { executions, truncated } = found.value;
    return ok(json<ExecutionTreeBody>(200, { executions: executions.map(summaryOf), truncated }));
  },
});

const tasks = namespaceRoute({
  method: 'GET',
  path: '/executions/:id/tasks',
  summary: 'List every attempt of every task of a run.',
  scope: 'executions:read',
  replies: { 200: executionTasks },
  handle: async ({ useCases, namespace, params }) => {
    const id = executionIdOf(params.id);
    if (!id.ok) return id;
    const detail = await useCases.executions.get(namespace, id.value);
    return detail.ok ? ok(json<ExecutionTasksBody>(200, { tasks: detailOf(detail.value).tasks })) : detail;
  },
});

const history = namespaceRoute({
  method: 'GET',
  path: '/executions/:id/history',
  summary: 'Read the log of a run, in order, from after a seq.',
  scope: 'executions:read',
  query: historyQuery,
  replies: { 200: historyPage },
  handle: async ({ useCases, namespace, params, query }) => {
    const id = executionIdOf(params.id);
    if (!id.ok) return id;
    const page = await useCases.executions.history(namespace, id.value, query.after, query.limit);
    if (!page.ok) return page;
    const events = page.value.events.map(historyEventOf);
    const last = page.value.events.at(-1)?.seq ?? query.after;
    return ok(json<HistoryPageBody>(200, { events, ...(page.value.more && { nextCursor: String(last) }) }));
  },
});

const state = namespaceRoute({
  method: 'GET',
  path: '/executions/:id/state',
  summary: 'Read a run as it was after one event: time travel.',
  scope: 'executions:read',
  query: stateQuery,
  replies: { 200: executionState },
  handle: async ({ useCases, namespace, params, query }) => {
    const id = executionIdOf(params.id);
    if (!id.ok) return id;
    const view = await useCases.executions.stateAt(namespace, id.value, query.seq);
    return view.ok ? ok(json<ExecutionStateBody>(200, stateOf(view.value))) : view;
  },
});

const search = namespaceRoute({
  method: 'POST',
  path: '/executions/search',
  summary: 'Find runs, the newest first.',
  scope: 'executions:read',
  body: searchRequest,
  bodyOptional: true,
  replies: { 200: executionPage },
  handle: async ({ useCases, namespace, body }) => {
    const { limit, cursor, workflowIds, parentWorkflowId, ...plain } = body;
    const executionIds = workflowIds?.map(parseExecutionId).filter((id) => id !== undefined);
    const parentExecutionId = parentWorkflowId === undefined ? undefined : parseExecutionId(parentWorkflowId);
    const filter = withoutUndefined({ ...plain, executionIds, parentExecutionId });
    const page = await useCases.executions.search(namespace, filter, limit, cursor);
    if (!page.ok) return page;
    return ok(json<ExecutionPageBody>(200, { executions: page.value.items.map(summaryOf), ...cursorOf(page.value) }));
  },
});

export const executionRoutes: readonly Route[] = [search, get, status, tree, tasks, history, state];
