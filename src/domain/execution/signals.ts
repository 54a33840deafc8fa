import type { PlanNode } from '../definition/plan.ts';
import type { SignalBuffered } from './events.ts';
import type { ExecutionState, TaskEntry } from './state.ts';

/** Tasks that a signal can end. */
export const takesSignals = (node: PlanNode): boolean => {
  switch (node.type) {
    case 'WAIT':
    case 'YIELD':
    case 'HUMAN':
      return true;
    case 'EVENT':
    case 'KAFKA_PUBLISH':
      return node.asyncComplete;
    default:
      return false;
  }
};

/** A signal that names nobody is for one that waits for just that, not for the receiver of a message. */
export const takesAnySignal = (node: PlanNode): boolean =>
  node.type === 'WAIT' || node.type === 'YIELD' || node.type === 'HUMAN';

/** The first signal that came before its wait and is kept for this one. */
export const bufferedSignal = (state: ExecutionState, entry: TaskEntry): SignalBuffered | undefined =>
  state.signals.length === 0 || !takesSignals(entry.node)
    ? undefined
    : state.signals.find((signal) => signal.ref === entry.node.ref);
