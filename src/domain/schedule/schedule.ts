import type { Dialect } from '../definition/workflow-definition.ts';
import { compileTemplate } from '../expression/parse-template.ts';
import type { Instant } from '../kernel/brand.ts';
import { addMs } from '../kernel/brand.ts';
import { fnv1a32 } from '../kernel/hash.ts';
import type { JsonObject } from '../kernel/json.ts';
import { err, ok, type Result } from '../kernel/result.ts';
import { type Cron, nextInstants, type ParseCron, type Timetable } from './cron.ts';

/** Crons of one schedule. */
export const SCHEDULE_CRONS_MAX = 20;
/** Longest that a firing may be put off by chance, in milliseconds: an hour. */
export const SCHEDULE_JITTER_MS_MAX = 3_600_000;
/** Two firings of a schedule of /v1 are at least this far apart, in milliseconds; Conductor's clients may ask for every second. */
export const SCHEDULE_INTERVAL_MS_MIN = 2_000;
/** Firings that are looked at to find how close they come. */
const INTERVALS_LOOKED_AT = 60;
const EXPRESSION_CHARS_MAX = 255;
const ZONE_CHARS_MAX = 64;

/** What becomes of a firing while a run that the schedule started before is still going. */
export const OVERLAPS = ['ALLOW', 'SKIP'] as const;
export type Overlap = (typeof OVERLAPS)[number];

/** What becomes of firings that nobody was there to make: the misfire policy. */
export const CATCH_UPS = ['SKIP', 'FIRE_ONE', 'FIRE_ALL'] as const;
export type CatchUp = (typeof CATCH_UPS)[number];

/** The run that a firing starts. */
export type ScheduledStart = Readonly<{
  name: string;
  version?: number;
  input: JsonObject;
  correlationId?: string;
  priority: number;
  taskToDomain?: Readonly<Record<string, string>>;
}>;

/** What a user registers. */
export type Schedule = Readonly<{
  name: string;
  description?: string;
  crons: readonly Cron[];
  startAt?: Instant;
  endAt?: Instant;
  overlap: Overlap;
  catchUp: CatchUp;
  jitterMs: number;
  start: ScheduledStart;
  /** Of the door that it came through: what it puts into the input of its runs. */
  dialect: Dialect;
}>;

export type ScheduleProblem = Readonly<{
  code: 'INVALID_SCHEDULE' | 'EXPRESSION_INVALID';
  message: string;
  path: string;
}>;

const invalid = (message: string, path: string) => err<ScheduleProblem>({ code: 'INVALID_SCHEDULE', message, path });

/** The rules of a schedule's crons; an error names the cron that is none. */
export const timetableOf = (
  { crons, startAt, endAt }: Pick<Schedule, 'crons' | 'startAt' | 'endAt'>,
  parse: ParseCron,
): Result<Timetable, ScheduleProblem> => {
  const rules: Timetable['rules'][number][] = [];
  for (const [index, cron] of crons.entries()) {
    const isShort = cron.expression.length <= EXPRESSION_CHARS_MAX && cron.zone.length <= ZONE_CHARS_MAX;
    const rule = isShort ? parse(cron) : err('The cron is too long.');
    if (!rule.ok) return invalid(rule.error, `crons[${index}]`);
    rules.push(rule.value);
  }
  const window = { ...(startAt === undefined ? {} : { startAt }), ...(endAt === undefined ? {} : { endAt }) };
  return ok({ rules, window });
};

/** Refuses what could never work: a cron that cannot be read, that never comes, or that comes all the time. */
export const checkSchedule = (
  schedule: Schedule,
  parse: ParseCron,
  now: Instant,
): Result<Timetable, ScheduleProblem> => {
  const { crons, startAt, endAt, dialect, start } = schedule;
  if (crons.length === 0 || crons.length > SCHEDULE_CRONS_MAX) {
    return invalid(`A schedule has 1 to ${SCHEDULE_CRONS_MAX} crons.`, 'crons');
  }
  if (startAt !== undefined && endAt !== undefined && endAt < startAt) {
    return invalid('The schedule ends before it starts.', 'endAt');
  }
  const timetable = timetableOf(schedule, parse);
  if (!timetable.ok) return timetable;
  const never = timetable.value.rules.findIndex((rule) => rule.next(now) === undefined);
  if (never >= 0) return invalid('The cron names no time that ever comes.', `crons[${never}]`);
  if (dialect === 'conductor') return timetable;
  const template = compileTemplate(start.input, 'workflow.input');
  if (!template.ok) {
    const [{ message, path } = { message: 'An expression is wrong.', path: 'workflow.input' }] = template.error;
    return err({ code: 'EXPRESSION_INVALID', message, path });
  }
  if (isTooOften({ rules: timetable.value.rules, window: {} }, now)) {
    return invalid(`Firings are at least ${SCHEDULE_INTERVAL_MS_MIN / 1_000} seconds apart.`, 'crons');
  }
  return timetable;
};

const isTooOften = (timetable: Timetable, now: Instant): boolean => {
  const instants = nextInstants(timetable, now, INTERVALS_LOOKED_AT);
  return instants.some((at, index) => index > 0 && at - (instants[index - 1] ?? at) < SCHEDULE_INTERVAL_MS_MIN);
};

/** Whether two schedules fire at the same instants: then what is owed by the one is owed by the other. */
export const hasSameTimes = (a: Schedule, b: Schedule): boolean =>
  a.startAt === b.startAt &&
  a.endAt === b.endAt &&
  a.crons.length === b.crons.length &&
  a.crons.every(({ expression, zone }, index) => {
    const other = b.crons[index];
    return other?.expression === expression && other.zone === zone;
  });

/** When the firing of an instant is made: later by a share of the jitter that is the same whoever asks. */
export const fireAtOf = (id: string, jitterMs: number, instant: Instant): Instant =>
  addMs(instant, jitterMs === 0 ? 0 : fnv1a32(`${id}/${instant}`) % (jitterMs + 1));
