import type { Namespace } from '../domain/kernel/brand.ts';
import type { WorkerSeen } from './execution-index.ts';

/** A worker that polled a queue, so long ago. Not an instant: the clock of a server is not that of the store. */
export type WorkerPoll = Readonly<{ namespace: Namespace; queue: string; workerId: string; agoMs: number }>;

/** When workers polled last, over all servers. For people: nothing decides from it, and it may be some seconds late. */
export interface WorkerPollStore {
  /** Of what is known of a worker and a queue the later poll stays. */
  note(polls: readonly WorkerPoll[]): Promise<void>;
  /** By queue and worker. */
  seen(namespace: Namespace, withinMs: number, limit: number): Promise<readonly WorkerSeen[]>;
  /** Those of the queues that any worker polled within the time. */
  servedQueues(namespace: Namespace, queues: readonly string[], withinMs: number): Promise<ReadonlySet<string>>;
  /** Forgets polls that are older than that, some at a time. Returns how many. */
  forget(olderThanMs: number): Promise<number>;
}
