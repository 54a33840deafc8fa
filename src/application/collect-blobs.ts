import { BLOB_SHARDS, type BlobCollector } from '../ports/blob-store.ts';

/** A value that nothing refers to stays for this long: longer than any transaction that has put it and not yet committed. */
export const BLOB_GRACE_MS = 86_400_000;

/** Looks through a part of the offloaded values at a time for those that no run refers to any more. */
export class CollectBlobs {
  private readonly collector: BlobCollector;
  private shard = 0;

  constructor(collector: BlobCollector) {
    this.collector = collector;
  }

  /** Always answers 0: there is no hurry, and the next part is the next turn's. */
  async runOnce(): Promise<number> {
    const { shard } = this;
    this.shard = (shard + 1) % BLOB_SHARDS;
    await this.collector.collect(shard, BLOB_GRACE_MS);
    return 0;
  }
}
