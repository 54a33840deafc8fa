import type { Gate } from '../../domain/execution/admission.ts';
import type { TimerPurpose } from '../../domain/execution/commands.ts';
import type { TaskSlot } from '../../domain/execution/events.ts';
import type { TaskOutcome } from '../../domain/execution/requests.ts';
import type { ExecutionId, Instant, LeaseToken, Namespace, TaskId } from '../../domain/kernel/brand.ts';
import type { JsonObject, JsonValue } from '../../domain/kernel/json.ts';
import type { NamespaceQuotas } from '../../ports/access-store.ts';
import type {
  CloseTask,
  DueTimer,
  EnqueueTask,
  IdempotencyClaim,
  LogLine,
  NewInternalEvent,
  OutboxMessage,
  StoreTaskOutput,
} from '../../ports/engine-store.ts';
import type { EventDedupe, NewEventHandlerRun } from '../../ports/event-handler-store.ts';
import type { ExecutionRow, WorkerSeen } from '../../ports/execution-index.ts';
import type { RetryCount, Semaphore } from '../../ports/limits.ts';
import type { NamedValue, NamedValueKind } from '../../ports/named-values.ts';
import type { ScheduleRun } from '../../ports/schedule-store.ts';
import type { Tag, Tagged } from '../../ports/tag-store.ts';

/** A run as stored; why it is parked is known from its decide row. */
export type StoredExecution = Omit<ExecutionRow, 'parked'>;

export type Lease = Readonly<{
  token: LeaseToken;
  workerId: string;
  expiresAt: Instant;
  /** Semaphores of which it holds a permit. */
  permits: readonly string[];
}>;

export type SemaphoreRow = Semaphore & Readonly<{ namespace: Namespace }>;

export type NamedValueRow = NamedValue & Readonly<{ namespace: Namespace; kind: NamedValueKind }>;

export type ExternalPayloadRow = Readonly<{
  namespace: Namespace;
  path: string;
  content: JsonObject;
  uploadedAt: Instant;
}>;

export type TagRow = Tagged & Tag & Readonly<{ namespace: Namespace }>;

/** The window in which a task with a rate limit was leased last. */
export type RateWindowRow = Readonly<{ namespace: Namespace; taskName: string; closesAt: Instant; used: number }>;

/** Closed attempts of a task in a bucket of time, and how many of them were retried. */
export type RetryBucketRow = RetryCount & Readonly<{ bucketAt: number }>;

/** One open attempt: queue entry, lease, progress and the mailbox for its outcome in one row, so they never disagree. */
export type OpenTask = Readonly<{
  executionId: ExecutionId;
  namespace: Namespace;
  task: EnqueueTask;
  /** Its place in the queue. */
  turn: number;
  /** Rises with each attempt enqueued: the last word on age. */
  order: number;
  visibleAt: Instant;
  /** Moved from the delayed to the ready tasks of its queue. */
  ready: boolean;
  startedAt?: Instant;
  lease?: Lease;
  progress?: JsonValue;
  /** How often it was put off, and the seconds asked for last. */
  callbacks?: number;
  callbackSeconds?: number;
  /** Who had the attempt before it was put off. */
  lastWorkerId?: string;
  outcome?: TaskOutcome;
  /** Rises with each outcome reported. */
  outcomeOrder?: number;
}>;

export type TaskOutputRow = Omit<StoreTaskOutput, 'type'> & Readonly<{ namespace: Namespace }>;
export type WorkerPollRow = WorkerSeen & Readonly<{ namespace: Namespace }>;

export type DomainPollRow = Readonly<{ namespace: Namespace; queue: string; polledAt: Instant }>;

export type ClosedTask = Readonly<{
  executionId: ExecutionId;
  namespace: Namespace;
  closed: Omit<CloseTask, 'type'>;
  /** The report that ended it, if one did. */
  report?: string;
}>;

export type DecideRow = Readonly<{
  executionId: ExecutionId;
  order: number;
  dueAt: Instant;
  /** Attempts that were reported since the last pass. */
  reported: ReadonlySet<TaskId>;
  parked?: Readonly<{ attempts: number; reason: string }>;
}>;

export type TimerRow = Readonly<
  TaskSlot & {
    executionId: ExecutionId;
    attempt: number;
    purpose: TimerPurpose;
    fireAt: Instant;
    alertOnly: boolean;
    order: number;
  }
>;

export type OutboxRow = Readonly<{
  message: OutboxMessage;
  order: number;
  nextAttemptAt: Instant;
  createdAt: Instant;
  dead: boolean;
  deadAt?: Instant;
  lastFailure?: string;
}>;

export type InternalEventRow = NewInternalEvent & Readonly<{ order: number; recordedAt: Instant }>;

/** A place under a limit on runs, held or queued for. */
export type AdmissionRow = Readonly<{
  executionId: ExecutionId;
  namespace: Namespace;
  gate: Gate;
  admitted: boolean;
  position: number;
  notBefore: Instant;
}>;

/** Quotas of a namespace, with the minute that is counted and the starts in it. */
export type QuotaRow = Readonly<{ namespace: Namespace; quotas: NamespaceQuotas; minute: Instant; starts: number }>;

export type StoredHandlerRun = NewEventHandlerRun & Readonly<{ order: number; recordedAt: Instant }>;
export type EventDedupeRow = EventDedupe & Readonly<{ seenAt: Instant }>;
export type StoredScheduleRun = ScheduleRun & Readonly<{ order: number }>;

export type IdempotencyRow = IdempotencyClaim;

export type StoredLogLine = LogLine & Readonly<{ id: number; namespace: Namespace }>;

/** Identity of an attempt within all runs (promise 6). */
export const attemptKey = (executionId: ExecutionId, { ref, iteration, attempt }: TaskSlot & { attempt: number }) =>
  `${executionId}|${ref}|${iteration}|${attempt}`;

export const timerKey = (timer: DueTimer) => `${attemptKey(timer.executionId, timer)}|${timer.purpose}`;

/** Keys of things that a namespace owns; a namespace has no slash in it. */
export const workerPollKey = ({ namespace, queue, workerId }: Omit<WorkerPollRow, 'lastPollAt'>): string =>
  JSON.stringify([namespace, queue, workerId]);

export const inNamespace = (namespace: Namespace, name: string) => `${namespace}/${name}`;
