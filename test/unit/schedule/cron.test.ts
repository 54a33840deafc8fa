import { describe, expect, it } from 'vitest';
import { parseCron } from '../../../src/adapters/cron/croner-calendar.ts';
import type { Instant } from '../../../src/domain/kernel/brand.ts';
import { formatInstant, parseInstant } from '../../../src/domain/kernel/time.ts';
import { type CronRule, lastInstant, nextInstant, nextInstants } from '../../../src/domain/schedule/cron.ts';

const at = (text: string): Instant => {
  const instant = parseInstant(text);
  if (!instant.ok) throw new Error(instant.error.message);
  return instant.value;
};
const ruleOf = (expression: string, zone = 'UTC'): CronRule => {
  const rule = parseCron({ expression, zone });
  if (!rule.ok) throw new Error(rule.error);
  return rule.value;
};
const timesOf = (expression: string, zone: string, from: string, count: number): readonly string[] =>
  nextInstants({ rules: [ruleOf(expression, zone)], window: {} }, at(from), count).map(formatInstant);

/** The day that the clocks of a zone show. */
const dayIn = (zone: string) => {
  const format = new Intl.DateTimeFormat('en-CA', { timeZone: zone, dateStyle: 'short' });
  return (instant: Instant) => format.format(instant);
};

/** With gaps at midnight, of half an hour, of two hours, on both sides of the equator, and without any. */
const ZONES = [
  'Europe/Berlin',
  'America/New_York',
  'America/Santiago',
  'Africa/Cairo',
  'Asia/Beirut',
  'America/Asuncion',
  'Australia/Lord_Howe',
  'Antarctica/Troll',
  'Pacific/Auckland',
  'Asia/Kolkata',
];
const DAILY = ['0 0 * * *', '30 2 * * *', '15 1 * * *', '0 30 2 ? * *'];

describe('what runs daily', () => {
  it.each(ZONES)('runs once on each day of 2026 in %s, whatever the clocks do', (zone) => {
    const dayOf = dayIn(zone);
    const calendar = Array.from({ length: 366 }, (_, index) =>
      new Date(Date.UTC(2026, 0, 1 + index)).toISOString().slice(0, 10),
    );
    for (const expression of DAILY) {
      const rule = ruleOf(expression, zone);
      const days: string[] = [];
      let previous = Date.UTC(2026, 0, 1, 12) as Instant;
      for (let instant = rule.next(previous); days.length < 360; instant = rule.next(previous)) {
        if (instant === undefined) throw new Error('it ended');
        expect(instant).toBeGreaterThan(previous);
        days.push(dayOf(instant));
        previous = instant;
      }
      const first = calendar.indexOf(days[0] ?? '');
      expect(days, expression).toEqual(calendar.slice(first, first + 360));
    }
  });

  it('runs at the first instant after a gap, and at the first of two', () => {
    expect(timesOf('30 2 * * *', 'Europe/Berlin', '2026-03-28T12:00:00Z', 2)).toEqual([
      '2026-03-29T01:00:00.000Z',
      '2026-03-30T00:30:00.000Z',
    ]);
    expect(timesOf('30 2 * * *', 'Europe/Berlin', '2026-10-24T12:00:00Z', 2)).toEqual([
      '2026-10-25T00:30:00.000Z',
      '2026-10-26T01:30:00.000Z',
    ]);
    expect(timesOf('30 2,14 * * *', 'Europe/Berlin', '2026-03-28T14:00:00Z', 2)).toEqual([
      '2026-03-29T01:00:00.000Z',
      '2026-03-29T12:30:00.000Z',
    ]);
    expect(timesOf('0 0 * * *', 'America/Santiago', '2026-09-05T12:00:00Z', 1)).toEqual(['2026-09-06T04:00:00.000Z']);
  });
});

describe('what runs every so often', () => {
  it('goes by the time that passes', () => {
    expect(timesOf('*/30 * * * *', 'Europe/Berlin', '2026-10-24T23:59:00Z', 6)).toEqual([
      '2026-10-25T00:00:00.000Z',
      '2026-10-25T00:30:00.000Z',
      '2026-10-25T01:00:00.000Z',
      '2026-10-25T01:30:00.000Z',
      '2026-10-25T02:00:00.000Z',
      '2026-10-25T02:30:00.000Z',
    ]);
  });
});

describe('going back', () => {
  it.each(ZONES)('finds the same instants as going forward, over both changes of the clocks in %s', (zone) => {
    for (const expression of ['0 0 * * *', '30 2 * * *', '0 */6 * * *', '30 1,2 * * 0', '0 30 2 ? * MON-FRI']) {
      const rule = ruleOf(expression, zone);
      const there: Instant[] = [];
      for (let now = Date.UTC(2026, 0, 1) as Instant; there.length < 120; ) {
        now = rule.next(now) ?? now;
        there.push(now);
      }
      const back: Instant[] = [];
      for (let now = ((there.at(-1) ?? 0) + 1) as Instant; back.length < there.length; ) {
        now = rule.previous(now) ?? now;
        back.unshift(now);
      }
      expect(back, expression).toEqual(there);
    }
  });
});

describe('expressions', () => {
  it.each([
    ['0/15 * * * *', '2026-01-01T00:01:00Z', ['2026-01-01T00:15:00.000Z', '2026-01-01T00:30:00.000Z']],
    ['0 0 12 ? * FRI#2', '2026-01-01T00:00:00Z', ['2026-01-09T12:00:00.000Z', '2026-02-13T12:00:00.000Z']],
    ['0 0 0 L * *', '2026-01-01T00:00:00Z', ['2026-01-31T00:00:00.000Z', '2026-02-28T00:00:00.000Z']],
    ['0 0 29 2 *', '2026-01-01T00:00:00Z', ['2028-02-29T00:00:00.000Z', '2032-02-29T00:00:00.000Z']],
    ['0 0 * * 7', '2026-01-01T00:00:00Z', ['2026-01-04T00:00:00.000Z', '2026-01-11T00:00:00.000Z']],
    ['@hourly', '2026-01-01T00:00:00Z', ['2026-01-01T01:00:00.000Z', '2026-01-01T02:00:00.000Z']],
    ['*/5 * * * * *', '2026-01-01T00:00:01Z', ['2026-01-01T00:00:05.000Z', '2026-01-01T00:00:10.000Z']],
  ])('%s is read', (expression, from, times) => {
    expect(timesOf(expression, 'UTC', from, 2)).toEqual(times);
  });

  it('with five fields fire when either day matches, as on Unix; with six when both do, as in Spring', () => {
    expect(timesOf('0 0 13 * FRI', 'UTC', '2026-03-01T00:00:00Z', 3)).toEqual([
      '2026-03-06T00:00:00.000Z',
      '2026-03-13T00:00:00.000Z',
      '2026-03-20T00:00:00.000Z',
    ]);
    expect(timesOf('0 0 0 13 * FRI', 'UTC', '2026-03-01T00:00:00Z', 2)).toEqual([
      '2026-03-13T00:00:00.000Z',
      '2026-11-13T00:00:00.000Z',
    ]);
  });

  it.each([
    ['61 * * * *', 'UTC'],
    ['* * * *', 'UTC'],
    ['', 'UTC'],
    ['0 0 1 1 * 2026 *', 'UTC'],
    ['every day', 'UTC'],
    ['@reboot', 'UTC'],
    ['*/0 * * * *', 'UTC'],
    ['0 0 * * *', 'Mars/Phobos'],
    ['2026-01-01T00:00:00', 'UTC'],
  ])('%s in %s is refused with a sentence', (expression, zone) => {
    const rule = parseCron({ expression, zone });
    expect(rule.ok).toBe(false);
    if (!rule.ok) expect(rule.error).toMatch(/^[A-Z].{10,}$/);
  });
});

describe('several crons and a window', () => {
  const timetable = {
    rules: [ruleOf('0 9 * * *'), ruleOf('0 9,17 * * *')],
    window: { startAt: at('2026-01-02T09:00:00Z'), endAt: at('2026-01-03T09:00:00Z') },
  };

  it('are one row of instants, both ends included', () => {
    expect(nextInstants(timetable, at('2026-01-01T00:00:00Z'), 10).map(formatInstant)).toEqual([
      '2026-01-02T09:00:00.000Z',
      '2026-01-02T17:00:00.000Z',
      '2026-01-03T09:00:00.000Z',
    ]);
    expect(nextInstant(timetable, at('2026-01-03T09:00:00Z'))).toBeUndefined();
    expect(lastInstant(timetable, at('2026-02-01T00:00:00Z'))).toBe(at('2026-01-03T09:00:00Z'));
    expect(lastInstant(timetable, at('2026-01-02T09:00:00Z'))).toBeUndefined();
  });
});
