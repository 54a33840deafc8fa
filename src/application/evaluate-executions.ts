import type { ExecutionRequest, Rejection, TaskOutcome } from '../domain/execution/requests.ts';
import { type ExecutionState, emptyState } from '../domain/execution/state.ts';
import { isClosedExecution } from '../domain/execution/statuses.ts';
import type { ExecutionId } from '../domain/kernel/brand.ts';
import { invariant } from '../domain/kernel/invariant.ts';
import { ok } from '../domain/kernel/result.ts';
import type { EngineStore, EngineTx, ExecutionHead, LockedExecutions } from '../ports/engine-store.ts';
import type { WakeSignal } from '../ports/wake-signal.ts';
import { type DecisionDeps, decideExecution } from './decide-execution.ts';
import type { PlanCache } from './definitions/plan-cache.ts';
import type { DelayedWakes } from './delayed-wakes.ts';
import type { FoldCache } from './fold-cache.ts';
import { beginWithFirstPlan, foldLog, offerPlans } from './fold-log.ts';
import type { AfterCommit } from './message-handler.ts';
import { OwedWork } from './owed.ts';
import { withAdmission } from './reopen-admission.ts';
import { RetryTally } from './retry-tally.ts';
import type { StoreClock } from './store-clock.ts';

export type EvaluationDeps = DecisionDeps &
  Readonly<{
    engine: EngineStore;
    plans: PlanCache;
    cache: FoldCache;
    wake: WakeSignal;
    delayed: DelayedWakes;
    clock: StoreClock;
    /** Told of a pass over one run that failed alone; it is parked. */
    onParked: (executionId: ExecutionId, error: unknown) => void;
  }>;

/** Runs that one transaction evaluates at most. */
export const EVALUATION_BATCH_MAX = 100;

const PARK_BASE_MS = 500;
const PARK_MAX_MS = 60_000;

type Pass = Readonly<{
  owed: OwedWork;
  states: readonly ExecutionState[];
  rejections: ReadonlyMap<ExecutionId, Rejection>;
  locked: LockedExecutions;
  tally: RetryTally;
}>;

/**
 * The pass: takes a batch of runs that need a decision through one transaction. The order of its steps is what keeps
 * promises 1 to 4, 10 and 11.
 */
export class Evaluator {
  private readonly deps: EvaluationDeps;
  private readonly failures = new Map<ExecutionId, number>();

  constructor(deps: EvaluationDeps) {
    this.deps = deps;
  }

  /**
   * Evaluates up to `limit` runs whose decide rows are due. Returns how many were claimed. `onFull` is told at once when
   * there may be more than that, so that another pass can begin beside this one.
   */
  async runOnce(limit: number = EVALUATION_BATCH_MAX, onFull: () => void = () => undefined): Promise<number> {
    let claimed: readonly ExecutionId[] = [];
    try {
      const pass = await this.deps.engine.transaction(async (tx) => {
        // 1 claim, 2 lock: nothing of a run may be read before its decide row is gone.
        const locked = await tx.claimEvaluations(limit);
        claimed = locked.heads.map((head) => head.executionId);
        if (claimed.length >= limit) onFull();
        return this.pass(tx, locked, new Map());
      });
      this.committed(pass);
    } catch (error) {
      if (claimed.length === 0) throw error;
      await this.evaluateAlone(claimed);
    }
    return claimed.length;
  }

  /**
   * Puts a request to one run under its lock, with everything that is due. Undefined: there is no such run. A rejection
   * changes nothing but what was due anyway. `holds` is asked under the lock: when it no longer holds, nothing is put.
   */
  async request(
    executionId: ExecutionId,
    request: ExecutionRequest,
    holds: (tx: EngineTx) => Promise<boolean> = async () => true,
  ): Promise<Rejection | 'accepted' | undefined> {
    const pass = await this.deps.engine.transaction(async (tx) => {
      const locked = await claimRun(tx, executionId);
      const requests = (await holds(tx)) ? new Map([[executionId, request]]) : new Map<ExecutionId, ExecutionRequest>();
      return this.pass(tx, locked, requests);
    });
    this.committed(pass);
    if (pass.locked.heads.length === 0) return undefined;
    return pass.rejections.get(executionId) ?? 'accepted';
  }

  /** The same inside a transaction that its caller owns, with what is left to do once that has committed. */
  async requestIn(
    tx: EngineTx,
    executionId: ExecutionId,
    request: ExecutionRequest,
  ): Promise<Readonly<{ rejection: Rejection | undefined; announce: AfterCommit }>> {
    const pass = await this.pass(tx, await claimRun(tx, executionId), new Map([[executionId, request]]));
    return { rejection: pass.rejections.get(executionId), announce: () => this.committed(pass) };
  }

  /** One run broke the batch: its members run alone, and the one that breaks alone is parked. */
  private async evaluateAlone(ids: readonly ExecutionId[]): Promise<void> {
    for (const id of ids) {
      try {
        const pass = await this.deps.engine.transaction(async (tx) => this.pass(tx, await claimRun(tx, id), new Map()));
        this.committed(pass);
      } catch (error) {
        await this.park(id, error);
      }
    }
  }

  private async park(executionId: ExecutionId, error: unknown): Promise<void> {
    const attempts = (this.failures.get(executionId) ?? 0) + 1;
    this.failures.set(executionId, attempts);
    const reason = error instanceof Error ? error.message : 'unknown error';
    const retryAfterMs = Math.min(PARK_BASE_MS * 2 ** (attempts - 1), PARK_MAX_MS);
    await this.deps.engine.transaction(async (tx) => {
      // The decide row comes before the execution, here too: it may be gone, and the request of an operator have made
      // another, which waits for our execution while we would wait for its row.
      await claimRun(tx, executionId);
      await tx.parkEvaluation({ executionId, attempts, retryAfterMs, reason: reason.slice(0, 1_000) });
    });
    this.deps.onParked(executionId, error);
  }

  private async pass(
    tx: EngineTx,
    locked: LockedExecutions,
    requests: ReadonlyMap<ExecutionId, ExecutionRequest>,
  ): Promise<Pass> {
    const owed = new OwedWork();
    const states: ExecutionState[] = [];
    const rejections = new Map<ExecutionId, Rejection>();
    // Its own, for each try of the transaction: what it decides counts if it commits.
    const tally = new RetryTally();
    if (locked.heads.length === 0) return { owed, states, rejections, locked, tally };
    // 3 read, 4 fold: the log after what is cached, and the outcomes reported since the last pass.
    const folded = await this.fold(tx, locked.heads);
    const outcomes = await tx.readOutcomes(locked.heads.map((head) => head.executionId));
    for (const head of locked.heads) {
      const state = folded.get(head.executionId);
      invariant(state !== undefined, `no state for ${head.executionId}`);
      // 5 decide: each run on its own; accept what was reported, then what is asked, then what follows.
      const asked = requests.get(head.executionId);
      const put = asked === undefined ? ok([]) : await withAdmission(tx, head.namespace, state, asked, locked.now);
      if (!put.ok) rejections.set(head.executionId, put.error);
      const all = [...settlements(outcomes.get(head.executionId) ?? []), ...(put.ok ? put.value : [])];
      const decided = await decideExecution(this.deps, tx, head.namespace, state, all, locked.now, tally);
      if (put.ok && asked !== undefined && decided.rejection !== undefined)
        rejections.set(head.executionId, decided.rejection);
      owed.add(head.namespace, head.executionId, decided.events, decided.commands);
      if (decided.more) owed.addPass(head.executionId);
      states.push(state);
    }
    // 6 append, 7 apply: few statements for all runs together.
    await owed.write(tx);
    return { owed, states, rejections, locked, tally };
  }

  /** 8: the transaction has committed; now the cache may know it and the waiters may hear of it. */
  private committed(pass: Pass): void {
    for (const state of pass.states) {
      if (isCached(state)) this.deps.cache.put(state);
      this.failures.delete(state.executionId);
    }
    this.deps.retryBudgets.keep(pass.tally);
    this.deps.clock.read(pass.locked.now);
    this.deps.wake.publish(pass.owed.topics());
    this.deps.delayed.schedule(pass.owed.laterTopics(pass.locked.now), pass.locked.now);
  }

  private async fold(tx: EngineTx, heads: readonly ExecutionHead[]): Promise<ReadonlyMap<ExecutionId, ExecutionState>> {
    const states = new Map<ExecutionId, ExecutionState>();
    const after = new Map<ExecutionId, number>();
    const plans = await this.deps.plans.plansOf(
      heads.map((head) => head.definitionHash),
      tx,
    );
    for (const head of heads) {
      const plan = plans.get(head.definitionHash);
      invariant(plan !== undefined, `no plan for ${head.definitionHash}`);
      // A state that is lent to a step is not waited for: the step may wait for the connection that this pass holds.
      const state = this.deps.cache.take(head.executionId) ?? emptyState(head.executionId, plan);
      states.set(head.executionId, state);
      after.set(head.executionId, state.seq);
    }
    const logs = await tx.readEvents(after);
    for (const [id, state] of states) {
      const log = logs.get(id);
      if (log === undefined) continue;
      await offerPlans(state, log, this.deps.plans, tx);
      beginWithFirstPlan(state, log);
      foldLog(state, log);
    }
    return states;
  }
}

/**
 * Claims a run that may have no decide row: one is made first, so that there is a row to hold. A report that comes from
 * now on waits for this pass; without the row it would leave its outcome behind our reading, and a pass that ends the run
 * would throw away what a worker was told was accepted.
 */
export const claimRun = async (tx: EngineTx, executionId: ExecutionId): Promise<LockedExecutions> => {
  await tx.requestEvaluations([executionId]);
  return tx.claimEvaluationsOf([executionId]);
};

const isCached = (state: ExecutionState): boolean =>
  state.lifecycle.status !== 'NEW' && !isClosedExecution(state.lifecycle.status);

const settlements = (outcomes: readonly TaskOutcome[]): ExecutionRequest[] =>
  outcomes.map((outcome) => ({ type: 'SettleTask', outcome }));
