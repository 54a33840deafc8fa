import type { Instant } from '../../src/domain/kernel/brand.ts';
import type { Clock } from '../../src/ports/clock.ts';

/** A clock that moves only when told to. */
export type FakeClock = Clock & Readonly<{ set(at: number): void; advance(ms: number): void }>;

export const FAKE_CLOCK_START = Date.UTC(2030, 0, 1);

export const createFakeClock = (start: number = FAKE_CLOCK_START): FakeClock => {
  let current = start;
  return {
    now: () => current as Instant,
    monotonicMs: () => current,
    set: (at) => {
      current = at;
    },
    advance: (ms) => {
      current += ms;
    },
  };
};
