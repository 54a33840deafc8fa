import { Subject } from 'rxjs';
import { afterEach, expect, test, vi } from 'vitest';
import { Loop } from '../../../src/application/loop.ts';

afterEach(() => {
  vi.useRealTimers();
});

/** A loop over a script of results on fake time; a result that is an error is thrown. */
const given = (
  results: readonly (number | Error)[],
  options: { nextInMs?: () => Promise<number | undefined> } = {},
) => {
  vi.useFakeTimers();
  const wakes = new Subject<void>();
  const errors: unknown[] = [];
  let runs = 0;
  let active = 0;
  let mostActive = 0;
  const loop = new Loop({
    name: 'test',
    idleMs: 1_000,
    wakes,
    onError: (_name, error) => errors.push(error),
    runOnce: async () => {
      active += 1;
      mostActive = Math.max(mostActive, active);
      await Promise.resolve();
      active -= 1;
      const result = results[runs] ?? 0;
      runs += 1;
      if (result instanceof Error) throw result;
      return result;
    },
    ...options,
  });
  return { loop, wakes, errors, runs: () => runs, mostActive: () => mostActive };
};

const settle = () => vi.advanceTimersByTimeAsync(0);

test('it runs again at once while there is work, and then sleeps', async () => {
  const { loop, runs } = given([3, 1, 0]);
  loop.start();
  await settle();
  expect(runs()).toBe(3);
  await vi.advanceTimersByTimeAsync(999);
  expect(runs()).toBe(3);
  await vi.advanceTimersByTimeAsync(1);
  expect(runs()).toBe(4);
  await loop.stop();
});

test('a wake ends the sleep, and wakes during a run are never lost', async () => {
  const { loop, wakes, runs } = given([]);
  loop.start();
  wakes.next();
  await settle();
  expect(runs()).toBe(2);
  wakes.next();
  await settle();
  expect(runs()).toBe(3);
  await loop.stop();
});

test('it sleeps no longer than until the next due work', async () => {
  const { loop, runs } = given([], { nextInMs: async () => 40 });
  loop.start();
  await settle();
  await vi.advanceTimersByTimeAsync(39);
  expect(runs()).toBe(1);
  await vi.advanceTimersByTimeAsync(1);
  expect(runs()).toBe(2);
  await loop.stop();
});

test('it survives errors, tells of them and backs off', async () => {
  const { loop, errors, runs } = given([new Error('first'), new Error('second'), 0]);
  loop.start();
  await settle();
  expect(runs()).toBe(1);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(runs()).toBeGreaterThan(2);
  expect(errors).toEqual([new Error('first'), new Error('second')]);
  await loop.stop();
});

test('it stops after the batch in hand, and no two batches ever overlap', async () => {
  const { loop, wakes, runs, mostActive } = given([1, 1, 1, 1]);
  loop.start();
  wakes.next();
  await settle();
  await loop.stop();
  const before = runs();
  wakes.next();
  await vi.advanceTimersByTimeAsync(5_000);
  expect([runs(), mostActive()]).toEqual([before, 1]);
});
