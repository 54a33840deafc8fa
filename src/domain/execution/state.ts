import type { Plan, PlanNode, Sequence } from '../definition/plan.ts';
import type { TaskPolicy } from '../definition/task-definition.ts';
import { type ExecutionId, type Instant, type TaskId, taskIdOf } from '../kernel/brand.ts';
import type { JsonObject, JsonValue } from '../kernel/json.ts';
import { type AttemptLedger, copyLedger, newLedger } from './attempt-ledger.ts';
import type { CompensationStatus } from './compensation-text.ts';
import { addDueKey, copyDueKeys, type DueKeys, dropDueKey, newDueKeys } from './due-keys.ts';
import type {
  ChildStart,
  DeadlineKind,
  ExecutionStarted,
  MessageReceived,
  ParentLink,
  SignalBuffered,
  SkipRequested,
  TaskScheduled,
  TaskSlot,
} from './events.ts';
import type { ClosedExecutionStatus, TaskStatus } from './statuses.ts';
import { keyAt, keyOf, stripSuffix, type TaskKey } from './task-key.ts';

/** How the part of the run below an entry ended: `live` while it has not. */
export type Ending = 'live' | 'ok' | 'failed';

export type LoopPhase = {
  kind: 'loop';
  iteration: number;
  body: Ending;
  /** The body and every fork branch of this iteration that has not ended: the next one begins when all have. */
  live: number;
  /** A permissive task of this iteration failed: the loop fails when the iteration is over. */
  failed: boolean;
  items: readonly JsonValue[] | undefined;
  kept: Map<number, JsonObject>;
  /** Size of what is kept, so that the limit of the output is never found out by measuring all of it. */
  keptBytes: number;
};

export type JoinPhase = {
  kind: 'join';
  /** Keys of tasks, or branches (branchKey), that it waits for. */
  pending: Set<string>;
  /** What it is told about, and which of its targets that may bring to an end. */
  watched: Map<string, JoinTarget[]>;
};

export type ForkPhase = {
  kind: 'fork';
  branches: readonly Sequence[];
  /** Every branch before this one has been entered. */
  entered: number;
  ended: Map<number, Exclude<Ending, 'live'>>;
  /** A hint: no branch before this one is left that begins with what maxConcurrentTasks does not count. */
  uncountedFrom?: number;
};

/** What a join waits for: a task, or the outermost loop around it that the join is not in. */
export type JoinTarget = Readonly<{ key: TaskKey; node: PlanNode; path: readonly number[] }>;

/** What closed an entry: an outcome of its own, a refusal before it had begun, the end of the run, or an operator action. */
export type ClosedBy = 'outcome' | 'refusal' | 'end' | 'withdrawal';

/** Where a task stands; each field exists only in the phases where it means something. */
export type TaskPhase =
  | { kind: 'attempt'; scheduled: TaskScheduled; seq: number; policy: TaskPolicy; missed: readonly DeadlineKind[] }
  | {
      kind: 'awaitingRetry';
      visibleAt: Instant;
      /** The next attempt goes on with the child of the one before. */
      resumes?: true;
    }
  | { kind: 'choice'; chosen: Sequence }
  | ForkPhase
  | JoinPhase
  | LoopPhase
  | {
      kind: 'closed';
      ok: boolean;
      by: ClosedBy;
      /** A loop remembers how far it was, for a retry of the run or a rerun of a task in it. */
      loop?: LoopPhase;
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
  /** Seq of the event that settled it: which of two was first, whatever the clocks say. */
  settledSeq: number | undefined;
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
  /** How often its worker put the attempt off, and for how long the last time. */
  callbacks: number;
  callbackSeconds: number;
  taskName: string;
  /** The run that the current attempt started, or is about to. */
  child: ChildStart | undefined;
  /** Nobody ran it, so there is nothing to undo. */
  fromCache: boolean;
  /** The current attempt has, or may have, timers in the store. */
  timed: boolean;
  /** The same task in an earlier iteration: what its own expressions mean by its ref, at every attempt. */
  before: TaskEntry | undefined;
};

/** Why the run must end; set by the fact that made it so, turned into ExecutionClosed by the next decision. */
export type PendingEnd = Readonly<{
  status: ClosedExecutionStatus;
  reason: string | undefined;
  failedTask: TaskKey | undefined;
  output: JsonObject | undefined;
}>;

/** How far the undoing of a run is that failed after tasks had completed which declare how they are undone. */
export type Compensation = {
  /** How the run ends once this is over. */
  readonly end: PendingEnd;
  status: CompensationStatus;
  /** Keys of the tasks undone, in the order in which they were. */
  readonly undone: TaskKey[];
  /** Keys of those whose optional compensation failed. */
  readonly left: TaskKey[];
  /** The compensation that runs, or that the undoing stopped at; undefined between two. */
  current: TaskKey | undefined;
};

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
  /** Of the definition that the run follows now; a restart or an upgrade may move it to another one. */
  plan: Plan;
  /** Plans that facts of this run may name by their hash, beside its own. */
  readonly plans: Map<string, Plan>;
  lifecycle: Lifecycle;
  /** Seq and time of the last event folded in. */
  seq: number;
  at: Instant;
  started: ExecutionStarted | undefined;
  /** The attempt that waits for this run: a retry of the parent may make it another one. */
  parent: ParentLink | undefined;
  variables: JsonObject;
  /** Of loops, only the iteration that runs, or that ran last. */
  tasks: Map<TaskKey, TaskEntry>;
  /** The latest occurrence of each ref, of whichever iteration: what expressions read. */
  latest: Map<string, TaskEntry>;
  /** Nodes that data brought in, by the key of their scope. */
  dynamicNodes: Map<TaskKey, PlanNode>;
  /** Environment values that it knows, as it read them last, and names of such that only its data reads. */
  environment: Map<string, string>;
  dynamicEnvironment: Set<string>;
  /** Joins to tell when a task or branch is over, by its key. */
  watchers: Map<string, Set<TaskKey>>;
  /** Hints, safe to look at twice, so a fold that adds too many is never wrong. */
  due: DueKeys;
  /** Keys that were looked at and wait until the run may have another task in flight: due ones put aside. */
  held: DueKeys;
  /** The root and every fork branch outside of loops that has not ended. */
  liveSequences: number;
  openAttempts: number;
  /** Of these, the tasks of workers and of the server: what maxConcurrentTasks counts. */
  tasksInFlight: number;
  pendingEnd: PendingEnd | undefined;
  /** The first failure that only let the others finish. */
  permissiveFailure: PendingEnd | undefined;
  /** Completed tasks that declare a compensation, the one that finished last at the end. */
  compensable: TaskEntry[];
  compensation: Compensation | undefined;
  signals: SignalBuffered[];
  /** Messages that nobody has taken yet, oldest first, and their size as JSON. */
  messages: MessageReceived[];
  messageBytes: number;
  /** Open tasks that would take a message. */
  messageReaders: Set<TaskKey>;
  /** Tasks to be skipped when they are reached, by key or by ref. */
  skips: Map<string, SkipRequested>;
  /** Inputs that an operator gave in place of what the definition says, by key. */
  givenInputs: Map<TaskKey, JsonObject>;
  /** Refs that are not entered before what they read, by its keys, is over: it was taken back with them. */
  waits: Map<string, readonly TaskKey[]>;
  attempts: AttemptLedger;
  /** Tasks ran again, or came in, before others that had run already: what comes next may be there. */
  patched: boolean;
  /** When the run's own deadline counts from. */
  deadlineFrom: Instant | undefined;
  executionDeadlineMissed: boolean;
  /** It waits for a place under a limit on runs: nothing is decided until then. */
  awaitingAdmission: boolean;
};

/** The run itself among the due keys. */
export const ROOT_KEY: TaskKey = '';

export const emptyState = (
  executionId: ExecutionId,
  plan: Plan,
  plans: ReadonlyMap<string, Plan> = new Map(),
): ExecutionState => ({
  executionId,
  plan,
  plans: new Map(plans),
  lifecycle: { status: 'NEW' },
  seq: 0,
  at: 0 as Instant,
  started: undefined,
  parent: undefined,
  variables: {},
  tasks: new Map(),
  latest: new Map(),
  dynamicNodes: new Map(),
  environment: new Map(),
  dynamicEnvironment: new Set(),
  watchers: new Map(),
  due: newDueKeys(),
  held: newDueKeys(),
  liveSequences: 0,
  openAttempts: 0,
  tasksInFlight: 0,
  pendingEnd: undefined,
  permissiveFailure: undefined,
  compensable: [],
  compensation: undefined,
  signals: [],
  messages: [],
  messageBytes: 0,
  messageReaders: new Set(),
  skips: new Map(),
  givenInputs: new Map(),
  waits: new Map(),
  attempts: newLedger(),
  patched: false,
  deadlineFrom: undefined,
  executionDeadlineMissed: false,
  awaitingAdmission: false,
});

const copyLoop = (loop: LoopPhase): LoopPhase => ({ ...loop, kept: new Map(loop.kept) });

const copyPhase = (phase: TaskPhase): TaskPhase => {
  switch (phase.kind) {
    case 'fork':
      return { ...phase, ended: new Map(phase.ended) };
    case 'join':
      return { ...phase, pending: new Set(phase.pending), watched: new Map(phase.watched) };
    case 'loop':
      return copyLoop(phase);
    case 'closed':
      return phase.loop === undefined ? { ...phase } : { ...phase, loop: copyLoop(phase.loop) };
    default:
      return { ...phase };
  }
};

/** For callers that keep the old state: tests, replay, time travel. A pass never copies. */
export const copyState = (state: ExecutionState): ExecutionState => {
  const copies = new Map<TaskEntry, TaskEntry>();
  const copyOf = (entry: TaskEntry): TaskEntry => {
    const copy = copies.get(entry) ?? { ...entry, phase: copyPhase(entry.phase) };
    copies.set(entry, copy);
    return copy;
  };
  const copyAll = (entries: ReadonlyMap<string, TaskEntry>): Map<string, TaskEntry> =>
    new Map([...entries].map(([key, entry]) => [key, copyOf(entry)]));
  return {
    ...state,
    tasks: copyAll(state.tasks),
    latest: copyAll(state.latest),
    dynamicNodes: new Map(state.dynamicNodes),
    environment: new Map(state.environment),
    dynamicEnvironment: new Set(state.dynamicEnvironment),
    watchers: new Map([...state.watchers].map(([key, joins]) => [key, new Set(joins)])),
    plans: new Map(state.plans),
    due: copyDueKeys(state.due),
    held: copyDueKeys(state.held),
    // Nobody changes an entry once it is remembered here.
    compensable: [...state.compensable],
    compensation: state.compensation && {
      ...state.compensation,
      undone: [...state.compensation.undone],
      left: [...state.compensation.left],
    },
    signals: [...state.signals],
    messages: [...state.messages],
    messageReaders: new Set(state.messageReaders),
    skips: new Map(state.skips),
    givenInputs: new Map(state.givenInputs),
    waits: new Map(state.waits),
    attempts: copyLedger(state.attempts),
  };
};

/** Lets the next decision look at a task, or at the run itself. */
export const lookAgainAt = (state: ExecutionState, key: TaskKey): void => {
  dropDueKey(state.held, key);
  addDueKey(state.due, key, state.tasks.get(key)?.seq ?? 0);
};

export const isOpen = (state: ExecutionState): boolean =>
  state.lifecycle.status === 'RUNNING' || state.lifecycle.status === 'PAUSED';

/** Whether this attempt, by its id and its identity, is the open one of its task. */
export const isOpenAttempt = (
  state: ExecutionState,
  taskId: TaskId,
  attempt: TaskSlot & Readonly<{ attempt: number }>,
): boolean => {
  const entry = state.tasks.get(keyOf(attempt));
  return (
    entry?.phase.kind === 'attempt' &&
    entry.attempt === attempt.attempt &&
    taskIdOf(state.executionId, entry.seq) === taskId
  );
};

/** A node by its ref as seen from iterations `path`: data brought dynamic ones in at those of their fork. */
export const nodeInScope = (state: ExecutionState, ref: string, path: readonly number[]): PlanNode | undefined => {
  for (let depth = path.length; depth >= 0 && state.dynamicNodes.size > 0; depth -= 1) {
    const node = state.dynamicNodes.get(keyAt(ref, path.slice(0, depth)));
    if (node !== undefined) return node;
  }
  return state.plan.nodes.get(ref);
};

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
