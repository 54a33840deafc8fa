import type { ExecutionId, Instant, Namespace } from '../domain/kernel/brand.ts';
import type { Schedule } from '../domain/schedule/schedule.ts';

/** A schedule as it stands. */
export type ScheduleRow = Readonly<{
  /** Drawn when it was made: one that is made again under the same name is another. */
  id: string;
  namespace: Namespace;
  schedule: Schedule;
  paused: boolean;
  pausedReason?: string;
  /** The oldest instant that no firing was decided about; absent: there is none to come. */
  nextAt?: Instant;
  /** When that is due: later by the jitter, or by a failure. */
  fireAt?: Instant;
  /** Up to here missed firings are made. */
  catchUpUntil?: Instant;
  /** The runs that it started last, as far as they may still be going. */
  running: readonly ExecutionId[];
  /** Tries of the firing that is due which broke. */
  attempts: number;
  createdAt: Instant;
  updatedAt: Instant;
  createdBy: string;
  updatedBy: string;
}>;

/** STARTED a run, FAILED to; SKIPPED because one was going; MISSED: nobody was there, and it is not made up for. */
export const SCHEDULE_RUN_STATES = ['STARTED', 'FAILED', 'SKIPPED', 'MISSED'] as const;
export type ScheduleRunState = (typeof SCHEDULE_RUN_STATES)[number];

export type NewScheduleRun = Readonly<{
  scheduleId: string;
  namespace: Namespace;
  name: string;
  workflowName: string;
  state: ScheduleRunState;
  manual: boolean;
  scheduledAt: Instant;
  /** Of a firing that started a run, and also its name where it did not. */
  executionId: ExecutionId;
  reason?: string;
}>;

/** One entry of the history of a schedule. */
export type ScheduleRun = NewScheduleRun & Readonly<{ id: string; recordedAt: Instant }>;

export type ScheduleQuotaExceeded = Readonly<{ quota: 'maxSchedules'; limit: number; current: number }>;

export type ScheduleFilter = Readonly<{
  workflowName?: string;
  paused?: boolean;
  /** A part of the name or the description. */
  text?: string;
}>;

/** The writes of schedules; the row of a schedule is locked before anything else. */
export interface ScheduleTx {
  /** The schedule, kept from others until the end of the transaction. */
  lockSchedule(namespace: Namespace, name: string): Promise<ScheduleRow | undefined>;
  /**
   * The schedule that has been due for longest, passing by those that others hold, and the store's clock. Paused ones are
   * never due.
   */
  claimSchedule(): Promise<Readonly<{ now: Instant; row: ScheduleRow }> | undefined>;
  /** `exists`: another made one of that name meanwhile. New ones count against the quota, under the lock `quota:namespace`. */
  insertSchedule(row: ScheduleRow): Promise<'created' | 'exists' | ScheduleQuotaExceeded>;
  /** Writes all of a locked schedule but what never changes. */
  updateSchedule(row: ScheduleRow): Promise<void>;
  /** Removes a schedule and its history; the runs that it started stay. */
  deleteSchedule(namespace: Namespace, name: string): Promise<boolean>;
  /** Those of the runs that have not ended. */
  openRuns(executionIds: readonly ExecutionId[]): Promise<readonly ExecutionId[]>;
  /** Records what became of a firing, once; of each schedule the newest `keepMax` are kept. */
  recordScheduleRun(run: NewScheduleRun, keepMax: number): Promise<void>;
}

export interface ScheduleStore {
  findSchedule(namespace: Namespace, name: string): Promise<ScheduleRow | undefined>;
  /** By name. */
  listSchedules(
    namespace: Namespace,
    filter: ScheduleFilter,
    page: Readonly<{ limit: number; after?: string }>,
  ): Promise<readonly ScheduleRow[]>;
  /** The history of one schedule, or of all of a namespace, newest first. */
  listScheduleRuns(
    namespace: Namespace,
    name: string | undefined,
    page: Readonly<{ limit: number; before?: string }>,
  ): Promise<readonly ScheduleRun[]>;
  /** Milliseconds until a schedule is due; undefined: none will be. */
  nextScheduleInMs(): Promise<number | undefined>;
}
