import type { PlanNode } from '../definition/plan.ts';
import type { ExecutionState, PendingEnd } from './state.ts';
import { nextNode, ownerEntry, ROOT_KEY, type TaskEntry } from './state.ts';
import type { ClosedExecutionStatus } from './statuses.ts';
import { keyAt } from './task-key.ts';

/** An entry and everything below it is over and well: what waited for it may look again. */
export const settle = (state: ExecutionState, entry: TaskEntry): void => {
  entry.ending = 'ok';
  notifyJoins(state, entry);
  if (nextNode(entry.node) === undefined) endSequence(state, entry, 'ok');
  else state.due.add(entry.key);
};

/**
 * An entry failed for good. A permissive failure inside a fork ends only its branch and lets the others finish; every
 * other one ends the run.
 */
export const fail = (state: ExecutionState, entry: TaskEntry, permissive: boolean): void => {
  entry.ending = 'failed';
  const end: PendingEnd = {
    status: endStatusOf(entry),
    reason: `Task ${entry.key} failed with status ${entry.status}${entry.reason === undefined ? '' : `: ${entry.reason}`}`,
    failedTask: entry.key,
    output: undefined,
  };
  if (!permissive) {
    state.pendingEnd ??= end;
    state.due.add(ROOT_KEY);
    return;
  }
  state.permissiveFailure ??= end;
  notifyJoins(state, entry);
  endSequence(state, entry, 'failed');
};

const endStatusOf = (entry: TaskEntry): ClosedExecutionStatus => {
  if (entry.status === 'TIMED_OUT') return 'TIMED_OUT';
  return entry.status === 'CANCELED' ? 'TERMINATED' : 'FAILED';
};

const notifyJoins = (state: ExecutionState, entry: TaskEntry): void => {
  for (const joinKey of state.watchers.get(entry.key) ?? []) {
    const join = state.tasks.get(joinKey);
    if (join?.phase.kind !== 'join') continue;
    join.phase.pending.delete(entry.key);
    state.due.add(joinKey);
  }
};

/** The last node of a sequence is over, or a node of it failed permissively: its owner hears of it. */
const endSequence = (state: ExecutionState, last: TaskEntry, how: 'ok' | 'failed'): void => {
  const owner = last.node.sequence.owner;
  const holder = ownerEntry(state, last.node, last.path);
  if (how === 'ok' && last.phase.kind === 'closed') state.lastOutput = last.output;
  if (owner.kind === 'root') {
    state.liveSequences -= 1;
    state.due.add(ROOT_KEY);
    return;
  }
  if (holder === undefined) return;
  if (owner.kind === 'case') {
    if (how === 'ok') settle(state, holder);
    else fail(state, holder, true);
  } else if (owner.kind === 'body') {
    if (holder.phase.kind === 'loop') holder.phase.body = how;
    state.due.add(holder.key);
  } else {
    endBranch(state, holder, owner.index, how);
  }
};

const endBranch = (state: ExecutionState, fork: TaskEntry, index: number, how: 'ok' | 'failed'): void => {
  if (fork.phase.kind !== 'fork' || fork.phase.ended.has(index)) return;
  fork.phase.ended.set(index, how);
  state.liveSequences -= 1;
  state.due.add(ROOT_KEY);
  const join = joinOf(state, fork);
  if (join?.phase.kind !== 'join') return;
  for (const key of join.phase.pending) {
    if (branchOf(state, join, key, fork) === index) join.phase.pending.delete(key);
  }
  join.phase.pending.delete(branchKey(index));
  state.due.add(join.key);
};

/** The join after a fork, once it was entered. */
export const joinOf = (state: ExecutionState, fork: TaskEntry): TaskEntry | undefined => {
  const next = nextNode(fork.node);
  return next === undefined ? undefined : state.tasks.get(keyAt(next.ref, fork.path));
};

/** A whole branch among the things a join waits for; no ref starts with `#`. */
export const branchKey = (index: number): string => `#${index}`;

/** The branch of `fork` that a waited-for key lies in, at any depth; undefined when it lies elsewhere. */
const branchOf = (state: ExecutionState, join: TaskEntry, key: string, fork: TaskEntry): number | undefined => {
  if (key.startsWith('#')) return undefined;
  return branchIndexOf(state, state.plan.nodes.get(stripPath(key, join)), fork.node.ref);
};

const stripPath = (key: string, join: TaskEntry): string =>
  join.path.length === 0 ? key : key.slice(0, key.length - keyAt('', join.path).length);

/** Walks the owners of a node up to the fork. */
export const branchIndexOf = (state: ExecutionState, node: PlanNode | undefined, fork: string): number | undefined => {
  for (let at = node; at !== undefined; ) {
    const owner = at.sequence.owner;
    if (owner.kind === 'root') return undefined;
    if (owner.kind === 'branch' && owner.node === fork) return owner.index;
    at = state.plan.nodes.get(owner.node);
  }
  return undefined;
};
