import { payloadProblem } from '../domain/execution/payload-limit.ts';
import type { ReportStatus } from '../domain/execution/statuses.ts';
import { keyOf } from '../domain/execution/task-key.ts';
import type { TaskView } from '../domain/execution/view.ts';
import { type ExecutionId, type Namespace, parseExecutionId, type TaskId } from '../domain/kernel/brand.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../domain/kernel/json.ts';
import { formatInstant } from '../domain/kernel/time.ts';
import type { LeasedTask } from '../ports/engine-store.ts';
import type { ApplicationError } from './application-error.ts';
import type { ControlExecution } from './control-execution.ts';
import type { QueryExecutions } from './query-executions.ts';
import type { TaskDoors } from './task-doors.ts';
import type { ExecutionDetail } from './use-cases.ts';

export type OtherRunsDeps = Readonly<{ control: ControlExecution; queries: QueryExecutions; doors: TaskDoors }>;

export type Finished = Readonly<{ status: ReportStatus; output: JsonObject; reason?: string }>;

/** Runs that one TERMINATE_WORKFLOW may end. */
export const TERMINATED_RUNS_MAX = 100;
/** A run that has ended already is what was asked for; and a task that is done again finds it so. */
const ALREADY_ENDED: ApplicationError['code'] = 'TERMINAL_STATE';

const STATUSES: readonly string[] = ['COMPLETED', 'FAILED', 'FAILED_WITH_TERMINAL_ERROR'] satisfies ReportStatus[];

const completed = (output: JsonObject): Finished => ({ status: 'COMPLETED', output });
const refused = (reason: string): Finished => ({
  status: 'FAILED_WITH_TERMINAL_ERROR',
  output: { error: reason },
  reason,
});

const shown = (value: JsonValue | undefined): string => JSON.stringify(value ?? null).slice(0, 200);
const textOf = (value: JsonValue | undefined): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;
const isTrue = (value: JsonValue | undefined): boolean => value === true || value === 'true';

const runOf = (value: JsonValue | undefined): ExecutionId | undefined => {
  const text = textOf(value);
  return text === undefined ? undefined : parseExecutionId(text);
};

/**
 * GET_WORKFLOW, TERMINATE_WORKFLOW and UPDATE_TASK: they need the data or the lock of another run, which a pass never takes,
 * so they are done beside the passes and reported like any system task. Done again after a crash they find their own work
 * and say the same.
 */
export class TasksOfOtherRuns {
  private readonly deps: OtherRunsDeps;

  constructor(deps: OtherRunsDeps) {
    this.deps = deps;
  }

  async getWorkflow({ namespace }: LeasedTask, input: JsonObject): Promise<Finished> {
    const id = runOf(input.id ?? input.workflowId);
    if (id === undefined) return refused(`GET_WORKFLOW needs the id of a workflow; it is ${shown(input.id)}.`);
    const detail = await this.deps.queries.get(namespace, id);
    if (!detail.ok) return refused(detail.error.message);
    const output = documentOf(detail.value, isTrue(input.includeTasks));
    const problem = payloadProblem(output);
    return problem === undefined ? completed(output) : refused(`What is known of the workflow is ${problem}.`);
  }

  async terminateWorkflow(task: LeasedTask, input: JsonObject): Promise<Finished> {
    const given = Array.isArray(input.workflowId) ? input.workflowId : [input.workflowId];
    const ids = given.map(runOf).filter((id) => id !== undefined);
    if (ids.length === 0 || ids.length !== given.length || ids.length > TERMINATED_RUNS_MAX) {
      return refused(`TERMINATE_WORKFLOW needs 1 to ${TERMINATED_RUNS_MAX} ids of workflows; it has ${shown(given)}.`);
    }
    const reason = textOf(input.terminationReason) ?? `terminated by task ${task.taskId}`;
    const triggerFailureWorkflow = isTrue(input.triggerFailureWorkflow);
    const terminated: ExecutionId[] = [];
    const notRunning: ExecutionId[] = [];
    for (const id of new Set(ids)) {
      const request = { type: 'Terminate', by: byOf(task), reason, triggerFailureWorkflow } as const;
      const answer = await this.deps.control.request(task.namespace, id, request);
      if (!answer.ok && answer.error.code !== ALREADY_ENDED) return refused(answer.error.message);
      const summary = await this.deps.control.summary(task.namespace, id);
      (summary.ok && summary.value.status === 'TERMINATED' ? terminated : notRunning).push(id);
    }
    return completed({ terminated, notRunning });
  }

  async updateTask(task: LeasedTask, input: JsonObject): Promise<Finished> {
    const status = textOf(input.taskStatus);
    if (status === undefined || !STATUSES.includes(status)) {
      return refused(`taskStatus is one of ${STATUSES.join(', ')}; it is ${shown(input.taskStatus)}.`);
    }
    const given = input.taskOutput ?? {};
    if (!isJsonObject(given)) return refused(`taskOutput is an object; it is ${shown(given)}.`);
    const target = await this.targetOf(task.namespace, input);
    if (typeof target === 'string') return refused(target);
    const output = isTrue(input.mergeOutput) ? { ...target.output, ...given } : given;
    const call = { status: status as ReportStatus, output };
    const answer = await this.deps.doors.complete(task.namespace, target.taskId, call, byOf(task), true);
    return answer.ok ? completed({ taskId: target.taskId }) : refused(answer.error.message);
  }

  /** By its own id, or the last attempt of a ref of a run; a text says why there is none. */
  private async targetOf(
    namespace: Namespace,
    input: JsonObject,
  ): Promise<Readonly<{ taskId: TaskId; output: JsonObject }> | string> {
    const taskId = textOf(input.taskId);
    if (taskId !== undefined) return { taskId: taskId as TaskId, output: {} };
    const [id, ref] = [runOf(input.workflowId), textOf(input.taskRefName)];
    if (id === undefined || ref === undefined) return 'UPDATE_TASK needs a taskId, or a workflowId and a taskRefName.';
    const detail = await this.deps.queries.get(namespace, id);
    if (!detail.ok) return detail.error.message;
    const { tasks } = detail.value.view;
    const found = tasks.findLast((each) => keyOf(each) === ref) ?? tasks.findLast((each) => each.ref === ref);
    return found === undefined
      ? `The workflow has no task ${ref}.`
      : { taskId: found.taskId, output: found.output ?? {} };
  }
}

/** The same at each run of the task: what it did is told by it. */
const byOf = ({ taskId }: LeasedTask): string => `task ${taskId}`;

/** A run in the words of Conductor, whose task this is. */
const documentOf = ({ row, view }: ExecutionDetail, includeTasks: boolean): JsonObject => ({
  workflowId: row.executionId,
  workflowName: view.name,
  workflowVersion: view.version,
  status: view.status,
  input: view.input,
  output: view.output ?? {},
  variables: view.variables,
  correlationId: view.correlationId ?? null,
  priority: view.priority,
  startTime: view.startedAt,
  endTime: view.endedAt ?? null,
  createdAt: formatInstant(view.startedAt),
  reasonForIncompletion: view.reason ?? null,
  ...(includeTasks ? { tasks: view.tasks.map(taskDocumentOf) } : {}),
});

const taskDocumentOf = (task: TaskView): JsonObject => ({
  taskId: task.taskId,
  taskType: task.type,
  taskDefName: task.taskName,
  referenceTaskName: keyOf(task),
  status: task.status,
  inputData: task.input,
  outputData: task.output ?? {},
  retryCount: task.attempt - 1,
  iteration: task.iteration,
  scheduledTime: task.scheduledAt,
  startTime: task.startedAt ?? null,
  endTime: task.endedAt ?? null,
  workerId: task.workerId ?? null,
  reasonForIncompletion: task.reason ?? null,
});
