import type { ExclusiveJoinNode, JoinNode, PlanNode } from '../definition/plan.ts';
import { branchIndexOf, branchKey } from './settle.ts';
import type { ExecutionState, TaskEntry } from './state.ts';
import { keyAt, type TaskKey } from './task-key.ts';

/** Opens a join: notes what it still waits for and lets these tell it. */
export const openJoin = (state: ExecutionState, join: TaskEntry): void => {
  const pending = new Set<string>();
  join.phase = { kind: 'join', pending };
  const node = join.node as JoinNode | ExclusiveJoinNode;
  const fork = node.fork === undefined ? undefined : state.tasks.get(keyAt(node.fork, join.path));
  if (waitsForBranches(node, fork)) {
    if (fork?.phase.kind !== 'fork') return;
    for (let index = 0; index < fork.phase.branches.length; index += 1) {
      if (!fork.phase.ended.has(index)) pending.add(branchKey(index));
    }
    return;
  }
  for (const ref of node.joinOn) {
    const key = targetKey(state, join, ref);
    if (key === undefined || isOver(state, key, fork)) continue;
    pending.add(key);
    const watching = state.watchers.get(key);
    if (watching === undefined) state.watchers.set(key, [join.key]);
    else if (!watching.includes(join.key)) watching.push(join.key);
  }
};

/** Whole branches are waited for when no refs are named, and always after a dynamic fork. */
export const waitsForBranches = (node: JoinNode | ExclusiveJoinNode, fork: TaskEntry | undefined): boolean =>
  node.type === 'JOIN' && (node.joinOn.length === 0 || fork?.node.type === 'FORK_JOIN_DYNAMIC');

/**
 * What to wait for when a join names a ref: the task itself where both run in the same loops, else the outermost loop
 * around the task that the join is not in.
 */
export const targetKey = (state: ExecutionState, join: TaskEntry, ref: string): TaskKey | undefined => {
  const target = nodeInScope(state, join, ref);
  if (target === undefined) return undefined;
  const depth = join.node.loops.length;
  const outer = target.loops[depth];
  if (outer !== undefined) return keyAt(outer, join.path);
  return keyAt(ref, join.path.slice(0, target.loops.length));
};

const nodeInScope = (state: ExecutionState, join: TaskEntry, ref: string): PlanNode | undefined =>
  state.dynamicNodes.get(keyAt(ref, join.path)) ?? state.plan.nodes.get(ref);

/** Over for a join: ended, or in a branch that ended without it (skipped counts as done). */
const isOver = (state: ExecutionState, key: TaskKey, fork: TaskEntry | undefined): boolean => {
  const entry = state.tasks.get(key);
  if (entry !== undefined) return entry.ending !== 'live';
  if (fork?.phase.kind !== 'fork') return false;
  const node = state.plan.nodes.get(fork.path.length === 0 ? key : key.slice(0, -keyAt('', fork.path).length));
  const index = branchIndexOf(state, node, fork.node.ref);
  return index !== undefined && fork.phase.ended.has(index);
};
