import type { Instant } from '../domain/kernel/brand.ts';
import type { Clock } from '../ports/clock.ts';

/** A clock that stands still until it is moved. */
export type VirtualClock = Clock & Readonly<{ advanceTo(at: Instant): void }>;

/** Simulated runs begin at one and the same instant, so that what they tell is the same each time. */
export const SIMULATION_START = Date.UTC(2030, 0, 1) as Instant;

export const createVirtualClock = (): VirtualClock => {
  let now = SIMULATION_START;
  return {
    now: () => now,
    monotonicMs: () => now,
    advanceTo: (at) => {
      if (at > now) now = at;
    },
  };
};
