import type { Instant, Namespace } from '../domain/kernel/brand.ts';
import type { Clock } from '../ports/clock.ts';
import type { WorkerSeen } from '../ports/execution-index.ts';
import type { WorkerPoll, WorkerPollStore } from '../ports/worker-polls.ts';

/** Workers remembered per process, and told of in one answer; the longest unseen are forgotten first. */
export const WORKERS_MAX = 10_000;
/** A worker that polls all the time is written down this often: well within the time after which a queue counts as unserved. */
export const WORKER_NOTED_EVERY_MS = 15_000;
/** A poll that is older than this interests nobody. */
export const WORKER_POLLS_KEPT_MS = 86_400_000;

type Polling = Readonly<{ namespace: Namespace; seen: WorkerSeen; notedAt: number; notedPoll: number }>;

/**
 * Who polls: in memory, so that a poll writes nothing, and for the other servers in the store, which is told every few
 * seconds of those who have polled since.
 */
export class WorkerRegistry {
  private readonly clock: Clock;
  private readonly store: WorkerPollStore;
  private readonly workers = new Map<string, Polling>();

  constructor(clock: Clock, store: WorkerPollStore) {
    this.clock = clock;
    this.store = store;
  }

  seen(namespace: Namespace, queue: string, workerId: string): void {
    const key = `${namespace}/${queue}/${workerId}`;
    const lastPollAt: Instant = this.clock.now();
    const { notedAt, notedPoll } = this.workers.get(key) ?? { notedAt: 0, notedPoll: 0 };
    this.workers.delete(key);
    this.workers.set(key, { namespace, seen: { queue, workerId, lastPollAt }, notedAt, notedPoll });
    if (this.workers.size <= WORKERS_MAX) return;
    for (const oldest of this.workers.keys()) {
      this.workers.delete(oldest);
      break;
    }
  }

  /** Of all servers: its own as of now, those of others as they were written down. */
  async list(namespace: Namespace): Promise<readonly WorkerSeen[]> {
    const own = [...this.workers.values()].filter((entry) => entry.namespace === namespace).map(({ seen }) => seen);
    const stored = await this.store.seen(namespace, WORKER_POLLS_KEPT_MS, WORKERS_MAX);
    const latest = new Map<string, WorkerSeen>();
    for (const seen of [...stored, ...own]) {
      const key = JSON.stringify([seen.queue, seen.workerId]);
      const other = latest.get(key);
      if (other === undefined || other.lastPollAt < seen.lastPollAt) latest.set(key, seen);
    }
    return [...latest.values()];
  }

  /** Those of the queues that a worker has polled within the time, at whichever server. */
  async served(namespace: Namespace, queues: readonly string[], withinMs: number): Promise<ReadonlySet<string>> {
    const own = new Set(queues.filter((queue) => this.isServedHere(namespace, queue, withinMs)));
    const others = queues.filter((queue) => !own.has(queue));
    if (others.length === 0) return own;
    return new Set([...own, ...(await this.store.servedQueues(namespace, others, withinMs))]);
  }

  private isServedHere(namespace: Namespace, queue: string, withinMs: number): boolean {
    const since = this.clock.now() - withinMs;
    for (const entry of this.workers.values()) {
      if (entry.namespace === namespace && entry.seen.queue === queue && entry.seen.lastPollAt >= since) return true;
    }
    return false;
  }

  /** Tells the store who has polled since it was told last. */
  async flush(): Promise<void> {
    const now = this.clock.now();
    const due = [...this.workers].filter(
      ([, { seen, notedAt, notedPoll }]) => seen.lastPollAt > notedPoll && now - notedAt >= WORKER_NOTED_EVERY_MS,
    );
    if (due.length === 0) return;
    await this.store.note(due.map(([, polling]) => pollOf(polling, now)));
    for (const [key, { seen }] of due) {
      // It may have polled meanwhile, and keeps its place among those that are forgotten first.
      const entry = this.workers.get(key);
      if (entry !== undefined) this.workers.set(key, { ...entry, notedAt: now, notedPoll: seen.lastPollAt });
    }
  }
}

const pollOf = ({ namespace, seen }: Polling, now: Instant): WorkerPoll => ({
  namespace,
  queue: seen.queue,
  workerId: seen.workerId,
  agoMs: Math.max(0, now - seen.lastPollAt),
});
