import { describe, expect, it } from 'vitest';
import { markOf, TaskClock } from '../../../bench/task-clock.ts';

describe('the clock of the bench', () => {
  it('knows the tasks that are marked', () => {
    expect(markOf({ run: 7, n: 2, more: true })).toEqual({ run: 7, n: 2 });
    expect([markOf({ run: 7 }), markOf({ run: '7', n: 1 }), markOf(null), markOf(undefined)]).toEqual(
      Array.from({ length: 4 }),
    );
  });

  it('takes a sample from the start to the first task, and from each report to the next', () => {
    const clock = new TaskClock(3);
    clock.startSent(1);
    for (const n of [1, 2, 3]) {
      clock.leased({ run: 1, n });
      clock.reportSent({ run: 1, n });
      clock.reportAnswered({ run: 1, n });
    }
    const { firsts, steps } = clock.samples();
    expect([firsts.length, steps.length, clock.reportedAt().length]).toEqual([1, 2, 3]);
    clock.reset();
    expect([clock.samples().firsts, clock.samples().steps, clock.reportedAt()]).toEqual([[], [], []]);
  });

  it('tells when a run has ended, and when so many tasks have been reported', async () => {
    const clock = new TaskClock(2);
    const told: string[] = [];
    const ended = clock.end(5).then(() => told.push('ended'));
    const counted = clock.tasks(3).then(() => told.push('counted'));
    clock.reportAnswered({ run: 5, n: 1 });
    clock.reportAnswered({ run: 5, n: 2 });
    await ended;
    expect(told).toEqual(['ended']);
    clock.reportAnswered(undefined);
    await counted;
    expect(told).toEqual(['ended', 'counted']);
  });

  it('tells those who wait when the workers cannot go on', async () => {
    const clock = new TaskClock(1);
    const waiting = [clock.end(1), clock.tasks(1)];
    clock.fail(new Error('the workers are gone'));
    for (const wait of waiting) await expect(wait).rejects.toThrow('the workers are gone');
  });
});
