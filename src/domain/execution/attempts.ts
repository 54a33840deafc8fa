import type { PlanNode } from '../definition/plan.ts';
import type { ExecutionState, TaskEntry } from './state.ts';
import { keyAt } from './task-key.ts';

const isOfPlan = (state: ExecutionState, node: PlanNode): boolean => state.plan.nodes.get(node.ref) === node;

/** Notes an attempt that opened. A first one is the rule, and tells nothing that the entry does not. */
export const noteAttempt = (state: ExecutionState, node: PlanNode, attempt: number): void => {
  if (attempt <= 1) return;
  const { attempts } = state;
  attempts.highest = Math.max(attempts.highest, attempt);
  if (isOfPlan(state, node)) attempts.used.set(node.ref, Math.max(attempts.used.get(node.ref) ?? 0, attempt));
};

/** Attempts of a node that are used up before its next entry begins. */
export const attemptFloor = (state: ExecutionState, node: PlanNode): number => {
  const { floors, dynamicFloor } = state.attempts;
  if (floors.size === 0 && dynamicFloor === 0) return 0;
  return isOfPlan(state, node) ? (floors.get(node.ref) ?? 0) : dynamicFloor;
};

/** The attempt that the next entry of a node takes; `previous` is its last one, when this is another. */
export const nextAttempt = (
  state: ExecutionState,
  node: PlanNode,
  path: readonly number[],
  previous?: TaskEntry,
): number => {
  const used = previous?.attempt ?? attemptFloor(state, node);
  const { forgotten } = state.attempts;
  return (forgotten.size === 0 ? used : Math.max(used, forgotten.get(keyAt(node.ref, path)) ?? 0)) + 1;
};

/** An operator that failed is about to be forgotten; what it was told under is not given to it again. */
export const noteForgotten = ({ attempts }: ExecutionState, { key, attempt }: TaskEntry): void => {
  attempts.forgotten.set(key, attempt);
};

/**
 * What ran of these nodes is about to be taken back: what is entered from now on, in whatever iteration, takes attempts
 * above all that they used. Called before their entries go.
 */
export const raiseFloors = (state: ExecutionState, refs: Iterable<string>): void => {
  const { attempts, latest, plan } = state;
  attempts.dynamicFloor = Math.max(attempts.dynamicFloor, attempts.highest, 1);
  for (const ref of refs) {
    if (!plan.nodes.has(ref)) continue;
    const ran = latest.has(ref) ? 1 : 0;
    const floor = Math.max(attempts.used.get(ref) ?? 0, attempts.floors.get(ref) ?? 0, ran);
    if (floor > 0) attempts.floors.set(ref, floor);
  }
};
