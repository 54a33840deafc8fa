import type { ExclusiveJoinNode, JoinNode, PlanNode } from '../definition/plan.ts';
import { lookAtAll } from './look-at-all.ts';
import {
  type ExecutionState,
  type JoinTarget,
  lookAgainAt,
  nextNode,
  nodeInScope,
  nodeOf,
  ownerEntry,
  pathOf,
  type TaskEntry,
} from './state.ts';
import { keyAt } from './task-key.ts';

/** A whole branch among the things a join waits for; no ref starts with `#`. */
export const branchKey = (index: number): string => `#${index}`;

/** Opens a join: notes what it still waits for and lets these tell it. Opening it again begins anew. */
export const openJoin = (state: ExecutionState, join: TaskEntry): void => {
  closeJoin(state, join);
  const pending = new Set<string>();
  const watched = new Map<string, JoinTarget[]>();
  join.phase = { kind: 'join', pending, watched };
  const node = join.node as JoinNode | ExclusiveJoinNode;
  const fork = node.fork === undefined ? undefined : state.tasks.get(keyAt(node.fork, join.path));
  if (waitsForBranches(node, fork)) return waitForBranches(fork, pending);
  for (const ref of node.joinOn) {
    const target = targetOf(state, join, ref);
    if (target === undefined || fateOf(state, target) !== 'live') continue;
    pending.add(target.key);
    for (const key of endsOf(state, target)) watch(state, join, key, target);
  }
};

/** The branches themselves find the join that comes right after their fork. */
const waitForBranches = (fork: TaskEntry | undefined, pending: Set<string>): void => {
  if (fork?.phase.kind !== 'fork') return;
  for (let index = 0; index < fork.phase.branches.length; index += 1) {
    if (!fork.phase.ended.has(index)) pending.add(branchKey(index));
  }
};

/** Whole branches are waited for when no refs are named, and always after a dynamic fork. */
export const waitsForBranches = (node: JoinNode | ExclusiveJoinNode, fork: TaskEntry | undefined): boolean =>
  node.type === 'JOIN' && (node.joinOn.length === 0 || fork?.node.type === 'FORK_JOIN_DYNAMIC');

const watch = (state: ExecutionState, join: TaskEntry, key: string, target: JoinTarget): void => {
  if (join.phase.kind !== 'join') return;
  const { watched } = join.phase;
  watched.set(key, [...(watched.get(key) ?? []), target]);
  const joins = state.watchers.get(key);
  if (joins === undefined) state.watchers.set(key, new Set([join.key]));
  else joins.add(join.key);
};

/** A join that no longer waits is told of nothing. */
export const closeJoin = (state: ExecutionState, join: TaskEntry): void => {
  if (join.phase.kind !== 'join') return;
  for (const key of join.phase.watched.keys()) {
    const joins = state.watchers.get(key);
    joins?.delete(join.key);
    if (joins?.size === 0) state.watchers.delete(key);
  }
};

/** A task or branch is over, or a switch has chosen: joins that wait for something there look again. */
export const tellJoins = (state: ExecutionState, key: string): void => {
  if (state.waits.size > 0) endWaits(state);
  for (const joinKey of state.watchers.get(key) ?? []) {
    const join = state.tasks.get(joinKey);
    if (join?.phase.kind !== 'join') continue;
    for (const target of join.phase.watched.get(key) ?? []) {
      if (fateOf(state, target) !== 'live') join.phase.pending.delete(target.key);
    }
    lookAgainAt(state, joinKey);
  }
};

/** What reads of something that runs again may be entered once that is over, whichever way. */
const endWaits = (state: ExecutionState): void => {
  for (const [ref, on] of state.waits) {
    if (on.some((key) => isLive(state, key))) continue;
    state.waits.delete(ref);
    lookAtAll(state);
  }
};

const isLive = (state: ExecutionState, key: string): boolean => {
  const node = nodeOf(state, key);
  return node !== undefined && fateOf(state, { key, node, path: pathOf(node, key) }) === 'live';
};

/** A branch is over: the join right after its fork waits for it no longer, nor does any join for a task in it. */
export const tellBranchEnded = (state: ExecutionState, fork: TaskEntry, index: number): void => {
  const next = nextNode(fork.node);
  const join = next === undefined ? undefined : state.tasks.get(keyAt(next.ref, fork.path));
  if (join?.phase.kind === 'join' && join.phase.pending.delete(branchKey(index))) lookAgainAt(state, join.key);
  tellJoins(state, `${fork.key}${branchKey(index)}`);
};

/**
 * What to wait for when a join names a ref: the task itself where all loops around it are around the join too, else the
 * outermost loop that the join is not in.
 */
export const targetOf = (state: ExecutionState, join: TaskEntry, ref: string): JoinTarget | undefined => {
  const named = nodeInScope(state, ref, join.path);
  if (named === undefined) return undefined;
  let shared = 0;
  while (shared < named.loops.length && named.loops[shared] === join.node.loops[shared]) shared += 1;
  const path = join.path.slice(0, shared);
  const loop = named.loops[shared];
  const node = loop === undefined ? named : nodeInScope(state, loop, path);
  return node === undefined ? undefined : { key: keyAt(node.ref, path), node, path };
};

/** `over` also for what never runs: a skipped task counts as done. */
export type Fate = 'live' | 'over' | 'failed';

export const fateOf = (state: ExecutionState, target: JoinTarget): Fate => {
  const entry = state.tasks.get(target.key);
  return entry === undefined ? fateUnreached(state, target.node, target.path) : endingFate(entry);
};

const endingFate = (entry: TaskEntry): Fate => {
  if (entry.ending === 'live') return 'live';
  return entry.ending === 'ok' ? 'over' : 'failed';
};

/** A task that has not begun: it never will where what it is part of is over, or went another way. */
const fateUnreached = (state: ExecutionState, node: PlanNode, path: readonly number[]): Fate => {
  const { owner } = node.sequence;
  if (owner.kind === 'root' || owner.kind === 'body') return 'live';
  const holder = ownerEntry(state, node, path);
  if (holder === undefined) {
    const above = nodeInScope(state, owner.node, path);
    return above === undefined ? 'over' : fateUnreached(state, above, path);
  }
  const { phase } = holder;
  if (phase.kind === 'choice' && phase.chosen !== node.sequence) return 'over';
  if (phase.kind !== 'fork' || owner.kind !== 'branch') return endingFate(holder);
  const ended = phase.ended.get(owner.index);
  if (ended === undefined) return 'live';
  return ended === 'ok' ? 'over' : 'failed';
};

/** Everything whose end, or choice, can decide the fate of a target: itself, and what it is part of. */
const endsOf = (state: ExecutionState, target: JoinTarget): readonly string[] => {
  const keys = [target.key];
  for (let node: PlanNode | undefined = target.node; node !== undefined; ) {
    const { owner } = node.sequence;
    if (owner.kind === 'root' || owner.kind === 'body') break;
    const key = keyAt(owner.node, target.path);
    keys.push(key);
    if (owner.kind === 'branch') keys.push(`${key}${branchKey(owner.index)}`);
    node = nodeInScope(state, owner.node, target.path);
  }
  return keys;
};
