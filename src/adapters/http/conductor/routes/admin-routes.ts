import { z } from 'zod';
import { ok } from '../../../../domain/kernel/result.ts';
import { conductorRoute, json, type Route, text } from '../../route.ts';
import { aboutRun, runOf } from '../run-of-path.ts';
import { query } from '../schemas/fields.ts';
import { tasksById } from '../tasks-by-id.ts';

/** Tasks that one answer shows. */
const TASKS_MAX = 1_000;
const TASKS = 100;

/** Tasks that may be left out before a page: the store reads them all the same. */
const TASKS_SKIPPED_MAX = 1_000_000;

const config = conductorRoute({
  method: 'GET',
  path: '/admin/config',
  summary: 'What this server is; nothing of its environment.',
  scope: 'queues:read',
  handle: async ({ version }) => ok(json(200, { version, name: 'rondo' })),
});

const pending = conductorRoute({
  method: 'GET',
  path: '/admin/task/:taskType',
  summary: 'The open tasks of a type, those of the newest runs first.',
  scope: 'tasks:read',
  query: z.object({
    start: query.integerOr(0, Number.MAX_SAFE_INTEGER, 0),
    count: query.integerOr(0, Number.MAX_SAFE_INTEGER, TASKS),
  }),
  handle: async ({ useCases, namespace, params, query: { start, count } }) => {
    const filter = { types: [params.taskType], statuses: ['SCHEDULED', 'IN_PROGRESS'] } as const;
    const page = { offset: Math.min(start, TASKS_SKIPPED_MAX), limit: Math.min(count, TASKS_MAX), countMax: 0 };
    const { taskIds } = await useCases.tasks.search(namespace, filter, page);
    const shown = await tasksById(useCases, namespace, taskIds);
    return ok(
      json(
        200,
        shown.map(({ task }) => task),
      ),
    );
  },
});

const sweep = conductorRoute({
  method: 'POST',
  path: '/admin/sweep/requeue/:workflowId',
  summary: 'Derive a run again, and put back what it owes.',
  scope: 'executions:control',
  handle: async ({ useCases, namespace, params: { workflowId } }) => {
    const id = runOf(workflowId);
    if (!id.ok) return id;
    const decided = aboutRun(workflowId, await useCases.executions.decide(namespace, id.value));
    return decided.ok ? ok(text(`true.${workflowId}`)) : decided;
  },
});

const verify = conductorRoute({
  method: 'POST',
  path: '/admin/consistency/verifyAndRepair/:workflowId',
  summary: 'The same; says whether anything was missing.',
  scope: 'executions:control',
  handle: async ({ useCases, namespace, params: { workflowId } }) => {
    const id = runOf(workflowId);
    if (!id.ok) return id;
    const decided = aboutRun(workflowId, await useCases.executions.decide(namespace, id.value));
    return decided.ok ? ok(text(String(decided.value.repaired > 0))) : decided;
  },
});

const queues = conductorRoute({
  method: 'GET',
  path: '/admin/queues',
  summary: 'The queues that events are taken from: the internal one alone.',
  scope: 'queues:read',
  query: z.object({ verbose: query.flag(false) }),
  handle: async ({ query: { verbose } }) =>
    ok(json(200, verbose ? { conductor: { conductor: { size: 0 } } } : { conductor: 'conductor' })),
});

export const adminRoutes: readonly Route[] = [config, pending, sweep, verify, queues];
