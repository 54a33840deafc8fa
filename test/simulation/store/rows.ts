import type { GateKind } from '../../../src/domain/execution/admission.ts';
import type { TimerPurpose } from '../../../src/domain/execution/commands.ts';
import type { DeadlineKind, WorkflowEvent } from '../../../src/domain/execution/events.ts';
import type { ExecutionStatus, ReportStatus } from '../../../src/domain/execution/statuses.ts';
import type { ExecutionId, Instant, LeaseToken, Namespace } from '../../../src/domain/kernel/brand.ts';
import type { JsonObject, JsonValue } from '../../../src/domain/kernel/json.ts';
import type { CloseTask, EnqueueTask, NewExecution, OutboxMessage } from '../../../src/ports/engine-store.ts';

export type DecideRow = Readonly<{
  executionId: ExecutionId;
  dueAt: number;
  attempts: number;
  reason?: string;
  /** Attempts that were reported since the last pass, by the seq that scheduled them. */
  reported: readonly number[];
}>;

export type ExecutionRecord = NewExecution &
  Readonly<{
    status: ExecutionStatus;
    updatedAt: Instant;
    endedAt?: Instant;
    output?: JsonObject;
    reason?: string;
    failedTask?: string;
  }>;

export type EventRow = Readonly<{ executionId: ExecutionId; namespace: Namespace; seq: number; event: WorkflowEvent }>;

export type QueueRow = Readonly<{
  executionId: ExecutionId;
  namespace: Namespace;
  seq: number;
  task: EnqueueTask;
  visibleAt: Instant;
  leaseToken?: LeaseToken;
  workerId?: string;
  leaseExpiresAt?: number;
  startedAt?: Instant;
  progress?: JsonValue;
  /** Semaphores of which its lease holds a permit. */
  permits?: readonly string[];
  callbacks?: number;
  callbackSeconds?: number;
  outcome?: OutcomeColumns;
}>;

export type OutcomeColumns = Readonly<{
  status: ReportStatus | 'TIMED_OUT' | 'CANCELED';
  output: JsonObject;
  reason?: string;
  deadline?: DeadlineKind;
  /** In milliseconds and parts of them: reports of one statement keep their order. */
  at: number;
}>;

export type ClosedRow = Readonly<
  Omit<CloseTask, 'type'> & {
    executionId: ExecutionId;
    namespace: Namespace;
    seq: number;
    reportHash?: string;
  }
>;

export type TimerRow = Readonly<{
  executionId: ExecutionId;
  namespace: Namespace;
  ref: string;
  iteration: number;
  attempt: number;
  purpose: TimerPurpose;
  fireAt: number;
  underLock: boolean;
}>;

export type OutboxRow = Readonly<
  Omit<OutboxMessage, 'id'> & {
    id: number;
    availableAt: number;
    deadAt?: number;
    lastFailure?: string;
  }
>;

/** A place at a limit on runs, or a place in the queue for one. */
export type AdmissionRow = Readonly<{
  executionId: ExecutionId;
  namespace: Namespace;
  kind: GateKind;
  name: string;
  key: string;
  runsMax: number;
  admitted: boolean;
  position: number;
  notBefore: number;
}>;

export type SemaphoreRow = Readonly<{ namespace: Namespace; name: string; permits: number }>;

/** Leases of one name in the window that was open last. */
export type RateWindowRow = Readonly<{
  namespace: Namespace;
  taskName: string;
  openedAt: number;
  closesAt: number;
  used: number;
}>;

export type QuotaRow = Readonly<{
  namespace: Namespace;
  concurrentMax: number | undefined;
  perMinuteMax: number | undefined;
  minute: number;
  starts: number;
}>;

export type IdempotencyRow = Readonly<{
  namespace: Namespace;
  key: string;
  executionId: ExecutionId;
  fingerprint: string;
}>;

export type LogRow = Readonly<{
  executionId: ExecutionId;
  namespace: Namespace;
  seq: number;
  id: number;
  at: Instant;
  line: string;
}>;

type Attempt = Readonly<{ ref: string; iteration: number; attempt: number }>;

export const attemptKey = ({ ref, iteration, attempt }: Attempt): string => `${ref}|${iteration}|${attempt}`;
export const queueKey = (executionId: ExecutionId, seq: number): string => `${executionId}.${seq}`;
export const closedKey = (executionId: ExecutionId, attempt: Attempt): string =>
  `${executionId}|${attemptKey(attempt)}`;
export const timerKey = (timer: Attempt & Readonly<{ executionId: ExecutionId; purpose: TimerPurpose }>): string =>
  `${timer.executionId}|${attemptKey(timer)}|${timer.purpose}`;
export const idempotencyKey = ({ namespace, key }: Readonly<{ namespace: Namespace; key: string }>): string =>
  `${namespace}/${key}`;
