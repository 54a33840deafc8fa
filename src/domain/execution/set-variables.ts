import type { Instant } from '../kernel/brand.ts';
import { jsonBytes } from '../kernel/json-depth.ts';
import { ok } from '../kernel/result.ts';
import { VARIABLES_BYTES_MAX } from '../tasks/plain-operators.ts';
import { type Answer, askedBy, type RequestOf, reject } from './answer.ts';
import type { ExecutionState } from './state.ts';

/** Merges variables into those of an open run; what is entered from now on sees them. */
export const acceptVariables = (state: ExecutionState, request: RequestOf<'SetVariables'>, at: Instant): Answer => {
  const { variables } = request;
  if (jsonBytes({ ...state.variables, ...variables }) > VARIABLES_BYTES_MAX) {
    return reject('PAYLOAD_TOO_LARGE', `The variables would exceed ${VARIABLES_BYTES_MAX} bytes as JSON.`);
  }
  return ok([{ type: 'VariablesSet', at, ...askedBy(request), variables }]);
};
