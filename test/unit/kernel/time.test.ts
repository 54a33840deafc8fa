import { describe, expect, test } from 'vitest';
import type { Instant } from '../../../src/domain/kernel/brand.ts';
import {
  addDuration,
  DURATION_MS_MAX,
  formatInstant,
  INSTANT_MAX,
  INSTANT_MIN,
  parseDuration,
  parseInstant,
  parseUntil,
} from '../../../src/domain/kernel/time.ts';

describe('a duration is read into milliseconds', () => {
  test.each<[string | number, number]>([
    ['1 day 4 hours', 100_800_000],
    ['10m 30s', 630_000],
    ['10m30s', 630_000],
    ['2 days 3h 10m 5s', 184_205_000],
    ['1 Day, 2 Hrs, 3 mins and'.replace(' and', ''), 93_780_000],
    ['30s 10m', 630_000],
    ['1 week', 604_800_000],
    ['5000ms', 5_000],
    ['1 second 500 ms', 1_500],
    ['  5 sec ', 5_000],
    ['0s', 0],
    ['90', 90_000],
    ['1.5', 1_500],
    [90, 90_000],
    [0.25, 250],
    [0, 0],
    ['PT5M', 300_000],
    ['P1DT2H3M4.5S', 93_784_500],
    ['pt1h', 3_600_000],
    ['36525 days', DURATION_MS_MAX],
  ])('%s', (text, ms) => expect(parseDuration(text)).toEqual({ ok: true, value: ms }));
});

describe('what is no duration is refused with the text', () => {
  test.each<[string | number]>([
    [''],
    ['  '],
    ['soon'],
    ['5 parsecs'],
    ['5m 6m'],
    ['5 minutes 6m'],
    ['m5'],
    ['-5s'],
    ['5s;'],
    ['P'],
    ['PT'],
    ['P1M'],
    ['1e3'],
    ['5h x'],
    ['${workflow.input.x}'],
    ['36526 days'],
    ['999999999999 weeks'],
    ['9'.repeat(500)],
    [-1],
    [Number.NaN],
    [Number.POSITIVE_INFINITY],
    [1e300],
  ])('%s', (text) => {
    const parsed = parseDuration(text);
    expect(parsed).toMatchObject({ ok: false, error: { code: 'INVALID_DURATION' } });
    if (!parsed.ok) expect(parsed.error.message).toContain(String(text).slice(0, 50));
  });
});

const utc = (iso: string): Instant => Date.parse(iso) as Instant;

describe('an RFC 3339 instant is read strictly', () => {
  test.each<[string, string]>([
    ['2026-01-31T09:30:00Z', '2026-01-31T09:30:00.000Z'],
    ['2026-01-31t09:30:00z', '2026-01-31T09:30:00.000Z'],
    ['2026-01-31T09:30:00.5+02:00', '2026-01-31T07:30:00.500Z'],
    ['2026-01-31T23:30:00.123456789-05:30', '2026-02-01T05:00:00.123Z'],
    ['2024-02-29T00:00:00Z', '2024-02-29T00:00:00.000Z'],
    ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00.000Z'],
    ['9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z'],
  ])('%s', (text, iso) => {
    const parsed = parseInstant(text);
    expect(parsed).toEqual({ ok: true, value: utc(iso) });
    if (parsed.ok) expect(formatInstant(parsed.value)).toBe(iso);
  });

  test.each([
    '2026-02-30T00:00:00Z',
    '2023-02-29T00:00:00Z',
    '2026-13-01T00:00:00Z',
    '2026-00-10T00:00:00Z',
    '2026-01-00T00:00:00Z',
    '2026-01-31T24:00:00Z',
    '2026-01-31T23:60:00Z',
    '2026-01-31T23:59:60Z',
    '2026-01-31T09:30:00',
    '2026-01-31T09:30Z',
    '2026-01-31 09:30:00Z',
    '2026-01-31',
    '2026-01-31T09:30:00+25:00',
    '2026-01-31T09:30:00+02:61',
    '0000-01-01T00:00:00Z',
    '0001-01-01T00:00:00+01:00',
    '9999-12-31T23:59:59Z'.replace('Z', '-01:00'),
    '+294277-01-01T00:00:00Z',
    '294277-01-01T00:00:00Z',
    'infinity',
    'now()',
    '1769851800000',
    '',
    'x'.repeat(10_000),
  ])('%s is refused', (text) => {
    expect(parseInstant(text)).toMatchObject({ ok: false, error: { code: 'INVALID_TIME' } });
  });
});

describe('the end of a wait is read in each of its forms', () => {
  test.each<[string, string]>([
    ['2026-07-01T09:30:00Z', '2026-07-01T09:30:00Z'],
    ['2026-07-01T09:30+02:00', '2026-07-01T07:30:00Z'],
    ['2026-07-01', '2026-07-01T00:00:00Z'],
    ['2026-07-01 09:30', '2026-07-01T09:30:00Z'],
    ['2026-07-01 09:30:15', '2026-07-01T09:30:15Z'],
    [' 2026-07-01 09:30 UTC ', '2026-07-01T09:30:00Z'],
    ['2026-07-01 09:30 GMT', '2026-07-01T09:30:00Z'],
    ['2026-07-01 09:30 GMT+2', '2026-07-01T07:30:00Z'],
    ['2026-07-01 09:30 +0530', '2026-07-01T04:00:00Z'],
    ['2026-07-01 09:30 PST', '2026-07-01T17:30:00Z'],
    ['2026-07-01 09:30 PDT', '2026-07-01T16:30:00Z'],
    ['2026-07-01 09:30 ist', '2026-07-01T04:00:00Z'],
    ['2026-07-01 09:30 America/Los_Angeles', '2026-07-01T16:30:00Z'],
    ['2026-01-01 09:30 America/Los_Angeles', '2026-01-01T17:30:00Z'],
    ['2026-07-01 09:30 Europe/Berlin', '2026-07-01T07:30:00Z'],
    ['2026-07-01 00:00 Asia/Kathmandu', '2026-06-30T18:15:00Z'],
    ['2026-07-01 09:30 US/Pacific', '2026-07-01T16:30:00Z'],
    ['2026-07-01 09:30 Pacific/Kiritimati', '2026-06-30T19:30:00Z'],
  ])('%s', (text, iso) => expect(parseUntil(text)).toEqual({ ok: true, value: utc(iso) }));

  test('a time that the clock change skips is moved on by the change', () => {
    expect(parseUntil('2026-03-29 02:30 Europe/Berlin')).toEqual({ ok: true, value: utc('2026-03-29T01:30:00Z') });
    expect(parseUntil('2026-03-29 03:00 Europe/Berlin')).toEqual({ ok: true, value: utc('2026-03-29T01:00:00Z') });
  });

  test('of a time that comes twice the first is meant', () => {
    expect(parseUntil('2026-10-25 02:30 Europe/Berlin')).toEqual({ ok: true, value: utc('2026-10-25T00:30:00Z') });
    expect(parseUntil('2026-11-01 01:30 America/New_York')).toEqual({ ok: true, value: utc('2026-11-01T05:30:00Z') });
  });

  test.each([
    'tomorrow',
    '2026-02-30',
    '2026-02-30 10:00',
    '2026-01-31 24:00',
    '2026-01-31 10:00 Mars/Phobos',
    '2026-01-31 10:00 XYZ',
    '2026-01-31 10:00 UTC extra',
    '01/31/2026',
    '1769851800000',
    '',
    '${workflow.input.x}',
    'x'.repeat(10_000),
  ])('%s is refused with the text', (text) => {
    const parsed = parseUntil(text);
    expect(parsed).toMatchObject({ ok: false, error: { code: 'INVALID_TIME' } });
    if (!parsed.ok) expect(parsed.error.message).toContain(text.slice(0, 50));
  });
});

test('an instant never leaves the years there are', () => {
  expect(formatInstant(INSTANT_MIN)).toBe('0001-01-01T00:00:00.000Z');
  expect(formatInstant(INSTANT_MAX)).toBe('9999-12-31T23:59:59.999Z');
  expect(addDuration(utc('2026-01-01T00:00:00Z'), 5)).toBe(utc('2026-01-01T00:00:00.005Z'));
  expect(addDuration(utc('9999-12-31T00:00:00Z'), DURATION_MS_MAX)).toBe(INSTANT_MAX);
});
