import type { ExecutionRequest, TaskOutcome } from '../domain/execution/requests.ts';
import { type ExecutionState, isOpen, isOpenAttempt } from '../domain/execution/state.ts';
import { type ExecutionId, type Instant, type Namespace, parseTaskId } from '../domain/kernel/brand.ts';
import type {
  DecisionReads,
  DefinitionReads,
  EngineStore,
  LeasedTask,
  RunStep,
  SteppedRuns,
  TaskReport,
} from '../ports/engine-store.ts';
import type { Ids } from '../ports/ids.ts';
import type { WakeSignal } from '../ports/wake-signal.ts';
import { type DecisionDeps, decideExecution } from './decide-execution.ts';
import { decisionReads } from './decision-reads.ts';
import type { DelayedWakes } from './delayed-wakes.ts';
import type { FoldCache, Loan } from './fold-cache.ts';
import type { HeldLeases } from './held-leases.ts';
import { Offers } from './offers.ts';
import { OwedWork } from './owed.ts';
import type { ParkedPolls } from './parked-polls.ts';
import { RetryTally } from './retry-tally.ts';
import type { StoreClock } from './store-clock.ts';

export type AdvanceDeps = DecisionDeps &
  Readonly<{
    engine: EngineStore;
    definitions: DefinitionReads;
    cache: FoldCache;
    held: HeldLeases;
    polls: ParkedPolls;
    clock: StoreClock;
    ids: Ids;
    wake: WakeSignal;
    delayed: DelayedWakes;
  }>;

/**
 * Runs that one batch of reports may take the short road with. It saves trips, not work: the store takes twice as long for a
 * run as a pass that has many of them, so where reports come by the dozen the longer road is the faster one.
 */
export const STEP_RUNS_MAX = 8;

/** One run on its way: its borrowed state with the facts of the step folded in, and what the step has to write. */
type Advance = Readonly<{ loan: Loan; owed: OwedWork; step: RunStep; offers: Offers; tally: RetryTally }>;

/**
 * The short road of a report: where the run is folded in this process and the lease was given by it, report, pass and the
 * lease of the successor are one statement. It is only ever a short cut: nothing is read that another could have changed,
 * the store writes a step whole or not at all, and what is left alone takes the longer road.
 */
export class AdvanceRuns {
  private readonly deps: AdvanceDeps;
  private readonly reads: DecisionReads;

  constructor(deps: AdvanceDeps) {
    this.deps = deps;
    this.reads = decisionReads(deps.engine, deps.definitions);
  }

  /** Takes the reported runs a step further where that is possible; returns the reports that are dealt with. */
  async advance(namespace: Namespace, reports: readonly TaskReport[]): Promise<ReadonlySet<TaskReport>> {
    const runs = byRun(reports);
    if (runs.size > STEP_RUNS_MAX) return new Set();
    // A run that another batch has in hand is back in a moment: to fold its log again would cost more than to wait.
    await this.deps.cache.returned([...runs.keys()]);
    const now = this.deps.clock.now();
    if (now === undefined) return new Set();
    const advances: Advance[] = [];
    for (const [executionId, of] of runs) {
      const advance = await this.decide(namespace, executionId, of, now);
      if (advance !== undefined) advances.push(advance);
    }
    return advances.length === 0 ? new Set() : this.write(advances);
  }

  private async write(advances: readonly Advance[]): Promise<ReadonlySet<TaskReport>> {
    let written: SteppedRuns = { stepped: new Set(), leased: [] };
    const settled = new Set<TaskReport>();
    try {
      written = await this.deps.engine.stepRuns(advances.map(({ step }) => step));
      if (written.now !== undefined) this.deps.clock.read(written.now);
    } finally {
      // A statement whose end is not known leaves nothing behind here: the next pass folds what is in the store.
      for (const advance of advances) {
        const isWritten = written.stepped.has(advance.step.executionId);
        this.end(advance, isWritten, written.leased);
        if (isWritten) for (const report of advance.step.reports) settled.add(report);
      }
    }
    return settled;
  }

  private end({ loan, owed, step, offers, tally }: Advance, isWritten: boolean, leased: readonly LeasedTask[]): void {
    const { state } = loan;
    loan.end(isWritten && isOpen(state) ? state : undefined);
    const mine = new Map(leased.map((task) => [task.taskId, task]));
    offers.settle(isWritten ? mine : new Map());
    if (!isWritten) return;
    this.deps.retryBudgets.keep(tally);
    for (const { taskId } of step.reports) this.deps.held.forget(taskId);
    this.deps.wake.publish(owed.topics(({ taskId }) => mine.has(taskId)));
    const now = this.deps.clock.now();
    if (now !== undefined) this.deps.delayed.schedule(owed.laterTopics(now), now);
  }

  /** Undefined: this run takes the longer road. */
  private async decide(
    namespace: Namespace,
    executionId: ExecutionId,
    reports: readonly TaskReport[],
    now: Instant,
  ): Promise<Advance | undefined> {
    const loan = this.deps.cache.lend(executionId);
    if (loan === undefined) return undefined;
    const { state } = loan;
    const requests = this.settlements(namespace, state, reports);
    if (requests === undefined) {
      loan.end(state);
      return undefined;
    }
    const tally = new RetryTally();
    try {
      // No event is older than the one before it.
      const at = Math.max(now, state.at) as Instant;
      const decided = await decideExecution(this.deps, this.reads, namespace, state, requests, at, tally);
      const owed = new OwedWork();
      owed.add(namespace, executionId, decided.events, decided.commands);
      if (!decided.more && owed.fitsAStep()) {
        const offers = new Offers(this.deps.polls, this.deps.ids);
        const step = owed.step(executionId, namespace, reports, (task) => offers.leaseFor(namespace, task, at));
        return { loan, owed, step, offers, tally };
      }
    } catch {
      // A run that cannot be decided is parked by the pass, with the reason; its report is taken all the same.
    }
    loan.end(undefined);
    return undefined;
  }

  /** The reports as outcomes of open attempts; undefined when one of them is not to be judged from here. */
  private settlements(
    namespace: Namespace,
    state: ExecutionState,
    reports: readonly TaskReport[],
  ): readonly ExecutionRequest[] | undefined {
    if (state.lifecycle.status !== 'RUNNING' || state.started?.namespace !== namespace) return undefined;
    const outcomes = reports.flatMap((report) => this.outcomeOf(state, report) ?? []);
    const attempts = new Set(reports.map(({ taskId }) => taskId));
    if (outcomes.length < reports.length || attempts.size < reports.length) return undefined;
    return outcomes.map((outcome) => ({ type: 'SettleTask', outcome }));
  }

  private outcomeOf(state: ExecutionState, report: TaskReport): TaskOutcome | undefined {
    const lease = this.deps.held.of(report);
    if (lease === undefined || !isOpenAttempt(state, report.taskId, lease)) return undefined;
    const { leaseToken: _token, queue: _queue, ...held } = lease;
    const { status, output, reason } = report;
    const outcome = { ...held, status, output };
    return reason === undefined ? outcome : { ...outcome, reason };
  }
}

const byRun = (reports: readonly TaskReport[]): ReadonlyMap<ExecutionId, readonly TaskReport[]> => {
  const runs = new Map<ExecutionId, TaskReport[]>();
  for (const report of reports) {
    const executionId = parseTaskId(report.taskId)?.executionId;
    if (executionId === undefined) continue;
    const of = runs.get(executionId);
    if (of === undefined) runs.set(executionId, [report]);
    else of.push(report);
  }
  return runs;
};
