import type { Command } from '../domain/execution/commands.ts';
import { lookAtAll } from '../domain/execution/look-at-all.ts';
import type { ExecutionRequest, Rejection } from '../domain/execution/requests.ts';
import { resume } from '../domain/execution/resume.ts';
import type { ExecutionState } from '../domain/execution/state.ts';
import type { ExecutionId, Namespace } from '../domain/kernel/brand.ts';
import { err, ok } from '../domain/kernel/result.ts';
import type { EngineStore, EngineTx } from '../ports/engine-store.ts';
import type { ExecutionCursor, ExecutionIndex, ExecutionSummary } from '../ports/execution-index.ts';
import type { WakeSignal } from '../ports/wake-signal.ts';
import type { ApplicationError } from './application-error.ts';
import { type DecisionDeps, decideExecution } from './decide-execution.ts';
import type { PlanCache } from './definitions/plan-cache.ts';
import { claimRun, type Evaluator } from './evaluate-executions.ts';
import { foldFromStart } from './fold-log.ts';
import { OwedWork } from './owed.ts';
import { RetryTally } from './retry-tally.ts';
import type { Outcome, SignalCall } from './use-cases.ts';

export type ControlDeps = DecisionDeps &
  Readonly<{
    engine: EngineStore;
    index: ExecutionIndex;
    evaluator: Evaluator;
    plans: PlanCache;
    wake: WakeSignal;
  }>;

/** Children that one look finds. */
const CHILDREN_PAGE = 1_000;

type Derived = Readonly<{ owed: OwedWork; missing: number; tally: RetryTally }>;
type Signaled = Readonly<{ summary: ExecutionSummary; delivered: boolean }>;

export const noExecution = (id: string): ApplicationError => ({
  code: 'NOT_FOUND',
  message: `There is no execution ${id}.`,
});

/** What operators do with a run; each takes the execution lock, so it is strictly ordered with the passes (promise 4). */
export class ControlExecution {
  private readonly deps: ControlDeps;

  constructor(deps: ControlDeps) {
    this.deps = deps;
  }

  /** Puts a request to a run of the namespace. Errors: NOT_FOUND and the rejection's own code. */
  async request(namespace: Namespace, executionId: ExecutionId, request: ExecutionRequest): Outcome<ExecutionSummary> {
    const head = await this.deps.engine.findHead(namespace, executionId);
    if (head === undefined) return err(noExecution(executionId));
    const answer = await this.deps.evaluator.request(executionId, request);
    if (answer === undefined) return err(noExecution(executionId));
    if (answer !== 'accepted') return err(errorOf(answer));
    return this.summary(namespace, executionId);
  }

  /**
   * Signals the run, or, where nothing of it waits for that, the first of its open children that takes it, and theirs: the
   * oldest first, each with all below it before the next. Answers with the run that took it.
   */
  async signal(namespace: Namespace, executionId: ExecutionId, call: SignalCall, by: string): Outcome<Signaled> {
    const own = await this.signalOne(namespace, executionId, call, by);
    if (own.ok || !(own.error.code === 'INVALID_STATE' || own.error.code === 'NOT_FOUND')) return own;
    for (const child of await this.openChildren(namespace, executionId)) {
      const answer = await this.signal(namespace, child, call, by);
      if (answer.ok) return answer;
    }
    return own;
  }

  private async openChildren(namespace: Namespace, executionId: ExecutionId): Promise<readonly ExecutionId[]> {
    const filter = { parentExecutionId: executionId, statuses: ['RUNNING', 'PAUSED'] as const };
    const children: ExecutionId[] = [];
    for (let after: ExecutionCursor | undefined; ; ) {
      const position = after === undefined ? {} : { after };
      const page = await this.deps.index.search(namespace, filter, { limit: CHILDREN_PAGE, ...position });
      children.push(...page.map((child) => child.executionId));
      const last = page.at(-1);
      if (last === undefined || page.length < CHILDREN_PAGE) return children.sort();
      after = { startedAt: last.startedAt, executionId: last.executionId };
    }
  }

  private async signalOne(
    namespace: Namespace,
    executionId: ExecutionId,
    call: SignalCall,
    by: string,
  ): Outcome<Signaled> {
    const before = await this.lastSeq(namespace, executionId);
    const summary = await this.request(namespace, executionId, { type: 'Signal', by, ...call });
    if (!summary.ok) return summary;
    const facts = await this.deps.index.history(namespace, executionId, before, 100);
    const buffered = facts.some(({ event }) => event.type === 'SignalBuffered');
    return ok({ summary: summary.value, delivered: !buffered });
  }

  private async lastSeq(namespace: Namespace, executionId: ExecutionId): Promise<number> {
    return (await this.deps.index.lastSeq(namespace, executionId)) ?? 0;
  }

  /**
   * The full derivation: folds the whole log, looks at everything, and puts back every effect that the run owes and the
   * store does not have. Identities that are there are absorbed.
   */
  async decide(
    namespace: Namespace,
    executionId: ExecutionId,
  ): Outcome<Readonly<{ summary: ExecutionSummary; repaired: number }>> {
    const head = await this.deps.engine.findHead(namespace, executionId);
    if (head === undefined) return err(noExecution(executionId));
    const repaired = await this.repairAnywhere(executionId);
    const summary = await this.summary(namespace, executionId);
    return summary.ok ? ok({ summary: summary.value, repaired }) : summary;
  }

  /** Returns how many effects had been missing. The sweeper calls it without knowing the namespace. */
  async repairAnywhere(executionId: ExecutionId): Promise<number> {
    const { owed, missing, tally } = await this.deps.engine.transaction(async (tx) => this.derive(tx, executionId));
    this.deps.retryBudgets.keep(tally);
    this.deps.wake.publish(owed.topics());
    return missing;
  }

  private async derive(tx: EngineTx, executionId: ExecutionId): Promise<Derived> {
    const owed = new OwedWork();
    const tally = new RetryTally();
    const locked = await claimRun(tx, executionId);
    const head = locked.heads[0];
    if (head === undefined) return { owed, missing: 0, tally };
    const { plans } = this.deps;
    const log = (await tx.readEvents(new Map([[executionId, 0]]))).get(executionId) ?? [];
    const plan = await plans.planOf(head.definitionHash, tx);
    const state = await foldFromStart(executionId, plan, log, plans, tx);
    lookAtAll(state);
    const outcomes = await tx.readAllOutcomes(executionId);
    const settlements = outcomes.map((outcome) => ({ type: 'SettleTask' as const, outcome }));
    const decided = await decideExecution(this.deps, tx, head.namespace, state, settlements, locked.now, tally);
    owed.add(head.namespace, executionId, decided.events, decided.commands);
    if (decided.more) owed.addPass(executionId);
    const lost = lostEffects(state, decided.commands, new Set(await tx.openTaskIds(executionId)));
    owed.add(head.namespace, executionId, [], lost);
    await owed.write(tx);
    const missing = lost.filter((command) => command.type === 'EnqueueTask').length + decided.events.length;
    return { owed, missing, tally };
  }

  async summary(namespace: Namespace, executionId: ExecutionId): Outcome<ExecutionSummary> {
    const row = await this.deps.index.find(namespace, executionId);
    return row === undefined ? err(noExecution(executionId)) : ok(row);
  }
}

/** Open attempts that have no row and were not opened just now. Timers are armed again, which is idempotent by key. */
const lostEffects = (
  state: ExecutionState,
  decided: readonly Command[],
  open: ReadonlySet<string>,
): readonly Command[] => {
  const opened = new Set(decided.map((command) => (command.type === 'EnqueueTask' ? command.taskId : '')));
  return resume(state).filter(
    (command) => command.type !== 'EnqueueTask' || !(open.has(command.taskId) || opened.has(command.taskId)),
  );
};

const errorOf = ({ code, message, details }: Rejection): ApplicationError =>
  details === undefined ? { code, message } : { code, message, details };
