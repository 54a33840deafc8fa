import type { TaskPolicy } from '../definition/task-definition.ts';
import { isCallType } from '../definition/task-types.ts';
import type { Instant } from '../kernel/brand.ts';
import { unitHash } from '../kernel/hash.ts';
import { invariant } from '../kernel/invariant.ts';
import type { JsonObject } from '../kernel/json.ts';
import { addDuration } from '../kernel/time.ts';
import { registry } from '../tasks/registry.ts';
import type { Disposition, TaskClosed, TaskDeadlineMissed, TaskScheduled } from './events.ts';
import { pulled } from './messages.ts';
import type { TaskOutcome } from './requests.ts';
import { nextAttemptAt } from './retry.ts';
import { type FindViolation, violationText } from './schema-check.ts';
import { bufferedSignal } from './signals.ts';
import type { ExecutionState, TaskEntry } from './state.ts';
import { keyOf } from './task-key.ts';

/** What turns an outcome into a fact, beside the run itself. */
export type Judging = Readonly<{ now: Instant; findViolation: FindViolation }>;

/** The fact that an outcome of the open attempt of `entry` makes, with what follows from the retry and timeout policies. */
export const closing = (
  state: ExecutionState,
  entry: TaskEntry,
  reported: TaskOutcome,
  { now, findViolation }: Judging,
): TaskClosed | TaskDeadlineMissed => {
  invariant(entry.phase.kind === 'attempt', `${entry.key} has no open attempt`);
  const outcome = fitting(entry, reported, findViolation);
  const policy = entry.phase.policy;
  const slot = { ref: entry.phase.scheduled.ref, iteration: entry.phase.scheduled.iteration };
  if (outcome.deadline !== undefined && outcome.deadline !== 'HEARTBEAT' && policy.timeoutPolicy === 'ALERT_ONLY') {
    return { type: 'TaskDeadlineMissed', at: now, ...slot, attempt: entry.attempt, deadline: outcome.deadline };
  }
  const disposition = dispositionOf(state, entry, policy, outcome, now);
  const excused = disposition.kind === 'advance' && outcome.status !== 'COMPLETED';
  return {
    type: 'TaskClosed',
    at: now,
    ...slot,
    attempt: entry.attempt,
    status: excused ? 'COMPLETED_WITH_ERRORS' : outcome.status,
    output: withSink(entry.phase.scheduled, outcome.output),
    disposition,
    ...reasonOf(entry, outcome),
    ...(outcome.deadline === undefined ? {} : { deadline: outcome.deadline }),
    ...(outcome.workerId === undefined ? {} : { workerId: outcome.workerId }),
    ...(outcome.startedAt === undefined ? {} : { startedAt: outcome.startedAt }),
    ...putOffs(outcome),
  };
};

const putOffs = ({ callbacks, callbackSeconds }: TaskOutcome): Pick<TaskClosed, 'callbacks' | 'callbackSeconds'> => ({
  ...(callbacks === undefined ? {} : { callbacks }),
  ...(callbackSeconds === undefined ? {} : { callbackSeconds }),
});

/** Of a failure that would have been retried, also why it is not. */
const reasonOf = (
  { taskName }: TaskEntry,
  { reason, status, budgetSpent }: TaskOutcome,
): { reason?: string; budgetSpent?: boolean } => {
  if (budgetSpent === true && status !== 'COMPLETED') {
    const why = `(not retried: the retry budget of ${taskName} is spent)`;
    // An outcome that is replayed from its fact has it already.
    return { budgetSpent, reason: reason?.endsWith(why) === true ? reason : `${reason ?? 'it failed'} ${why}` };
  }
  return reason === undefined ? {} : { reason };
};

/** Whether a failure would be retried but for the budget of the task: only then it matters what is left of that. */
export const asksForRetry = (state: ExecutionState, outcome: TaskOutcome): boolean => {
  const entry = state.tasks.get(keyOf(outcome));
  if (entry?.phase.kind !== 'attempt' || isLostByTheServer(entry, outcome)) return false;
  return dispositionOf(state, entry, entry.phase.policy, outcome, 0 as Instant).kind === 'retry';
};

/**
 * An output that does not fit its schema is no completion: nobody after the task could rely on it. Another attempt would
 * run the same code, so it fails for good; the output stays in history, for whoever has to find out why.
 */
const fitting = (entry: TaskEntry, outcome: TaskOutcome, findViolation: FindViolation): TaskOutcome => {
  if (outcome.status !== 'COMPLETED' || entry.phase.kind !== 'attempt') return outcome;
  const schema = entry.phase.scheduled.outputSchema ?? entry.node.schemas?.output;
  const violation = schema === undefined ? undefined : findViolation(schema, outcome.output);
  if (violation === undefined) return outcome;
  const reason = `The output does not fit its schema: ${violationText('output', violation)}`;
  return { ...outcome, status: 'FAILED_WITH_TERMINAL_ERROR', reason };
};

/**
 * The fact that an open attempt makes of what is there for it already: a signal kept for a wait, messages for one who
 * reads them. Nobody has to report it.
 */
export const closingAtHand = (
  state: ExecutionState,
  entry: TaskEntry,
  judging: Judging,
): TaskClosed | TaskDeadlineMissed | undefined => {
  if (entry.phase.kind !== 'attempt') return undefined;
  const { ref, iteration, attempt } = entry.phase.scheduled;
  const signal = bufferedSignal(state, entry);
  if (signal !== undefined) {
    return closing(state, entry, { ref, iteration, attempt, status: signal.status, output: signal.output }, judging);
  }
  const pull = pulled(state, entry);
  if (pull === undefined) return undefined;
  const outcome = { ref, iteration, attempt, status: 'COMPLETED', output: pull.output } as const;
  const fact = closing(state, entry, outcome, judging);
  return fact.type === 'TaskClosed' ? { ...fact, messagesTaken: pull.messagesTaken } : fact;
};

/** The answer to a message says what it is an answer to. */
const withSink = ({ sink }: TaskScheduled, output: JsonObject): JsonObject =>
  sink === undefined ? output : { event_produced: sink, ...output };

const dispositionOf = (
  state: ExecutionState,
  entry: TaskEntry,
  policy: TaskPolicy,
  outcome: TaskOutcome,
  now: Instant,
): Disposition => {
  if (outcome.status === 'COMPLETED') return { kind: 'advance' };
  if (isLostByTheServer(entry, outcome)) return { kind: 'retry', visibleAt: now };
  if (isWorthARetry(policy, outcome)) {
    const visibleAt = nextAttemptAt(
      policy,
      { attempt: entry.attempt, attemptsForgiven: entry.attemptsForgiven, reason: outcome.reason },
      now,
      unitHash(`${state.executionId}/${entry.key}/${entry.attempt}`),
    );
    if (visibleAt !== undefined && outcome.budgetSpent !== true) {
      return { kind: 'retry', visibleAt: notBefore(entry, policy, outcome, now, visibleAt) };
    }
  }
  if (endsTheRun(policy, outcome)) return { kind: 'timeOutExecution' };
  return { kind: entry.node.optional ? 'advance' : 'fail' };
};

/** The longest that the answer of a host can put a retry off, where the policy has no longest delay of its own: one hour. */
export const RETRY_AFTER_MS_MAX = 3_600_000;

/** A host that was called and said when to come again is not called before, within the longest delay of the policy. */
const notBefore = (
  { node }: TaskEntry,
  { maxRetryDelayMs }: TaskPolicy,
  { output }: TaskOutcome,
  now: Instant,
  visibleAt: Instant,
): Instant => {
  const { retryAfterSeconds } = output;
  if (!isCallType(node.type) || typeof retryAfterSeconds !== 'number' || !(retryAfterSeconds > 0)) return visibleAt;
  const capMs = maxRetryDelayMs > 0 ? maxRetryDelayMs : RETRY_AFTER_MS_MAX;
  const asked = addDuration(now, Math.round(Math.min(retryAfterSeconds * 1_000, capMs)));
  return asked > visibleAt ? asked : visibleAt;
};

/** Leases that the server itself may lose on one system task, which has no retries of its own, before it is given up. */
export const SYSTEM_LEASES_LOST_MAX = 10;

/** The process that ran a system task is gone: that is no failure of the task, so another process runs it. */
const isLostByTheServer = (entry: TaskEntry, outcome: TaskOutcome): boolean =>
  outcome.deadline === 'HEARTBEAT' &&
  registry[entry.node.type].family === 'system' &&
  entry.attempt - entry.attemptsForgiven <= SYSTEM_LEASES_LOST_MAX;

/** A lost worker is retried under every policy; the total deadline is over all attempts, so it never is. */
const isWorthARetry = (policy: TaskPolicy, outcome: TaskOutcome): boolean => {
  if (outcome.status === 'FAILED') return true;
  if (outcome.status !== 'TIMED_OUT' || outcome.deadline === 'SCHEDULE_TO_CLOSE') return false;
  // A child that timed out: its deadline is not the task's, so the task's own policy for those says nothing.
  if (outcome.deadline === undefined) return true;
  return outcome.deadline === 'HEARTBEAT' || policy.timeoutPolicy === 'RETRY';
};

const endsTheRun = (policy: TaskPolicy, outcome: TaskOutcome): boolean =>
  outcome.deadline !== undefined && outcome.deadline !== 'HEARTBEAT' && policy.timeoutPolicy === 'TIME_OUT_WF';
