import type { EngineStore } from '../ports/engine-store.ts';
import type { PayloadStore } from '../ports/payload-store.ts';
import { PAYLOAD_KEPT_MS } from './payload-use-cases.ts';

/** Expired outputs that one transaction deletes. */
export const PRUNE_BATCH_MAX = 1_000;
/** A poll that is older than this interests nobody. */
const POLL_KEPT_MS = 3_600_000;

/** Deletes what has expired. Returns how many outputs or payloads it deleted, so that a full batch is followed by another at once. */
export class PruneCaches {
  private readonly engine: EngineStore;
  private readonly payloads: Pick<PayloadStore, 'prunePayloads'>;

  constructor(engine: EngineStore, payloads: Pick<PayloadStore, 'prunePayloads'>) {
    this.engine = engine;
    this.payloads = payloads;
  }

  async runOnce(): Promise<number> {
    const pruned = await this.engine.transaction(async (tx) => {
      await tx.prunePolls(POLL_KEPT_MS);
      return tx.pruneTaskOutputs(PRUNE_BATCH_MAX);
    });
    const payloads = await this.payloads.prunePayloads(PAYLOAD_KEPT_MS, PRUNE_BATCH_MAX);
    const most = Math.max(pruned, payloads);
    return most < PRUNE_BATCH_MAX ? 0 : most;
  }
}
