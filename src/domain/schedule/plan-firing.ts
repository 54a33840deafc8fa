import { addMs, type Instant } from '../kernel/brand.ts';
import { lastInstant, nextInstant, nextInstants, type Timetable } from './cron.ts';
import type { Schedule } from './schedule.ts';

/** A firing that is made this much later than it was due, in milliseconds, is on time; a later one is for the misfire policy. */
export const MISFIRE_GRACE_MS = 10_000;
/** Firings that FIRE_ALL makes up for at most: the newest. */
export const CATCH_UP_MAX = 100;
/** Missed firings that are counted one by one. */
export const MISSED_COUNTED_MAX = 100;

/** Firings that are not made any more; `isMore`: there were more than `count`. */
export type Missed = Readonly<{ from: Instant; to: Instant; count: number; isMore: boolean }>;

/** What is due at a schedule now: one firing at most, so that each is a transaction of its own. */
export type FiringPlan = Readonly<{
  missed?: Missed;
  fire?: Instant;
  /** What is due after that; absent: nothing is, ever again. */
  next?: Instant;
  /** Up to here it was decided that every missed firing is made. */
  catchUpUntil?: Instant;
}>;

export type Due = Readonly<{ dueAt: Instant; catchUpUntil?: Instant; now: Instant }>;

const planned = (plan: Omit<FiringPlan, 'next'>, next: Instant | undefined): FiringPlan =>
  next === undefined ? plan : { ...plan, next };

/** Decides about the oldest firing that is due, by the misfire policy where it is late. */
export const planFiring = (
  { catchUp, jitterMs }: Pick<Schedule, 'catchUp' | 'jitterMs'>,
  timetable: Timetable,
  { dueAt, catchUpUntil, now }: Due,
): FiringPlan => {
  const onTimeFrom = addMs(now, -MISFIRE_GRACE_MS - jitterMs);
  if (dueAt >= onTimeFrom) return planned({ fire: dueAt }, nextInstant(timetable, dueAt));
  if (catchUpUntil !== undefined && dueAt <= catchUpUntil) {
    return planned({ fire: dueAt, catchUpUntil }, nextInstant(timetable, dueAt));
  }
  // The crons may have been read by other rules when the instant was stored: then it is the only one that is late.
  const newest = Math.max(lastInstant(timetable, onTimeFrom) ?? dueAt, dueAt) as Instant;
  switch (catchUp) {
    case 'SKIP':
      return planned({ missed: missedFrom(timetable, dueAt, newest) }, nextInstant(timetable, newest));
    case 'FIRE_ONE':
      return madeUpFor(timetable, dueAt, newest, newest);
    case 'FIRE_ALL':
      return madeUpFor(timetable, dueAt, oldestMadeUpFor(timetable, dueAt, newest), newest);
    default:
      return catchUp satisfies never;
  }
};

const madeUpFor = (timetable: Timetable, dueAt: Instant, fire: Instant, newest: Instant): FiringPlan => {
  const before = fire > dueAt ? lastInstant(timetable, fire) : undefined;
  const missed = before === undefined ? {} : { missed: missedFrom(timetable, dueAt, before) };
  return planned({ ...missed, fire, catchUpUntil: newest }, nextInstant(timetable, fire));
};

/** Going back from the newest, so that the cap costs the same however long nobody was there. */
const oldestMadeUpFor = (timetable: Timetable, dueAt: Instant, newest: Instant): Instant => {
  let oldest = newest;
  for (let count = 1; count < CATCH_UP_MAX && oldest > dueAt; count += 1) {
    oldest = Math.max(lastInstant(timetable, oldest) ?? dueAt, dueAt) as Instant;
  }
  return oldest;
};

const missedFrom = (timetable: Timetable, from: Instant, to: Instant): Missed => {
  const rest = nextInstants(timetable, from, MISSED_COUNTED_MAX).filter((at) => at <= to);
  const isMore = rest.length === MISSED_COUNTED_MAX;
  return { from, to, count: isMore ? MISSED_COUNTED_MAX : rest.length + 1, isMore };
};
