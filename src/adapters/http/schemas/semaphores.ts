import { z } from 'zod';
import { count, instantText } from './common.ts';

export const PERMITS_MAX = 1_000_000;

/** 0: nothing that needs a permit runs. */
export const semaphoreRequest = z.strictObject({ permits: z.int().min(0).max(PERMITS_MAX) });
export type SemaphoreRequestBody = z.input<typeof semaphoreRequest>;

export const semaphore = z.strictObject({
  name: z.string(),
  permits: count,
  /** Held by leases now: more than there are, where they were made fewer meanwhile. */
  held: count,
  createdAt: instantText,
  updatedAt: instantText,
});
export type SemaphoreBody = z.output<typeof semaphore>;

export const semaphorePut = semaphore.extend({ outcome: z.enum(['created', 'unchanged', 'replaced']) });
export type SemaphorePutBody = z.output<typeof semaphorePut>;

export const semaphorePage = z.strictObject({ semaphores: z.array(semaphore), nextCursor: z.string().optional() });
export type SemaphorePageBody = z.output<typeof semaphorePage>;
