import type { TaskPolicy } from '../definition/task-definition.ts';
import type { Instant } from '../kernel/brand.ts';
import { addDuration } from '../kernel/time.ts';

/**
 * Milliseconds before retry number `n` (from 1). FIXED d; LINEAR d·f·n; EXPONENTIAL d·f^(n−1). The cap holds before and
 * after chance is added. `chance` is in [0, 1): derived from the task's identity, so that a replay finds the same delay.
 */
export const retryDelayMs = (policy: TaskPolicy, n: number, chance: number): number => {
  const capped = cap(policy, baseDelayMs(policy, n));
  const jittered = capped * (1 + policy.jitterShare * (2 * chance - 1)) + policy.jitterMs * chance;
  return Math.round(cap(policy, jittered));
};

const baseDelayMs = (policy: TaskPolicy, n: number): number => {
  const { retryDelayMs: d, backoffScaleFactor: f } = policy;
  switch (policy.retryLogic) {
    case 'FIXED':
      return d;
    case 'LINEAR_BACKOFF':
      return d * f * n;
    case 'EXPONENTIAL_BACKOFF':
      return d * f ** (n - 1);
    default:
      return policy.retryLogic satisfies never;
  }
};

/** The longest a retry can wait, whatever the policy says: 30 days. */
export const RETRY_DELAY_MS_MAX = 30 * 24 * 3_600_000;

const cap = (policy: TaskPolicy, delayMs: number): number =>
  Math.min(delayMs, policy.maxRetryDelayMs > 0 ? policy.maxRetryDelayMs : RETRY_DELAY_MS_MAX, RETRY_DELAY_MS_MAX);

/** When the next attempt may begin; undefined when the retries are spent or the reason is not worth one. */
export const nextAttemptAt = (
  policy: TaskPolicy,
  failed: Readonly<{ attempt: number; attemptsForgiven: number; reason: string | undefined }>,
  now: Instant,
  chance: number,
): Instant | undefined => {
  const n = failed.attempt - failed.attemptsForgiven;
  if (n > policy.retryCount) return undefined;
  const reason = failed.reason ?? '';
  if (policy.nonRetryableErrors.some((text) => text !== '' && reason.includes(text))) return undefined;
  return addDuration(now, retryDelayMs(policy, n, chance));
};
