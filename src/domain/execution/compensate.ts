import type { Instant } from '../kernel/brand.ts';
import { invariant } from '../kernel/invariant.ts';
import { type Due, enter, type Look, takeWhatIsAtHand } from './entering.ts';
import type { CompensationEnded, CompensationStarted, ExecutionClosed } from './events.ts';
import { withFailureWorkflow } from './failure-workflow.ts';
import { beingUndone } from './fold-compensation.ts';
import type { ExecutionState, PendingEnd, TaskEntry } from './state.ts';
import { keyAt } from './task-key.ts';

/** A run that failed or timed out is undone first, once; one that was terminated stays as it is. */
export const mustCompensate = (state: ExecutionState, { status }: Pick<PendingEnd, 'status'>): boolean =>
  (status === 'FAILED' || status === 'TIMED_OUT') && state.compensation === undefined && state.compensable.length > 0;

/** The fact that ends the run, or, where completed tasks have to be undone, the one that turns it back. */
export const endOf = (
  state: ExecutionState,
  end: PendingEnd,
  now: Instant,
  outputOf: () => ExecutionClosed['output'],
): CompensationStarted | ExecutionClosed => {
  const { status } = end;
  const why = {
    ...(end.reason === undefined ? {} : { reason: end.reason }),
    ...(end.failedTask === undefined ? {} : { failedTask: end.failedTask }),
  };
  if (!mustCompensate(state, end)) {
    const output = end.output ?? outputOf();
    return withFailureWorkflow(state, { type: 'ExecutionClosed', at: now, status, output, ...why });
  }
  invariant(status === 'FAILED' || status === 'TIMED_OUT', `a run that is ${status} is not undone`);
  const output = end.output === undefined ? {} : { output: end.output };
  return { type: 'CompensationStarted', at: now, status, ...why, ...output };
};

/** What follows while the run is undone, one task at a time, the one that finished last first. */
export const nextOfCompensation = (look: Look): Due | undefined => {
  const { state } = look;
  const { current } = state.compensation ?? {};
  const entry = current === undefined ? undefined : state.tasks.get(current);
  if (entry === undefined) return undoNext(look);
  switch (entry.phase.kind) {
    case 'attempt':
      return takeWhatIsAtHand(look, entry);
    case 'awaitingRetry':
      return enter(look, entry.node, entry.path, entry);
    default:
      return failed(entry, look.now);
  }
};

const undoNext = (look: Look): Due => {
  const original = beingUndone(look.state);
  if (original === undefined) return { type: 'CompensationEnded', at: look.now, status: 'COMPLETED' };
  const node = original.node.compensation;
  invariant(node !== undefined, `${original.key} declares no compensation`);
  const earlier = look.state.tasks.get(keyAt(node.ref, original.path));
  return enter(look, node, original.path, earlier && { ...earlier, firstScheduledAt: look.now });
};

const failed = ({ key, status, reason }: TaskEntry, now: Instant): CompensationEnded => ({
  type: 'CompensationEnded',
  at: now,
  status: 'FAILED',
  reason: `Compensation ${key} failed with status ${status}${reason === undefined ? '' : `: ${reason}`}`,
});
