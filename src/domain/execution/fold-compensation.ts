import type { Instant } from '../kernel/brand.ts';
import { invariant } from '../kernel/invariant.ts';
import { reasonWithCompensation, withCompensation } from './compensation-text.ts';
import { clearDueKeys } from './due-keys.ts';
import type { CompensationEnded, CompensationStarted } from './events.ts';
import type { Compensation, ExecutionState, TaskEntry } from './state.ts';
import { keyAt, type TaskKey } from './task-key.ts';

/**
 * Remembers a task that completed and would have to be undone: as it ended, whatever its loop does afterwards. This is the
 * one list in the state that follows the history, and only where the definition asks for it.
 */
export const rememberCompletion = (state: ExecutionState, entry: TaskEntry): void => {
  if (entry.node.compensation === undefined || entry.status !== 'COMPLETED' || entry.fromCache) return;
  state.compensable.push({ ...entry, before: undefined });
};

/** Whatever is open or waits for another attempt ends CANCELED with the run, or with its forward part. */
export const cancelOpen = (state: ExecutionState, at: Instant): void => {
  for (const entry of state.tasks.values()) {
    if (entry.phase.kind !== 'attempt' && entry.phase.kind !== 'awaitingRetry') continue;
    entry.phase = { kind: 'closed', ok: false, by: 'end' };
    entry.status = 'CANCELED';
    entry.endedAt = at;
  }
  state.openAttempts = 0;
  state.messageReaders.clear();
  state.tasksInFlight = 0;
  state.pendingEnd = undefined;
  clearDueKeys(state.due);
  clearDueKeys(state.held);
};

/** What is being undone: the one that finished last of those that are left. */
export const beingUndone = (state: ExecutionState): TaskEntry | undefined => state.compensable.at(-1);

/** Whether the run is on its way back. */
export const isCompensating = (state: ExecutionState): boolean => state.compensation?.status === 'RUNNING';

export const isCompensation = (entry: Pick<TaskEntry, 'node'>): boolean =>
  entry.node.sequence.owner.kind === 'compensation';

/** The key of the task that the compensation of a slot undoes. */
export const undoneBy = ({ node, path }: Pick<TaskEntry, 'node' | 'path'>): TaskKey | undefined => {
  const { owner } = node.sequence;
  return owner.kind === 'compensation' ? keyAt(owner.node, path) : undefined;
};

export const compensationStarted = (state: ExecutionState, event: CompensationStarted): void => {
  cancelOpen(state, event.at);
  const end = {
    status: event.status,
    reason: event.reason,
    failedTask: event.failedTask,
    output: event.output,
  };
  state.compensation = { end, status: 'RUNNING', undone: [], left: [], current: undefined };
  state.variables = withCompensation(state.variables, 'RUNNING', [event.reason]);
};

const running = (state: ExecutionState, what: string): Compensation => {
  invariant(state.compensation?.status === 'RUNNING', `${what}, and nothing is being undone`);
  return state.compensation;
};

/** A compensation was entered. One that ran before in this very slot goes on counting its attempts. */
export const compensationEntered = (state: ExecutionState, entry: TaskEntry): void => {
  running(state, `${entry.key} was entered`).current = entry.key;
};

/** A compensation is over. One that failed stays the current one: there the undoing ends, and there a retry goes on. */
export const compensationClosed = (state: ExecutionState, entry: TaskEntry, ok: boolean): void => {
  const compensation = running(state, `${entry.key} is over`);
  entry.ending = ok ? 'ok' : 'failed';
  entry.settledSeq = state.seq;
  if (!ok) return;
  // Should its task complete and be undone once more, its attempts count on and its retries begin anew.
  entry.attemptsForgiven = entry.attempt;
  const undone = state.compensable.pop();
  invariant(undone !== undefined, `${entry.key} undid nothing`);
  compensation.current = undefined;
  if (entry.status === 'COMPLETED') compensation.undone.push(undone.key);
  else compensation.left.push(undone.key);
};

const leftOver = (state: ExecutionState, compensation: Compensation): readonly TaskKey[] => [
  ...compensation.left,
  ...state.compensable.map(({ key }) => key).reverse(),
];

/** The reason of a run whose undoing has come as far as this. */
export const reasonSoFar = (
  state: ExecutionState,
  compensation: Compensation,
  reasons: readonly (string | undefined)[],
): string => reasonWithCompensation(reasons, compensation.undone, leftOver(state, compensation));

export const compensationEnded = (state: ExecutionState, event: CompensationEnded): void => {
  const compensation = running(state, event.type);
  compensation.status = event.status;
  const { end } = compensation;
  const reasons = [end.reason, event.reason];
  state.variables = withCompensation(state.variables, event.status, reasons);
  state.pendingEnd = { ...end, reason: reasonSoFar(state, compensation, reasons) };
};

/** An operator ended the run while it was being undone. */
export const compensationInterrupted = (state: ExecutionState, reason: string | undefined): void => {
  if (state.compensation?.status !== 'RUNNING') return;
  state.compensation.status = 'FAILED';
  state.variables = withCompensation(state.variables, 'FAILED', [reason]);
};

/** A retry of a run whose undoing stopped goes on with that: the compensation it stopped at gets its retries again. */
export const resumeCompensation = (state: ExecutionState, compensation: Compensation, at: Instant): void => {
  compensation.status = 'RUNNING';
  state.variables = withCompensation(state.variables, 'RUNNING', [compensation.end.reason]);
  const entry = compensation.current === undefined ? undefined : state.tasks.get(compensation.current);
  if (entry === undefined) return;
  entry.phase = { kind: 'awaitingRetry', visibleAt: at };
  entry.ending = 'live';
  entry.settledSeq = undefined;
  entry.endedAt = undefined;
  entry.attemptsForgiven = entry.attempt;
  entry.firstScheduledAt = at;
};
