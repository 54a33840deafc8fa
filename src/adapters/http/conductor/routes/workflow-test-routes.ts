import { ok } from '../../../../domain/kernel/result.ts';
import { conductorRoute, json, type Route } from '../../route.ts';
import { testRequest } from '../schemas/workflow.ts';
import { testOf } from '../test-of.ts';
import { type WorkflowBody, workflowBodyOf } from '../wire/workflow.ts';

const test = conductorRoute({
  method: 'POST',
  path: '/workflow/test',
  summary: 'Try a workflow out with told outcomes of its tasks, beside all that is stored and on virtual time.',
  scope: 'definitions:read',
  body: testRequest,
  bodyKind: 'payload',
  handle: async ({ useCases, namespace, body, signal }) => {
    const asked = await testOf(useCases.definitions, namespace, body, signal);
    if (!asked.ok) return asked;
    const detail = await useCases.executions.test(asked.value);
    return detail.ok ? ok(json<WorkflowBody>(200, workflowBodyOf(detail.value))) : detail;
  },
});

export const workflowTestRoutes: readonly Route[] = [test];
