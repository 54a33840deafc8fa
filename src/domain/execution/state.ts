import type { Plan, PlanNode, Sequence } from '../definition/plan.ts';
import type { TaskPolicy } from '../definition/task-definition.ts';
import type { ExecutionId, Instant } from '../kernel/brand.ts';
import type { JsonObject, JsonValue } from '../kernel/json.ts';
import type { ExecutionStarted, SignalBuffered, TaskScheduled } from './events.ts';
import type { ClosedExecutionStatus, TaskStatus } from './statuses.ts';
import { keyAt, stripSuffix, type TaskKey } from './task-key.ts';

/** How the part of the run below an entry ended: `live` while it has not. */
export type Ending = 'live' | 'ok' | 'failed';

/** Where a task stands; each field exists only in the phases where it means something. */
export type TaskPhase =
  | { kind: 'attempt'; scheduled: TaskScheduled; seq: number; policy: TaskPolicy }
  | { kind: 'awaitingRetry'; visibleAt: Instant }
  | { kind: 'choice'; chosen: Sequence }
  | { kind: 'fork'; branches: readonly Sequence[]; entered: number; ended: Map<number, Exclude<Ending, 'live'>> }
  | { kind: 'join'; pending: Set<string> }
  | {
      kind: 'loop';
      iteration: number;
      body: Ending;
      items: readonly JsonValue[] | undefined;
      kept: Map<number, JsonObject>;
    }
  | {
      kind: 'closed';
      ok: boolean;
      /** The end of the run closed it, not an outcome of its own. */
      canceled: boolean;
      /** A loop that failed remembers how far it was, for a retry of the run. */
      loop?: Extract<TaskPhase, { kind: 'loop' }>;
    };

/** The latest attempt of one task, or one operator. The one mutable thing besides the state that holds it. */
export type TaskEntry = {
  readonly key: TaskKey;
  readonly node: PlanNode;
  /** Iterations of the loops around it, outermost first. */
  readonly path: readonly number[];
  phase: TaskPhase;
  /** It and everything below it is over. */
  ending: Ending;
  status: TaskStatus;
  input: JsonValue;
  output: JsonObject;
  reason: string | undefined;
  attempt: number;
  /** Attempts that a retry of the whole run forgave. */
  attemptsForgiven: number;
  /** Of the event that opened the current attempt, or the operator. */
  seq: number;
  scheduledAt: Instant;
  firstScheduledAt: Instant;
  startedAt: Instant | undefined;
  endedAt: Instant | undefined;
  workerId: string | undefined;
  taskName: string;
  /** The current attempt has, or may have, timers in the store. */
  timed: boolean;
};

/** Why the run must end; set by the fact that made it so, turned into ExecutionClosed by the next decision. */
export type PendingEnd = Readonly<{
  status: ClosedExecutionStatus;
  reason: string | undefined;
  failedTask: TaskKey | undefined;
  output: JsonObject | undefined;
}>;

export type Lifecycle =
  | Readonly<{ status: 'NEW' }>
  | Readonly<{ status: 'RUNNING' | 'PAUSED' }>
  | Readonly<{ status: ClosedExecutionStatus; endedAt: Instant; reason: string | undefined; output: JsonObject }>;

/**
 * A run, folded. Owned by one fold, decision or cache slot and changed in place there: from outside `evolve` is pure
 * because nobody keeps the state it was given (test/property/kernel.test.ts).
 */
export type ExecutionState = {
  readonly executionId: ExecutionId;
  readonly plan: Plan;
  lifecycle: Lifecycle;
  /** Seq of the last event folded in. */
  seq: number;
  started: ExecutionStarted | undefined;
  variables: JsonObject;
  tasks: Map<TaskKey, TaskEntry>;
  /** Nodes that data brought in, by the key of their scope. */
  dynamicNodes: Map<TaskKey, PlanNode>;
  /** Joins that wait for a key, by that key. */
  watchers: Map<TaskKey, TaskKey[]>;
  /** Keys to look at: hints, safe to look at twice, so a fold that adds too many is never wrong. */
  due: Set<TaskKey>;
  /** The root and every fork branch that has not ended. */
  liveSequences: number;
  openAttempts: number;
  pendingEnd: PendingEnd | undefined;
  /** The first failure that only let the others finish. */
  permissiveFailure: PendingEnd | undefined;
  lastOutput: JsonObject;
  signals: SignalBuffered[];
  /** When the run's own deadline counts from. */
  deadlineFrom: Instant | undefined;
  executionDeadlineMissed: boolean;
};

/** The run itself among the due keys. */
export const ROOT_KEY: TaskKey = '';

export const emptyState = (executionId: ExecutionId, plan: Plan): ExecutionState => ({
  executionId,
  plan,
  lifecycle: { status: 'NEW' },
  seq: 0,
  started: undefined,
  variables: {},
  tasks: new Map(),
  dynamicNodes: new Map(),
  watchers: new Map(),
  due: new Set(),
  liveSequences: 0,
  openAttempts: 0,
  pendingEnd: undefined,
  permissiveFailure: undefined,
  lastOutput: {},
  signals: [],
  deadlineFrom: undefined,
  executionDeadlineMissed: false,
});

const copyPhase = (phase: TaskPhase): TaskPhase => {
  switch (phase.kind) {
    case 'fork':
      return { ...phase, ended: new Map(phase.ended) };
    case 'join':
      return { ...phase, pending: new Set(phase.pending) };
    case 'loop':
      return { ...phase, kept: new Map(phase.kept) };
    default:
      return { ...phase };
  }
};

/** For callers that keep the old state: tests, replay, time travel. A pass never copies. */
export const copyState = (state: ExecutionState): ExecutionState => ({
  ...state,
  tasks: new Map([...state.tasks].map(([key, entry]) => [key, { ...entry, phase: copyPhase(entry.phase) }])),
  dynamicNodes: new Map(state.dynamicNodes),
  watchers: new Map([...state.watchers].map(([key, joins]) => [key, [...joins]])),
  due: new Set(state.due),
  signals: [...state.signals],
});

export const isOpen = (state: ExecutionState): boolean =>
  state.lifecycle.status === 'RUNNING' || state.lifecycle.status === 'PAUSED';

/** The node a key names: a dynamic one of its scope, else one of the plan, loop suffixes taken off one by one. */
export const nodeOf = (state: ExecutionState, key: TaskKey): PlanNode | undefined => {
  for (let name: string | undefined = key; name !== undefined; name = stripSuffix(name)?.ref) {
    const node = state.dynamicNodes.get(name) ?? state.plan.nodes.get(name);
    if (node !== undefined) return node;
  }
  return undefined;
};

/** The iterations that a key of this node carries, outermost first. */
export const pathOf = (node: PlanNode, key: TaskKey): readonly number[] => {
  const path: number[] = [];
  let name = key;
  for (let depth = node.loops.length; depth > 0; depth -= 1) {
    const stripped = stripSuffix(name);
    if (stripped === undefined) break;
    path.unshift(stripped.iteration);
    name = stripped.ref;
  }
  return path;
};

/** The entry of the node that owns the sequence of `node`, seen from iteration path `path`; undefined at the root. */
export const ownerEntry = (state: ExecutionState, node: PlanNode, path: readonly number[]): TaskEntry | undefined => {
  const owner = node.sequence.owner;
  if (owner.kind === 'root') return undefined;
  return state.tasks.get(keyAt(owner.node, owner.kind === 'body' ? path.slice(0, -1) : path));
};

export const nextNode = (node: PlanNode): PlanNode | undefined => node.sequence.nodes[node.index + 1];
