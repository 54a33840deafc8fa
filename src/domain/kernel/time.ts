import { addMs, type Instant } from './brand.ts';
import { err, ok, type Result } from './result.ts';

/** The first and last instant there is: the years 0001 to 9999, which every part of the system can write down. */
export const INSTANT_MIN = -62_135_596_800_000 as Instant;
export const INSTANT_MAX = 253_402_300_799_999 as Instant;
/** The longest duration: 100 years of 365.25 days. */
export const DURATION_MS_MAX = 36_525 * 86_400_000;

/** Texts of times are short; a longer one is refused before it is looked at. */
const TIME_CHARS_MAX = 100;

export interface TimeProblem {
  readonly code: 'INVALID_DURATION' | 'INVALID_TIME';
  readonly message: string;
}

const MS_PER_SECOND = 1_000;
const MS_PER_MINUTE = 60 * MS_PER_SECOND;
const MS_PER_HOUR = 60 * MS_PER_MINUTE;
const MS_PER_DAY = 24 * MS_PER_HOUR;

const shown = (text: string): string =>
  JSON.stringify(text.length > TIME_CHARS_MAX ? `${text.slice(0, TIME_CHARS_MAX)}…` : text);
const badDuration = (text: string) =>
  err<TimeProblem>({
    code: 'INVALID_DURATION',
    message: `${shown(text)} is not a duration such as "1 day 4 hours", "10m 30s" or 90`,
  });
const badTime = (text: string, wanted: string) =>
  err<TimeProblem>({ code: 'INVALID_TIME', message: `${shown(text)} is not a time${wanted}` });

const UNIT_MS: Readonly<Record<string, number>> = {
  w: 7 * MS_PER_DAY,
  d: MS_PER_DAY,
  h: MS_PER_HOUR,
  m: MS_PER_MINUTE,
  s: MS_PER_SECOND,
  ms: 1,
};

const UNIT_WORDS: Readonly<Record<string, readonly string[]>> = {
  w: ['w', 'week', 'weeks'],
  d: ['d', 'day', 'days'],
  h: ['h', 'hr', 'hrs', 'hour', 'hours'],
  m: ['m', 'min', 'mins', 'minute', 'minutes'],
  s: ['s', 'sec', 'secs', 'second', 'seconds'],
  ms: ['ms', 'milli', 'millis', 'millisecond', 'milliseconds'],
};

const UNIT_OF_WORD: ReadonlyMap<string, string> = new Map(
  Object.entries(UNIT_WORDS).flatMap(([unit, words]) => words.map((word) => [word, unit] as const)),
);

const SECONDS = /^\d{1,12}(?:\.\d{1,9})?$/;
const ISO_DURATION =
  /^P(?=\d|T\d)(?:(\d{1,6})D)?(?:T(?=\d)(?:(\d{1,8})H)?(?:(\d{1,10})M)?(?:(\d{1,12}(?:\.\d{1,9})?)S)?)?$/;
const AMOUNT_AND_UNIT = /\s*(\d{1,12})\s*([a-z]+)(?:\s*,)?(?=\s|\d|$)/y;

const boundedMs = (text: string, ms: number): Result<number, TimeProblem> =>
  ms <= DURATION_MS_MAX ? ok(Math.round(ms)) : badDuration(text);

/**
 * Parses a duration into milliseconds: words or letters of units ("1 day 4 hours", "10m 30s", "500ms"; each unit once),
 * ISO-8601 ("P1DT2H"), or plain seconds (90, "90", "1.5"). Error: INVALID_DURATION, also for negative ones and for more
 * than 100 years.
 */
export const parseDuration = (value: string | number): Result<number, TimeProblem> => {
  if (typeof value === 'number') {
    return value >= 0 ? boundedMs(String(value), value * MS_PER_SECOND) : badDuration(String(value));
  }
  const text = value.trim();
  if (text === '' || text.length > TIME_CHARS_MAX) return badDuration(value);
  if (SECONDS.test(text)) return boundedMs(text, Number(text) * MS_PER_SECOND);
  const ms = isoDurationMs(text) ?? unitsMs(text.toLowerCase());
  return ms === undefined ? badDuration(value) : boundedMs(text, ms);
};

const isoDurationMs = (text: string): number | undefined => {
  const match = ISO_DURATION.exec(text.toUpperCase());
  if (match === null) return undefined;
  const [days = 0, hours = 0, minutes = 0, seconds = 0] = match.slice(1).map((part) => Number(part ?? 0));
  return days * MS_PER_DAY + hours * MS_PER_HOUR + minutes * MS_PER_MINUTE + seconds * MS_PER_SECOND;
};

const unitsMs = (text: string): number | undefined => {
  const seen = new Set<string>();
  let ms = 0;
  let at = 0;
  while (at < text.length) {
    AMOUNT_AND_UNIT.lastIndex = at;
    const match = AMOUNT_AND_UNIT.exec(text);
    const unit = UNIT_OF_WORD.get(match?.[2] ?? '');
    if (match === null || unit === undefined || seen.has(unit)) return undefined;
    seen.add(unit);
    ms += Number(match[1]) * (UNIT_MS[unit] ?? 0);
    at += match[0].length;
  }
  return ms;
};

/** The time of a calendar day and clock, with no zone yet: the instant it would be in UTC. */
const localMs = (parts: readonly number[]): number | undefined => {
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0, ms = 0] = parts;
  if (hour > 23 || minute > 59 || second > 59) return undefined;
  const at = new Date(0);
  // setUTCFullYear takes the years below 100 as they are, which Date.UTC does not.
  at.setUTCFullYear(year, month - 1, day);
  if (year < 1 || at.getUTCMonth() !== month - 1 || at.getUTCDate() !== day) return undefined;
  return at.getTime() + hour * MS_PER_HOUR + minute * MS_PER_MINUTE + second * MS_PER_SECOND + ms;
};

const instantOf = (text: string, ms: number | undefined, wanted: string): Result<Instant, TimeProblem> =>
  ms !== undefined && ms >= INSTANT_MIN && ms <= INSTANT_MAX ? ok(ms as Instant) : badTime(text, wanted);

const RFC3339 = /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?([Zz]|[+-]\d\d:\d\d)$/;
const ISO_MINUTES = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d)()()([Zz]|[+-]\d\d:?\d\d)$/;

/** The offset of `Z`, `+02:00`, `-0330` or `+2` in milliseconds; undefined when it is none. */
const offsetMs = (text: string): number | undefined => {
  if (text === 'Z' || text === 'z') return 0;
  const match = /^([+-])(\d\d?)(?::?(\d\d))?$/.exec(text);
  if (match === null) return undefined;
  const [hours, minutes] = [Number(match[2]), Number(match[3] ?? 0)];
  if (hours > 18 || minutes > 59) return undefined;
  return (match[1] === '-' ? -1 : 1) * (hours * MS_PER_HOUR + minutes * MS_PER_MINUTE);
};

/** Digits after the point as milliseconds; what is finer is cut off. */
const fractionMs = (digits: string | undefined): number => Number((digits ?? '').padEnd(3, '0').slice(0, 3));

const absoluteMs = (match: RegExpExecArray): number | undefined => {
  const fields = match.slice(1, 7).map(Number);
  const local = localMs([...fields, fractionMs(match[7])]);
  const offset = offsetMs(match[8] ?? '');
  return local === undefined || offset === undefined ? undefined : local - offset;
};

/**
 * Parses an RFC 3339 instant, strictly: seconds and a zone are required, days and hours must exist. Digits finer than a
 * millisecond are cut off. Error: INVALID_TIME.
 */
export const parseInstant = (text: string): Result<Instant, TimeProblem> => {
  const match = text.length > TIME_CHARS_MAX ? null : RFC3339.exec(text);
  return instantOf(text, match === null ? undefined : absoluteMs(match), ' such as "2026-01-31T09:30:00Z"');
};

/** The instant in RFC 3339 with milliseconds, in UTC. */
export const formatInstant = (at: Instant): string => new Date(at).toISOString();

const LOCAL = /^(\d{4})-(\d\d)-(\d\d)(?:[ T](\d\d):(\d\d)(?::(\d\d))?(?:\s+(\S+)|\s*([+-]\d\d:?\d\d))?)?$/;
const UNTIL_FORMS =
  ' such as "2026-01-31 09:30 Europe/Berlin", "2026-01-31 09:30", "2026-01-31" or "2026-01-31T09:30:00Z"';

/**
 * Parses the end of a wait: an RFC 3339 instant (seconds may be left out), or Conductor's "yyyy-MM-dd HH:mm z",
 * "yyyy-MM-dd HH:mm" and "yyyy-MM-dd". The zone is an IANA name, a common abbreviation or an offset; without one it is
 * UTC. A time that a clock change skips is moved on by the change; of one that comes twice the first is meant.
 * Error: INVALID_TIME with the text.
 */
export const parseUntil = (value: string): Result<Instant, TimeProblem> => {
  const text = value.trim();
  if (text.length > TIME_CHARS_MAX) return badTime(value, UNTIL_FORMS);
  const absolute = RFC3339.exec(text) ?? ISO_MINUTES.exec(text);
  if (absolute !== null) return instantOf(value, absoluteMs(absolute), UNTIL_FORMS);
  const match = LOCAL.exec(text);
  const local = match === null ? undefined : localMs(match.slice(1, 7).map((part) => Number(part ?? 0)));
  if (local === undefined) return badTime(value, UNTIL_FORMS);
  return instantOf(value, instantInZone(local, match?.[7] ?? match?.[8] ?? 'UTC'), UNTIL_FORMS);
};

/** What the abbreviations people write mean: minutes from UTC, the American and European readings where they differ. */
const ABBREVIATIONS: ReadonlyMap<string, number> = new Map(
  Object.entries({
    UTC: 0,
    GMT: 0,
    UT: 0,
    Z: 0,
    WET: 0,
    WEST: 60,
    BST: 60,
    CET: 60,
    CEST: 120,
    EET: 120,
    EEST: 180,
    MSK: 180,
    EST: -300,
    EDT: -240,
    CST: -360,
    CDT: -300,
    MST: -420,
    MDT: -360,
    PST: -480,
    PDT: -420,
    AKST: -540,
    AKDT: -480,
    HST: -600,
    IST: 330,
    SGT: 480,
    HKT: 480,
    AWST: 480,
    JST: 540,
    KST: 540,
    ACST: 570,
    ACDT: 630,
    AEST: 600,
    AEDT: 660,
    NZST: 720,
    NZDT: 780,
  }),
);

const instantInZone = (local: number, zone: string): number | undefined => {
  const minutes = ABBREVIATIONS.get(zone.toUpperCase());
  if (minutes !== undefined) return local - minutes * MS_PER_MINUTE;
  const offset = offsetMs(zone.replace(/^(?:UTC|GMT)(?=[+-])/i, ''));
  if (offset !== undefined) return local - offset;
  const clock = zoneClock(zone);
  return clock === undefined ? undefined : instantOfClock(local, clock);
};

/** What the clock of a zone shows at an instant, written as the instant at which UTC shows the same. */
type ZoneClock = (at: number) => number;

/** The clock of an IANA zone; undefined when there is no such zone. */
const zoneClock = (timeZone: string): ZoneClock | undefined => {
  const format = zoneFormat(timeZone);
  if (format === undefined) return undefined;
  return (at) => {
    const parts = new Map(format.formatToParts(at).map(({ type, value }) => [type, Number(value)]));
    const field = (type: Intl.DateTimeFormatPartTypes): number => parts.get(type) ?? 0;
    const shownMs = localMs([
      field('year'),
      field('month'),
      field('day'),
      field('hour'),
      field('minute'),
      field('second'),
    ]);
    return shownMs ?? Number.NaN;
  };
};

const zoneFormat = (timeZone: string): Intl.DateTimeFormat | undefined => {
  // Intl has no other way to ask whether a zone exists: its list leaves out the aliases it accepts.
  try {
    return new Intl.DateTimeFormat('en-US', {
      timeZone,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
  } catch {
    return undefined;
  }
};

/**
 * The instant at which the clock shows `local`. The offsets a day before and after are the only two it can have; where
 * both fit the earlier instant is taken, and where none fits the clock skipped that time.
 */
const instantOfClock = (local: number, clock: ZoneClock): number => {
  const before = local - (clock(local - MS_PER_DAY) - (local - MS_PER_DAY));
  const after = local - (clock(local + MS_PER_DAY) - (local + MS_PER_DAY));
  const fitting = [before, after].filter((at) => clock(at) === local);
  return fitting.length === 0 ? before : Math.min(...fitting);
};

/** The instant so many milliseconds on, held within the years there are. */
export const addDuration = (at: Instant, ms: number): Instant => (at + ms > INSTANT_MAX ? INSTANT_MAX : addMs(at, ms));
