import { z } from 'zod';
import type { ExecutionId } from '../../../../domain/kernel/brand.ts';
import { err, ok, type Result } from '../../../../domain/kernel/result.ts';
import type { ApiError } from '../../api-error.ts';
import { conductorRoute, json, type NamespaceCall, type Route } from '../../route.ts';
import { aboutRun, runOf } from '../run-of-path.ts';
import { query } from '../schemas/fields.ts';
import { type StateBody, stateRequest, waitMsOf } from '../schemas/workflow.ts';
import { runResponseOf } from '../wire/run-response.ts';
import { endTask, openTaskOf } from './task-by-ref-routes.ts';

type Call = NamespaceCall<string, unknown, StateBody>;

const setVariables = async (call: Call, id: ExecutionId): Promise<Result<unknown, ApiError>> => {
  const { useCases, namespace, principal, body } = call;
  if (body.variables === undefined) return ok(null);
  const action = { type: 'variables', variables: body.variables } as const;
  return aboutRun(id, await useCases.executions.operate(namespace, id, action, { by: principal.id }));
};

const noTask = (ref: string, id: ExecutionId): ApiError => ({
  code: 'NOT_FOUND',
  message: `Found no running task ${ref} of workflow ${id} to update`,
});

const updateTask = async (call: Call, id: ExecutionId): Promise<Result<unknown, ApiError>> => {
  const { useCases, namespace, principal, body } = call;
  const { taskReferenceName, taskResult } = body;
  const named = taskReferenceName ?? taskResult?.taskId;
  if (named === undefined) return ok(null);
  const detail = aboutRun(id, await useCases.executions.get(namespace, id));
  if (!detail.ok) return detail;
  const byId = detail.value.view.tasks.find(({ taskId, endedAt }) => taskId === named && endedAt === undefined);
  const task = taskReferenceName === undefined ? byId : openTaskOf(detail.value, taskReferenceName);
  if (task === undefined) return err(noTask(named, id));
  const told = {
    status: taskResult?.status ?? 'COMPLETED',
    output: taskResult?.outputData ?? {},
    by: principal.id,
    workerId: taskResult?.workerId,
  };
  return endTask(useCases, namespace, task, told);
};

const state = conductorRoute({
  method: 'POST',
  path: '/workflow/:workflowId/state',
  summary: 'Set variables of a run and end one of its tasks, answered when it has ended or waits for somebody again.',
  scope: 'executions:control',
  query: z.object({
    requestId: query.text,
    waitUntilTaskRef: query.list,
    waitForSeconds: query.integerOr(0, Number.MAX_SAFE_INTEGER, 0),
  }),
  body: stateRequest,
  bodyKind: 'payload',
  handle: async (call) => {
    const id = runOf(call.params.workflowId);
    if (!id.ok) return id;
    const variables = await setVariables(call, id.value);
    if (!variables.ok) return variables;
    const updated = await updateTask(call, id.value);
    if (!updated.ok) return updated;
    const { requestId = call.requestId, waitUntilTaskRef: untilTaskRefs, waitForSeconds } = call.query;
    const wait = { waitMs: waitMsOf(waitForSeconds), untilTaskRefs, signal: call.signal };
    const blocked = aboutRun(id.value, await call.useCases.executions.waitUntilBlocked(call.namespace, id.value, wait));
    return blocked.ok ? ok(json(200, runResponseOf(blocked.value, 'TARGET_WORKFLOW', requestId))) : blocked;
  },
});

export const workflowStateRoutes: readonly Route[] = [state];
