import type { PlanNode, PlanNodeType } from '../definition/plan.ts';
import type { EnforcedSchemas } from '../definition/schemas.ts';
import type { TaskDefinition, TaskPolicy } from '../definition/task-definition.ts';
import type { ChildStart, OperatorResolved } from '../execution/events.ts';
import type { OutputKey } from '../execution/output-cache.ts';
import { payloadProblem } from '../execution/payload-limit.ts';
import type { FindViolation } from '../execution/schema-check.ts';
import { modeOf } from '../execution/scope.ts';
import type { EvaluateScript } from '../execution/script.ts';
import type { ExecutionState, TaskEntry } from '../execution/state.ts';
import type { OperatorStatus } from '../execution/statuses.ts';
import { type DeferredReference, evaluateTemplate } from '../expression/evaluate.ts';
import type { CompiledTemplate } from '../expression/parse-template.ts';
import type { Scope } from '../expression/scope.ts';
import type { Instant, TaskId } from '../kernel/brand.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../kernel/json.ts';

/** The four families: who brings a task to its end. Each type is in exactly one. */
export type TaskFamily = 'worker' | 'system' | 'waiting' | 'operator';

/** What a decision may use beside plan, state and time; all of it deterministic. */
export type DecisionEnvironment = Readonly<{
  evaluateScript: EvaluateScript;
  findViolation: FindViolation;
  /** A task definition by a name only known at run time: null when there is none, undefined when it is not loaded yet. */
  taskDefinition: (name: string) => TaskDefinition | null | undefined;
  /** Proves at the door for callbacks that its holder may end the task: nobody can guess it, and the same task has the same. */
  callbackToken: (taskId: TaskId) => string;
  /** What a task of the name gave for the key: null when nothing holds, undefined when it was not looked up yet. */
  cachedOutput: (wanted: OutputKey) => JsonObject | null | undefined;
  /** Whether workers polled a queue with a domain of late; undefined when it was not looked up yet. */
  isPolled: (queue: string) => boolean | undefined;
  /** Environment values by name, `*` for all; an absent one is not there. Undefined when they were not looked up yet. */
  environmentValues: (names: readonly string[]) => Readonly<Record<string, string>> | undefined;
}>;

type Matching<N extends PlanNode, K> = N extends PlanNode ? (K extends N['type'] ? N : never) : never;
/** The node that a type stands for in a plan. */
export type NodeOf<K extends PlanNodeType> = K extends PlanNodeType ? Matching<PlanNode, K> : never;

export type EnterContext<K extends PlanNodeType = PlanNodeType> = Readonly<{
  state: ExecutionState;
  node: NodeOf<K>;
  path: readonly number[];
  scope: Scope;
  now: Instant;
  environment: DecisionEnvironment;
  /** What an operator gave in place of the node's inputParameters. */
  givenInput?: JsonObject;
}>;

export type ReviewContext<K extends PlanNodeType = PlanNodeType> = EnterContext<K> & Readonly<{ entry: TaskEntry }>;

/** What entering a node leads to: a small closed vocabulary; the decision turns it into one fact. */
export type Step =
  | Readonly<{
      kind: 'dispatch';
      input: JsonValue;
      /** Where references to secrets stand in the input. */
      deferred?: readonly DeferredReference[];
      taskName: string;
      policy?: TaskPolicy;
      /** Of a task definition that was only known at run time. */
      schemas?: EnforcedSchemas;
      fireAt?: Instant;
      /** The task sends its message with this very fact, and stays open for the answer. */
      sink?: string;
      child?: Omit<ChildStart, 'executionId'>;
    }>
  | Readonly<{
      kind: 'resolve';
      input: JsonValue;
      output: JsonObject;
      effect?: Pick<OperatorResolved, 'chosenCase' | 'variables' | 'branches' | 'termination' | 'sink'>;
    }>
  | Readonly<{ kind: 'open'; input: JsonValue; items?: readonly JsonValue[] }>
  | Readonly<{ kind: 'refuse'; input: JsonValue; reason: string }>
  | Readonly<{ kind: 'needsTaskDefinition'; name: string }>;

/** What an open operator does when something it watches changed. */
export type Review =
  | Readonly<{ kind: 'wait' }>
  | Readonly<{ kind: 'iterate' }>
  | Readonly<{ kind: 'close'; status: OperatorStatus; output: JsonObject; reason?: string }>;

export type TaskSemantics<K extends PlanNodeType> = Readonly<{
  family: TaskFamily;
  enter: (context: EnterContext<K>) => Step;
  /** Operators that stay open; nothing else is looked at again. */
  review?: (context: ReviewContext<K>) => Review;
}>;

export type Evaluated =
  | Readonly<{ ok: true; value: JsonValue; deferred: readonly DeferredReference[] }>
  | Readonly<{ ok: false; step: Step }>;

/** A template's value, or the step that refuses the task because it cannot be evaluated or is too large. */
export const evaluated = (context: EnterContext, template: CompiledTemplate, what: string): Evaluated => {
  const result = evaluateTemplate(template, context.scope, modeOf(context.state));
  if (!result.ok) return refused(`${what}: ${result.error.code} ${result.error.message}`);
  const { value, deferred } = result.value;
  const problem = payloadProblem(value);
  return problem === undefined ? { ok: true, value, deferred } : refused(`${what}: the evaluated value is ${problem}.`);
};

/** The input is not told: it is what could not be made. */
const refused = (reason: string): Readonly<{ ok: false; step: Step }> => ({
  ok: false,
  step: { kind: 'refuse', input: {}, reason },
});

/** `deferred`: where references to secrets stand in the input, which only the copy of its holder has filled in. */
export type EvaluatedInput =
  | Readonly<{ ok: true; input: JsonObject; deferred: readonly DeferredReference[] }>
  | Readonly<{ ok: false; step: Step }>;

/** The node's inputParameters, resolved. */
export const resolvedInput = (context: EnterContext): EvaluatedInput => {
  if (context.givenInput !== undefined) return { ok: true, input: context.givenInput, deferred: [] };
  const result = evaluated(context, context.node.input, 'inputParameters');
  if (!result.ok) return result;
  return { ok: true, input: isJsonObject(result.value) ? result.value : {}, deferred: result.deferred };
};

/** Whether the step's own input has the key that a place of the template is below. */
const isOver = (input: JsonObject, pointer: string): boolean => {
  const key = (pointer.split('/')[1] ?? '').replaceAll('~1', '/').replaceAll('~0', '~');
  return Object.hasOwn(input, key) && input[key] !== null;
};

/** The template of a task definition fills what the node leaves out or resolves to null. */
export const filled = (
  context: EnterContext,
  template: CompiledTemplate,
  { input, deferred }: Extract<EvaluatedInput, { ok: true }>,
): EvaluatedInput => {
  const base = evaluated(context, template, 'inputTemplate');
  if (!base.ok) return base;
  const merged: Record<string, JsonValue> = { ...(isJsonObject(base.value) ? base.value : {}) };
  for (const [key, value] of Object.entries(input)) {
    if (value !== null || !Object.hasOwn(merged, key)) merged[key] = value;
  }
  const isGiven = ({ pointer }: DeferredReference): boolean => isOver(input, pointer);
  const problem = payloadProblem(merged);
  const left = base.deferred.filter((reference) => !isGiven(reference));
  if (problem === undefined) return { ok: true, input: merged, deferred: [...left, ...deferred] };
  return { ok: false, step: { kind: 'refuse', input: {}, reason: `The input with its inputTemplate is ${problem}.` } };
};

/** One input by a name that the definition chose; what every object has by that name is no input. */
export const inputNamed = (input: JsonObject, name: string): JsonValue | undefined =>
  Object.hasOwn(input, name) ? input[name] : undefined;
