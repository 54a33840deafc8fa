import type { PlanNode } from '../definition/plan.ts';
import type { SignalBuffered } from './events.ts';
import type { ExecutionState, TaskEntry } from './state.ts';

/** Tasks that a signal can end. */
export const isWaiting = (node: PlanNode): boolean => node.type === 'WAIT' || node.type === 'YIELD';

/** The first signal that came before its wait and is kept for this one. */
export const bufferedSignal = (state: ExecutionState, entry: TaskEntry): SignalBuffered | undefined =>
  state.signals.length === 0 || !isWaiting(entry.node)
    ? undefined
    : state.signals.find((signal) => signal.ref === entry.node.ref);
