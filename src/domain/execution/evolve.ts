import { compileBranches } from '../definition/compile-branches.ts';
import type { ForkNode, PlanNode, Sequence, SwitchNode } from '../definition/plan.ts';
import type { Instant } from '../kernel/brand.ts';
import { invariant, unreachable } from '../kernel/invariant.ts';
import type { JsonValue } from '../kernel/json.ts';
import { isTimed } from './deadlines.ts';
import type {
  ExecutionClosed,
  ExecutionStarted,
  LoopIterated,
  OperatorClosed,
  OperatorOpened,
  OperatorResolved,
  TaskClosed,
  TaskRefused,
  TaskScheduled,
  TaskSlot,
  WorkflowEvent,
} from './events.ts';
import { openJoin } from './join-state.ts';
import { closeIteration, forgetIteration } from './loop-state.ts';
import { policyFor } from './policy.ts';
import { reopen } from './reopen.ts';
import { fail, settle } from './settle.ts';
import { copyState, type ExecutionState, nodeOf, ownerEntry, pathOf, ROOT_KEY, type TaskEntry } from './state.ts';
import { keyAt, keyOf } from './task-key.ts';

/** The fold, pure from outside: the given state is left as it was. */
export const evolve = (state: ExecutionState, events: readonly WorkflowEvent[]): ExecutionState => {
  const next = copyState(state);
  for (const event of events) applyEvent(next, event);
  return next;
};

/** Folds one event into a state that the caller owns. */
export const applyEvent = (state: ExecutionState, event: WorkflowEvent): void => {
  state.seq += 1;
  switch (event.type) {
    case 'ExecutionStarted':
      return started(state, event);
    case 'TaskScheduled':
      return taskScheduled(state, event);
    case 'TaskClosed':
      return taskClosed(state, event);
    case 'TaskRefused':
      return taskRefused(state, event);
    case 'OperatorResolved':
      return operatorResolved(state, event);
    case 'OperatorOpened':
      return operatorOpened(state, event);
    case 'LoopIterated':
      return loopIterated(state, event);
    case 'OperatorClosed':
      return operatorClosed(state, event);
    case 'SignalBuffered':
      state.signals.push(event);
      return;
    case 'ExecutionPaused':
      state.lifecycle = { status: 'PAUSED' };
      return;
    case 'ExecutionResumed':
      state.lifecycle = { status: 'RUNNING' };
      state.due.add(ROOT_KEY);
      return;
    case 'ExecutionClosed':
      return executionClosed(state, event);
    case 'ExecutionRetried':
      return reopen(state, event.at);
    case 'ExecutionDeadlineMissed':
      state.executionDeadlineMissed = true;
      return;
    case 'TaskDeadlineMissed':
      return;
    default:
      return unreachable(event);
  }
};

const started = (state: ExecutionState, event: ExecutionStarted): void => {
  invariant(state.lifecycle.status === 'NEW', 'ExecutionStarted is the first event');
  state.lifecycle = { status: 'RUNNING' };
  state.started = event;
  state.variables = event.variables;
  state.liveSequences = 1;
  state.deadlineFrom = event.at;
  state.due.add(ROOT_KEY);
};

const nodeAt = (state: ExecutionState, slot: TaskSlot): PlanNode => {
  const node = nodeOf(state, keyOf(slot));
  invariant(node !== undefined, `no node for ${keyOf(slot)}`);
  return node;
};

type Opening = Readonly<{ at: Instant; input: JsonValue; attempt: number; taskName: string }>;

/** Makes or renews the entry of a slot and tells the fork whose branch begins with it. */
const enter = (state: ExecutionState, slot: TaskSlot, opening: Opening): TaskEntry => {
  const key = keyOf(slot);
  const node = nodeAt(state, slot);
  const path = pathOf(node, key);
  const before = state.tasks.get(key);
  const entry: TaskEntry = {
    key,
    node,
    path,
    phase: { kind: 'closed', ok: true, canceled: false },
    ending: 'live',
    status: 'SCHEDULED',
    input: opening.input,
    output: {},
    reason: undefined,
    attempt: opening.attempt,
    attemptsForgiven: before?.attemptsForgiven ?? 0,
    seq: state.seq,
    scheduledAt: opening.at,
    firstScheduledAt: before?.firstScheduledAt ?? opening.at,
    startedAt: undefined,
    endedAt: undefined,
    workerId: undefined,
    taskName: opening.taskName,
    timed: false,
  };
  state.tasks.set(key, entry);
  if (before === undefined) enteredFirst(state, entry);
  return entry;
};

const enteredFirst = (state: ExecutionState, entry: TaskEntry): void => {
  const owner = entry.node.sequence.owner;
  if (owner.kind !== 'branch' || entry.node.index !== 0) return;
  const fork = ownerEntry(state, entry.node, entry.path);
  if (fork?.phase.kind !== 'fork') return;
  fork.phase.entered = Math.max(fork.phase.entered, owner.index + 1);
  state.due.add(fork.key);
};

const taskScheduled = (state: ExecutionState, event: TaskScheduled): void => {
  const entry = enter(state, event, event);
  entry.firstScheduledAt = event.firstScheduledAt;
  entry.phase = { kind: 'attempt', scheduled: event, seq: state.seq, policy: policyFor(entry.node, event) };
  entry.timed = isTimed(event, entry.phase.policy);
  if (event.fireAt !== undefined || entry.node.type === 'WAIT' || entry.node.type === 'YIELD') {
    entry.status = 'IN_PROGRESS';
  }
  state.openAttempts += 1;
  // A signal that came before its wait is taken by the decision that looks at the wait next.
  if (state.signals.length > 0) state.due.add(entry.key);
};

const taskClosed = (state: ExecutionState, event: TaskClosed): void => {
  const entry = state.tasks.get(keyOf(event));
  invariant(
    entry?.phase.kind === 'attempt' && entry.attempt === event.attempt,
    `TaskClosed of ${keyOf(event)} attempt ${event.attempt}, which is not open`,
  );
  state.openAttempts -= 1;
  entry.status = event.status;
  entry.output = event.output;
  entry.reason = event.reason;
  entry.startedAt = event.startedAt;
  entry.endedAt = event.at;
  entry.workerId = event.workerId;
  takeSignal(state, entry);
  applyDisposition(state, entry, event);
};

const takeSignal = (state: ExecutionState, entry: TaskEntry): void => {
  if (state.signals.length === 0 || !isWaiting(entry.node)) return;
  const index = state.signals.findIndex((signal) => signal.ref === entry.node.ref);
  if (index >= 0) state.signals.splice(index, 1);
};

const isWaiting = (node: PlanNode): boolean => node.type === 'WAIT' || node.type === 'YIELD';

const applyDisposition = (state: ExecutionState, entry: TaskEntry, event: TaskClosed): void => {
  const disposition = event.disposition;
  switch (disposition.kind) {
    case 'advance':
      entry.phase = { kind: 'closed', ok: true, canceled: false };
      return settle(state, entry);
    case 'retry':
      entry.phase = { kind: 'awaitingRetry', visibleAt: disposition.visibleAt };
      state.due.add(entry.key);
      return;
    case 'fail':
      entry.phase = { kind: 'closed', ok: false, canceled: false };
      return fail(state, entry, isPermissive(state, entry));
    case 'timeOutExecution':
      entry.phase = { kind: 'closed', ok: false, canceled: false };
      return fail(state, entry, false);
    default:
      return unreachable(disposition);
  }
};

/** Permissive means: in a fork, let the other branches finish. Outside of one there is nobody to wait for. */
const isPermissive = (state: ExecutionState, entry: TaskEntry): boolean => {
  if (!entry.node.permissive) return false;
  for (let at: TaskEntry | undefined = entry; at !== undefined; at = ownerEntry(state, at.node, at.path)) {
    if (at.node.sequence.owner.kind === 'branch') return true;
  }
  return false;
};

const taskRefused = (state: ExecutionState, event: TaskRefused): void => {
  const entry = enter(state, event, event);
  entry.status = event.status;
  entry.reason = event.reason;
  entry.output = { error: event.reason };
  entry.endedAt = event.at;
  closeEntry(state, entry, event.status === 'COMPLETED_WITH_ERRORS');
};

const closeEntry = (state: ExecutionState, entry: TaskEntry, ok: boolean): void => {
  entry.phase = { kind: 'closed', ok, canceled: false };
  if (ok) settle(state, entry);
  else fail(state, entry, isPermissive(state, entry));
};

const operatorResolved = (state: ExecutionState, event: OperatorResolved): void => {
  const entry = enter(state, event, { ...event, attempt: 1, taskName: nodeAt(state, event).name });
  entry.status = event.status;
  entry.output = event.output;
  entry.reason = event.reason;
  entry.endedAt = event.at;
  if (event.variables !== undefined) state.variables = { ...state.variables, ...event.variables };
  if (event.status === 'FAILED' || event.status === 'FAILED_WITH_TERMINAL_ERROR') {
    return closeEntry(state, entry, false);
  }
  if (event.termination !== undefined) return terminated(state, entry, event.termination);
  if (event.branches !== undefined) return forked(state, entry, dynamicBranches(state, entry, event.branches));
  if (entry.node.type === 'FORK_JOIN') return forked(state, entry, (entry.node as ForkNode).branches);
  if (event.chosenCase !== undefined) return chose(state, entry, event.chosenCase);
  closeEntry(state, entry, true);
};

const terminated = (
  state: ExecutionState,
  entry: TaskEntry,
  termination: NonNullable<OperatorResolved['termination']>,
): void => {
  entry.phase = { kind: 'closed', ok: termination.status === 'COMPLETED', canceled: false };
  entry.ending = 'ok';
  state.pendingEnd = {
    status: termination.status,
    reason: termination.reason,
    failedTask: termination.status === 'COMPLETED' ? undefined : entry.key,
    output: termination.output ?? {},
  };
  state.due.add(ROOT_KEY);
};

const dynamicBranches = (
  state: ExecutionState,
  entry: TaskEntry,
  branches: NonNullable<OperatorResolved['branches']>,
): readonly Sequence[] => {
  invariant(entry.node.type === 'FORK_JOIN_DYNAMIC', `${entry.key} is no dynamic fork`);
  const compiled = compileBranches(entry.node, branches, state.plan);
  invariant(compiled.ok, `branches of ${entry.key} no longer compile`);
  for (const [ref, node] of compiled.value.nodes) state.dynamicNodes.set(keyAt(ref, entry.path), node);
  return compiled.value.sequences;
};

const forked = (state: ExecutionState, entry: TaskEntry, branches: readonly Sequence[]): void => {
  entry.phase = { kind: 'fork', branches, entered: 0, ended: new Map() };
  entry.ending = 'ok';
  state.liveSequences += branches.length;
  state.due.add(entry.key);
};

const chose = (state: ExecutionState, entry: TaskEntry, label: string | null): void => {
  const node = entry.node as SwitchNode;
  const chosen = label === null ? node.fallback : node.cases.get(label);
  if (chosen === undefined) return closeEntry(state, entry, true);
  entry.phase = { kind: 'choice', chosen };
  state.due.add(entry.key);
};

const operatorOpened = (state: ExecutionState, event: OperatorOpened): void => {
  const entry = enter(state, event, { ...event, attempt: 1, taskName: nodeAt(state, event).name });
  entry.status = 'IN_PROGRESS';
  state.due.add(entry.key);
  if (entry.node.type === 'DO_WHILE') {
    entry.phase = { kind: 'loop', iteration: 1, body: 'live', items: event.items, kept: new Map() };
  } else {
    openJoin(state, entry);
  }
};

const loopIterated = (state: ExecutionState, event: LoopIterated): void => {
  const entry = state.tasks.get(keyOf(event));
  invariant(entry?.phase.kind === 'loop', `LoopIterated of ${keyOf(event)}, which is no open loop`);
  closeIteration(state, entry, entry.phase);
  forgetIteration(state, entry, event.next - 2);
  entry.phase.iteration = event.next;
  entry.phase.body = 'live';
  state.due.add(entry.key);
};

const operatorClosed = (state: ExecutionState, event: OperatorClosed): void => {
  const entry = state.tasks.get(keyOf(event));
  invariant(entry !== undefined, `OperatorClosed of ${keyOf(event)}, which was never opened`);
  const loop = entry.phase.kind === 'loop' ? entry.phase : undefined;
  entry.status = event.status;
  entry.output = event.output;
  entry.reason = event.reason;
  entry.endedAt = event.at;
  const ok = event.status === 'COMPLETED' || event.status === 'COMPLETED_WITH_ERRORS';
  if (ok && loop !== undefined) forgetIteration(state, entry, loop.iteration - 1);
  entry.phase = { kind: 'closed', ok, canceled: false, ...(ok || loop === undefined ? {} : { loop }) };
  if (ok) settle(state, entry);
  else fail(state, entry, loop?.body === 'failed' || isPermissive(state, entry));
};

const executionClosed = (state: ExecutionState, event: ExecutionClosed): void => {
  for (const entry of state.tasks.values()) {
    if (entry.phase.kind !== 'attempt' && entry.phase.kind !== 'awaitingRetry') continue;
    entry.phase = { kind: 'closed', ok: false, canceled: true };
    entry.status = 'CANCELED';
    entry.endedAt = event.at;
  }
  state.openAttempts = 0;
  state.pendingEnd = undefined;
  state.due.clear();
  state.lifecycle = { status: event.status, endedAt: event.at, reason: event.reason, output: event.output };
};
