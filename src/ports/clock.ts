import type { Instant } from '../domain/kernel/brand.ts';

export interface Clock {
  now(): Instant;
  /** Milliseconds since some moment, by a clock that nobody sets: for what has passed, never for when it is. */
  monotonicMs(): number;
}
