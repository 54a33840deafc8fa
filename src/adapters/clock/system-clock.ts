import type { Instant } from '../../domain/kernel/brand.ts';
import type { Clock } from '../../ports/clock.ts';

/** The clock of this machine. Correctness never depends on it: leases and timers are judged by the clock of the store. */
export const systemClock: Clock = {
  now: () => Date.now() as Instant,
  monotonicMs: () => performance.now(),
};
