import { z } from 'zod';
import type { Operated, OperatorAction } from '../../../../application/use-cases.ts';
import { withoutUndefined } from '../../../../domain/definition/without-undefined.ts';
import type { ExecutionId } from '../../../../domain/kernel/brand.ts';
import { err, ok, type Result } from '../../../../domain/kernel/result.ts';
import type { ApiError } from '../../api-error.ts';
import { conductorRoute, type Handled, json, NO_CONTENT, NOTHING, type Reply, type Route, text } from '../../route.ts';
import {
  type ControlCall,
  type Done,
  noSuchTask,
  pause,
  remove,
  restart,
  resume,
  retry,
  runOfTask,
  terminate,
  terminateAndRemove,
} from '../control.ts';
import { aboutRun, runOf } from '../run-of-path.ts';
import { object, query } from '../schemas/fields.ts';
import { rerunRequest, skipTaskRequest, upgradeRequest } from '../schemas/workflow.ts';
import { workflowBodyOf } from '../wire/workflow.ts';

/** Answers with nothing once it is done. */
const answered = async (path: string, act: (id: ExecutionId) => Done, reply: Reply = NOTHING): Handled => {
  const id = runOf(path);
  if (!id.ok) return id;
  const done = await act(id.value);
  return done.ok ? ok(reply) : done;
};

const operate = async (
  { useCases, namespace, principal }: ControlCall,
  id: ExecutionId,
  action: OperatorAction,
): Promise<Result<Operated, ApiError>> =>
  aboutTask(id, action, await useCases.executions.operate(namespace, id, action, { by: principal.id }));

/** What is not there may be the run or what the action names in it, and only the engine knows which. */
const aboutTask = (
  id: ExecutionId,
  action: OperatorAction,
  result: Awaited<ReturnType<ControlCall['useCases']['executions']['operate']>>,
): Result<Operated, ApiError> => ('taskRef' in action ? result : aboutRun(id, result));

const pauseRun = conductorRoute({
  method: 'PUT',
  path: '/workflow/:workflowId/pause',
  summary: 'Pause a run; one that is paused stays so.',
  scope: 'executions:control',
  handle: (call) => answered(call.params.workflowId, (id) => pause(call, id)),
});

const resumeRun = conductorRoute({
  method: 'PUT',
  path: '/workflow/:workflowId/resume',
  summary: 'Resume a paused run.',
  scope: 'executions:control',
  handle: (call) => answered(call.params.workflowId, (id) => resume(call, id)),
});

const terminateRun = conductorRoute({
  method: 'DELETE',
  path: '/workflow/:workflowId',
  summary: 'End a run now; one that has ended otherwise than well stays as it is.',
  scope: 'executions:control',
  query: z.object({ reason: query.text, triggerFailureWorkflow: query.flag(false) }),
  handle: (call) => answered(call.params.workflowId, (id) => terminate(call, id, call.query)),
});

/** History is kept until it is removed, so that there is nothing to archive before. */
const removeQuery = z.object({ archiveWorkflow: query.flag(true), reason: query.text });

const removeRun = conductorRoute({
  method: 'DELETE',
  path: '/workflow/:workflowId/remove',
  summary: 'Remove a run that has ended.',
  scope: 'executions:delete',
  query: removeQuery,
  handle: (call) => answered(call.params.workflowId, (id) => remove(call, id)),
});

const terminateRemoveRun = conductorRoute({
  method: 'DELETE',
  path: '/workflow/:workflowId/terminate-remove',
  summary: 'End a run and remove it.',
  scope: 'executions:delete',
  query: removeQuery,
  handle: (call) => answered(call.params.workflowId, (id) => terminateAndRemove(call, id, call.query.reason)),
});

const restartRun = conductorRoute({
  method: 'POST',
  path: '/workflow/:workflowId/restart',
  summary: 'Begin a run that has ended again, by the definition as it is now when asked so.',
  scope: 'executions:control',
  query: z.object({ useLatestDefinitions: query.flag(false) }),
  handle: (call) =>
    answered(call.params.workflowId, (id) => restart(call, id, call.query.useLatestDefinitions), NO_CONTENT),
});

const retryRun = conductorRoute({
  method: 'POST',
  path: '/workflow/:workflowId/retry',
  summary: 'Take a failed run up again at its failed tasks.',
  scope: 'executions:control',
  query: z.object({ resumeSubworkflowTasks: query.flag(false) }),
  handle: (call) =>
    answered(call.params.workflowId, (id) => retry(call, id, call.query.resumeSubworkflowTasks), NO_CONTENT),
});

const decide = conductorRoute({
  method: 'PUT',
  path: '/workflow/decide/:workflowId',
  summary: 'Derive everything the run owes, and put back what is missing.',
  scope: 'executions:control',
  handle: (call) =>
    answered(call.params.workflowId, async (id) => {
      const decided = aboutRun(id, await call.useCases.executions.decide(call.namespace, id));
      return decided.ok ? ok(null) : decided;
    }),
});

const rerun = conductorRoute({
  method: 'POST',
  path: '/workflow/:workflowId/rerun',
  summary: 'Run again from a task on, of the run or of one below it, or from the start.',
  scope: 'executions:control',
  body: rerunRequest,
  bodyKind: 'payload',
  bodyOptional: true,
  handle: async (call) => {
    const id = runOf(call.params.workflowId);
    if (!id.ok) return id;
    const { reRunFromTaskId: taskId, ...rest } = call.body;
    const known = aboutRun(id.value, await call.useCases.executions.status(call.namespace, id.value));
    if (!known.ok) return known;
    const target = taskId === undefined ? id : await runOfTask(call, id.value, taskId);
    if (!target.ok) return target;
    const action = { type: 'rerun' as const, ...withoutUndefined({ fromTaskId: taskId, ...rest }) };
    const done = await call.useCases.executions.operate(call.namespace, target.value, action, {
      by: call.principal.id,
    });
    if (done.ok) return ok(text(target.value));
    return done.error.code === 'NOT_FOUND' && taskId !== undefined ? noSuchTask(taskId) : done;
  },
});

const skipTask = conductorRoute({
  method: 'PUT',
  path: '/workflow/:workflowId/skiptask/:taskReferenceName',
  summary: 'Skip a task, with the input and output that the body gives it.',
  scope: 'executions:control',
  body: skipTaskRequest,
  bodyKind: 'payload',
  bodyOptional: true,
  handle: (call) =>
    answered(call.params.workflowId, async (id) => {
      const { taskReferenceName: taskRef } = call.params;
      const done = await operate(call, id, { type: 'skip-task', taskRef, ...withoutUndefined(call.body) });
      return done.ok ? ok(null) : done;
    }),
});

const jump = conductorRoute({
  method: 'POST',
  path: '/workflow/:workflowId/jump/:taskReferenceName',
  summary: 'Go on at a task; the body is its input.',
  scope: 'executions:control',
  body: object,
  bodyKind: 'payload',
  bodyOptional: true,
  handle: (call) =>
    answered(call.params.workflowId, async (id) => {
      const { taskReferenceName: taskRef } = call.params;
      const taskInput = Object.keys(call.body).length === 0 ? {} : { taskInput: call.body };
      const done = await operate(call, id, { type: 'jump', taskRef, ...taskInput });
      return done.ok ? ok(null) : done;
    }),
});

const upgrade = conductorRoute({
  method: 'POST',
  path: '/workflow/:workflowId/upgrade',
  summary: 'Move an open run to another version of its definition.',
  scope: 'executions:control',
  body: upgradeRequest,
  bodyKind: 'payload',
  handle: (call) =>
    answered(call.params.workflowId, async (id) => {
      const { name, version, ...rest } = call.body;
      const known = aboutRun(id, await call.useCases.executions.status(call.namespace, id));
      if (!known.ok) return known;
      if (name !== undefined && name !== known.value.name) {
        const message = `The run is of ${known.value.name}, and moves only to another version of that.`;
        return err({ code: 'VALIDATION_FAILED', message, path: 'name' });
      }
      const wanted = version === 0 ? undefined : version;
      const action = { type: 'upgrade' as const, ...withoutUndefined({ ...rest, version: wanted }) };
      const done = await call.useCases.executions.operate(call.namespace, id, action, { by: call.principal.id });
      return done.ok ? ok(null) : done;
    }),
});

const variables = conductorRoute({
  method: 'POST',
  path: '/workflow/:workflowId/variables',
  summary: 'Merge variables into those of an open run; answers the run.',
  scope: 'executions:control',
  body: object,
  bodyKind: 'payload',
  handle: async (call) => {
    const id = runOf(call.params.workflowId);
    if (!id.ok) return id;
    const done = await operate(call, id.value, { type: 'variables', variables: call.body });
    if (!done.ok) return done;
    const detail = aboutRun(id.value, await call.useCases.executions.get(call.namespace, id.value));
    return detail.ok ? ok(json(200, workflowBodyOf(detail.value))) : detail;
  },
});

const messages = conductorRoute({
  method: 'POST',
  path: '/workflow/:workflowId/messages',
  summary: 'Leave a message for the PULL_WORKFLOW_MESSAGES of a run; answers its id.',
  scope: 'executions:signal',
  body: object,
  bodyKind: 'payload',
  handle: async ({ useCases, namespace, params, principal, body }) => {
    const id = runOf(params.workflowId);
    if (!id.ok) return id;
    const sent = aboutRun(id.value, await useCases.doors.sendMessage(namespace, id.value, body, principal.id));
    return sent.ok ? ok(text(sent.value.messageId)) : sent;
  },
});

const resetCallbacks = conductorRoute({
  method: 'POST',
  path: '/workflow/:workflowId/resetcallbacks',
  summary: 'Let workers have at once what others gave back for a time.',
  scope: 'executions:control',
  handle: (call) =>
    answered(
      call.params.workflowId,
      async (id) => {
        const reset = aboutRun(id, await call.useCases.executions.resetCallbacks(call.namespace, id));
        return reset.ok ? ok(null) : reset;
      },
      NO_CONTENT,
    ),
});

export const workflowControlRoutes: readonly Route[] = [
  decide,
  pauseRun,
  resumeRun,
  removeRun,
  terminateRemoveRun,
  terminateRun,
  restartRun,
  retryRun,
  rerun,
  skipTask,
  jump,
  upgrade,
  resetCallbacks,
  variables,
  messages,
];
