import { iterationOutputs, loopOutput, withLastIteration } from '../execution/loop-state.ts';
import { PAYLOAD_BYTES_MAX, payloadProblem } from '../execution/payload-limit.ts';
import { modeOf } from '../execution/scope.ts';
import type { LoopPhase } from '../execution/state.ts';
import { evaluateTemplate } from '../expression/evaluate.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../kernel/json.ts';
import { choose } from './choose.ts';
import {
  evaluated,
  type Review,
  type ReviewContext,
  resolvedInput,
  type Step,
  type TaskSemantics,
} from './task-semantics.ts';

type Context = ReviewContext<'DO_WHILE'>;

const overItems = (input: JsonObject, items: JsonValue): Step => {
  if (!Array.isArray(items)) {
    return { kind: 'refuse', input, reason: `items must be a list; it is ${JSON.stringify(items).slice(0, 200)}.` };
  }
  if (items.length === 0) return { kind: 'resolve', input, output: { iteration: 0 } };
  return { kind: 'open', input, items };
};

/** What the condition sees: the resolved inputs, the loop and the outputs of the iteration that ended. */
const bindingsOf = (context: Context, phase: LoopPhase): JsonObject => {
  const input = evaluateTemplate(context.node.input, context.scope, modeOf(context.state));
  const resolved = input.ok && isJsonObject(input.value.value) ? input.value.value : {};
  const inputs = context.givenInput ?? resolved;
  const current = iterationOutputs(context.state, context.entry, phase.iteration);
  const own = context.node.readsHistory
    ? { ...loopOutput(phase), [String(phase.iteration)]: current }
    : loopOutput({ ...phase, kept: new Map() });
  return { ...current, ...inputs, [context.node.ref]: own };
};

const isTruthy = (value: JsonValue): boolean =>
  value === true || value === 'true' || (typeof value === 'number' && value !== 0);

const goesOn = (context: Context, phase: LoopPhase): boolean | string => {
  const hasMore = phase.items === undefined || phase.iteration < phase.items.length;
  if (!hasMore) return false;
  if (context.node.condition === undefined) return true;
  const result = choose(context, context.node.condition, bindingsOf(context, phase));
  return result.ok ? isTruthy(result.value) : `The loop condition failed: ${result.error}`;
};

const completed = (context: Context, phase: LoopPhase): Review => {
  const output = loopOutput(withLastIteration(context.state, context.entry, phase));
  const problem = payloadProblem(output);
  if (problem !== undefined) return failed(context, phase, `The output of the loop is ${problem}.`);
  return { kind: 'close', status: 'COMPLETED', output };
};

const failed = (context: Context, phase: LoopPhase, reason: string): Review => {
  const output = loopOutput(withLastIteration(context.state, context.entry, phase));
  // A permissive task of the loop failed; that the loop is optional does not undo it.
  const isExcused = context.node.optional && !phase.failed;
  return {
    kind: 'close',
    status: isExcused ? 'COMPLETED_WITH_ERRORS' : 'FAILED_WITH_TERMINAL_ERROR',
    // An output that is too large may be what it failed for: then it only tells how far it came.
    output: payloadProblem(output) === undefined ? output : { iteration: phase.iteration },
    reason,
  };
};

/** Runs its body, then its condition, until that no longer holds or the list is at its end. */
export const doWhile: TaskSemantics<'DO_WHILE'> = {
  family: 'operator',
  enter: (context) => {
    const resolved = resolvedInput(context);
    if (!resolved.ok) return resolved.step;
    if (context.node.items === undefined) return { kind: 'open', input: resolved.input };
    const items = evaluated(context, context.node.items, 'items');
    return items.ok ? overItems(resolved.input, items.value) : items.step;
  },
  review: (context) => {
    const { phase } = context.entry;
    if (phase.kind !== 'loop' || phase.live > 0) return { kind: 'wait' };
    if (phase.failed) return failed(context, phase, 'A task of the loop failed.');
    if (phase.keptBytes > PAYLOAD_BYTES_MAX) {
      return failed(context, phase, `The output of the loop is larger than ${PAYLOAD_BYTES_MAX} bytes as JSON.`);
    }
    const answer = goesOn(context, phase);
    if (answer === true) return { kind: 'iterate' };
    return answer === false ? completed(context, phase) : failed(context, phase, answer);
  },
};
