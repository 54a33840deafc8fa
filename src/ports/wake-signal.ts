import type { Observable } from 'rxjs';
import { SYSTEM_QUEUE } from '../domain/execution/queues.ts';
import type { ExecutionId, Namespace } from '../domain/kernel/brand.ts';

/** What a waiter listens to. Topics are hints: everything works, later, when none arrives. */
export type WakeTopic =
  | 'evaluations'
  | 'outbox'
  | 'timers'
  /** A place under a limit on runs is free, or another run is first in its queue. */
  | 'admissions'
  | 'system'
  | `queue/${Namespace}/${string}`
  | `execution/${ExecutionId}`;

/** The queue of system tasks is one for all namespaces. */
export const SYSTEM_TOPIC: WakeTopic = 'system';

export const queueTopic = (namespace: Namespace, queue: string): WakeTopic =>
  queue === SYSTEM_QUEUE ? SYSTEM_TOPIC : `queue/${namespace}/${queue}`;
export const executionTopic = (id: ExecutionId): WakeTopic => `execution/${id}`;

/** Wakes parked pollers, streams and loops of this process, and hints at the other processes. */
export interface WakeSignal {
  /** Call after the commit that justifies it, never inside a transaction. */
  publish(topics: Iterable<WakeTopic>): void;
  /** Emits for each publish of the topic, from subscription on. Unsubscribe to release it. */
  on(topic: WakeTopic): Observable<void>;
}
