import { accept } from '../domain/execution/accept.ts';
import { gatesOf } from '../domain/execution/admission.ts';
import type { ExecutionRequest, Rejection } from '../domain/execution/requests.ts';
import { type ExecutionState, isOpen } from '../domain/execution/state.ts';
import type { Instant, Namespace } from '../domain/kernel/brand.ts';
import { err, ok, type Result } from '../domain/kernel/result.ts';
import type { EngineTx } from '../ports/engine-store.ts';
import { exceededError } from './exceeded-limit.ts';

/** An ended run takes no outcome, so there is no output to check. */
const nothingToCheck = () => undefined;

/**
 * A request that reopens an ended run asks for its places again, as a start does: it is refused where that is refused, and
 * where a start would be queued the run is reopened and waits. Any other request goes on as it is.
 */
export const withAdmission = async (
  tx: EngineTx,
  namespace: Namespace,
  state: ExecutionState,
  request: ExecutionRequest,
  now: Instant,
): Promise<Result<readonly ExecutionRequest[], Rejection>> => {
  const { started, executionId } = state;
  if (isOpen(state) || started === undefined) return ok([request]);
  const accepted = accept(state, request, now, nothingToCheck);
  // An answer that is given again is accepted without a fact: nothing is reopened by it.
  if (!accepted.ok || accepted.value.length === 0) return ok([request]);
  const gates = gatesOf(state, started);
  if (!gates.ok) return err({ code: 'INVALID_STATE', message: gates.error });
  const [admission] = await tx.admitExecutions([{ executionId, namespace, gates: gates.value, isStart: false }]);
  if (admission?.kind === 'refused') {
    const { message, details } = exceededError(admission.exceeded, state.plan.definition.name);
    return err({ code: 'LIMIT_EXCEEDED', message, ...(details === undefined ? {} : { details }) });
  }
  return ok(admission?.kind === 'queued' ? [request, { type: 'AwaitAdmission', key: admission.key }] : [request]);
};
