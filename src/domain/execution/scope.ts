import type { PlanNode } from '../definition/plan.ts';
import { CONDUCTOR_MODE, type EvaluationMode, V1_MODE } from '../expression/evaluate.ts';
import type { Scope } from '../expression/scope.ts';
import { taskIdOf } from '../kernel/brand.ts';
import type { JsonObject, JsonValue } from '../kernel/json.ts';
import { beingUndone } from './fold-compensation.ts';
import { recentLoopOutput } from './loop-state.ts';
import type { ExecutionState, TaskEntry } from './state.ts';

/** Iterations of an open loop that expressions see in its output; the closed loop's output has all that it keeps. */
export const LOOP_ITERATIONS_VISIBLE_MAX = 100;

export const modeOf = (state: ExecutionState): EvaluationMode =>
  state.plan.dialect === 'conductor' ? CONDUCTOR_MODE : V1_MODE;

/**
 * What expressions can read of the run: of each task its latest occurrence, in the iteration that runs or, where it has
 * not run in this one, in the one it last ran in. `reader` is the task whose next attempt is about to be made: its own ref
 * means its earlier iteration, as at the first attempt. For the node of a compensation, the ref of what it undoes means the
 * very occurrence that it undoes.
 */
export const scopeAt = (state: ExecutionState, reader?: TaskEntry, node?: PlanNode): Scope => {
  const undone = node?.sequence.owner.kind === 'compensation' ? beingUndone(state) : undefined;
  const entryOf = (ref: string): TaskEntry | undefined => {
    if (undone !== undefined && undone.node.ref === ref) return undone;
    return reader !== undefined && reader.node.ref === ref ? reader.before : state.latest.get(ref);
  };
  return {
    resolve: (head) => {
      if (head === 'env' || head === 'global') return Object.fromEntries(state.environment);
      if (head === 'workflow') return wholeOf((name) => workflowField(state, name), WORKFLOW_FIELDS);
      // The fact that schedules the reader is the next one, and its seq is the task's id.
      if (head === 'CPEWF_TASK_ID') return taskIdOf(state.executionId, state.seq + 1);
      const entry = entryOf(head);
      return entry === undefined ? undefined : wholeOf((name) => taskField(state, entry, name), TASK_FIELDS);
    },
    lookup: (head, name) => {
      if (head === 'env' || head === 'global') return state.environment.get(name);
      if (head === 'workflow') return workflowField(state, name);
      const entry = entryOf(head);
      return entry === undefined ? undefined : taskField(state, entry, name);
    },
    isSealed: () => false,
  };
};

const wholeOf = (field: (name: string) => JsonValue | undefined, names: readonly string[]): JsonObject => {
  const whole: Record<string, JsonValue> = {};
  for (const name of names) {
    const value = field(name);
    if (value !== undefined) whole[name] = value;
  }
  return whole;
};

const WORKFLOW_FIELDS = [
  'input',
  'output',
  'variables',
  'status',
  'workflowId',
  'workflowType',
  'version',
  'correlationId',
  'parentWorkflowId',
  'parentWorkflowTaskId',
  'reasonForIncompletion',
  'startTime',
  'priority',
  'schemaVersion',
] as const;

const workflowField = (state: ExecutionState, name: string): JsonValue | undefined => {
  const { started, lifecycle, plan } = state;
  switch (name) {
    case 'input':
      return started?.input;
    case 'output':
      return 'output' in lifecycle ? lifecycle.output : {};
    case 'variables':
      return state.variables;
    case 'env':
      return Object.fromEntries(state.environment);
    case 'status':
      return lifecycle.status;
    case 'workflowId':
      return state.executionId;
    case 'workflowType':
      return plan.definition.name;
    case 'version':
      return plan.definition.version;
    case 'correlationId':
      return started?.correlationId ?? null;
    case 'parentWorkflowId':
      return started?.parent?.executionId ?? null;
    case 'parentWorkflowTaskId':
      return state.parent?.taskId ?? null;
    case 'reasonForIncompletion':
      return 'reason' in lifecycle ? (lifecycle.reason ?? null) : null;
    case 'startTime':
    case 'createTime':
      return started?.at;
    case 'priority':
      return started?.priority;
    case 'schemaVersion':
      return 2;
    default:
      return undefined;
  }
};

const TASK_FIELDS = [
  'input',
  'output',
  'status',
  'taskId',
  'taskType',
  'taskDefName',
  'referenceTaskName',
  'iteration',
  'attempt',
  'retryCount',
  'scheduledTime',
  'startTime',
  'endTime',
  'workerId',
  'pollCount',
  'callbackAfterSeconds',
  'reasonForIncompletion',
  'correlationId',
  'workflowInstanceId',
] as const;

const taskField = (state: ExecutionState, entry: TaskEntry, name: string): JsonValue | undefined => {
  switch (name) {
    case 'input':
      return entry.input;
    case 'output':
      return outputOf(entry);
    case 'status':
      return entry.status;
    case 'taskId':
      return taskIdOf(state.executionId, entry.seq);
    case 'taskType':
      return entry.node.definition.type;
    case 'taskDefName':
      return entry.taskName;
    case 'referenceTaskName':
      return entry.key;
    case 'iteration':
      return entry.path.at(-1) ?? 0;
    case 'attempt':
      return entry.attempt;
    case 'retryCount':
      return entry.attempt - 1;
    case 'scheduledTime':
      return entry.scheduledAt;
    case 'startTime':
      return entry.startedAt ?? null;
    case 'endTime':
      return entry.endedAt ?? null;
    case 'workerId':
      return entry.workerId ?? null;
    case 'pollCount':
      return entry.startedAt === undefined ? 0 : entry.callbacks + 1;
    case 'callbackAfterSeconds':
      return entry.callbackSeconds;
    case 'reasonForIncompletion':
      return entry.reason ?? null;
    case 'correlationId':
      return state.started?.correlationId ?? null;
    case 'workflowInstanceId':
      return state.executionId;
    default:
      return undefined;
  }
};

const outputOf = ({ phase, output }: TaskEntry): JsonObject =>
  phase.kind === 'loop' ? recentLoopOutput(phase, LOOP_ITERATIONS_VISIBLE_MAX) : output;
