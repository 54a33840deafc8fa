import { describe, expect, it } from 'vitest';
import { parseCron } from '../../../src/adapters/cron/croner-calendar.ts';
import type { Instant } from '../../../src/domain/kernel/brand.ts';
import {
  CATCH_UP_MAX,
  type FiringPlan,
  MISFIRE_GRACE_MS,
  planFiring,
} from '../../../src/domain/schedule/plan-firing.ts';
import {
  type CatchUp,
  checkSchedule,
  fireAtOf,
  SCHEDULE_INTERVAL_MS_MIN,
  type Schedule,
  timetableOf,
} from '../../../src/domain/schedule/schedule.ts';

const START = Date.UTC(2026, 0, 1) as Instant;
const MINUTE = 60_000;
const minute = (count: number): Instant => (START + count * MINUTE) as Instant;

const schedule = (given: Partial<Schedule> = {}): Schedule => ({
  name: 'each-minute',
  crons: [{ expression: '* * * * *', zone: 'UTC' }],
  overlap: 'ALLOW',
  catchUp: 'SKIP',
  jitterMs: 0,
  start: { name: 'order', input: {}, priority: 0 },
  dialect: 'v1',
  ...given,
});
const timetable = () => {
  const read = timetableOf(schedule(), parseCron);
  if (!read.ok) throw new Error(read.error.message);
  return read.value;
};

/** All that is decided until nothing is due any more, from the first minute on. */
const decideAll = (catchUp: CatchUp, now: Instant): readonly FiringPlan[] => {
  const plans: FiringPlan[] = [];
  let due: Readonly<{ dueAt: Instant; catchUpUntil?: Instant }> = { dueAt: minute(1) };
  while (due.dueAt <= now) {
    const plan = planFiring(schedule({ catchUp }), timetable(), { ...due, now });
    plans.push(plan);
    if (plan.next === undefined) break;
    due = { dueAt: plan.next, ...(plan.catchUpUntil === undefined ? {} : { catchUpUntil: plan.catchUpUntil }) };
  }
  return plans;
};
const fired = (plans: readonly FiringPlan[]) => plans.flatMap(({ fire }) => fire ?? []);
const missed = (plans: readonly FiringPlan[]) => plans.flatMap((plan) => plan.missed ?? []);

describe('a firing that is due', () => {
  it.each(['SKIP', 'FIRE_ONE', 'FIRE_ALL'] as const)('is made, a little late too, under %s', (catchUp) => {
    const plans = decideAll(catchUp, (minute(1) + MISFIRE_GRACE_MS) as Instant);
    expect(plans).toEqual([{ fire: minute(1), next: minute(2) }]);
  });

  it('is on time as long as the jitter may have put it off', () => {
    const late = schedule({ jitterMs: 30_000 });
    const now = (minute(1) + 30_000 + MISFIRE_GRACE_MS) as Instant;
    expect(planFiring(late, timetable(), { dueAt: minute(1), now }).fire).toBe(minute(1));
    expect(planFiring(late, timetable(), { dueAt: minute(1), now: (now + 1) as Instant }).fire).toBeUndefined();
  });
});

describe('firings that nobody was there for', () => {
  const now = (minute(5) + 30_000) as Instant;

  it('are passed over under SKIP, in one entry', () => {
    const plans = decideAll('SKIP', now);
    expect(fired(plans)).toEqual([]);
    expect(missed(plans)).toEqual([{ from: minute(1), to: minute(5), count: 5, isMore: false }]);
    expect(plans.at(-1)?.next).toBe(minute(6));
  });

  it('are made up for by the newest under FIRE_ONE', () => {
    const plans = decideAll('FIRE_ONE', now);
    expect(fired(plans)).toEqual([minute(5)]);
    expect(missed(plans)).toEqual([{ from: minute(1), to: minute(4), count: 4, isMore: false }]);
  });

  it('are all made under FIRE_ALL, oldest first', () => {
    const plans = decideAll('FIRE_ALL', now);
    expect(fired(plans)).toEqual([1, 2, 3, 4, 5].map(minute));
    expect(missed(plans)).toEqual([]);
  });

  it('are made up to the cap under FIRE_ALL, the newest, and the rest is told of', () => {
    const plans = decideAll('FIRE_ALL', (minute(500) + 30_000) as Instant);
    expect(fired(plans)).toHaveLength(CATCH_UP_MAX);
    expect(fired(plans)[0]).toBe(minute(500 - CATCH_UP_MAX + 1));
    expect(missed(plans)).toEqual([{ from: minute(1), to: minute(400), count: 100, isMore: true }]);
  });

  it('are made as decided, however long the making takes', () => {
    const late = schedule({ catchUp: 'FIRE_ALL' });
    const first = planFiring(late, timetable(), { dueAt: minute(1), now: (minute(500) + 30_000) as Instant });
    expect([first.fire, first.next, first.catchUpUntil]).toEqual([minute(401), minute(402), minute(500)]);
    const due = { dueAt: minute(402), catchUpUntil: minute(500), now: minute(520) };
    expect(planFiring(late, timetable(), due)).toEqual({
      fire: minute(402),
      next: minute(403),
      catchUpUntil: minute(500),
    });
  });

  it('and the one that is on time are two things', () => {
    const plans = decideAll('SKIP', minute(5));
    expect([fired(plans), missed(plans)]).toEqual([
      [minute(5)],
      [{ from: minute(1), to: minute(4), count: 4, isMore: false }],
    ]);
  });
});

describe('a schedule that is registered', () => {
  const problemOf = (given: Partial<Schedule>) => {
    const checked = checkSchedule(schedule(given), parseCron, START);
    return checked.ok ? undefined : checked.error;
  };
  const cron = (expression: string, zone = 'UTC') => ({ crons: [{ expression, zone }] });

  it.each([
    ['a cron that cannot be read', cron('61 * * * *'), 'INVALID_SCHEDULE', 'crons[0]'],
    ['a day that never comes', cron('0 0 30 2 *'), 'INVALID_SCHEDULE', 'crons[0]'],
    ['a zone that nobody knows', cron('0 0 * * *', 'Mars/Phobos'), 'INVALID_SCHEDULE', 'crons[0]'],
    ['every second', cron('* * * * * *'), 'INVALID_SCHEDULE', 'crons'],
    [
      'two crons that come too close',
      { crons: ['0/2 * * * * *', '1/2 * * * * *'].map((expression) => ({ expression, zone: 'UTC' })) },
      'INVALID_SCHEDULE',
      'crons',
    ],
    ['no cron', { crons: [] }, 'INVALID_SCHEDULE', 'crons'],
    [
      'too many crons',
      { crons: Array.from({ length: 21 }, () => ({ expression: '0 0 * * *', zone: 'UTC' })) },
      'INVALID_SCHEDULE',
      'crons',
    ],
    ['an end before the start', { startAt: minute(2), endAt: minute(1) }, 'INVALID_SCHEDULE', 'endAt'],
    [
      'an expression that cannot be read',
      { start: { name: 'order', input: { at: '${schedule.' }, priority: 0 } },
      'EXPRESSION_INVALID',
      'workflow.input.at',
    ],
  ] as const)('is refused with %s', (_what, given, code, path) => {
    expect(problemOf(given as Partial<Schedule>)).toMatchObject({ code, path });
  });

  it('may come every two seconds, and through the door of Conductor every second', () => {
    expect(SCHEDULE_INTERVAL_MS_MIN).toBe(2_000);
    expect(problemOf(cron('0/2 * * * * *'))).toBeUndefined();
    expect(problemOf({ ...cron('* * * * * *'), dialect: 'conductor' })).toBeUndefined();
  });
});

describe('jitter', () => {
  it('puts an instant off by the same share whoever asks, and never beyond', () => {
    const shares = Array.from({ length: 200 }, (_, index) => fireAtOf('id', 10_000, minute(index)) - minute(index));
    expect(shares).toEqual(
      Array.from({ length: 200 }, (_, index) => fireAtOf('id', 10_000, minute(index)) - minute(index)),
    );
    expect(Math.min(...shares)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...shares)).toBeLessThanOrEqual(10_000);
    expect(new Set(shares).size).toBeGreaterThan(100);
    expect(fireAtOf('id', 0, minute(1))).toBe(minute(1));
  });
});
