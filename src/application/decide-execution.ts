import { accept } from '../domain/execution/accept.ts';
import type { Command } from '../domain/execution/commands.ts';
import { applyAccepted, type Decision, decideOwned } from '../domain/execution/decide.ts';
import type { SequencedEvent } from '../domain/execution/events.ts';
import type { ExecutionRequest, Rejection } from '../domain/execution/requests.ts';
import type { FindViolation } from '../domain/execution/schema-check.ts';
import type { EvaluateScript } from '../domain/execution/script.ts';
import type { ExecutionState } from '../domain/execution/state.ts';
import type { Instant, Namespace } from '../domain/kernel/brand.ts';
import type { DecisionEnvironment } from '../domain/tasks/task-semantics.ts';
import type { DecisionReads } from '../ports/engine-store.ts';
import type { SchemaValidator } from '../ports/schema-validator.ts';
import { DecisionNeeds } from './decision-needs.ts';

export type DecisionDeps = Readonly<{
  evaluateScript: EvaluateScript;
  schemas: SchemaValidator;
  callbackToken: DecisionEnvironment['callbackToken'];
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
 * a need for. Changes `state` in place.
 */
export const decideExecution = async (
  deps: DecisionDeps,
  reads: DecisionReads,
  namespace: Namespace,
  state: ExecutionState,
  requests: readonly ExecutionRequest[],
  now: Instant,
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
  for (const request of requests) {
    if ('plan' in request && request.plan !== undefined) state.plans.set(request.plan.hash, request.plan);
    const accepted = accept(state, request, now, findViolation);
    if (accepted.ok) collect(applyAccepted(state, accepted.value));
    // Only the last one can be a caller's; a stale outcome is a lost race and nobody waits to hear of it.
    rejection = accepted.ok ? undefined : accepted.error;
  }
  const { taskDefinition, cachedOutput, isPolled } = known;
  const { callbackToken } = deps;
  const environment = { evaluateScript, findViolation, taskDefinition, cachedOutput, isPolled, callbackToken };
  let decision = decideOwned(state, environment, now);
  collect(decision);
  while (decision.needs.length > 0) {
    await known.load(decision.needs);
    decision = decideOwned(state, environment, now);
    collect(decision);
  }
  return { events, commands, more: decision.more, rejection };
};
