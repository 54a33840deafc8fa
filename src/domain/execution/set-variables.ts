import type { Instant } from '../kernel/brand.ts';
import type { JsonObject } from '../kernel/json.ts';
import { jsonBytes } from '../kernel/json-depth.ts';
import { ok } from '../kernel/result.ts';
import { VARIABLES_BYTES_MAX } from '../tasks/plain-operators.ts';
import { type Answer, askedBy, type RequestOf, reject } from './answer.ts';
import type { ExecutionState } from './state.ts';

/** Where a variable is a list what comes goes to its end, one by one if it is a list itself; every other one is replaced. */
const appended = (state: ExecutionState, variables: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(variables).map(([name, value]) => {
      const present = state.variables[name];
      return [name, Array.isArray(present) ? [...present, ...(Array.isArray(value) ? value : [value])] : value];
    }),
  );

/** Merges variables into those of an open run; what is entered from now on sees them. */
export const acceptVariables = (state: ExecutionState, request: RequestOf<'SetVariables'>, at: Instant): Answer => {
  const variables = request.appends === true ? appended(state, request.variables) : request.variables;
  if (jsonBytes({ ...state.variables, ...variables }) > VARIABLES_BYTES_MAX) {
    return reject('PAYLOAD_TOO_LARGE', `The variables would exceed ${VARIABLES_BYTES_MAX} bytes as JSON.`);
  }
  return ok([{ type: 'VariablesSet', at, ...askedBy(request), variables }]);
};
