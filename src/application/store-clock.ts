import { addMs, type Instant } from '../domain/kernel/brand.ts';
import type { Clock } from '../ports/clock.ts';

/** A reading of the store's clock is good for so long; the clocks of two machines drift apart by less than a millisecond in it. */
export const READING_AGE_MS_MAX = 10_000;

/**
 * The store's clock, told without asking: its last reading and the time that has passed since, by a clock that nobody sets.
 * Never ahead of the store, for a reading is some milliseconds old when it arrives. The clock of this machine takes no part
 * (promise 8; test/unit/application/store-clock.test.ts).
 */
export class StoreClock {
  private readonly clock: Pick<Clock, 'monotonicMs'>;
  private reading: Readonly<{ at: Instant; readAtMs: number }> | undefined;

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.clock = clock;
  }

  /** Tells it what the store said just now. */
  read(at: Instant): void {
    this.reading = { at, readAtMs: this.clock.monotonicMs() };
  }

  /** Undefined: there is no reading, or none that is young enough. */
  now(): Instant | undefined {
    if (this.reading === undefined) return undefined;
    const ageMs = this.clock.monotonicMs() - this.reading.readAtMs;
    return ageMs > READING_AGE_MS_MAX ? undefined : addMs(this.reading.at, Math.floor(ageMs));
  }
}
