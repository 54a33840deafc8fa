import type { TaskDefinition, TaskPolicy } from './task-definition.ts';
import { executedTypeOf, familyOf, isWaitingType } from './task-types.ts';
import type { Dialect, RetryOverrides, TaskNodeDefinition } from './workflow-definition.ts';

const MS_PER_SECOND = 1_000;

const UNLIMITED = { nonRetryableErrors: [], scheduleToStartMs: 0, startToCloseMs: 0, scheduleToCloseMs: 0 } as const;

const WORKER_POLICIES: Readonly<Record<Dialect, TaskPolicy>> = {
  v1: {
    ...UNLIMITED,
    retryCount: 3,
    retryLogic: 'EXPONENTIAL_BACKOFF',
    retryDelayMs: 1_000,
    backoffScaleFactor: 2,
    maxRetryDelayMs: 3_600_000,
    jitterShare: 0.2,
    jitterMs: 0,
    retryBudget: 0.3,
    heartbeatMs: 60_000,
    timeoutPolicy: 'RETRY',
  },
  conductor: {
    ...UNLIMITED,
    retryCount: 3,
    retryLogic: 'FIXED',
    retryDelayMs: 60_000,
    backoffScaleFactor: 1,
    maxRetryDelayMs: 0,
    jitterShare: 0,
    jitterMs: 0,
    retryBudget: 1,
    heartbeatMs: 3_600_000,
    timeoutPolicy: 'TIME_OUT_WF',
  },
};

/** How long a process may hold a system task without a sign of life. */
const SYSTEM_HEARTBEAT_MS = 60_000;

/** What a task for a worker is given where nothing is said; also the defaults of a task definition at that door. */
export const defaultTaskPolicy = (door: Dialect): TaskPolicy => WORKER_POLICIES[door];

/** A system task fails for reasons that another attempt would meet again, so it is not retried unless asked. */
export const defaultSystemPolicy = (door: Dialect): TaskPolicy => ({
  ...WORKER_POLICIES[door],
  retryCount: 0,
  heartbeatMs: SYSTEM_HEARTBEAT_MS,
});

/** A waiting task is held by nobody: neither lease nor heartbeat can end it. */
export const defaultWaitingPolicy = (door: Dialect): TaskPolicy => ({
  ...WORKER_POLICIES[door],
  retryCount: 0,
  retryBudget: 1,
  heartbeatMs: 0,
});

/**
 * The factor of an exponential back-off that was named without one. Conductor's doubles whatever its task definition says,
 * so that definitions written for it wait as long here.
 */
const EXPONENTIAL_FACTOR = 2;

const msOf = (seconds: number | undefined, otherwiseMs: number): number =>
  seconds === undefined ? otherwiseMs : seconds * MS_PER_SECOND;

const scaleFactorOf = (base: TaskPolicy, overrides: RetryOverrides, door: Dialect): number => {
  const logic = overrides.retryLogic ?? base.retryLogic;
  if (door === 'conductor' && logic === 'EXPONENTIAL_BACKOFF') return EXPONENTIAL_FACTOR;
  if (overrides.backoffScaleFactor !== undefined) return overrides.backoffScaleFactor;
  // A factor of 1 beside another logic says nothing about this one: by it an exponential back-off would never grow.
  const isTold = logic === base.retryLogic || logic !== 'EXPONENTIAL_BACKOFF' || base.backoffScaleFactor > 1;
  return isTold ? base.backoffScaleFactor : EXPONENTIAL_FACTOR;
};

/** Lays what is given over a base; every value of the answer is explicit. Seconds become milliseconds here, once. */
export const applyOverrides = (base: TaskPolicy, overrides: RetryOverrides, door: Dialect): TaskPolicy => ({
  retryCount: overrides.retryCount ?? base.retryCount,
  retryLogic: overrides.retryLogic ?? base.retryLogic,
  retryDelayMs: msOf(overrides.retryDelaySeconds, base.retryDelayMs),
  backoffScaleFactor: scaleFactorOf(base, overrides, door),
  maxRetryDelayMs: msOf(overrides.maxRetryDelaySeconds, base.maxRetryDelayMs),
  jitterShare: overrides.jitter ?? base.jitterShare,
  jitterMs: overrides.backoffJitterMs ?? base.jitterMs,
  ...(base.retryBudget === undefined ? {} : { retryBudget: base.retryBudget }),
  nonRetryableErrors: overrides.nonRetryableErrors ?? base.nonRetryableErrors,
  scheduleToStartMs: msOf(overrides.scheduleToStartTimeout, base.scheduleToStartMs),
  startToCloseMs: msOf(overrides.startToCloseTimeout, base.startToCloseMs),
  scheduleToCloseMs: msOf(overrides.totalTimeout, base.scheduleToCloseMs),
  heartbeatMs: msOf(overrides.heartbeatTimeout, base.heartbeatMs),
  timeoutPolicy: overrides.timeoutPolicy ?? base.timeoutPolicy,
});

const defaultPolicyOf = (type: string, door: Dialect): TaskPolicy => {
  const executed = executedTypeOf(type);
  const family = executed === 'UNSUPPORTED' ? 'system' : familyOf(executed);
  if (family === 'worker') return defaultTaskPolicy(door);
  return family === 'waiting' ? defaultWaitingPolicy(door) : defaultSystemPolicy(door);
};

/** Of a waiting task only the total deadline can pass: nobody leases it. */
const onlyTotal = (policy: TaskPolicy): TaskPolicy => ({
  ...policy,
  scheduleToStartMs: 0,
  startToCloseMs: 0,
  heartbeatMs: 0,
});

/**
 * The policy of a node: what it says itself, over its task definition, over the defaults of the door.
 * A definition written inside the node wins over the registered one.
 */
export const policyOf = (
  node: TaskNodeDefinition,
  taskDefinition: TaskDefinition | undefined,
  door: Dialect,
): TaskPolicy => {
  const base = (node.taskDefinition ?? taskDefinition)?.policy ?? defaultPolicyOf(node.type, door);
  const policy = applyOverrides(base, node.overrides, door);
  return isWaitingType(node.type) ? onlyTotal(policy) : policy;
};
