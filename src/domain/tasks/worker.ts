import { enforcedSchemasOf } from '../definition/schemas.ts';
import type { TaskDefinition } from '../definition/task-definition.ts';
import { policyOf } from '../definition/task-policy.ts';
import { compileTemplate } from '../expression/parse-template.ts';
import type { JsonObject } from '../kernel/json.ts';
import {
  type EnterContext,
  filled,
  inputNamed,
  resolvedInput,
  type Step,
  type TaskSemantics,
} from './task-semantics.ts';

type Context = EnterContext<'SIMPLE' | 'DYNAMIC'>;

/** A task whose definition was not known when the plan was compiled; null: there is none, the defaults hold. */
const dispatchNamed = (context: Context, name: string, input: JsonObject, definition: TaskDefinition | null): Step => {
  const { node, state } = context;
  const policy = policyOf(node.definition, definition ?? undefined, state.plan.dialect);
  const settings = node.definition.taskDefinition ?? definition ?? undefined;
  const template = compileTemplate(settings?.inputTemplate ?? {}, '');
  if (!template.ok) return { kind: 'refuse', input, reason: `The inputTemplate of ${name} does not parse.` };
  const full = filled(context, template.value, input);
  if (!full.ok) return full.step;
  const schemas = enforcedSchemasOf(settings);
  return { kind: 'dispatch', input: full.input, taskName: name, policy, ...(schemas === undefined ? {} : { schemas }) };
};

/** Data brought the node in, or what it undoes: its task definition was not known when the plan was compiled. */
const isDynamic = (context: EnterContext<'SIMPLE'>): boolean =>
  context.state.plan.nodes.get(context.node.ref) !== context.node;

/** A step that a worker leases from the queue of its name. */
export const simple: TaskSemantics<'SIMPLE'> = {
  family: 'worker',
  enter: (context) => {
    const { node, environment } = context;
    const definition = isDynamic(context) ? environment.taskDefinition(node.name) : null;
    if (definition === undefined) return { kind: 'needsTaskDefinition', name: node.name };
    const resolved = resolvedInput(context);
    if (!resolved.ok) return resolved.step;
    if (isDynamic(context)) return dispatchNamed(context, node.name, resolved.input, definition);
    if (node.inputTemplate === undefined) return { kind: 'dispatch', input: resolved.input, taskName: node.name };
    const full = filled(context, node.inputTemplate, resolved.input);
    return full.ok ? { kind: 'dispatch', input: full.input, taskName: node.name } : full.step;
  },
};

/** A worker task whose name an input gives. */
export const dynamic: TaskSemantics<'DYNAMIC'> = {
  family: 'worker',
  enter: (context) => {
    const resolved = resolvedInput(context);
    if (!resolved.ok) return resolved.step;
    const { node, environment } = context;
    const name = inputNamed(resolved.input, node.nameParameter);
    if (typeof name !== 'string' || name === '') {
      const reason = `Input ${node.nameParameter} must name a task; it is ${JSON.stringify(name ?? null)}.`;
      return { kind: 'refuse', input: resolved.input, reason };
    }
    const definition = environment.taskDefinition(name);
    if (definition === undefined) return { kind: 'needsTaskDefinition', name };
    return dispatchNamed(context, name, resolved.input, definition);
  },
};
