import { z } from 'zod';
import type { JsonValue } from '../kernel/json.ts';
import { childPath } from '../kernel/value-path.ts';
import { fieldsOf } from './document-fields.ts';
import { BACKOFF_SCALE_FACTOR_MAX, INT32_MAX, LIST_ENTRIES_MAX, RETRY_COUNT_MAX } from './limits.ts';
import type { ReadContext } from './read-document.ts';
import { withoutUndefined } from './without-undefined.ts';
import type { Dialect, RetryOverrides } from './workflow-definition.ts';

const TIMEOUT_SPELLINGS = [
  ['scheduleToStartTimeout', 'pollTimeoutSeconds'],
  ['startToCloseTimeout', 'timeoutSeconds'],
  ['totalTimeout', 'totalTimeoutSeconds'],
  ['heartbeatTimeout', 'responseTimeoutSeconds'],
] as const;

type TimeoutField = (typeof TIMEOUT_SPELLINGS)[number][number];

/** The fields that say how attempts are made, of a task definition and of a node alike, at both spellings. */
export const retryShape = (door: Dialect) => {
  const field = fieldsOf(door);
  const heartbeat = field.integer(1, INT32_MAX).optional();
  const timeout = field.seconds.optional();
  return {
    retryCount: field.integer(0, RETRY_COUNT_MAX).optional(),
    retryLogic: z.enum(['FIXED', 'LINEAR_BACKOFF', 'EXPONENTIAL_BACKOFF']).optional(),
    retryDelaySeconds: timeout,
    backoffScaleFactor: field.decimal(1, BACKOFF_SCALE_FACTOR_MAX).optional(),
    maxRetryDelaySeconds: timeout,
    jitter: field.decimal(0, 1).optional(),
    backoffJitterMs: field.integer(0, INT32_MAX).optional(),
    nonRetryableErrors: z.array(z.string().min(1)).max(LIST_ENTRIES_MAX).optional(),
    scheduleToStartTimeout: timeout,
    pollTimeoutSeconds: timeout,
    startToCloseTimeout: timeout,
    timeoutSeconds: timeout,
    totalTimeout: timeout,
    totalTimeoutSeconds: timeout,
    heartbeatTimeout: heartbeat,
    responseTimeoutSeconds: heartbeat,
    timeoutPolicy: z.enum(['RETRY', 'TIME_OUT_WF', 'ALERT_ONLY']).optional(),
  };
};

export type RetryDocument = z.output<z.ZodObject<ReturnType<typeof retryShape>>>;

const oneOf = (
  document: Readonly<Partial<Record<TimeoutField, JsonValue | undefined>>>,
  [ours, conductors]: (typeof TIMEOUT_SPELLINGS)[number],
  path: string,
  context: ReadContext,
): void => {
  if (document[ours] === undefined || document[conductors] === undefined) return;
  if (document[ours] === document[conductors]) return;
  context.problems.push({
    code: 'VALIDATION_FAILED',
    message: `"${ours}" and "${conductors}" are the same setting and must not differ`,
    path: childPath(path, conductors),
  });
};

/** What the document says about attempts, in one spelling. Adds VALIDATION_FAILED where two spellings contradict. */
export const retryOverridesOf = (document: RetryDocument, path: string, context: ReadContext): RetryOverrides => {
  for (const spelling of TIMEOUT_SPELLINGS) oneOf(document, spelling, path, context);
  return withoutUndefined({
    retryCount: document.retryCount,
    retryLogic: document.retryLogic,
    retryDelaySeconds: document.retryDelaySeconds,
    backoffScaleFactor: document.backoffScaleFactor,
    maxRetryDelaySeconds: document.maxRetryDelaySeconds,
    jitter: document.jitter,
    backoffJitterMs: document.backoffJitterMs,
    nonRetryableErrors: document.nonRetryableErrors,
    scheduleToStartTimeout: document.scheduleToStartTimeout ?? document.pollTimeoutSeconds,
    startToCloseTimeout: document.startToCloseTimeout ?? document.timeoutSeconds,
    totalTimeout: document.totalTimeout ?? document.totalTimeoutSeconds,
    heartbeatTimeout: document.heartbeatTimeout ?? document.responseTimeoutSeconds,
    timeoutPolicy: document.timeoutPolicy,
  });
};
