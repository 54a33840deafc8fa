import type { JsonObject, JsonValue } from '../kernel/json.ts';

export type RetryLogic = 'FIXED' | 'LINEAR_BACKOFF' | 'EXPONENTIAL_BACKOFF';
export type TaskTimeoutPolicy = 'RETRY' | 'TIME_OUT_WF' | 'ALERT_ONLY';

/** How the engine treats the attempts of a task: every value explicit, durations in milliseconds, 0 meaning none. */
export type TaskPolicy = Readonly<{
  /** Attempts after the first. */
  retryCount: number;
  retryLogic: RetryLogic;
  retryDelayMs: number;
  /** Base of the exponential, factor of the linear back-off. */
  backoffScaleFactor: number;
  maxRetryDelayMs: number;
  /** Share of the delay that chance may add or take, 0 to 1. */
  jitterShare: number;
  /** Milliseconds that chance may add (Conductor's backoffJitterMs). */
  jitterMs: number;
  /** Share of the recent executions of the task that may be retries, 0 to 1; absent, as in what was stored earlier: 1. */
  retryBudget?: number;
  /** A failure whose reason contains one of these ends retrying. */
  nonRetryableErrors: readonly string[];
  scheduleToStartMs: number;
  startToCloseMs: number;
  scheduleToCloseMs: number;
  /** Lease length without a heartbeat. */
  heartbeatMs: number;
  timeoutPolicy: TaskTimeoutPolicy;
}>;

/** At most `leases` in each window of the clock of `windowSeconds`. */
export type RateLimit = Readonly<{ leases: number; windowSeconds: number }>;

/** Reusable settings of a task, as stored: explicit, so that it means the same at both doors. */
export type TaskDefinition = Readonly<{
  name: string;
  description?: string;
  ownerEmail?: string;
  policy: TaskPolicy;
  /** Leased at once over all runs; 0: no limit. */
  concurrentExecLimit: number;
  /** Leases of one window over all runs; absent: no limit. */
  rateLimit?: RateLimit;
  /** Semaphores of the namespace of which a lease needs one permit each, all or none; absent: none. */
  semaphores?: readonly string[];
  inputTemplate: JsonObject;
  /** JSON Schemas, or registered ones with their data. */
  inputSchema?: JsonValue;
  outputSchema?: JsonValue;
  /** Absent in what was stored before it had an effect: then nothing is enforced. */
  enforceSchema?: boolean;
  /** Fields that are stored and shown but have no effect in this version, as the user wrote them. */
  extra: JsonObject;
}>;
