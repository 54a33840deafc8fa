import { familyOf } from '../definition/task-types.ts';
import type { Instant } from '../kernel/brand.ts';
import { resumeCompensation } from './fold-compensation.ts';
import { openJoin } from './join-state.ts';
import { addLive } from './settle.ts';
import { type ExecutionState, lookAgainAt, ownerEntry, ROOT_KEY, type TaskEntry } from './state.ts';

/**
 * A closed run goes on at its failed tasks: attempts that failed or were canceled by the end get another one, operators
 * that failed are entered again, joins and loops around them wait again. Attempts used so far are forgiven, and deadlines
 * count from now. A run that was being undone goes on with that.
 */
export const reopen = (state: ExecutionState, at: Instant): void => {
  state.lifecycle = { status: 'RUNNING' };
  state.pendingEnd = undefined;
  state.permissiveFailure = undefined;
  state.executionDeadlineMissed = false;
  state.deadlineFrom = at;
  if (state.compensation !== undefined) return resumeCompensation(state, state.compensation, at);
  for (const entry of state.tasks.values()) reviveLoop(entry);
  for (const entry of state.tasks.values()) reviveAbove(state, entry);
  for (const entry of [...state.tasks.values()]) revive(state, entry, at);
  // What a join waits for is known only when everything that it could wait for is alive again.
  for (const entry of state.tasks.values()) if (entry.phase.kind === 'join') openJoin(state, entry);
  for (const key of state.tasks.keys()) lookAgainAt(state, key);
  lookAgainAt(state, ROOT_KEY);
};

/** A failed loop goes on where it was: at its condition, or in its body once the failed task there is revived. */
const reviveLoop = (entry: TaskEntry): void => {
  if (entry.phase.kind === 'closed' && entry.phase.loop !== undefined) {
    entry.phase = entry.phase.loop;
    entry.status = 'IN_PROGRESS';
  }
  if (entry.phase.kind === 'loop') entry.phase.failed = false;
};

/** A failed entry revives what ended because of it: its branch, the iteration of the loop around it. */
const reviveAbove = (state: ExecutionState, entry: TaskEntry): void => {
  if (entry.ending !== 'failed') return;
  const { owner } = entry.node.sequence;
  const holder = ownerEntry(state, entry.node, entry.path);
  if (owner.kind === 'branch' && holder?.phase.kind === 'fork' && holder.phase.ended.delete(owner.index)) {
    addLive(state, holder, 1);
  } else if (owner.kind === 'body' && holder?.phase.kind === 'loop' && holder.phase.body === 'failed') {
    holder.phase.body = 'live';
    addLive(state, entry, 1);
  }
};

const revive = (state: ExecutionState, entry: TaskEntry, at: Instant): void => {
  const hasFailed = entry.ending === 'failed' || (entry.phase.kind === 'closed' && !entry.phase.ok);
  if (!hasFailed) return;
  entry.ending = 'live';
  entry.settledSeq = undefined;
  entry.endedAt = undefined;
  if (entry.phase.kind !== 'closed') return;
  if (isJoin(entry) && entry.phase.by !== 'refusal') {
    entry.status = 'IN_PROGRESS';
    entry.phase = { kind: 'join', pending: new Set(), watched: new Map() };
  } else if (hasAttempts(entry)) {
    entry.phase = { kind: 'awaitingRetry', visibleAt: at };
    entry.attemptsForgiven = entry.attempt;
    entry.firstScheduledAt = at;
  } else {
    forgetOperator(state, entry);
  }
};

const isJoin = (entry: TaskEntry): boolean => entry.node.type === 'JOIN' || entry.node.type === 'EXCLUSIVE_JOIN';

const hasAttempts = ({ node }: TaskEntry): boolean => node.type === 'UNSUPPORTED' || familyOf(node.type) !== 'operator';

/** An operator that failed by itself is entered again, as if it had never been reached. */
const forgetOperator = (state: ExecutionState, entry: TaskEntry): void => {
  state.tasks.delete(entry.key);
  if (state.latest.get(entry.node.ref) === entry) state.latest.delete(entry.node.ref);
  const { owner } = entry.node.sequence;
  const holder = ownerEntry(state, entry.node, entry.path);
  if (owner.kind === 'branch' && entry.node.index === 0 && holder?.phase.kind === 'fork') {
    holder.phase.entered = Math.min(holder.phase.entered, owner.index);
  }
};
