import { expect, it } from 'vitest';
import { READING_AGE_MS_MAX, StoreClock } from '../../../src/application/store-clock.ts';
import { addMs, type Instant } from '../../../src/domain/kernel/brand.ts';

const READ_AT = Date.UTC(2031, 0, 1) as Instant;

it('is the last reading of the store and the time since, whatever the clock of the machine says', () => {
  let monotonicMs = 5_000;
  const clock = new StoreClock({ monotonicMs: () => monotonicMs });
  expect(clock.now()).toBeUndefined();
  clock.read(READ_AT);
  monotonicMs += 250.7;
  expect(clock.now()).toBe(addMs(READ_AT, 250));
  clock.read(addMs(READ_AT, -60_000));
  expect(clock.now()).toBe(addMs(READ_AT, -60_000));
});

it('is not told from a reading that is too old', () => {
  let monotonicMs = 0;
  const clock = new StoreClock({ monotonicMs: () => monotonicMs });
  clock.read(READ_AT);
  monotonicMs = READING_AGE_MS_MAX;
  expect(clock.now()).toBe(addMs(READ_AT, READING_AGE_MS_MAX));
  monotonicMs += 1;
  expect(clock.now()).toBeUndefined();
});
