import type { Instant } from '../kernel/brand.ts';
import { ok } from '../kernel/result.ts';
import { type Answer, askedBy, type RequestOf, reject } from './answer.ts';
import { entryNamed } from './named-task.ts';
import type { ExecutionState } from './state.ts';

/** Takes the open attempt of one task away and pauses the run: what its worker still reports is refused. */
export const acceptCancelTask = (state: ExecutionState, request: RequestOf<'CancelTask'>, at: Instant): Answer => {
  const entry = entryNamed(state, request.ref);
  if (!entry.ok) return entry;
  const { phase, key } = entry.value;
  if (phase.kind !== 'attempt') return reject('INVALID_STATE', `Task ${key} has no open attempt to cancel.`);
  const { ref, iteration, attempt } = phase.scheduled;
  return ok([{ type: 'TaskCanceled', at, ref, iteration, attempt, ...askedBy(request) }]);
};
