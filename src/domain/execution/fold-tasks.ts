import { isWaitingType } from '../definition/task-types.ts';
import { invariant, unreachable } from '../kernel/invariant.ts';
import { nextAttempt } from './attempts.ts';
import { isTimed } from './deadlines.ts';
import { closeEntry, enter, nodeAt } from './enter.ts';
import type {
  TaskCanceled,
  TaskClosed,
  TaskDeadlineMissed,
  TaskRefused,
  TaskScheduled,
  TaskSkipped,
  TaskSlot,
  TaskTakenFromCache,
} from './events.ts';
import { compensationClosed, isCompensation } from './fold-compensation.ts';
import { countAttempts } from './in-flight.ts';
import { closeJoin } from './join-state.ts';
import { readerClosed, readerOpened } from './messages.ts';
import { policyFor } from './policy.ts';
import { fail } from './settle.ts';
import { bufferedSignal } from './signals.ts';
import { type ExecutionState, lookAgainAt, pathOf, type TaskEntry, type TaskPhase } from './state.ts';
import { keyOf } from './task-key.ts';

export const taskScheduled = (state: ExecutionState, event: TaskScheduled): void => {
  const entry = enter(state, event, event);
  const policy = policyFor(entry.node, event);
  entry.firstScheduledAt = event.firstScheduledAt;
  entry.phase = { kind: 'attempt', scheduled: event, seq: state.seq, policy, missed: [] };
  entry.timed = isTimed(event, policy);
  if (isWaitingType(entry.node.type)) entry.status = 'IN_PROGRESS';
  entry.child = event.child;
  countAttempts(state, entry.node, 1);
  // A signal that came before its wait is taken by the decision that looks at the wait next.
  if (bufferedSignal(state, entry) !== undefined) lookAgainAt(state, entry.key);
  readerOpened(state, entry);
};

type Attempt = TaskEntry & { phase: Extract<TaskPhase, { kind: 'attempt' }> };

const openAttempt = (state: ExecutionState, slot: TaskSlot & Readonly<{ attempt: number }>, what: string): Attempt => {
  const entry = state.tasks.get(keyOf(slot));
  invariant(
    entry?.phase.kind === 'attempt' && entry.attempt === slot.attempt,
    `${what} of ${keyOf(slot)} attempt ${slot.attempt}, which is not open`,
  );
  return entry as Attempt;
};

export const taskDeadlineMissed = (state: ExecutionState, event: TaskDeadlineMissed): void => {
  const { phase } = openAttempt(state, event, event.type);
  phase.missed = [...phase.missed, event.deadline];
};

export const taskClosed = (state: ExecutionState, event: TaskClosed): void => {
  const entry: TaskEntry = openAttempt(state, event, event.type);
  countAttempts(state, entry.node, -1);
  entry.status = event.status;
  entry.output = event.output;
  entry.reason = event.reason;
  entry.startedAt = event.startedAt;
  entry.endedAt = event.at;
  entry.workerId = event.workerId;
  entry.callbacks = event.callbacks ?? 0;
  entry.callbackSeconds = event.callbackSeconds ?? 0;
  if (event.disposition.kind !== 'withdraw') takeSignal(state, entry);
  readerClosed(state, entry, event.messagesTaken ?? 0);
  applyDisposition(state, entry, event);
};

/** Nothing but the signal itself closes a wait that one is kept for (accept sees to it), so this is its closing. */
const takeSignal = (state: ExecutionState, entry: TaskEntry): void => {
  const signal = bufferedSignal(state, entry);
  if (signal !== undefined) state.signals.splice(state.signals.indexOf(signal), 1);
};

const applyDisposition = (state: ExecutionState, entry: TaskEntry, { disposition }: TaskClosed): void => {
  switch (disposition.kind) {
    case 'advance':
      return closeEntry(state, entry, true);
    case 'retry':
      entry.phase = { kind: 'awaitingRetry', visibleAt: disposition.visibleAt };
      return lookAgainAt(state, entry.key);
    case 'fail':
      return closeEntry(state, entry, false);
    case 'timeOutExecution':
      entry.phase = { kind: 'closed', ok: false, by: 'outcome' };
      return isCompensation(entry) ? compensationClosed(state, entry, false) : fail(state, entry, false);
    case 'withdraw':
      entry.phase = { kind: 'closed', ok: false, by: 'withdrawal' };
      return;
    default:
      return unreachable(disposition);
  }
};

/** Goes on when the run is resumed, with another attempt: those used so far are forgiven. */
export const taskCanceled = (state: ExecutionState, event: TaskCanceled): void => {
  const entry: TaskEntry = openAttempt(state, event, event.type);
  countAttempts(state, entry.node, -1);
  readerClosed(state, entry, 0);
  state.lifecycle = { status: 'PAUSED' };
  entry.status = 'CANCELED';
  entry.reason = event.reason;
  entry.endedAt = event.at;
  entry.attemptsForgiven = entry.attempt;
  entry.firstScheduledAt = event.at;
  entry.phase = { kind: 'awaitingRetry', visibleAt: event.at };
  lookAgainAt(state, entry.key);
};

/** What was open of it ends; what had not begun never does. */
export const taskSkipped = (state: ExecutionState, event: TaskSkipped): void => {
  const entry = state.tasks.get(keyOf(event)) ?? enterSkipped(state, event);
  if (entry.phase.kind === 'attempt') {
    countAttempts(state, entry.node, -1);
    takeSignal(state, entry);
    readerClosed(state, entry, 0);
  }
  closeJoin(state, entry);
  state.skips.delete(entry.key);
  state.skips.delete(entry.node.ref);
  entry.status = 'SKIPPED';
  entry.input = event.input;
  entry.output = event.output;
  entry.reason = event.reason;
  entry.endedAt = event.at;
  closeEntry(state, entry, true);
};

const enterSkipped = (state: ExecutionState, event: TaskSkipped): TaskEntry => {
  const node = nodeAt(state, event);
  const attempt = nextAttempt(state, node, pathOf(node, keyOf(event)));
  return enter(state, event, { at: event.at, input: event.input, attempt, taskName: event.taskName });
};

export const taskRefused = (state: ExecutionState, event: TaskRefused): void => {
  const entry = enter(state, event, event);
  entry.status = event.status;
  entry.reason = event.reason;
  entry.output = { error: event.reason };
  entry.endedAt = event.at;
  closeEntry(state, entry, event.status === 'COMPLETED_WITH_ERRORS', 'refusal');
};

export const taskTakenFromCache = (state: ExecutionState, event: TaskTakenFromCache): void => {
  const entry = enter(state, event, event);
  entry.status = 'COMPLETED';
  entry.output = event.output;
  entry.endedAt = event.at;
  entry.fromCache = true;
  closeEntry(state, entry, true);
};
