import type { Plan } from '../domain/definition/plan.ts';
import type { ExecutionRequest } from '../domain/execution/requests.ts';
import { keyOf } from '../domain/execution/task-key.ts';
import { type ExecutionId, type Namespace, parseTaskId } from '../domain/kernel/brand.ts';
import type { JsonObject } from '../domain/kernel/json.ts';
import { err, ok, type Result } from '../domain/kernel/result.ts';
import type { DefinitionReads } from '../ports/engine-store.ts';
import type { ExecutionIndex, ExecutionSummary } from '../ports/execution-index.ts';
import type { SchemaValidator } from '../ports/schema-validator.ts';
import type { ApplicationError } from './application-error.ts';
import { SUB_WORKFLOW_DEPTH_MAX } from './child-runs.ts';
import { type ControlExecution, noExecution } from './control-execution.ts';
import type { ResolveBundle } from './definitions/load-bundle.ts';
import type { PlanCache } from './definitions/plan-cache.ts';
import { noDefinition, startInput } from './start-run.ts';
import type { AskedBy, Operated, OperatorAction, Outcome } from './use-cases.ts';

export type OperateDeps = Readonly<{
  control: ControlExecution;
  index: ExecutionIndex;
  plans: PlanCache;
  definitions: DefinitionReads;
  resolveBundle: ResolveBundle;
  schemas: SchemaValidator;
}>;

type ActionOf<T extends OperatorAction['type']> = Extract<OperatorAction, { type: T }>;
type Prepared = Promise<Result<ExecutionRequest, ApplicationError>>;

/** Facts read behind an action to find what it answered. */
const FACTS_READ_MAX = 1_000;

/** What operators do to the course of a run: looks up what the request names, and puts it under the run's lock. */
export class OperateExecution {
  private readonly deps: OperateDeps;

  constructor(deps: OperateDeps) {
    this.deps = deps;
  }

  async operate(
    namespace: Namespace,
    executionId: ExecutionId,
    action: OperatorAction,
    asked: AskedBy,
  ): Outcome<Operated> {
    const target = await this.targetOf(namespace, executionId, action);
    if (!target.ok) return target;
    return this.operateOn(namespace, target.value.executionId, target.value.action, asked);
  }

  private async operateOn(
    namespace: Namespace,
    executionId: ExecutionId,
    action: OperatorAction,
    asked: AskedBy,
  ): Outcome<Operated> {
    const { control, index } = this.deps;
    const request = await this.requestFor(namespace, executionId, action, asked);
    if (!request.ok) return request;
    const before = (await index.lastSeq(namespace, executionId)) ?? 0;
    const summary = await control.request(namespace, executionId, request.value);
    if (!summary.ok) return summary;
    const stale = request.value.type === 'RerunTasks' ? await this.staleAfter(namespace, executionId, before) : [];
    return ok({ summary: summary.value, stale });
  }

  /** A task that is named by its id may be one of a run below: the action is about that run then. */
  private async targetOf(
    namespace: Namespace,
    id: ExecutionId,
    action: OperatorAction,
  ): Promise<Result<Target, ApplicationError>> {
    const taskId = taskIdIn(action);
    if (taskId === undefined) return ok({ executionId: id, action });
    const executionId = parseTaskId(taskId)?.executionId ?? id;
    const isThere = executionId === id || (await this.isBelow(namespace, executionId, id));
    const ref = isThere ? await this.refOf(namespace, executionId, taskId) : noTask(taskId);
    return ref.ok ? ok({ executionId, action: byRef(action, ref.value) }) : ref;
  }

  private async isBelow(namespace: Namespace, id: ExecutionId, above: ExecutionId): Promise<boolean> {
    let current: ExecutionId | undefined = id;
    for (let depth = 0; current !== undefined && depth < SUB_WORKFLOW_DEPTH_MAX; depth += 1) {
      const found: readonly ExecutionSummary[] = await this.deps.index.search(
        namespace,
        { executionIds: [current] },
        { limit: 1 },
      );
      current = found[0]?.parentExecutionId;
      if (current === above) return true;
    }
    return false;
  }

  private async staleAfter(namespace: Namespace, id: ExecutionId, seq: number): Promise<readonly string[]> {
    const facts = await this.deps.index.history(namespace, id, seq, FACTS_READ_MAX);
    return facts.flatMap(({ event }) => (event.type === 'TasksRerun' ? event.stale : []));
  }

  private async requestFor(namespace: Namespace, id: ExecutionId, action: OperatorAction, asked: AskedBy): Prepared {
    switch (action.type) {
      case 'rerun':
        return this.rerun(namespace, id, action, asked);
      case 'rerun-tasks':
        return ok({ type: 'RerunTasks', ...asked, tasks: action.taskRefs, cascade: action.cascade });
      case 'restart':
        return this.restart(namespace, id, action, asked);
      case 'skip-task':
        return ok({
          type: 'SkipTask',
          ...asked,
          ref: action.taskRef,
          ...inputOf(action.taskInput),
          ...(action.taskOutput === undefined ? {} : { output: action.taskOutput }),
        });
      case 'cancel-task':
        return ok({ type: 'CancelTask', ...asked, ref: action.taskRef });
      case 'variables':
        return ok({ type: 'SetVariables', ...asked, variables: action.variables });
      case 'jump':
        return ok({ type: 'Jump', ...asked, to: action.taskRef, ...inputOf(action.taskInput) });
      case 'upgrade':
        return this.upgrade(namespace, id, action, asked);
      default:
        return action satisfies never;
    }
  }

  private async rerun(namespace: Namespace, id: ExecutionId, action: ActionOf<'rerun'>, asked: AskedBy): Prepared {
    const { fromTaskRef, taskInput, workflowInput, correlationId } = action;
    const input = await this.inputFor(namespace, id, workflowInput);
    if (!input.ok) return input;
    return ok({
      type: 'Rerun',
      ...asked,
      ...(fromTaskRef === undefined ? {} : { from: fromTaskRef }),
      ...(taskInput === undefined ? {} : { taskInput }),
      ...inputOf(input.value),
      ...(correlationId === undefined ? {} : { correlationId }),
    });
  }

  /** The wire ref of a task by the id that history shows. */
  private async refOf(
    namespace: Namespace,
    id: ExecutionId,
    taskId: string,
  ): Promise<Result<string, ApplicationError>> {
    const parsed = parseTaskId(taskId);
    const seq = parsed?.executionId === id ? parsed.scheduledSeq : undefined;
    const fact = seq === undefined ? undefined : (await this.deps.index.history(namespace, id, seq - 1, 1))[0];
    const event = fact?.seq === seq ? fact?.event : undefined;
    if (event !== undefined && 'iteration' in event) return ok(keyOf(event));
    return noTask(taskId);
  }

  /** A new input of the run must fit as the first one had to. */
  private async inputFor(
    namespace: Namespace,
    id: ExecutionId,
    given: JsonObject | undefined,
  ): Promise<Result<JsonObject | undefined, ApplicationError>> {
    if (given === undefined) return ok(undefined);
    const row = await this.deps.index.find(namespace, id);
    if (row === undefined) return err(noExecution(id));
    const plan = await this.deps.plans.planOf(row.definitionHash, this.deps.definitions);
    return startInput(this.deps.schemas, plan, given);
  }

  private async restart(namespace: Namespace, id: ExecutionId, action: ActionOf<'restart'>, asked: AskedBy): Prepared {
    if (!action.useLatestDefinitions) return ok({ type: 'Restart', ...asked });
    const plan = await this.planFor(namespace, id, undefined);
    return plan.ok ? ok({ type: 'Restart', ...asked, plan: plan.value }) : plan;
  }

  private async upgrade(namespace: Namespace, id: ExecutionId, action: ActionOf<'upgrade'>, asked: AskedBy): Prepared {
    const plan = await this.planFor(namespace, id, action.version);
    if (!plan.ok) return plan;
    const taskOutputs = action.taskOutput ?? {};
    return ok({ type: 'Upgrade', ...asked, plan: plan.value, taskOutputs, ...inputOf(action.workflowInput) });
  }

  /** A version of the definition that the run follows, with its task definitions as they are now. */
  private async planFor(
    namespace: Namespace,
    id: ExecutionId,
    version: number | undefined,
  ): Promise<Result<Plan, ApplicationError>> {
    const row = await this.deps.index.find(namespace, id);
    if (row === undefined) return err(noExecution(id));
    const resolved = await this.deps.resolveBundle(namespace, row.name, version);
    if (resolved === undefined) return err(noDefinition(row.name, version));
    return ok(await this.deps.plans.planOf(resolved.hash, this.deps.definitions));
  }
}

/** The run that an action is about, with its task by the wire ref. */
type Target = Readonly<{ executionId: ExecutionId; action: OperatorAction }>;

const noTask = (taskId: string): Result<string, ApplicationError> =>
  err({ code: 'NOT_FOUND', message: `This execution has no task ${taskId}.` });

/** No ref looks like an id. */
const taskIdIn = (action: OperatorAction): string | undefined => {
  if (action.type === 'rerun') return action.fromTaskId;
  const isOfOneTask = action.type === 'skip-task' || action.type === 'cancel-task';
  return isOfOneTask && parseTaskId(action.taskRef) !== undefined ? action.taskRef : undefined;
};

const byRef = (action: OperatorAction, ref: string): OperatorAction => {
  if (action.type === 'rerun') return { ...action, fromTaskRef: ref };
  return action.type === 'skip-task' || action.type === 'cancel-task' ? { ...action, taskRef: ref } : action;
};

const inputOf = (input: JsonObject | undefined): { input?: JsonObject } => (input === undefined ? {} : { input });
