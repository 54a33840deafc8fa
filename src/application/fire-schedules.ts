import { addMs, type ExecutionId, type Instant } from '../domain/kernel/brand.ts';
import { derivedExecutionId } from '../domain/kernel/derived-id.ts';
import { formatInstant } from '../domain/kernel/time.ts';
import type { ParseCron } from '../domain/schedule/cron.ts';
import { type FiringPlan, type Missed, planFiring } from '../domain/schedule/plan-firing.ts';
import { fireAtOf, timetableOf } from '../domain/schedule/schedule.ts';
import { scheduledInput } from '../domain/schedule/scheduled-input.ts';
import type { EngineStore, EngineTx } from '../ports/engine-store.ts';
import type { ScheduleRow, ScheduleRunState, ScheduleStore } from '../ports/schedule-store.ts';
import type { ApplicationError } from './application-error.ts';
import { type AfterCommit, nothingMore } from './message-handler.ts';
import type { StartInTransaction } from './start-in-transaction.ts';

/** Entries kept of the history of one schedule; the oldest go. */
export const SCHEDULE_RUNS_KEPT_MAX = 100;
/** Runs of one schedule that are remembered as possibly going: those of its last firings. */
export const SCHEDULE_RUNNING_MAX = 100;
/** Firings of one turn, and how many of them are made at a time. */
const FIRINGS_MAX = 100;
const FIRING_FLIGHTS_MAX = 4;
/** Tries of a firing that breaks; then it is recorded as FAILED, and the schedule goes on. */
export const FIRING_TRIES_MAX = 5;
const FIRING_BACKOFF_BASE_MS = 1_000;
/** Of the reason that is kept of a failure. */
const REASON_CHARS_MAX = 1_000;

export type FireSchedulesDeps = Readonly<{
  engine: EngineStore;
  schedules: Pick<ScheduleStore, 'nextScheduleInMs'>;
  starts: StartInTransaction;
  parseCron: ParseCron;
  /** Told of a firing that broke; it is tried again, a few times. */
  onBroken: (row: ScheduleRow, error: unknown) => void;
}>;

export type Firing = Readonly<{ scheduledAt: Instant; firedAt: Instant; executionId: ExecutionId; manual: boolean }>;

/** What became of a firing. */
export type Fired = Readonly<{
  state: Exclude<ScheduleRunState, 'MISSED'>;
  reason?: string;
  /** Why the run could not be started. */
  refusal?: ApplicationError;
  running: readonly ExecutionId[];
  afterCommit: AfterCommit;
}>;

/** The run of an instant: the same one whoever fires it, and however often. */
export const runOfInstant = ({ id }: ScheduleRow, scheduledAt: Instant): ExecutionId =>
  derivedExecutionId(scheduledAt, `${id}/${scheduledAt}`);

/**
 * Starts the run of a firing inside the given transaction, under the lock of the schedule. A refusal is what became of the
 * firing: it would be refused again.
 */
export const startFiring = async (
  starts: StartInTransaction,
  tx: EngineTx,
  row: ScheduleRow,
  firing: Firing,
): Promise<Fired> => {
  const { start } = row.schedule;
  const input = scheduledInput(row.schedule, firing);
  const failed = (refusal: ApplicationError): Fired => {
    const reason = `${refusal.code}: ${refusal.message}`.slice(0, REASON_CHARS_MAX);
    return { state: 'FAILED', reason, refusal, running: row.running, afterCommit: nothingMore };
  };
  if (!input.ok) return failed({ code: 'EXPRESSION_INVALID', message: input.error });
  const { executionId } = firing;
  const begun = await starts.start(tx, { ...start, namespace: row.namespace, executionId, input: input.value });
  if (!begun.ok) return failed(begun.error);
  const running = [...row.running.filter((id) => id !== executionId), executionId].slice(-SCHEDULE_RUNNING_MAX);
  return { state: 'STARTED', running, afterCommit: begun.value };
};

const missedText = ({ from, to, count, isMore }: Missed): string =>
  `${isMore ? 'More than ' : ''}${count} ${count === 1 ? 'firing was' : 'firings were'} missed from ${formatInstant(from)} to ${formatInstant(to)}.`;

type Turn = Readonly<{ afterCommit: AfterCommit }>;

/**
 * Makes the firings that are due, each in one transaction: it holds the row of the schedule, starts the run under an id
 * derived from schedule and instant, records what became of it, and moves the schedule on. So an instant is fired once
 * however many processes look, and wherever one dies: test/integration/engine/schedules.test.ts.
 */
export class FireSchedules {
  private readonly deps: FireSchedulesDeps;
  private dueInMs: number | undefined;

  constructor(deps: FireSchedulesDeps) {
    this.deps = deps;
  }

  /** One query as long as nothing is due. Returns how many firings were decided. */
  async runOnce(): Promise<number> {
    this.dueInMs = await this.deps.schedules.nextScheduleInMs();
    if (this.dueInMs === undefined || this.dueInMs > 0) return 0;
    let made = 0;
    const flights = Array.from({ length: FIRING_FLIGHTS_MAX }, async () => {
      while (made < FIRINGS_MAX && (await this.fireOne())) made += 1;
    });
    await Promise.all(flights);
    return made;
  }

  /** What the last look found: when to look again, if nothing changes. */
  nextInMs(): number | undefined {
    return this.dueInMs;
  }

  private async fireOne(): Promise<boolean> {
    let claimed: Awaited<ReturnType<EngineTx['claimSchedule']>>;
    try {
      const turn = await this.deps.engine.transaction(async (tx): Promise<Turn | undefined> => {
        const due = await tx.claimSchedule();
        claimed = due;
        return due === undefined ? undefined : this.decide(tx, due.row, due.now);
      });
      turn?.afterCommit();
      return turn !== undefined;
    } catch (error) {
      if (claimed === undefined) throw error;
      this.deps.onBroken(claimed.row, error);
      await this.putOff(claimed.row, claimed.now, error);
      return true;
    }
  }

  private async decide(tx: EngineTx, row: ScheduleRow, now: Instant): Promise<Turn> {
    const timetable = timetableOf(row.schedule, this.deps.parseCron);
    if (row.nextAt === undefined || !timetable.ok) throw new Error('the crons of a stored schedule cannot be read');
    const { nextAt: dueAt, catchUpUntil } = row;
    const until = catchUpUntil === undefined ? {} : { catchUpUntil };
    const plan = planFiring(row.schedule, timetable.value, { dueAt, now, ...until });
    if (plan.missed !== undefined) await this.recordMissed(tx, row, plan.missed);
    const fired = plan.fire === undefined ? undefined : await this.fire(tx, row, plan.fire, now);
    await tx.updateSchedule(movedOn({ ...row, running: fired?.running ?? row.running }, plan));
    return { afterCommit: fired?.afterCommit ?? nothingMore };
  }

  private async fire(tx: EngineTx, row: ScheduleRow, scheduledAt: Instant, now: Instant): Promise<Fired> {
    const executionId = runOfInstant(row, scheduledAt);
    const fired = await this.startUnlessRunning(tx, row, { scheduledAt, firedAt: now, executionId, manual: false });
    await recordFiring(tx, row, { scheduledAt, executionId, manual: false }, fired);
    return fired;
  }

  private async startUnlessRunning(tx: EngineTx, row: ScheduleRow, firing: Firing): Promise<Fired> {
    if (row.schedule.overlap === 'ALLOW' || row.running.length === 0) {
      return startFiring(this.deps.starts, tx, row, firing);
    }
    const running = (await tx.openRuns(row.running)).filter((id) => id !== firing.executionId);
    if (running.length === 0) return startFiring(this.deps.starts, tx, { ...row, running }, firing);
    const reason = `The run ${running.at(-1)} is still going.`;
    return { state: 'SKIPPED', reason, running, afterCommit: nothingMore };
  }

  private recordMissed(tx: EngineTx, row: ScheduleRow, missed: Missed): Promise<void> {
    const executionId = runOfInstant(row, missed.from);
    const firing = { scheduledAt: missed.from, executionId, manual: false };
    return recordFiring(tx, row, firing, { state: 'MISSED', reason: missedText(missed) });
  }

  /** What breaks is tried again later, so that it keeps no other schedule waiting; in the end the schedule goes on without. */
  private async putOff(broken: ScheduleRow, now: Instant, error: unknown): Promise<void> {
    const reason = error instanceof Error ? error.message : 'unknown error';
    await this.deps.engine.transaction(async (tx) => {
      const row = await tx.lockSchedule(broken.namespace, broken.schedule.name);
      // Another has fired it meanwhile, or somebody has changed it.
      if (row?.id !== broken.id || row.nextAt === undefined || row.nextAt !== broken.nextAt) return;
      const attempts = row.attempts + 1;
      const fireAt = addMs(now, FIRING_BACKOFF_BASE_MS * 2 ** (attempts - 1));
      if (attempts < FIRING_TRIES_MAX) return tx.updateSchedule({ ...row, attempts, fireAt });
      const firing = { scheduledAt: row.nextAt, executionId: runOfInstant(row, row.nextAt), manual: false };
      await recordFiring(tx, row, firing, { state: 'FAILED', reason: reason.slice(0, REASON_CHARS_MAX) });
      const timetable = timetableOf(row.schedule, this.deps.parseCron);
      const at = row.nextAt;
      const plan = timetable.ok ? planFiring(row.schedule, timetable.value, { dueAt: at, now: at }) : {};
      return tx.updateSchedule(movedOn(row, plan));
    });
  }
}

const movedOn = (row: ScheduleRow, { next, catchUpUntil }: FiringPlan): ScheduleRow => {
  const { nextAt: _next, fireAt: _fire, catchUpUntil: _until, ...rest } = row;
  const due = next === undefined ? {} : { nextAt: next, fireAt: fireAtOf(row.id, row.schedule.jitterMs, next) };
  return { ...rest, ...due, attempts: 0, ...(catchUpUntil === undefined ? {} : { catchUpUntil }) };
};

export const recordFiring = (
  tx: EngineTx,
  { id, namespace, schedule }: ScheduleRow,
  firing: Omit<Firing, 'firedAt'>,
  { state, reason }: Readonly<{ state: ScheduleRunState; reason?: string }>,
): Promise<void> =>
  tx.recordScheduleRun(
    {
      scheduleId: id,
      namespace,
      name: schedule.name,
      workflowName: schedule.start.name,
      state,
      ...firing,
      ...(reason === undefined ? {} : { reason }),
    },
    SCHEDULE_RUNS_KEPT_MAX,
  );
