import type { SequencedEvent } from '../domain/execution/events.ts';
import type { ExecutionStatus, TaskStatus } from '../domain/execution/statuses.ts';
import type { ExecutionId, Instant, Namespace, TaskId } from '../domain/kernel/brand.ts';
import type { JsonObject, JsonValue } from '../domain/kernel/json.ts';
import type { LogLine, OpenTaskRow } from './engine-store.ts';
import type { TaskGates } from './limits.ts';
import type { OutboxIndex } from './outbox-index.ts';
import type { RunQuery } from './run-query.ts';

/** One run as lists show it. */
export type ExecutionSummary = Readonly<{
  executionId: ExecutionId;
  name: string;
  version: number;
  status: ExecutionStatus;
  correlationId?: string;
  idempotencyKey?: string;
  priority: number;
  parentExecutionId?: ExecutionId;
  startedAt: Instant;
  updatedAt: Instant;
  endedAt?: Instant;
  reason?: string;
  failedTask?: string;
  /** It is queued for a place under a limit on runs. */
  awaitingAdmission?: true;
}>;

/** What a queued run waits for. */
export type WaitingAdmission = Readonly<{ key: string; limit: number; running: number; ahead: number }>;

export type ExecutionRow = ExecutionSummary &
  Readonly<{
    namespace: Namespace;
    definitionHash: string;
    input: JsonObject;
    output?: JsonObject;
    /** Set when a pass over this run failed and it is parked: it says why nothing moves. */
    parked?: Readonly<{ attempts: number; reason: string; retryAt: Instant }>;
  }>;

export type ExecutionFilter = Readonly<{
  executionIds?: readonly ExecutionId[];
  statuses?: readonly ExecutionStatus[];
  /** Exact, or a prefix when it ends in `*`. */
  name?: string;
  version?: number;
  correlationId?: string;
  idempotencyKey?: string;
  parentExecutionId?: ExecutionId;
  startedAfter?: Instant;
  startedBefore?: Instant;
  awaitingAdmission?: boolean;
}>;

export type FoundRuns = Readonly<{ rows: readonly ExecutionRow[]; total: number }>;

/** Keyset position: the last row of the page before. Newest runs come first. */
export type ExecutionCursor = Readonly<{ startedAt: Instant; executionId: ExecutionId }>;

export type QueueDepth = Readonly<{
  queue: string;
  /** Visible and not leased. */
  ready: number;
  leased: number;
  /** Not yet visible. */
  delayed: number;
  oldestReadyAgeMs?: number;
  concurrentExecLimit?: number;
}>;

export type WorkerSeen = Readonly<{ queue: string; workerId: string; lastPollAt: Instant }>;

/** A task that is open for a payload at a webhook. */
export type WebhookWait = Readonly<{ taskId: TaskId; input: JsonValue }>;

/** Attempts of tasks over all runs; what is absent does not count. */
export type TaskFilter = Readonly<{
  executionIds?: readonly ExecutionId[];
  taskIds?: readonly TaskId[];
  /** Of the run. */
  workflowNames?: readonly string[];
  correlationIds?: readonly string[];
  taskNames?: readonly string[];
  /** The type of the step or, of one that workers do, the name of its task. */
  types?: readonly string[];
  statuses?: readonly TaskStatus[];
  scheduledAfter?: Instant;
  scheduledBefore?: Instant;
  startedAfter?: Instant;
  startedBefore?: Instant;
  endedAfter?: Instant;
  endedBefore?: Instant;
}>;

/** Attempts found, the newest first, and how many there are, counted up to a bound. */
export type FoundTasks = Readonly<{ taskIds: readonly TaskId[]; total: number }>;

/** The reads of runs. Each filters by namespace itself; nothing decides from them. */
export interface ExecutionIndex extends OutboxIndex {
  find(namespace: Namespace, executionId: ExecutionId): Promise<ExecutionRow | undefined>;
  search(
    namespace: Namespace,
    filter: ExecutionFilter,
    page: Readonly<{ limit: number; after?: ExecutionCursor }>,
  ): Promise<readonly ExecutionSummary[]>;
  /** The same for a whole language of conditions, with payloads, and how many there are up to `countMax`. */
  searchRuns(namespace: Namespace, query: RunQuery): Promise<FoundRuns>;
  /** Runs below a run at every depth, at most `limit`, each after its parent. */
  descendants(namespace: Namespace, executionId: ExecutionId, limit: number): Promise<readonly ExecutionSummary[]>;
  /** Events with seq > after, at most `limit`, in seq order; empty for a run of another namespace. */
  history(
    namespace: Namespace,
    executionId: ExecutionId,
    after: number,
    limit: number,
  ): Promise<readonly SequencedEvent[]>;
  /** Seq of the last event; undefined when there is no such run in the namespace. */
  lastSeq(namespace: Namespace, executionId: ExecutionId): Promise<number | undefined>;
  /** Undefined: the run is not queued. */
  waitingAdmission(namespace: Namespace, executionId: ExecutionId): Promise<WaitingAdmission | undefined>;
  openTasks(namespace: Namespace, executionId: ExecutionId): Promise<readonly OpenTaskRow[]>;
  logs(
    namespace: Namespace,
    taskId: TaskId,
    page: Readonly<{ after: number; limit: number }>,
  ): Promise<readonly (LogLine & Readonly<{ id: number }>)[]>;
  /** Open WAIT_FOR_WEBHOOK tasks without an outcome, in an order of their own, those after the given one. */
  webhookWaits(
    namespace: Namespace,
    page: Readonly<{ limit: number; after?: TaskId }>,
  ): Promise<readonly WebhookWait[]>;
  queues(namespace: Namespace): Promise<readonly QueueDepth[]>;
  /** Attempts of workers, of the server and of those that wait, open and closed. */
  searchTasks(
    namespace: Namespace,
    filter: TaskFilter,
    page: Readonly<{ offset: number; limit: number; countMax: number }>,
  ): Promise<FoundTasks>;
  /** What limits the tasks of these names, as it is now; names without limits are absent. */
  taskGates(namespace: Namespace, taskNames: readonly string[]): Promise<readonly TaskGates[]>;
}
