import type { PlanNode } from '../definition/plan.ts';
import { familyOf } from '../definition/task-types.ts';
import { addDueKey, takeDueKey, takeFirstDueKey } from './due-keys.ts';
import type { ExecutionState } from './state.ts';
import type { TaskKey } from './task-key.ts';

/** Whether maxConcurrentTasks counts a task of this node: operators take no time, and a waiting task takes nobody's. */
export const isCounted = ({ type }: PlanNode): boolean => {
  if (type === 'UNSUPPORTED') return false;
  const family = familyOf(type);
  return family === 'worker' || family === 'system';
};

/** An attempt opens (1) or ends (-1). It counts from being scheduled on, its start delay or back-off included. */
export const countAttempts = (state: ExecutionState, node: PlanNode, by: 1 | -1): void => {
  state.openAttempts += by;
  if (isCounted(node)) state.tasksInFlight += by;
};

const hasRoom = (state: ExecutionState): boolean => state.tasksInFlight < state.plan.tasksInFlightMax;

/** The run has as many tasks in flight as it may, and this node would be one more. */
export const isHeldBack = (state: ExecutionState, node: PlanNode): boolean => !hasRoom(state) && isCounted(node);

/** Puts a key aside until there is room. What is put aside is no fact: a fold finds these keys among the due ones. */
export const holdKey = (state: ExecutionState, key: TaskKey): void =>
  addDueKey(state.held, key, state.tasks.get(key)?.seq ?? 0);

/**
 * The key to look at next. With room, what was put aside has its turn by its age, as if it had been due all the while: so
 * a pass that folded the whole log, and holds nothing yet, chooses the same.
 */
export const takeKey = (state: ExecutionState): TaskKey | undefined =>
  state.held.seqs.size > 0 && hasRoom(state) ? takeFirstDueKey(state.due, state.held) : takeDueKey(state.due);
