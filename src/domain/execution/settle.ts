import type { PlanNode } from '../definition/plan.ts';
import { invariant } from '../kernel/invariant.ts';
import { entriesBelow } from './entries-below.ts';
import { rememberCompletion } from './fold-compensation.ts';
import { tellBranchEnded, tellJoins } from './join-state.ts';
import {
  type ExecutionState,
  type LoopPhase,
  lookAgainAt,
  nextNode,
  ownerEntry,
  type PendingEnd,
  ROOT_KEY,
  type TaskEntry,
} from './state.ts';
import type { ClosedExecutionStatus } from './statuses.ts';
import { keyAt } from './task-key.ts';

/** An entry and everything below it is over and well: what waited for it may look again. */
export const settle = (state: ExecutionState, entry: TaskEntry): void => {
  entry.ending = 'ok';
  entry.settledSeq = state.seq;
  rememberCompletion(state, entry);
  tellJoins(state, entry.key);
  if (state.patched) goOn(state, entry);
  else if (nextNode(entry.node) === undefined) endSequence(state, entry, 'ok');
  else lookAgainAt(state, entry.key);
};

/**
 * What comes next may have run already: the first part of the sequence that is missing or lives is the next to look at, and
 * with none the sequence is over.
 */
export const goOn = (state: ExecutionState, entry: TaskEntry): void => {
  if (!isReached(state, entry)) return;
  let last = entry;
  for (const node of entry.node.sequence.nodes.slice(entry.node.index + 1)) {
    lookWithin(state, last);
    const next = state.tasks.get(keyAt(node.ref, entry.path));
    if (next === undefined || next.ending === 'failed') return;
    if (next.ending === 'live') return lookWithin(state, next);
    last = next;
  }
  lookWithin(state, last);
  endSequence(state, last, 'ok');
};

const isReached = (state: ExecutionState, { node, path }: Pick<TaskEntry, 'node' | 'path'>): boolean =>
  node.sequence.nodes.slice(0, node.index).every(({ ref }) => state.tasks.get(keyAt(ref, path))?.ending === 'ok');

/** Lets the next decision look at an entry and at what lives below it. */
const lookWithin = (state: ExecutionState, entry: TaskEntry): void => {
  lookAgainAt(state, entry.key);
  if (entry.ending !== 'live' && entry.phase.kind !== 'fork') return;
  for (const below of entriesBelow(state, entry)) lookWithin(state, below);
};

/** Whether all that stands before a node, and before what it is part of, is over: so that it may be entered. */
export const mayEnter = (state: ExecutionState, node: PlanNode, path: readonly number[]): boolean => {
  if (!isReached(state, { node, path })) return false;
  const owner = ownerEntry(state, node, path);
  return owner === undefined || mayEnter(state, owner.node, owner.path);
};

/**
 * An entry failed for good. A permissive failure inside a fork ends only its branch and lets the others finish; every
 * other one ends the run.
 */
export const fail = (state: ExecutionState, entry: TaskEntry, permissive: boolean): void => {
  entry.ending = 'failed';
  entry.settledSeq = state.seq;
  const end: PendingEnd = {
    status: endStatusOf(entry),
    reason: `Task ${entry.key} failed with status ${entry.status}${entry.reason === undefined ? '' : `: ${entry.reason}`}`,
    failedTask: entry.key,
    output: undefined,
  };
  if (!permissive) {
    state.pendingEnd ??= end;
    lookAgainAt(state, ROOT_KEY);
    return;
  }
  state.permissiveFailure ??= end;
  tellJoins(state, entry.key);
  endSequence(state, entry, 'failed');
};

/** Permissive means: in a fork, let the other branches finish. Outside of one there is nobody to wait for. */
export const isPermissive = (state: ExecutionState, entry: TaskEntry): boolean =>
  entry.node.permissive && isInFork(state, entry);

export const isInFork = (state: ExecutionState, entry: TaskEntry): boolean => {
  for (let at: TaskEntry | undefined = entry; at !== undefined; at = ownerEntry(state, at.node, at.path)) {
    if (at.node.sequence.owner.kind === 'branch') return true;
  }
  return false;
};

const endStatusOf = (entry: TaskEntry): ClosedExecutionStatus => {
  if (entry.status === 'TIMED_OUT') return 'TIMED_OUT';
  return entry.status === 'CANCELED' ? 'TERMINATED' : 'FAILED';
};

/** The last node of a sequence is over, or a node of it failed permissively: its owner hears of it. */
const endSequence = (state: ExecutionState, last: TaskEntry, how: 'ok' | 'failed'): void => {
  const { owner } = last.node.sequence;
  if (owner.kind === 'root') return addLive(state, last, -1);
  invariant(owner.kind !== 'compensation', `${last.key} is followed by nothing`);
  const holder = ownerEntry(state, last.node, last.path);
  invariant(holder !== undefined, `${last.key} runs inside of nothing`);
  if (owner.kind === 'case') {
    if (how === 'ok') settle(state, holder);
    else fail(state, holder, true);
  } else if (owner.kind === 'body') {
    endBody(state, last, holder, how);
  } else {
    endBranch(state, holder, owner.index, how);
  }
};

const endBody = (state: ExecutionState, last: TaskEntry, loop: TaskEntry, how: 'ok' | 'failed'): void => {
  invariant(loop.phase.kind === 'loop', `${last.key} ran in ${loop.key}, which is no open loop`);
  loop.phase.body = how;
  if (how === 'failed') loop.phase.failed = true;
  addLive(state, last, -1);
};

const endBranch = (state: ExecutionState, fork: TaskEntry, index: number, how: 'ok' | 'failed'): void => {
  invariant(fork.phase.kind === 'fork' && !fork.phase.ended.has(index), `branch ${index} of ${fork.key} ended before`);
  fork.phase.ended.set(index, how);
  const loop = loopAround(state, fork);
  if (how === 'failed' && loop !== undefined) loop.failed = true;
  addLive(state, fork, -1);
  tellBranchEnded(state, fork, index);
};

/** The running iteration that a task is part of; undefined outside of loops. */
const loopAround = (state: ExecutionState, entry: TaskEntry): LoopPhase | undefined => {
  const ref = entry.node.loops.at(-1);
  if (ref === undefined) return undefined;
  const loop = state.tasks.get(keyAt(ref, entry.path.slice(0, -1)));
  invariant(loop?.phase.kind === 'loop', `${entry.key} runs in a loop that does not`);
  return loop.phase;
};

/** Sequences that began, or ended, around an entry: its loop goes on, or the run ends, when none is left. */
export const addLive = (state: ExecutionState, entry: TaskEntry, sequences: number): void => {
  const loop = loopAround(state, entry);
  if (loop === undefined) {
    state.liveSequences += sequences;
    if (state.liveSequences === 0) lookAgainAt(state, ROOT_KEY);
    return;
  }
  loop.live += sequences;
  const ref = entry.node.loops.at(-1) ?? '';
  if (loop.live === 0) lookAgainAt(state, keyAt(ref, entry.path.slice(0, -1)));
};
