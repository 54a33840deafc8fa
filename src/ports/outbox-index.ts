import type { ExecutionId, Instant, Namespace } from '../domain/kernel/brand.ts';
import type { JsonObject } from '../domain/kernel/json.ts';

/** A message that was given up, as it is kept. */
export type DeadLetter = Readonly<{
  id: string;
  executionId: ExecutionId;
  topic: string;
  orderingKey: string;
  payload: JsonObject;
  attempts: number;
  createdAt: Instant;
  deadAt: Instant;
  lastFailure: string;
}>;

/** What was sent to the internal sink. */
export type InternalEvent = Readonly<{
  id: string;
  sink: string;
  /** Absent: it came from outside. */
  executionId?: ExecutionId;
  /** Of the message: the same however often it was delivered. */
  messageId: string;
  payload: JsonObject;
  recordedAt: Instant;
}>;

/** The reads of what left the runs; each filters by namespace itself. */
export interface OutboxIndex {
  /** Oldest first, those after the given id. */
  deadLetters(namespace: Namespace, page: Readonly<{ limit: number; after?: string }>): Promise<readonly DeadLetter[]>;
  /** Newest first, those before the given id. */
  internalEvents(
    namespace: Namespace,
    sink: string,
    page: Readonly<{ limit: number; before?: string }>,
  ): Promise<readonly InternalEvent[]>;
}
