import type { Instant, Namespace } from '../domain/kernel/brand.ts';
import type { Clock } from '../ports/clock.ts';
import type { WorkerSeen } from '../ports/execution-index.ts';

/** Workers remembered per process; the longest unseen are forgotten first. */
const WORKERS_MAX = 10_000;

/** Who polls, and for what polls are parked: in memory, since it is of interest only while it is fresh. */
export class WorkerRegistry {
  private readonly clock: Clock;
  private readonly workers = new Map<string, Readonly<{ namespace: Namespace; seen: WorkerSeen }>>();
  private readonly parked = new Map<string, { namespace: Namespace; queue: string; polls: number }>();

  constructor(clock: Clock) {
    this.clock = clock;
  }

  seen(namespace: Namespace, queue: string, workerId: string): void {
    const key = `${namespace}/${queue}/${workerId}`;
    const lastPollAt: Instant = this.clock.now();
    this.workers.delete(key);
    this.workers.set(key, { namespace, seen: { queue, workerId, lastPollAt } });
    if (this.workers.size <= WORKERS_MAX) return;
    for (const oldest of this.workers.keys()) {
      this.workers.delete(oldest);
      break;
    }
  }

  list(namespace: Namespace): readonly WorkerSeen[] {
    return [...this.workers.values()].filter((entry) => entry.namespace === namespace).map((entry) => entry.seen);
  }

  /** Counts a parked poll in; call the returned function when it leaves. */
  park(namespace: Namespace, queues: readonly string[]): () => void {
    for (const queue of queues) {
      const key = `${namespace}/${queue}`;
      const entry = this.parked.get(key) ?? { namespace, queue, polls: 0 };
      entry.polls += 1;
      this.parked.set(key, entry);
    }
    return () => {
      for (const queue of queues) {
        const entry = this.parked.get(`${namespace}/${queue}`);
        if (entry === undefined) continue;
        entry.polls -= 1;
        if (entry.polls === 0) this.parked.delete(`${namespace}/${queue}`);
      }
    };
  }

  parkedQueues(): readonly Readonly<{ namespace: Namespace; queue: string }>[] {
    return [...this.parked.values()];
  }
}
