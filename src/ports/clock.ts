import type { Instant } from '../domain/kernel/brand.ts';

export interface Clock {
  now(): Instant;
}
