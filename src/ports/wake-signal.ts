import type { Observable } from 'rxjs';
import { CALLS_QUEUE, SYSTEM_QUEUE } from '../domain/execution/queues.ts';
import type { ExecutionId, Namespace } from '../domain/kernel/brand.ts';

/** What a waiter listens to. Topics are hints: everything works, later, when none arrives. */
export type WakeTopic =
  | 'evaluations'
  | 'outbox'
  | 'timers'
  /** A place under a limit on runs is free, or another run is first in its queue. */
  | 'admissions'
  | 'schedules'
  | 'system'
  | 'calls'
  | `queue/${Namespace}/${string}`
  | `execution/${ExecutionId}`;

/** The queues of system tasks are one each for all namespaces. */
export const SYSTEM_TOPIC: WakeTopic = 'system';
export const CALLS_TOPIC: WakeTopic = 'calls';

const SERVER_QUEUES: ReadonlyMap<string, WakeTopic> = new Map([
  [SYSTEM_QUEUE, SYSTEM_TOPIC],
  [CALLS_QUEUE, CALLS_TOPIC],
]);

export const queueTopic = (namespace: Namespace, queue: string): WakeTopic =>
  SERVER_QUEUES.get(queue) ?? `queue/${namespace}/${queue}`;
export const executionTopic = (id: ExecutionId): WakeTopic => `execution/${id}`;

/** Wakes parked pollers, streams and loops of this process, and hints at the other processes. */
export interface WakeSignal {
  /** Call after the commit that justifies it, never inside a transaction. */
  publish(topics: Iterable<WakeTopic>): void;
  /** Emits for each publish of the topic, from subscription on. Unsubscribe to release it. */
  on(topic: WakeTopic): Observable<void>;
}
