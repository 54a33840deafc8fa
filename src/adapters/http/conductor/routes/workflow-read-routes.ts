import { z } from 'zod';
import { ok } from '../../../../domain/kernel/result.ts';
import { conductorRoute, json, type Route } from '../../route.ts';
import { aboutRun, runOf } from '../run-of-path.ts';
import { query } from '../schemas/fields.ts';
import { type WorkflowBody, workflowBodyOf } from '../wire/workflow.ts';

const get = conductorRoute({
  method: 'GET',
  path: '/workflow/:workflowId',
  summary: 'A run, with its tasks unless told otherwise.',
  scope: 'executions:read',
  query: z.object({ includeTasks: query.flag(true) }),
  handle: async ({ useCases, namespace, params, query: { includeTasks } }) => {
    const id = runOf(params.workflowId);
    if (!id.ok) return id;
    const detail = aboutRun(id.value, await useCases.executions.get(namespace, id.value));
    return detail.ok ? ok(json<WorkflowBody>(200, workflowBodyOf(detail.value, includeTasks))) : detail;
  },
});

export const workflowReadRoutes: readonly Route[] = [get];
