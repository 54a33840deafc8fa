import type { Instant, Namespace } from '../domain/kernel/brand.ts';
import type { Clock } from '../ports/clock.ts';
import type { WorkerSeen } from '../ports/execution-index.ts';

/** Workers remembered per process; the longest unseen are forgotten first. */
const WORKERS_MAX = 10_000;

/** Who polls: in memory, since it is of interest only while it is fresh. */
export class WorkerRegistry {
  private readonly clock: Clock;
  private readonly workers = new Map<string, Readonly<{ namespace: Namespace; seen: WorkerSeen }>>();

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

  /** Whether a worker has polled the queue within the time. */
  isServed(namespace: Namespace, queue: string, withinMs: number): boolean {
    const since = this.clock.now() - withinMs;
    for (const entry of this.workers.values()) {
      if (entry.namespace === namespace && entry.seen.queue === queue && entry.seen.lastPollAt >= since) return true;
    }
    return false;
  }
}
