import type { Instant } from '../kernel/brand.ts';
import { openJoin } from './join-state.ts';
import { type ExecutionState, ownerEntry, ROOT_KEY, type TaskEntry } from './state.ts';

/**
 * A closed run goes on at its failed tasks: attempts that failed or were canceled by the end get another one, operators
 * that failed are entered again, joins and loops around them wait again. Attempts used so far are forgiven.
 */
export const reopen = (state: ExecutionState, at: Instant): void => {
  state.lifecycle = { status: 'RUNNING' };
  state.pendingEnd = undefined;
  state.permissiveFailure = undefined;
  state.executionDeadlineMissed = false;
  state.deadlineFrom = at;
  for (const entry of state.tasks.values()) reviveLoop(entry);
  for (const entry of state.tasks.values()) reviveAbove(state, entry);
  for (const entry of [...state.tasks.values()]) revive(state, entry, at);
  for (const entry of state.tasks.values()) state.due.add(entry.key);
  state.due.add(ROOT_KEY);
};

const isFailed = (entry: TaskEntry): boolean => entry.phase.kind === 'closed' && !entry.phase.ok;

/** A failed loop goes on where it was: at its condition, or in its body once the failed task there is revived. */
const reviveLoop = (entry: TaskEntry): void => {
  if (entry.phase.kind !== 'closed' || entry.phase.loop === undefined) return;
  entry.phase = entry.phase.loop;
  entry.status = 'IN_PROGRESS';
};

/** A failed entry revives everything that ended because of it: its branch, the loop around it. */
const reviveAbove = (state: ExecutionState, entry: TaskEntry): void => {
  if (entry.ending !== 'failed') return;
  const owner = entry.node.sequence.owner;
  const holder = ownerEntry(state, entry.node, entry.path);
  if (owner.kind === 'root') {
    if (state.liveSequences === 0) state.liveSequences = 1;
  } else if (owner.kind === 'branch' && holder?.phase.kind === 'fork' && holder.phase.ended.delete(owner.index)) {
    state.liveSequences += 1;
  } else if (owner.kind === 'body' && holder?.phase.kind === 'loop') {
    holder.phase.body = 'live';
  }
};

const revive = (state: ExecutionState, entry: TaskEntry, at: Instant): void => {
  if (entry.phase.kind === 'join') return openJoin(state, entry);
  if ((entry.phase.kind === 'choice' || entry.phase.kind === 'loop') && entry.ending === 'failed') {
    entry.ending = 'live';
    return;
  }
  if (!isFailed(entry)) return;
  entry.ending = 'live';
  const type = entry.node.type;
  if (type === 'JOIN' || type === 'EXCLUSIVE_JOIN') {
    entry.status = 'IN_PROGRESS';
    return openJoin(state, entry);
  }
  if (hasAttempts(entry)) {
    entry.phase = { kind: 'awaitingRetry', visibleAt: at };
    entry.attemptsForgiven = entry.attempt;
    return;
  }
  forgetOperator(state, entry);
};

const hasAttempts = (entry: TaskEntry): boolean => {
  switch (entry.node.type) {
    case 'SIMPLE':
    case 'DYNAMIC':
    case 'INLINE':
    case 'LAMBDA':
    case 'JSON_JQ_TRANSFORM':
    case 'WAIT':
    case 'YIELD':
    case 'UNSUPPORTED':
      return true;
    default:
      return false;
  }
};

/** An operator that failed by itself is entered again, as if it had never been reached. */
const forgetOperator = (state: ExecutionState, entry: TaskEntry): void => {
  state.tasks.delete(entry.key);
  const owner = entry.node.sequence.owner;
  const holder = ownerEntry(state, entry.node, entry.path);
  if (owner.kind === 'branch' && entry.node.index === 0 && holder?.phase.kind === 'fork') {
    holder.phase.entered = Math.min(holder.phase.entered, owner.index);
  }
};
