import type { TaskOutcome } from './requests.ts';
import type { ExecutionState, TaskEntry } from './state.ts';
import { keyOf } from './task-key.ts';

/** A retry budget is a share of the executions of the last five minutes. */
export const RETRY_BUDGET_WINDOW_SECONDS = 300;
/** Below so many executions a budget never trips: a share of a few says nothing. */
export const RETRY_BUDGET_EXECUTIONS_MIN = 20;

/** The budget of a task: its retries may be this share of its executions, over all runs. */
export type RetryBudget = Readonly<{ taskName: string; share: number }>;

/** Whether one more retry would be more than the budget's share of the executions, the one that has failed among them. */
export const isBudgetSpent = (
  { share }: RetryBudget,
  { attempts, retries }: Readonly<{ attempts: number; retries: number }>,
): boolean => attempts >= RETRY_BUDGET_EXECUTIONS_MIN && retries + 1 > share * attempts;

/**
 * The budget that the attempt which an outcome ends counts for; undefined where everything may be retried. How much of it is
 * left only the store knows: who puts the outcome to the run asks there and says so in the outcome.
 */
export const retryBudgetOf = (state: ExecutionState, outcome: TaskOutcome): RetryBudget | undefined => {
  const entry: TaskEntry | undefined = state.tasks.get(keyOf(outcome));
  if (entry?.phase.kind !== 'attempt' || entry.attempt !== outcome.attempt) return undefined;
  const share = entry.phase.policy.retryBudget ?? 1;
  return share >= 1 ? undefined : { taskName: entry.taskName, share };
};
