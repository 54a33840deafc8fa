import type { PlanNode } from '../definition/plan.ts';
import { CONDUCTOR_MODE, type EvaluationMode, V1_MODE } from '../expression/evaluate.ts';
import type { Scope } from '../expression/scope.ts';
import { taskIdOf } from '../kernel/brand.ts';
import type { JsonObject, JsonValue } from '../kernel/json.ts';
import { loopOutput } from './loop-state.ts';
import type { ExecutionState, TaskEntry } from './state.ts';
import { keyAt } from './task-key.ts';

/** Iterations of an open loop that expressions see in its output; the closed loop's output has all that it keeps. */
export const LOOP_ITERATIONS_VISIBLE_MAX = 100;

export const modeOf = (state: ExecutionState): EvaluationMode =>
  state.plan.dialect === 'conductor' ? CONDUCTOR_MODE : V1_MODE;

/** Who reads: the loops around it, outermost first, and the iteration of each. */
export type Reader = Readonly<{ loops: readonly string[]; path: readonly number[] }>;

/** What the output of the run and its conditions read from: no loop around it. */
export const OUTSIDE: Reader = { loops: [], path: [] };

/** What the expressions of a node in the given iterations can read of the run. */
export const scopeAt = (state: ExecutionState, reader: Reader): Scope => {
  const field = (head: string, name: string): JsonValue | undefined => {
    if (head === 'workflow') return workflowField(state, name);
    const entry = findEntry(state, head, reader);
    return entry === undefined ? undefined : taskField(state, entry, name);
  };
  return {
    resolve: (head) => {
      if (head === 'workflow') return wholeOf((name) => workflowField(state, name), WORKFLOW_FIELDS);
      // The fact that schedules the reader is the next one, and its seq is the task's id.
      if (head === 'CPEWF_TASK_ID') return taskIdOf(state.executionId, state.seq + 1);
      const entry = findEntry(state, head, reader);
      return entry === undefined ? undefined : wholeOf((name) => taskField(state, entry, name), TASK_FIELDS);
    },
    lookup: field,
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
  'reasonForIncompletion',
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
    case 'reasonForIncompletion':
      return entry.reason ?? null;
    case 'workflowInstanceId':
      return state.executionId;
    default:
      return undefined;
  }
};

const outputOf = (entry: TaskEntry): JsonObject => {
  const { phase } = entry;
  if (phase.kind !== 'loop') return entry.output;
  if (phase.kept.size <= LOOP_ITERATIONS_VISIBLE_MAX) return loopOutput(phase);
  const recent = [...phase.kept].slice(-LOOP_ITERATIONS_VISIBLE_MAX);
  return loopOutput({ ...phase, kept: new Map(recent) });
};

/**
 * The entry that a ref means to a reader: in its own iteration of the loops both are in, or the one before where the
 * task has not run yet in this one; in the latest iteration of loops the reader is not in.
 */
export const findEntry = (state: ExecutionState, ref: string, reader: Reader): TaskEntry | undefined => {
  const node = findNode(state, ref, reader.path);
  if (node === undefined || node.loops.length === 0) return state.tasks.get(ref);
  const shared = sharedPath(node, reader);
  const now = inLatest(state, node, shared);
  const iteration = shared.at(-1);
  if (now !== undefined || iteration === undefined || iteration <= 1) return now;
  return inLatest(state, node, [...shared.slice(0, -1), iteration - 1]);
};

/** Data brought dynamic nodes in at the iterations of their fork; all others are the plan's. */
const findNode = (state: ExecutionState, ref: string, path: readonly number[]): PlanNode | undefined => {
  for (let depth = path.length; depth >= 0 && state.dynamicNodes.size > 0; depth -= 1) {
    const node = state.dynamicNodes.get(keyAt(ref, path.slice(0, depth)));
    if (node !== undefined) return node;
  }
  return state.plan.nodes.get(ref);
};

const sharedPath = (node: PlanNode, reader: Reader): readonly number[] => {
  let shared = 0;
  while (shared < reader.path.length && node.loops[shared] === reader.loops[shared]) shared += 1;
  return reader.path.slice(0, Math.min(shared, node.loops.length));
};

const inLatest = (state: ExecutionState, node: PlanNode, known: readonly number[]): TaskEntry | undefined => {
  let path = known;
  while (path.length < node.loops.length) {
    const loop = state.tasks.get(keyAt(node.loops[path.length] ?? '', path));
    if (loop === undefined) return undefined;
    path = [...path, latestIteration(loop)];
  }
  return state.tasks.get(keyAt(node.ref, path));
};

const latestIteration = (loop: TaskEntry): number => {
  if (loop.phase.kind === 'loop') return loop.phase.iteration;
  if (loop.phase.kind === 'closed' && loop.phase.loop !== undefined) return loop.phase.loop.iteration;
  const iteration = loop.output.iteration;
  return typeof iteration === 'number' ? iteration : 0;
};
