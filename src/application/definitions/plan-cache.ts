import { compilePlan } from '../../domain/definition/compile-plan.ts';
import type { Plan } from '../../domain/definition/plan.ts';
import { InvariantError, invariant } from '../../domain/kernel/invariant.ts';
import type { DefinitionBundle, DefinitionStore } from '../../ports/definition-store.ts';
import { LruMap } from './lru-map.ts';

/** Compiled plans held in memory. */
export const PLANS_MAX = 1_000;

const compiled = (hash: string, bundle: DefinitionBundle | undefined): Plan => {
  invariant(bundle !== undefined, `the bundle ${hash} that a run pins is not stored`);
  const plan = compilePlan(bundle, hash);
  if (plan.ok) return plan.value;
  const reasons = plan.error.map(({ code, message, path }) => `${code} at ${path}: ${message}`).join('; ');
  throw new InvariantError(`the stored bundle ${hash} no longer compiles: ${reasons}`);
};

/** Where bundles are read that are not compiled yet: the store, or the transaction at hand. */
export type BundleSource = Pick<DefinitionStore, 'findBundles'>;

/** Plans by the hash of their bundle. They never change, so nothing is ever invalidated, only forgotten and read again. */
export class PlanCache {
  private readonly plans: LruMap<string, Plan>;

  constructor(plansMax: number = PLANS_MAX) {
    this.plans = new LruMap(plansMax);
  }

  /** One plan. Throws InvariantError when the bundle is not stored or does not compile. */
  async planOf(hash: string, source: BundleSource): Promise<Plan> {
    const plan = this.plans.get(hash) ?? (await this.plansOf([hash], source)).get(hash);
    invariant(plan !== undefined, `no plan for ${hash}`);
    return plan;
  }

  /** The plans of several runs with one read at most. Throws as `planOf` does, naming the first that is broken. */
  async plansOf(hashes: readonly string[], source: BundleSource): Promise<ReadonlyMap<string, Plan>> {
    const found = new Map<string, Plan>();
    const missing = new Set<string>();
    for (const hash of hashes) {
      const plan = this.plans.get(hash);
      if (plan === undefined) missing.add(hash);
      else found.set(hash, plan);
    }
    if (missing.size === 0) return found;
    const bundles = await source.findBundles([...missing].sort());
    for (const hash of missing) {
      const plan = compiled(hash, bundles.get(hash));
      this.plans.set(hash, plan);
      found.set(hash, plan);
    }
    return found;
  }
}
