import type { Namespace } from '../domain/kernel/brand.ts';
import type { EngineStore, LeaseRef } from '../ports/engine-store.ts';
import { queueTopic, type WakeSignal } from '../ports/wake-signal.ts';

/** Gives leases back: the same attempts are visible again at once, and their queues hear of it. */
export class ReleaseLeases {
  private readonly engine: EngineStore;
  private readonly wake: WakeSignal;

  constructor(engine: EngineStore, wake: WakeSignal) {
    this.engine = engine;
    this.wake = wake;
  }

  /** Returns how many were still held with these tokens; with a namespace, in that namespace alone. */
  async release(leases: readonly LeaseRef[], namespace?: Namespace): Promise<number> {
    if (leases.length === 0) return 0;
    const released = await this.engine.transaction((tx) => tx.releaseLeases(namespace, leases));
    this.wake.publish(new Set(released.map(({ namespace, queue }) => queueTopic(namespace, queue))));
    return released.length;
  }
}
