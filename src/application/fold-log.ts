import type { Plan } from '../domain/definition/plan.ts';
import type { SequencedEvent } from '../domain/execution/events.ts';
import { applyEvent } from '../domain/execution/evolve.ts';
import { type ExecutionState, emptyState } from '../domain/execution/state.ts';
import type { ExecutionId } from '../domain/kernel/brand.ts';
import { invariant } from '../domain/kernel/invariant.ts';
import type { BundleSource, PlanCache } from './definitions/plan-cache.ts';

/** Folds stored events in; a gap would mean that somebody wrote history without the lock (promise 11). */
export const foldLog = (state: ExecutionState, log: readonly SequencedEvent[]): void => {
  for (const { seq, event } of log) {
    invariant(seq === state.seq + 1, `the log of ${state.executionId} jumps from ${state.seq} to ${seq}`);
    applyEvent(state, event);
  }
};

/** Hashes of definitions that the facts name beside the one that the run follows now: few runs have any. */
const otherHashes = (log: readonly SequencedEvent[], known: string): readonly string[] => {
  const hashes = new Set<string>();
  for (const { event } of log) {
    if (event.type === 'ExecutionStarted') hashes.add(event.definitionHash);
    if (event.type !== 'ExecutionRestarted' && event.type !== 'ExecutionUpgraded') continue;
    if (event.definition !== undefined) hashes.add(event.definition.definitionHash);
  }
  hashes.delete(known);
  return [...hashes];
};

/** Makes known what a restart or an upgrade in the log moved the run to, or from. */
export const offerPlans = async (
  state: ExecutionState,
  log: readonly SequencedEvent[],
  plans: PlanCache,
  source: BundleSource,
): Promise<void> => {
  const hashes = otherHashes(log, state.plan.hash);
  if (hashes.length === 0) return;
  for (const plan of (await plans.plansOf(hashes, source)).values()) state.plans.set(plan.hash, plan);
};

/** The state of a run from its whole log; `plan` is of the definition that it follows at the end. */
export const foldFromStart = async (
  executionId: ExecutionId,
  plan: Plan,
  log: readonly SequencedEvent[],
  plans: PlanCache,
  source: BundleSource,
): Promise<ExecutionState> => {
  const state = emptyState(executionId, plan);
  await offerPlans(state, log, plans, source);
  beginWithFirstPlan(state, log);
  foldLog(state, log);
  return state;
};

/** A log is folded by the definition that its run followed then. */
export const beginWithFirstPlan = (state: ExecutionState, log: readonly SequencedEvent[]): void => {
  const first = log[0]?.event;
  if (state.seq > 0 || first?.type !== 'ExecutionStarted' || first.definitionHash === state.plan.hash) return;
  const plan = state.plans.get(first.definitionHash);
  invariant(plan !== undefined, `no plan for ${first.definitionHash}`);
  state.plans.set(state.plan.hash, state.plan);
  state.plan = plan;
};
