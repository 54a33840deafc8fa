import type { Plan } from '../../domain/definition/plan.ts';
import type { ExecutionId, Namespace } from '../../domain/kernel/brand.ts';
import type { LeasedTask } from '../../ports/engine-store.ts';
import type { ExecutionIndex } from '../../ports/execution-index.ts';
import type { BundleSource, PlanCache } from '../definitions/plan-cache.ts';
import type { FoldCache } from '../fold-cache.ts';

/** What a worker is told of the run that its task belongs to. */
export type RunFacts = Readonly<{
  name: string;
  version: number;
  priority: number;
  correlationId?: string;
  plan: Plan;
}>;

/** A leased task with what is known of its run. */
export type PolledTask = Readonly<{ task: LeasedTask; run: RunFacts }>;

type Deps = Readonly<{ cache: FoldCache; index: ExecutionIndex; plans: PlanCache; bundles: BundleSource }>;

/**
 * Tells of the runs of leased tasks. A process that decides has nearly all of them folded, so a poll costs no statement more;
 * another one reads the row of the run.
 */
export class RunFactsReader {
  private readonly deps: Deps;

  constructor(deps: Deps) {
    this.deps = deps;
  }

  async withRuns(tasks: readonly LeasedTask[]): Promise<readonly PolledTask[]> {
    const wanted = new Map(tasks.map(({ executionId, namespace }) => [executionId, namespace]));
    const facts = new Map<ExecutionId, RunFacts>();
    await Promise.all(
      [...wanted].map(async ([id, namespace]) => {
        const run = this.folded(id) ?? (await this.stored(namespace, id));
        if (run !== undefined) facts.set(id, run);
      }),
    );
    // A run that is gone by now takes its tasks with it.
    return tasks.flatMap((task) => {
      const run = facts.get(task.executionId);
      return run === undefined ? [] : [{ task, run }];
    });
  }

  private folded(id: ExecutionId): RunFacts | undefined {
    const state = this.deps.cache.peek(id);
    if (state?.started === undefined) return undefined;
    const { plan, started } = state;
    const { name, priority, correlationId } = started;
    const { version } = plan.definition;
    return { name, version, priority, plan, ...(correlationId !== undefined && { correlationId }) };
  }

  private async stored(namespace: Namespace, id: ExecutionId): Promise<RunFacts | undefined> {
    const row = await this.deps.index.find(namespace, id);
    if (row === undefined) return undefined;
    const { name, version, priority, correlationId, definitionHash } = row;
    const plan = await this.deps.plans.planOf(definitionHash, this.deps.bundles);
    return { name, version, priority, plan, ...(correlationId !== undefined && { correlationId }) };
  }
}
