import { z } from 'zod';
import { nameProblem } from '../domain/definition/names.ts';
import type { ExecutionId, Instant, Namespace } from '../domain/kernel/brand.ts';
import { canonicalJson } from '../domain/kernel/canonical-json.ts';
import type { JsonValue } from '../domain/kernel/json.ts';
import { err, ok, type Result } from '../domain/kernel/result.ts';
import { nextInstant, nextInstants, type ParseCron, type Timetable } from '../domain/schedule/cron.ts';
import { checkSchedule, fireAtOf, hasSameTimes, type Schedule, timetableOf } from '../domain/schedule/schedule.ts';
import type { EngineStore, EngineTx } from '../ports/engine-store.ts';
import type { Ids } from '../ports/ids.ts';
import type { ScheduleFilter, ScheduleRow, ScheduleRun, ScheduleStore } from '../ports/schedule-store.ts';
import type { TagStore } from '../ports/tag-store.ts';
import type { WakeSignal } from '../ports/wake-signal.ts';
import type { ApplicationError } from './application-error.ts';
import { decodeCursor, encodeCursor } from './cursor.ts';
import { exceededError } from './exceeded-limit.ts';
import { recordFiring, startFiring } from './fire-schedules.ts';
import { nothingMore } from './message-handler.ts';
import type { StartInTransaction } from './start-in-transaction.ts';
import type { Outcome, Page } from './use-cases.ts';

export type ScheduleDeps = Readonly<{
  engine: EngineStore;
  schedules: ScheduleStore;
  starts: StartInTransaction;
  parseCron: ParseCron;
  tags: Pick<TagStore, 'clearTags'>;
  ids: Ids;
  wake: WakeSignal;
}>;

/** Instants that a preview shows at most. */
export const PREVIEW_MAX = 100;

export type PutSchedule = Readonly<{
  schedule: Schedule;
  /** Absent: as it was, and going where it is new. */
  paused?: boolean;
  pausedReason?: string;
  by: string;
}>;

export type PutScheduleOutcome = 'created' | 'unchanged' | 'replaced';

export interface ScheduleUseCases {
  /** Errors: INVALID_NAME, INVALID_SCHEDULE, EXPRESSION_INVALID, LIMIT_EXCEEDED (the quota of the namespace). */
  put(namespace: Namespace, put: PutSchedule): Outcome<Readonly<{ outcome: PutScheduleOutcome; row: ScheduleRow }>>;
  get(namespace: Namespace, name: string): Outcome<ScheduleRow>;
  list(namespace: Namespace, filter: ScheduleFilter, limit: number, cursor?: string): Outcome<Page<ScheduleRow>>;
  delete(namespace: Namespace, name: string): Outcome<null>;
  /** Instants that pass while it is paused are passed over. */
  pause(namespace: Namespace, name: string, by: string, reason?: string): Outcome<ScheduleRow>;
  resume(namespace: Namespace, name: string, by: string): Outcome<ScheduleRow>;
  /** Starts a run now, whatever the overlap. Errors: NOT_FOUND, and those of a start. */
  fire(namespace: Namespace, name: string): Outcome<Readonly<{ executionId: ExecutionId }>>;
  /** When a schedule that may not be registered would fire. */
  preview(
    times: Pick<Schedule, 'crons' | 'startAt' | 'endAt'>,
    count: number,
    after?: Instant,
  ): Outcome<readonly Instant[]>;
  /** When a schedule fires next, pause or no pause. */
  previewOf(namespace: Namespace, name: string, count: number): Outcome<readonly Instant[]>;
  /** The history of one schedule, or of all, newest first. */
  runs(namespace: Namespace, name: string | undefined, limit: number, cursor?: string): Outcome<Page<ScheduleRun>>;
}

const noSchedule = (name: string) =>
  err<ApplicationError>({ code: 'NOT_FOUND', message: `There is no schedule ${name}.` });

/** What is due first from an instant on; what is past is not made up for. */
const dueFrom = (row: Omit<ScheduleRow, 'nextAt' | 'fireAt' | 'catchUpUntil'>, timetable: Timetable, now: Instant) => {
  const nextAt = nextInstant(timetable, now);
  return nextAt === undefined ? {} : { nextAt, fireAt: fireAtOf(row.id, row.schedule.jitterMs, nextAt) };
};

const withoutDue = ({ nextAt: _next, fireAt: _fire, catchUpUntil: _until, ...row }: ScheduleRow) => row;

const withPause = (row: ScheduleRow, paused: boolean, reason: string | undefined): ScheduleRow => {
  const { pausedReason: _, ...rest } = row;
  return { ...rest, paused, ...(paused && reason !== undefined ? { pausedReason: reason } : {}) };
};

const sameContent = (a: Schedule, b: Schedule): boolean =>
  canonicalJson(a as unknown as JsonValue) === canonicalJson(b as unknown as JsonValue);

/** What people and programs do with schedules. */
export class ManageSchedules implements ScheduleUseCases {
  private readonly deps: ScheduleDeps;

  constructor(deps: ScheduleDeps) {
    this.deps = deps;
  }

  async put(
    namespace: Namespace,
    put: PutSchedule,
  ): Outcome<Readonly<{ outcome: PutScheduleOutcome; row: ScheduleRow }>> {
    const { schedule } = put;
    const named = nameProblem(schedule.name, 'name', schedule.dialect);
    if (named !== undefined) return err(named);
    const now = await this.deps.engine.now();
    const timetable = checkSchedule(schedule, this.deps.parseCron, now);
    if (!timetable.ok) return timetable;
    const answer = await this.deps.engine.transaction(async (tx) => {
      const present = await tx.lockSchedule(namespace, schedule.name);
      if (present !== undefined) return this.replace(tx, present, put, timetable.value, now);
      return this.create(tx, namespace, put, timetable.value, now);
    });
    if (answer.ok) this.changed();
    return answer;
  }

  private async create(
    tx: EngineTx,
    namespace: Namespace,
    { schedule, paused = false, pausedReason, by }: PutSchedule,
    timetable: Timetable,
    now: Instant,
  ): Promise<Result<Readonly<{ outcome: PutScheduleOutcome; row: ScheduleRow }>, ApplicationError>> {
    const id: string = this.deps.ids.executionId();
    const times = { createdAt: now, updatedAt: now, createdBy: by, updatedBy: by };
    const base = { id, namespace, schedule, paused, running: [], attempts: 0, ...times };
    const row = withPause({ ...base, ...dueFrom(base, timetable, now) }, paused, pausedReason);
    const inserted = await tx.insertSchedule(row);
    if (inserted === 'created') return ok({ outcome: 'created', row });
    if (inserted !== 'exists') return err(exceededError({ scope: 'namespace', ...inserted }, schedule.name));
    return err({ code: 'CONFLICT', message: `The schedule ${schedule.name} was made by another at this very moment.` });
  }

  /** What is due stays due where the times are the same: a schedule that is put at each deployment loses nothing. */
  private async replace(
    tx: EngineTx,
    present: ScheduleRow,
    { schedule, paused = present.paused, pausedReason, by }: PutSchedule,
    timetable: Timetable,
    now: Instant,
  ): Promise<Result<Readonly<{ outcome: PutScheduleOutcome; row: ScheduleRow }>, ApplicationError>> {
    const reason = pausedReason ?? present.pausedReason;
    if (
      sameContent(schedule, present.schedule) &&
      paused === present.paused &&
      (!paused || reason === present.pausedReason)
    )
      return ok({ outcome: 'unchanged', row: present });
    const changed = { ...present, schedule, updatedAt: now, updatedBy: by };
    const keepsDue = hasSameTimes(schedule, present.schedule) && paused === present.paused;
    const due = keepsDue ? changed : { ...withoutDue(changed), ...dueFrom(changed, timetable, now), attempts: 0 };
    const row = withPause(due, paused, reason);
    await tx.updateSchedule(row);
    return ok({ outcome: 'replaced', row });
  }

  async get(namespace: Namespace, name: string): Outcome<ScheduleRow> {
    const row = await this.deps.schedules.findSchedule(namespace, name);
    return row === undefined ? noSchedule(name) : ok(row);
  }

  async list(namespace: Namespace, filter: ScheduleFilter, limit: number, cursor?: string): Outcome<Page<ScheduleRow>> {
    const scope = `${namespace}/schedules/${JSON.stringify(filter)}`;
    const after = cursor === undefined ? undefined : decodeCursor(scope, cursor, z.string());
    if (after?.ok === false) return after;
    const page = { limit: limit + 1, ...(after && { after: after.value }) };
    const found = await this.deps.schedules.listSchedules(namespace, filter, page);
    const items = found.slice(0, limit);
    const last = items.at(-1);
    if (found.length <= limit || last === undefined) return ok({ items });
    return ok({ items, nextCursor: encodeCursor(scope, last.schedule.name) });
  }

  async delete(namespace: Namespace, name: string): Outcome<null> {
    const deleted = await this.deps.engine.transaction((tx) => tx.deleteSchedule(namespace, name));
    if (!deleted) return noSchedule(name);
    await this.deps.tags.clearTags(namespace, { kind: 'SCHEDULE', name });
    return ok(null);
  }

  pause(namespace: Namespace, name: string, by: string, reason?: string): Outcome<ScheduleRow> {
    return this.change(namespace, name, by, (row) =>
      row.paused && row.pausedReason === reason ? row : withPause(row, true, reason),
    );
  }

  resume(namespace: Namespace, name: string, by: string): Outcome<ScheduleRow> {
    return this.change(namespace, name, by, (row, now) => {
      if (!row.paused) return row;
      const timetable = timetableOf(row.schedule, this.deps.parseCron);
      const due = timetable.ok ? dueFrom(row, timetable.value, now) : {};
      return withPause({ ...withoutDue(row), ...due, attempts: 0 }, false, undefined);
    });
  }

  private async change(
    namespace: Namespace,
    name: string,
    by: string,
    changed: (row: ScheduleRow, now: Instant) => ScheduleRow,
  ): Outcome<ScheduleRow> {
    const now = await this.deps.engine.now();
    const answer = await this.deps.engine.transaction(async (tx) => {
      const row = await tx.lockSchedule(namespace, name);
      if (row === undefined) return noSchedule(name);
      const after = changed(row, now);
      if (after === row) return ok(row);
      const stamped = { ...after, updatedAt: now, updatedBy: by };
      await tx.updateSchedule(stamped);
      return ok(stamped);
    });
    if (answer.ok) this.changed();
    return answer;
  }

  async fire(namespace: Namespace, name: string): Outcome<Readonly<{ executionId: ExecutionId }>> {
    const executionId = this.deps.ids.executionId();
    const now = await this.deps.engine.now();
    const answer = await this.deps.engine.transaction(async (tx) => {
      const row = await tx.lockSchedule(namespace, name);
      if (row === undefined) return { refused: noSchedule(name), afterCommit: nothingMore };
      const firing = { scheduledAt: now, firedAt: now, executionId, manual: true };
      const fired = await startFiring(this.deps.starts, tx, row, firing);
      await recordFiring(tx, row, { scheduledAt: now, executionId, manual: true }, fired);
      await tx.updateSchedule({ ...row, running: fired.running });
      return { refused: fired.refusal === undefined ? undefined : err(fired.refusal), afterCommit: fired.afterCommit };
    });
    answer.afterCommit();
    return answer.refused ?? ok({ executionId });
  }

  async preview(
    times: Pick<Schedule, 'crons' | 'startAt' | 'endAt'>,
    count: number,
    after?: Instant,
  ): Outcome<readonly Instant[]> {
    const timetable = timetableOf(times, this.deps.parseCron);
    if (!timetable.ok) return timetable;
    return ok(nextInstants(timetable.value, after ?? (await this.deps.engine.now()), Math.min(count, PREVIEW_MAX)));
  }

  async previewOf(namespace: Namespace, name: string, count: number): Outcome<readonly Instant[]> {
    const found = await this.get(namespace, name);
    return found.ok ? this.preview(found.value.schedule, count) : found;
  }

  async runs(
    namespace: Namespace,
    name: string | undefined,
    limit: number,
    cursor?: string,
  ): Outcome<Page<ScheduleRun>> {
    if (name !== undefined) {
      const found = await this.get(namespace, name);
      if (!found.ok) return found;
    }
    const scope = `${namespace}/schedule-runs/${JSON.stringify(name ?? null)}`;
    const before = cursor === undefined ? undefined : decodeCursor(scope, cursor, z.string().regex(/^\d{1,18}$/));
    if (before?.ok === false) return before;
    const page = { limit: limit + 1, ...(before && { before: before.value }) };
    const found = await this.deps.schedules.listScheduleRuns(namespace, name, page);
    const items = found.slice(0, limit);
    const last = items.at(-1);
    if (found.length <= limit || last === undefined) return ok({ items });
    return ok({ items, nextCursor: encodeCursor(scope, last.id) });
  }

  private changed(): void {
    this.deps.wake.publish(['schedules']);
  }
}
