import { z } from 'zod';
import { INTEGER_MAX } from './common.ts';

const limit = z.int().min(0).max(INTEGER_MAX).optional();

/** What is absent is not limited. */
export const quotas = z.strictObject({
  /** Runs that are RUNNING or PAUSED. */
  maxConcurrentExecutions: limit,
  /** Starts in a minute of the clock. */
  maxExecutionsPerMinute: limit,
  /** Names, however many versions each has. */
  maxWorkflowDefinitions: limit,
  maxSchedules: limit,
});
export type QuotasBody = z.output<typeof quotas>;
