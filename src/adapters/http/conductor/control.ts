import type { ApplicationError } from '../../../application/application-error.ts';
import { type ExecutionId, parseTaskId } from '../../../domain/kernel/brand.ts';
import { err, ok, type Result } from '../../../domain/kernel/result.ts';
import type { ApiError } from '../api-error.ts';
import type { NamespaceCall } from '../route.ts';
import { noWorkflow } from './run-of-path.ts';

export type ControlCall = Pick<NamespaceCall<string, unknown, unknown>, 'useCases' | 'namespace' | 'principal'>;

/** What was asked for is done, or was so already. */
export type Done = Promise<Result<null, ApiError>>;

const DONE = ok(null);

/** Whether the refusal says no more than that the run is as it was wanted. */
const statusAfter = async (
  { useCases, namespace }: ControlCall,
  id: ExecutionId,
  { code }: ApplicationError,
): Promise<string | undefined> => {
  if (code !== 'INVALID_STATE' && code !== 'TERMINAL_STATE') return undefined;
  const summary = await useCases.executions.status(namespace, id);
  return summary.ok ? summary.value.status : undefined;
};

const refused = (id: ExecutionId, error: ApplicationError): Result<null, ApiError> =>
  err(error.code === 'NOT_FOUND' ? noWorkflow(id) : error);

/** A run that is paused already stays so. */
export const pause = async (call: ControlCall, id: ExecutionId): Done => {
  const paused = await call.useCases.executions.pause(call.namespace, id, call.principal.id);
  if (paused.ok) return DONE;
  return (await statusAfter(call, id, paused.error)) === 'PAUSED' ? DONE : refused(id, paused.error);
};

export const resume = async ({ useCases, namespace, principal }: ControlCall, id: ExecutionId): Done => {
  const resumed = await useCases.executions.resume(namespace, id, principal.id);
  return resumed.ok ? DONE : refused(id, resumed.error);
};

export type Termination = Readonly<{ reason: string | undefined; triggerFailureWorkflow?: boolean }>;

/** A run that has ended stays as it is; of one that completed that is not what is wanted. */
export const terminate = async (call: ControlCall, id: ExecutionId, how: Termination): Done => {
  const { reason, triggerFailureWorkflow = false } = how;
  const { useCases, namespace, principal } = call;
  const ended = await useCases.executions.terminate(namespace, id, principal.id, reason, triggerFailureWorkflow);
  if (ended.ok) return DONE;
  const status = await statusAfter(call, id, ended.error);
  if (status === 'COMPLETED') return err({ code: 'CONFLICT', message: 'Cannot terminate a COMPLETED workflow.' });
  return status === undefined ? refused(id, ended.error) : DONE;
};

export const restart = async (call: ControlCall, id: ExecutionId, useLatestDefinitions: boolean): Done => {
  const action = { type: 'restart', useLatestDefinitions } as const;
  const restarted = await call.useCases.executions.operate(call.namespace, id, action, { by: call.principal.id });
  return restarted.ok ? DONE : refused(id, restarted.error);
};

export const retry = async (call: ControlCall, id: ExecutionId, resumesChildren: boolean): Done => {
  const { useCases, namespace, principal } = call;
  const retried = await useCases.executions.retry(namespace, id, principal.id, undefined, resumesChildren);
  return retried.ok ? DONE : refused(id, retried.error);
};

export const remove = async ({ useCases, namespace }: ControlCall, id: ExecutionId): Done => {
  const removed = await useCases.executions.delete(namespace, id);
  return removed.ok ? DONE : refused(id, removed.error);
};

/** The messages that an end owes are given so long to go out. */
const DELIVERY_MS = 5_000;
const LOOK_AGAIN_MS = 50;

/** Ends a run if it is going, and removes it as soon as what its end owed to others is delivered. */
export const terminateAndRemove = async (call: ControlCall, id: ExecutionId, reason: string | undefined): Done => {
  const ended = await call.useCases.executions.terminate(call.namespace, id, call.principal.id, reason, false);
  if (!ended.ok && ended.error.code !== 'TERMINAL_STATE') return refused(id, ended.error);
  const deadline = performance.now() + DELIVERY_MS;
  for (;;) {
    const removed = await remove(call, id);
    const mayGo = !removed.ok && removed.error.code === 'INVALID_STATE' && performance.now() < deadline;
    if (!mayGo) return removed;
    await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN_MS));
  }
};

/** Runs above one another that are looked through for the run of a task. */
const DEPTH_MAX = 100;

const isBelow = async ({ useCases, namespace }: ControlCall, id: ExecutionId, top: ExecutionId): Promise<boolean> => {
  let at: ExecutionId | undefined = id;
  for (let depth = 0; at !== undefined && depth < DEPTH_MAX; depth += 1) {
    if (at === top) return true;
    const summary = await useCases.executions.status(namespace, at);
    at = summary.ok ? summary.value.parentExecutionId : undefined;
  }
  return false;
};

/** The run that a task to begin again from is in: this one, or one below it. */
export const runOfTask = async (
  call: ControlCall,
  id: ExecutionId,
  taskId: string,
): Promise<Result<ExecutionId, ApiError>> => {
  const task = parseTaskId(taskId);
  if (task !== undefined && (await isBelow(call, task.executionId, id))) return ok(task.executionId);
  return noSuchTask(taskId);
};

export const noSuchTask = (taskId: string) =>
  err<ApiError>({ code: 'VALIDATION_FAILED', message: `Task ${taskId} not found`, path: 'reRunFromTaskId' });
