import { evaluateTemplate } from '../expression/evaluate.ts';
import { isJsonObject, type JsonObject } from '../kernel/json.ts';
import { err, ok, type Result } from '../kernel/result.ts';
import { modeOf, OUTSIDE, scopeAt } from './scope.ts';
import type { ExecutionState } from './state.ts';

/** The declared output of the run, a ref that never ran giving null; without one, the output of its last task. */
export const executionOutput = (state: ExecutionState): Result<JsonObject, string> => {
  const template = state.plan.outputParameters;
  if (template === undefined) return ok(state.lastOutput);
  const result = evaluateTemplate(template, scopeAt(state, OUTSIDE), modeOf(state));
  if (!result.ok) return err(`outputParameters: ${result.error.code} ${result.error.message}`);
  return ok(isJsonObject(result.value.value) ? result.value.value : {});
};
