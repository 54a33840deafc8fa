import type { PlanNode } from '../definition/plan.ts';
import type { Instant } from '../kernel/brand.ts';
import { invariant } from '../kernel/invariant.ts';
import { jsonBytes } from '../kernel/json-depth.ts';
import { ok } from '../kernel/result.ts';
import { type Answer, askedBy, type RequestOf, reject } from './answer.ts';
import { acceptCancelTask } from './cancel-task.ts';
import { endOf } from './compensate.ts';
import { completeTask } from './complete-task.ts';
import type { ExecutionClosed } from './events.ts';
import { withFailureWorkflow } from './failure-workflow.ts';
import { isCompensating, isCompensation, reasonSoFar } from './fold-compensation.ts';
import { acceptJump } from './jump.ts';
import { MESSAGES_BYTES_MAX, MESSAGES_WAITING_MAX } from './messages.ts';
import { closing, closingAtHand, type Judging } from './outcome.ts';
import type { ExecutionRequest, TaskOutcome } from './requests.ts';
import { acceptRerun } from './rerun.ts';
import { acceptRerunTasks } from './rerun-tasks.ts';
import { acceptRestart } from './restart.ts';
import type { FindViolation } from './schema-check.ts';
import { acceptVariables } from './set-variables.ts';
import { bufferedSignal, takesAnySignal, takesSignals } from './signals.ts';
import { acceptSkip } from './skip-task.ts';
import { type ExecutionState, isOpen, nodeOf, type TaskEntry } from './state.ts';
import { isClosedExecution } from './statuses.ts';
import { keyOf } from './task-key.ts';
import { acceptUpgrade } from './upgrade.ts';

/** Signals that may wait for a task of one run at a time. */
export const SIGNALS_BUFFERED_MAX = 10_000;

/**
 * Turns what an outsider asks into facts, or refuses it. Changes nothing itself. `findViolation` checks the outputs of tasks
 * that have a schema.
 */
export const accept = (
  state: ExecutionState,
  request: ExecutionRequest,
  now: Instant,
  findViolation: FindViolation,
): Answer => {
  switch (request.type) {
    case 'Retry':
      return retry(state, request, now);
    case 'Adopt':
      return adopt(state, request, now);
    case 'ReviveFor':
      return reviveFor(state, request, now);
    case 'Rerun':
      return acceptRerun(state, request, now);
    case 'RerunTasks':
      return acceptRerunTasks(state, request, now);
    case 'Restart':
      return acceptRestart(state, request, now);
    case 'CompleteTask':
      return completeTask(state, request, { now, findViolation });
    default:
      return acceptOpen(state, request, { now, findViolation });
  }
};

type AnyTime = 'Retry' | 'Adopt' | 'ReviveFor' | 'Rerun' | 'RerunTasks' | 'Restart' | 'CompleteTask';

/** What can be asked only of a run that has not ended. */
const acceptOpen = (
  state: ExecutionState,
  request: Exclude<ExecutionRequest, { type: AnyTime }>,
  judging: Judging,
): Answer => {
  const { now } = judging;
  if (!isOpen(state)) {
    return reject('TERMINAL_STATE', `The execution has ended: ${state.lifecycle.status}.`);
  }
  switch (request.type) {
    case 'SettleTask':
      return settleTask(state, request.outcome, judging);
    case 'Signal':
      return signal(state, request, judging);
    case 'ReceiveMessage':
      return receiveMessage(state, request, now);
    case 'Pause':
      return pause(state, request, now);
    case 'Resume':
      return resume(state, request, now);
    case 'Terminate':
      return ok([termination(state, request, now)]);
    case 'SkipTask':
      return acceptSkip(state, request, now);
    case 'CancelTask':
      return acceptCancelTask(state, request, now);
    case 'SetVariables':
      return acceptVariables(state, request, now);
    case 'Jump':
      return acceptJump(state, request, now);
    case 'Upgrade':
      return acceptUpgrade(state, request, now);
    case 'PassExecutionDeadline':
      return passDeadline(state, now);
    case 'Admit':
      return state.awaitingAdmission
        ? ok([{ type: 'ExecutionAdmitted', at: now }])
        : reject('INVALID_STATE', 'The execution does not await its admission.');
    case 'AwaitAdmission':
      return ok([{ type: 'ExecutionQueued', at: now, key: request.key }]);
    default:
      return request satisfies never;
  }
};

const termination = (state: ExecutionState, request: RequestOf<'Terminate'>, at: Instant): ExecutionClosed => {
  const reason = terminationReason(state, request);
  const end = { type: 'ExecutionClosed', at, status: 'TERMINATED', output: {}, by: request.by, reason } as const;
  return withFailureWorkflow(state, end, request.triggerFailureWorkflow);
};

/** Terminated on its way back, the run tells also why it was on it, and how far it came. */
const terminationReason = (state: ExecutionState, request: RequestOf<'Terminate'>): string => {
  const reason = request.reason ?? 'terminated by an operator';
  const { compensation } = state;
  return compensation === undefined ? reason : reasonSoFar(state, compensation, [reason, compensation.end.reason]);
};

const settleTask = (state: ExecutionState, outcome: TaskOutcome, judging: Judging): Answer => {
  const entry = state.tasks.get(keyOf(outcome));
  if (entry?.phase.kind !== 'attempt' || entry.attempt !== outcome.attempt) {
    return reject('LEASE_LOST', `Attempt ${outcome.attempt} of ${keyOf(outcome)} is not open.`);
  }
  if (outcome.deadline !== undefined && entry.phase.missed.includes(outcome.deadline)) {
    return reject('INVALID_STATE', `The deadline ${outcome.deadline} of ${entry.key} has passed already.`);
  }
  // What came before its wait was promised to it: it goes before the clock and before any other outcome.
  return ok([closingAtHand(state, entry, judging) ?? closing(state, entry, outcome, judging)]);
};

const isOpenWait = (entry: TaskEntry, ref: string | undefined): boolean =>
  entry.phase.kind === 'attempt' && (ref === undefined ? takesAnySignal(entry.node) : takesSignals(entry.node));

/** The open wait that a signal ends: the one with this very key, else the one of that ref, else the oldest. */
const firstBlocked = (state: ExecutionState, ref: string | undefined): TaskEntry | undefined => {
  const named = ref === undefined ? undefined : state.tasks.get(ref);
  if (named !== undefined && isOpenWait(named, ref)) return named;
  let first: TaskEntry | undefined;
  for (const entry of state.tasks.values()) {
    if (!isOpenWait(entry, ref) || (ref !== undefined && entry.node.ref !== ref)) continue;
    if (first === undefined || entry.seq < first.seq) first = entry;
  }
  return first;
};

const signal = (state: ExecutionState, request: RequestOf<'Signal'>, judging: Judging): Answer => {
  const entry = firstBlocked(state, request.ref);
  // Where one is kept for the wait already, this one comes after it.
  if (entry === undefined || bufferedSignal(state, entry) !== undefined)
    return bufferSignal(state, request, judging.now);
  invariant(entry.phase.kind === 'attempt', `${entry.key} waits for nothing`);
  const { ref, iteration, attempt } = entry.phase.scheduled;
  const { status, output, by } = request;
  const outcome = { ref, iteration, attempt, status, output, workerId: by, startedAt: entry.scheduledAt };
  return ok([closing(state, entry, outcome, judging)]);
};

/** A signal may come before its wait: it is kept for the next task of that ref. */
const bufferSignal = (state: ExecutionState, request: RequestOf<'Signal'>, now: Instant): Answer => {
  const { ref, output, status } = request;
  if (ref === undefined) return reject('INVALID_STATE', 'No task of this execution waits for a signal.');
  const node = nodeOf(state, ref);
  if (node === undefined || !takesSignals(node)) {
    return reject('NOT_FOUND', `No task ${ref} of this execution waits for signals.`);
  }
  if (isCompensating(state) && !isCompensation({ node })) {
    return reject('INVALID_STATE', `The execution is being compensated: task ${ref} does not run any more.`);
  }
  if (!mayWaitAgain(state, node, ref)) {
    return reject('INVALID_STATE', `Task ${ref} has ended and does not wait again.`);
  }
  if (state.signals.length >= SIGNALS_BUFFERED_MAX) {
    return reject('LIMIT_EXCEEDED', `${SIGNALS_BUFFERED_MAX} signals wait for tasks of this execution already.`);
  }
  return ok([{ type: 'SignalBuffered', at: now, ref: node.ref, output, status }]);
};

/** One iteration of a loop waits once; by its plain ref a task in a loop may always wait again. */
const mayWaitAgain = (state: ExecutionState, node: PlanNode, ref: string): boolean => {
  if (ref === node.ref && node.loops.length > 0) return true;
  const entry = state.tasks.get(ref);
  return entry === undefined ? ref === node.ref : entry.phase.kind !== 'closed';
};

const receiveMessage = (state: ExecutionState, request: RequestOf<'ReceiveMessage'>, now: Instant): Answer => {
  const { id, payload, by } = request;
  if (state.messages.length >= MESSAGES_WAITING_MAX) {
    return reject('LIMIT_EXCEEDED', `${MESSAGES_WAITING_MAX} messages wait for this execution already.`);
  }
  if (state.messageBytes + jsonBytes(payload) > MESSAGES_BYTES_MAX) {
    return reject('LIMIT_EXCEEDED', `The messages that wait would be larger than ${MESSAGES_BYTES_MAX} bytes as JSON.`);
  }
  return ok([{ type: 'MessageReceived', at: now, id, payload, by }]);
};

const pause = (state: ExecutionState, request: RequestOf<'Pause'>, now: Instant): Answer =>
  state.lifecycle.status === 'PAUSED'
    ? reject('INVALID_STATE', 'The execution is paused already.')
    : ok([{ type: 'ExecutionPaused', at: now, ...askedBy(request) }]);

const resume = (state: ExecutionState, request: RequestOf<'Resume'>, now: Instant): Answer =>
  state.lifecycle.status === 'RUNNING'
    ? reject('INVALID_STATE', 'The execution is not paused.')
    : ok([{ type: 'ExecutionResumed', at: now, ...askedBy(request) }]);

const retry = (state: ExecutionState, request: RequestOf<'Retry'>, now: Instant): Answer => {
  const { lifecycle } = state;
  if (lifecycle.status === 'NEW' || !isClosedExecution(lifecycle.status)) {
    return reject('INVALID_STATE', 'Only an execution that has failed can be retried.');
  }
  if (lifecycle.status === 'COMPLETED') return reject('INVALID_STATE', 'A completed execution has nothing to retry.');
  if (state.compensation?.status === 'COMPLETED') {
    const message = 'What the execution did was undone by its compensations, so that it can only be restarted.';
    return reject('INVALID_STATE', message);
  }
  const resumes = request.resumesChildren === true ? { resumesChildren: true as const } : {};
  return ok([{ type: 'ExecutionRetried', at: now, ...askedBy(request), ...resumes }]);
};

const adopt = (state: ExecutionState, request: RequestOf<'Adopt'>, now: Instant): Answer => {
  const { parent, by } = request;
  if (isOpen(state)) return ok([{ type: 'ExecutionAdopted', at: now, parent }]);
  const retried = retry(state, { type: 'Retry', by, reason: 'its parent was retried', resumesChildren: true }, now);
  if (!retried.ok) return retried;
  return ok(retried.value.map((event) => (event.type === 'ExecutionRetried' ? { ...event, parent } : event)));
};

/** Only the very attempt that waited for the child brings the run back: a later one has, or had, another child. */
const reviveFor = (state: ExecutionState, request: RequestOf<'ReviveFor'>, now: Instant): Answer => {
  const { child, link, by } = request;
  const entry = state.tasks.get(keyOf(link));
  const hasFailed = entry?.phase.kind === 'closed' && !entry.phase.ok && entry.attempt === link.attempt;
  if (isOpen(state) || !hasFailed || entry.child?.executionId !== child) {
    return reject('INVALID_STATE', `The execution did not fail because of its child ${child}.`);
  }
  const reason = `its child ${child} was retried`;
  return retry(state, { type: 'Retry', by, reason, resumesChildren: true }, now);
};

const passDeadline = (state: ExecutionState, now: Instant): Answer => {
  const { timeoutMs } = state.plan;
  if (timeoutMs === 0 || state.executionDeadlineMissed || state.compensation !== undefined) {
    return reject('INVALID_STATE', 'The execution has no deadline that could pass.');
  }
  if (state.plan.timeoutPolicy === 'ALERT_ONLY') return ok([{ type: 'ExecutionDeadlineMissed', at: now }]);
  const reason = `The execution did not end within ${timeoutMs} ms.`;
  const output = {};
  return ok([endOf(state, { status: 'TIMED_OUT', reason, failedTask: undefined, output }, now, () => output)]);
};
