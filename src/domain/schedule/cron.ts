import type { Instant } from '../kernel/brand.ts';
import type { Result } from '../kernel/result.ts';

/** A cron expression and the zone whose clock it reads. Five fields are Unix's, six are Spring's with seconds first. */
export type Cron = Readonly<{ expression: string; zone: string }>;

/** The instants of one cron. Pure: the same question has the same answer at any time. */
export type CronRule = Readonly<{
  /** The first instant after the given one; undefined: there is none. */
  next: (after: Instant) => Instant | undefined;
  /** The last instant before the given one. */
  previous: (before: Instant) => Instant | undefined;
}>;

/** Reads a cron; the error is a sentence that says what is wrong with it. */
export type ParseCron = (cron: Cron) => Result<CronRule, string>;

/** Which instants of its crons a schedule uses: from `startAt` to `endAt`, both included. */
export type CronWindow = Readonly<{ startAt?: Instant; endAt?: Instant }>;

/** Of all crons together: two that meet in an instant are one instant. */
export type Timetable = Readonly<{ rules: readonly CronRule[]; window: CronWindow }>;

const ONE_MS = 1;

/** The first instant after the given one. */
export const nextInstant = ({ rules, window }: Timetable, after: Instant): Instant | undefined => {
  const from = Math.max(after, (window.startAt ?? after) - ONE_MS) as Instant;
  const found = rules.map((rule) => rule.next(from)).filter((at) => at !== undefined);
  const first = found.length === 0 ? undefined : (Math.min(...found) as Instant);
  return first === undefined || first > (window.endAt ?? first) ? undefined : first;
};

/** The last instant before the given one. */
export const lastInstant = ({ rules, window }: Timetable, before: Instant): Instant | undefined => {
  const until = Math.min(before, (window.endAt ?? before) + ONE_MS) as Instant;
  const found = rules.map((rule) => rule.previous(until)).filter((at) => at !== undefined);
  const last = found.length === 0 ? undefined : (Math.max(...found) as Instant);
  return last === undefined || last < (window.startAt ?? last) ? undefined : last;
};

/** The next instants after the given one, at most `count`. */
export const nextInstants = (timetable: Timetable, after: Instant, count: number): readonly Instant[] => {
  const instants: Instant[] = [];
  for (let at = nextInstant(timetable, after); at !== undefined && instants.length < count; ) {
    instants.push(at);
    at = nextInstant(timetable, at);
  }
  return instants;
};
