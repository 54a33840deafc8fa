import { accept } from '../domain/execution/accept.ts';
import type { Command } from '../domain/execution/commands.ts';
import { applyAccepted, type Decision, decideOwned } from '../domain/execution/decide.ts';
import type { SequencedEvent, WorkflowEvent } from '../domain/execution/events.ts';
import { asksForRetry } from '../domain/execution/outcome.ts';
import type { ExecutionRequest, Rejection } from '../domain/execution/requests.ts';
import { type RetryBudget, retryBudgetOf } from '../domain/execution/retry-budget.ts';
import type { FindViolation } from '../domain/execution/schema-check.ts';
import type { EvaluateScript } from '../domain/execution/script.ts';
import type { ExecutionState } from '../domain/execution/state.ts';
import type { Instant, Namespace } from '../domain/kernel/brand.ts';
import type { DecisionEnvironment } from '../domain/tasks/task-semantics.ts';
import type { DecisionReads } from '../ports/engine-store.ts';
import type { SchemaValidator } from '../ports/schema-validator.ts';
import { DecisionNeeds } from './decision-needs.ts';
import type { RetryBudgets } from './retry-budgets.ts';
import type { RetryTally } from './retry-tally.ts';

export type DecisionDeps = Readonly<{
  evaluateScript: EvaluateScript;
  schemas: SchemaValidator;
  callbackToken: DecisionEnvironment['callbackToken'];
  retryBudgets: RetryBudgets;
}>;

/** What one run made of the facts and requests it was given. */
export type DecidedExecution = Readonly<{
  events: readonly SequencedEvent[];
  commands: readonly Command[];
  more: boolean;
  /** Why the request was refused; what the run decided otherwise stands. */
  rejection: Rejection | undefined;
}>;

/**
 * Accepts the waiting outcomes and then the request, and decides to the fixed point, loading what only the running showed
 * a need for. Changes `state` in place; what its facts close is added to the tally, to be kept if they are written.
 */
export const decideExecution = async (
  deps: DecisionDeps,
  reads: DecisionReads,
  namespace: Namespace,
  state: ExecutionState,
  requests: readonly ExecutionRequest[],
  now: Instant,
  tally: RetryTally,
): Promise<DecidedExecution> => {
  const events: SequencedEvent[] = [];
  const commands: Command[] = [];
  const known = new DecisionNeeds(reads, namespace, now);
  const collect = (decision: Decision): void => {
    known.knows(decision.commands);
    for (const event of decision.events) events.push(event);
    for (const command of decision.commands) commands.push(command);
  };
  const { evaluateScript, schemas } = deps;
  const findViolation: FindViolation = (schema, value) => schemas.firstViolation(schema, value);
  let rejection: Rejection | undefined;
  for (const asked of requests) {
    const budget = asked.type === 'SettleTask' ? retryBudgetOf(state, asked.outcome) : undefined;
    const isSpent = async () => budget !== undefined && deps.retryBudgets.isSpent(reads, namespace, budget, tally);
    const request = budget === undefined ? asked : await withinBudget(state, asked, isSpent);
    if ('plan' in request && request.plan !== undefined) state.plans.set(request.plan.hash, request.plan);
    const accepted = accept(state, request, now, findViolation);
    if (accepted.ok) collect(applyAccepted(state, accepted.value));
    if (accepted.ok && budget !== undefined) countClosed(tally, namespace, budget, accepted.value);
    // Only the last one can be a caller's; a stale outcome is a lost race and nobody waits to hear of it.
    rejection = accepted.ok ? undefined : accepted.error;
  }
  const { taskDefinition, cachedOutput, isPolled, environmentValues } = known;
  const { callbackToken } = deps;
  const looked = { taskDefinition, cachedOutput, isPolled, environmentValues };
  const environment = { evaluateScript, findViolation, ...looked, callbackToken };
  let decision = decideOwned(state, environment, now);
  collect(decision);
  while (decision.needs.length > 0) {
    await known.load(decision.needs);
    decision = decideOwned(state, environment, now);
    collect(decision);
  }
  return { events, commands, more: decision.more, rejection };
};

/** The verdict goes into the fact that the outcome makes, so that a replay of the log needs no store. */
const withinBudget = async (
  state: ExecutionState,
  request: ExecutionRequest,
  isSpent: () => Promise<boolean>,
): Promise<ExecutionRequest> => {
  if (request.type !== 'SettleTask' || !asksForRetry(state, request.outcome)) return request;
  const budgetSpent = await isSpent();
  return budgetSpent ? { ...request, outcome: { ...request.outcome, budgetSpent } } : request;
};

const countClosed = (
  tally: RetryTally,
  namespace: Namespace,
  { taskName }: RetryBudget,
  facts: readonly WorkflowEvent[],
): void => {
  for (const fact of facts) {
    if (fact.type === 'TaskClosed') tally.add(namespace, taskName, fact.disposition.kind === 'retry');
  }
};
