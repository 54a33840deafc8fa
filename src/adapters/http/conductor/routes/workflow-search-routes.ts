import { ok, type Result } from '../../../../domain/kernel/result.ts';
import type { FoundRuns } from '../../../../ports/execution-index.ts';
import type { ApiError } from '../../api-error.ts';
import { conductorRoute, json, type NamespaceCall, type Route } from '../../route.ts';
import { searchQuery } from '../schemas/workflow.ts';
import { runQueryOf, type SearchCall } from '../search/run-query-of.ts';
import type { SearchAbout } from '../search/search-fields.ts';
import { type WorkflowSummaryBody, workflowSummaryOf } from '../wire/summary.ts';
import type { WorkflowBody } from '../wire/workflow.ts';
import { workflowsOf } from './workflow-read-routes.ts';

type Call = NamespaceCall<string, SearchCall, unknown>;
type SearchResult<T> = Readonly<{ totalHits: number; results: readonly T[] }>;

const found = async (call: Call, about: SearchAbout): Promise<Result<FoundRuns, ApiError>> => {
  const asked = runQueryOf(call.query, about);
  return asked.ok ? call.useCases.executions.searchRuns(call.namespace, asked.value) : asked;
};

/** Summaries come from what is on record of a run as a whole. */
const summaries = (path: '/workflow/search' | '/workflow/search-by-tasks', about: SearchAbout): Route =>
  conductorRoute({
    method: 'GET',
    path,
    summary: `Search runs${about === 'tasks' ? ' by their tasks' : ''}; answers summaries.`,
    scope: 'executions:read',
    query: searchQuery,
    handle: async (call) => {
      const runs = await found(call, about);
      if (!runs.ok) return runs;
      const { rows, total: totalHits } = runs.value;
      const body = { totalHits, results: rows.map(workflowSummaryOf) };
      return ok(json<SearchResult<WorkflowSummaryBody>>(200, body));
    },
  });

const workflows = (path: '/workflow/search-v2' | '/workflow/search-by-tasks-v2', about: SearchAbout): Route =>
  conductorRoute({
    method: 'GET',
    path,
    summary: `Search runs${about === 'tasks' ? ' by their tasks' : ''}; answers runs without their tasks.`,
    scope: 'executions:read',
    query: searchQuery,
    handle: async (call) => {
      const runs = await found(call, about);
      if (!runs.ok) return runs;
      const { rows, total: totalHits } = runs.value;
      const ids = rows.map(({ executionId }) => executionId);
      const body = { totalHits, results: await workflowsOf(call, ids, false) };
      return ok(json<SearchResult<WorkflowBody>>(200, body));
    },
  });

export const workflowSearchRoutes: readonly Route[] = [
  summaries('/workflow/search', 'workflows'),
  workflows('/workflow/search-v2', 'workflows'),
  summaries('/workflow/search-by-tasks', 'tasks'),
  workflows('/workflow/search-by-tasks-v2', 'tasks'),
];
