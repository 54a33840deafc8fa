import type { Sequence } from '../definition/plan.ts';
import { evaluateTemplate } from '../expression/evaluate.ts';
import { isJsonObject, type JsonObject } from '../kernel/json.ts';
import { err, ok, type Result } from '../kernel/result.ts';
import { payloadProblem } from './payload-limit.ts';
import { modeOf, scopeAt } from './scope.ts';
import type { ExecutionState } from './state.ts';

/**
 * The declared output of the run, a ref that never ran giving null; without one, the output of its last task. An error
 * says why there is none.
 */
export const executionOutput = (state: ExecutionState): Result<JsonObject, string> => {
  const template = state.plan.outputParameters;
  if (template === undefined) return ok(lastOutput(state, state.plan.root));
  const result = evaluateTemplate(template, scopeAt(state), modeOf(state));
  if (!result.ok) return err(`outputParameters: ${result.error.code} ${result.error.message}`);
  const { value } = result.value;
  const problem = payloadProblem(value);
  if (problem !== undefined) return err(`The output of the execution is ${problem}.`);
  return ok(isJsonObject(value) ? value : {});
};

/** Of a switch, what the last task of its case gave. */
const lastOutput = (state: ExecutionState, sequence: Sequence): JsonObject => {
  const last = sequence.nodes.at(-1);
  const entry = last === undefined ? undefined : state.latest.get(last.ref);
  if (entry === undefined) return {};
  return entry.phase.kind === 'choice' ? lastOutput(state, entry.phase.chosen) : entry.output;
};
