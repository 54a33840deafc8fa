import type { SequencedEvent } from '../domain/execution/events.ts';
import { type MaskedKeys, maskedFieldsOf, maskedKeysOf } from '../domain/execution/masking.ts';
import type { ExecutionView } from '../domain/execution/view.ts';
import type { ExecutionId, Namespace } from '../domain/kernel/brand.ts';
import type { OpenTaskRow } from '../ports/engine-store.ts';
import type { ExecutionIndex, ExecutionRow } from '../ports/execution-index.ts';
import type { BundleSource, PlanCache } from './definitions/plan-cache.ts';

/**
 * The only place that hides values: everything of a run that is read goes through here on its way out. What is stored, and
 * what a worker is handed, stays whole.
 */
export class MaskedReads {
  private readonly index: ExecutionIndex;
  private readonly plans: PlanCache;
  private readonly bundles: BundleSource;

  constructor(index: ExecutionIndex, plans: PlanCache, bundles: BundleSource) {
    this.index = index;
    this.plans = plans;
    this.bundles = bundles;
  }

  /** The keys that runs of a definition do not show. */
  async keysOf(definitionHash: string): Promise<MaskedKeys> {
    return maskedKeysOf((await this.plans.planOf(definitionHash, this.bundles)).definition);
  }

  /** The same by the run; undefined: there is no such run. */
  async keysOfRun(namespace: Namespace, executionId: ExecutionId): Promise<MaskedKeys | undefined> {
    const row = await this.index.find(namespace, executionId);
    return row === undefined ? undefined : this.keysOf(row.definitionHash);
  }
}

export const maskedEvents = (events: readonly SequencedEvent[], keys: MaskedKeys): readonly SequencedEvent[] =>
  events.map(({ seq, event }) => ({ seq, event: maskedFieldsOf(event, keys) }));

export const maskedView = (view: ExecutionView, keys: MaskedKeys): ExecutionView => ({
  ...maskedFieldsOf(view, keys),
  tasks: view.tasks.map((task) => maskedFieldsOf(task, keys)),
});

export const maskedRow = (row: ExecutionRow, keys: MaskedKeys): ExecutionRow => maskedFieldsOf(row, keys);

export const maskedOpenTasks = (rows: readonly OpenTaskRow[], keys: MaskedKeys): readonly OpenTaskRow[] =>
  rows.map((row) => maskedFieldsOf(row, keys));
