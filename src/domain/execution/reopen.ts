import { familyOf } from '../definition/task-types.ts';
import type { Instant } from '../kernel/brand.ts';
import { noteForgotten } from './attempts.ts';
import { resumeCompensation } from './fold-compensation.ts';
import { lookAtAll } from './look-at-all.ts';
import { recount } from './recount.ts';
import { seeAgain } from './see-again.ts';
import type { ExecutionState, TaskEntry } from './state.ts';

/**
 * A closed run goes on at its failed tasks: attempts that failed or were canceled by the end get another one, operators
 * that failed are entered again, joins and loops around them wait again. Attempts used so far are forgiven, and deadlines
 * count from now. A run that was being undone goes on with that.
 */
export const reopen = (state: ExecutionState, at: Instant, resumesChildren: boolean): void => {
  state.lifecycle = { status: 'RUNNING' };
  state.pendingEnd = undefined;
  state.permissiveFailure = undefined;
  state.executionDeadlineMissed = false;
  state.deadlineFrom = at;
  if (state.compensation !== undefined) return resumeCompensation(state, state.compensation, at);
  for (const entry of state.tasks.values()) reviveLoop(entry);
  for (const entry of [...state.tasks.values()]) revive(state, entry, at, resumesChildren);
  recount(state);
  lookAtAll(state);
};

/** A failed loop goes on where it was: at its condition, or in its body once the failed task there is revived. */
const reviveLoop = (entry: TaskEntry): void => {
  if (entry.phase.kind === 'closed' && !entry.phase.ok && entry.phase.loop !== undefined) {
    entry.phase = entry.phase.loop;
    entry.status = 'IN_PROGRESS';
  }
  if (entry.phase.kind === 'loop') entry.phase.failed = false;
};

const revive = (state: ExecutionState, entry: TaskEntry, at: Instant, resumesChildren: boolean): void => {
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
    const resumes = resumesChildren && entry.node.type === 'SUB_WORKFLOW' && entry.child !== undefined;
    entry.phase = { kind: 'awaitingRetry', visibleAt: at, ...(resumes ? { resumes } : {}) };
    entry.attemptsForgiven = entry.attempt;
    entry.firstScheduledAt = at;
  } else {
    forgetOperator(state, entry);
  }
};

const isJoin = (entry: TaskEntry): boolean => entry.node.type === 'JOIN' || entry.node.type === 'EXCLUSIVE_JOIN';

/** What is queued has attempts, and so has a task of a type that this version only refuses. */
const hasAttempts = ({ node }: TaskEntry): boolean => node.type === 'UNSUPPORTED' || familyOf(node.type) !== 'operator';

/** An operator that failed by itself is entered again, as if it had never been reached; only its attempts are used up. */
const forgetOperator = (state: ExecutionState, entry: TaskEntry): void => {
  noteForgotten(state, entry);
  state.tasks.delete(entry.key);
  if (state.latest.get(entry.node.ref) === entry) seeAgain(state, entry);
};
