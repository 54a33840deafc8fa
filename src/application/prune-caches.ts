import type { EngineStore } from '../ports/engine-store.ts';

/** Expired outputs that one transaction deletes. */
export const PRUNE_BATCH_MAX = 1_000;
/** A poll that is older than this interests nobody. */
const POLL_KEPT_MS = 3_600_000;

/** Deletes what has expired. Returns how many outputs it deleted, so that a full batch is followed by another at once. */
export class PruneCaches {
  private readonly engine: EngineStore;

  constructor(engine: EngineStore) {
    this.engine = engine;
  }

  async runOnce(): Promise<number> {
    const pruned = await this.engine.transaction(async (tx) => {
      await tx.prunePolls(POLL_KEPT_MS);
      return tx.pruneTaskOutputs(PRUNE_BATCH_MAX);
    });
    return pruned < PRUNE_BATCH_MAX ? 0 : pruned;
  }
}
