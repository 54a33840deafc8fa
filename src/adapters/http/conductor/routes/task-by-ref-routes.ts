import { z } from 'zod';
import type { ExecutionDetail, UseCases } from '../../../../application/use-cases.ts';
import type { ResultStatus } from '../../../../domain/execution/statuses.ts';
import { keyOf } from '../../../../domain/execution/task-key.ts';
import type { TaskView } from '../../../../domain/execution/view.ts';
import type { ExecutionId, Namespace } from '../../../../domain/kernel/brand.ts';
import type { JsonObject } from '../../../../domain/kernel/json.ts';
import { err, ok, type Result } from '../../../../domain/kernel/result.ts';
import type { ApiError } from '../../api-error.ts';
import { conductorRoute, json, type NamespaceCall, type Route, text } from '../../route.ts';
import { aboutRun, runOf } from '../run-of-path.ts';
import { object } from '../schemas/fields.ts';
import { pollQuery, resultStatus } from '../schemas/tasks.ts';
import { workflowBodyOf } from '../wire/workflow.ts';

type Status = ResultStatus | 'IN_PROGRESS';

export const statusOf = (given: string): Result<Status, ApiError> => {
  const status = resultStatus.safeParse(given);
  if (status.success) return ok(status.data);
  const message = `The status of a task is one of ${resultStatus.options.join(', ')}.`;
  return err({ code: 'VALIDATION_FAILED', message, path: 'status' });
};

/** The open attempt of a task: by its wire ref or, in a loop, by the ref without the iteration, the latest one. */
export const openTaskOf = ({ view }: ExecutionDetail, ref: string): TaskView | undefined => {
  const open = view.tasks.filter(({ endedAt, queue }) => endedAt === undefined && queue !== undefined);
  return open.find((task) => keyOf(task) === ref) ?? open.findLast((task) => task.ref === ref);
};

type Told = Readonly<{ status: Status; output: JsonObject; by: string; workerId: string | undefined }>;

/** Who names a task by its place in the run means the attempt that is open there, whoever holds it. */
export const endTask = async (
  { tasks }: UseCases,
  namespace: Namespace,
  { taskId }: TaskView,
  { status, output, by, workerId }: Told,
): Promise<Result<unknown, ApiError>> =>
  status === 'IN_PROGRESS'
    ? tasks.update(namespace, { taskId, status, output, afterSeconds: 0, extendsLease: false, logs: [] }, by)
    : tasks.end(namespace, taskId, { status, output }, workerId ?? by);

/** Between the look at the run and the update the task may have ended by itself. */
const isOver = (error: ApiError): boolean => error.code === 'TERMINAL_STATE' || error.code === 'INVALID_STATE';

type ByRef = NamespaceCall<'/:workflowId/:taskRefName/:status', Readonly<{ workerid: string | undefined }>, JsonObject>;

type Updated = Readonly<{ id: ExecutionId; taskId: string | undefined }>;

const updateByRef = async ({
  useCases,
  namespace,
  principal,
  params,
  query,
  body,
}: ByRef): Promise<Result<Updated, ApiError>> => {
  const { workflowId, taskRefName } = params;
  const id = runOf(workflowId);
  if (!id.ok) return id;
  const status = statusOf(params.status);
  if (!status.ok) return status;
  const detail = aboutRun(workflowId, await useCases.executions.get(namespace, id.value));
  if (!detail.ok) return detail;
  const task = openTaskOf(detail.value, taskRefName);
  if (task === undefined) return ok({ id: id.value, taskId: undefined });
  const told = { status: status.value, output: body, by: principal.id, workerId: query.workerid };
  const ended = await endTask(useCases, namespace, task, told);
  if (ended.ok) return ok({ id: id.value, taskId: task.taskId });
  return isOver(ended.error) ? ok({ id: id.value, taskId: undefined }) : ended;
};

const SPEC = {
  method: 'POST',
  scope: 'tasks:complete',
  query: z.object({ workerid: pollQuery.workerid }),
  body: object,
  bodyKind: 'payload',
  bodyOptional: true,
  bodyIsData: true,
} as const;

const update = conductorRoute({
  ...SPEC,
  path: '/tasks/:workflowId/:taskRefName/:status',
  summary:
    'Say how the open task of that reference stands, whoever holds it; answers its id, or nothing where none is open.',
  handle: async (call) => {
    const updated = await updateByRef(call);
    return updated.ok ? ok(text(updated.value.taskId ?? '')) : updated;
  },
});

const updateSync = conductorRoute({
  ...SPEC,
  path: '/tasks/:workflowId/:taskRefName/:status/sync',
  summary: 'The same, answered with the run after it.',
  handle: async (call) => {
    const updated = await updateByRef(call);
    if (!updated.ok) return updated;
    const { workflowId, taskRefName } = call.params;
    if (updated.value.taskId === undefined) {
      const message = `Found no running task ${taskRefName} of workflow ${workflowId} to update`;
      return err<ApiError>({ code: 'NOT_FOUND', message });
    }
    const detail = aboutRun(workflowId, await call.useCases.executions.get(call.namespace, updated.value.id));
    return detail.ok ? ok(json(200, workflowBodyOf(detail.value))) : detail;
  },
});

/** What waits in no worker's hand is told of by queue messages in Conductor; here it is the same update. */
const queueUpdate = conductorRoute({
  ...SPEC,
  path: '/queue/update/:workflowId/:taskRefName/:status',
  summary: 'Say how the open task of that reference stands.',
  handle: async (call) => {
    const updated = await updateByRef(call);
    return updated.ok ? ok(text(updated.value.taskId ?? '')) : updated;
  },
});

export const taskByRefRoutes: readonly Route[] = [updateSync, update, queueUpdate];
