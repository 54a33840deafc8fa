import type { z } from 'zod';
import { ok, type Result } from '../../../../domain/kernel/result.ts';
import type { ApiError } from '../../api-error.ts';
import { conductorRoute, json, type NamespaceCall, type Route } from '../../route.ts';
import { searchQuery } from '../schemas/workflow.ts';
import { TOTAL_HITS_MAX } from '../search/run-query-of.ts';
import { taskFilterOf } from '../search/task-filter-of.ts';
import { type ShownTask, tasksById } from '../tasks-by-id.ts';
import { taskSummaryOf } from '../wire/task-summary.ts';

type Call = NamespaceCall<string, z.output<typeof searchQuery>, unknown>;

const found = async (
  call: Call,
): Promise<Result<Readonly<{ tasks: readonly ShownTask[]; total: number }>, ApiError>> => {
  const { useCases, namespace, query } = call;
  const filter = taskFilterOf(query.query, query.freeText);
  if (!filter.ok) return filter;
  const page = { offset: query.start, limit: query.size, countMax: TOTAL_HITS_MAX };
  const { taskIds, total } = await useCases.tasks.search(namespace, filter.value, page);
  return ok({ tasks: await tasksById(useCases, namespace, taskIds), total });
};

const search = (path: '/tasks/search' | '/tasks/search-v2', what: string, show: (task: ShownTask) => unknown): Route =>
  conductorRoute({
    method: 'GET',
    path,
    summary: `Search attempts of tasks, those of the newest runs first; answers ${what}.`,
    scope: 'tasks:read',
    query: searchQuery,
    handle: async (call) => {
      const tasks = await found(call);
      if (!tasks.ok) return tasks;
      return ok(json(200, { totalHits: tasks.value.total, results: tasks.value.tasks.map(show) }));
    },
  });

export const taskSearchRoutes: readonly Route[] = [
  search('/tasks/search', 'summaries', taskSummaryOf),
  search('/tasks/search-v2', 'tasks', ({ task }) => task),
];
