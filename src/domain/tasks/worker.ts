import { policyOf } from '../definition/task-policy.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../kernel/json.ts';
import {
  type EnterContext,
  type EvaluatedInput,
  evaluated,
  resolvedInput,
  type TaskSemantics,
} from './task-semantics.ts';

/** The template of a task definition fills what the node leaves out or resolves to null. */
const withTemplate = (context: EnterContext<'SIMPLE'>, input: JsonObject): EvaluatedInput => {
  if (context.node.inputTemplate === undefined) return { ok: true, input };
  const template = evaluated(context, context.node.inputTemplate, 'inputTemplate');
  if (!template.ok) return template;
  const merged: Record<string, JsonValue> = { ...(isJsonObject(template.value) ? template.value : {}) };
  for (const [key, value] of Object.entries(input)) {
    if (value !== null || !Object.hasOwn(merged, key)) merged[key] = value;
  }
  return { ok: true, input: merged };
};

/** Data brought the node in: its task definition was not known when the plan was compiled. */
const isDynamic = (context: EnterContext<'SIMPLE'>): boolean =>
  context.state.dynamicNodes.size > 0 && context.state.plan.nodes.get(context.node.ref) !== context.node;

/** A step that a worker leases from the queue of its name. */
export const simple: TaskSemantics<'SIMPLE'> = {
  family: 'worker',
  enter: (context) => {
    const { node, state, environment } = context;
    const definition = isDynamic(context) ? environment.taskDefinition(node.name) : null;
    if (definition === undefined) return { kind: 'needsTaskDefinition', name: node.name };
    const resolved = resolvedInput(context);
    if (!resolved.ok) return resolved.step;
    const filled = withTemplate(context, resolved.input);
    if (!filled.ok) return filled.step;
    const policy = definition === null ? {} : { policy: policyOf(node.definition, definition, state.plan.dialect) };
    return { kind: 'dispatch', input: filled.input, taskName: node.name, ...policy };
  },
};

/** A worker task whose name an input gives. */
export const dynamic: TaskSemantics<'DYNAMIC'> = {
  family: 'worker',
  enter: (context) => {
    const resolved = resolvedInput(context);
    if (!resolved.ok) return resolved.step;
    const { node, state, environment } = context;
    const name = resolved.input[node.nameParameter];
    if (typeof name !== 'string' || name === '') {
      const reason = `Input ${node.nameParameter} must name a task; it is ${JSON.stringify(name ?? null)}.`;
      return { kind: 'refuse', input: resolved.input, reason };
    }
    const definition = environment.taskDefinition(name);
    if (definition === undefined) return { kind: 'needsTaskDefinition', name };
    const policy = policyOf(node.definition, definition ?? undefined, state.plan.dialect);
    return { kind: 'dispatch', input: resolved.input, taskName: name, policy };
  },
};
