import { enforcedSchemasOf } from '../definition/schemas.ts';
import type { TaskDefinition } from '../definition/task-definition.ts';
import { policyOf } from '../definition/task-policy.ts';
import { compileTemplate } from '../expression/parse-template.ts';
import {
  type EnterContext,
  type EvaluatedInput,
  filled,
  inputNamed,
  resolvedInput,
  type Step,
  type TaskSemantics,
} from './task-semantics.ts';

type Context = EnterContext<'SIMPLE' | 'DYNAMIC'>;
type Resolved = Extract<EvaluatedInput, { ok: true }>;

/** A task whose definition was not known when the plan was compiled; null: there is none, the defaults hold. */
const dispatchNamed = (context: Context, name: string, resolved: Resolved, definition: TaskDefinition | null): Step => {
  const { node, state } = context;
  const policy = policyOf(node.definition, definition ?? undefined, state.plan.dialect);
  const settings = node.definition.taskDefinition ?? definition ?? undefined;
  const template = compileTemplate(settings?.inputTemplate ?? {}, '');
  if (!template.ok)
    return { kind: 'refuse', input: resolved.input, reason: `The inputTemplate of ${name} does not parse.` };
  const full = filled(context, template.value, resolved);
  if (!full.ok) return full.step;
  const schemas = enforcedSchemasOf(settings);
  const { input, deferred } = full;
  return { kind: 'dispatch', input, deferred, taskName: name, policy, ...(schemas === undefined ? {} : { schemas }) };
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
    if (isDynamic(context)) return dispatchNamed(context, node.name, resolved, definition);
    const full = node.inputTemplate === undefined ? resolved : filled(context, node.inputTemplate, resolved);
    if (!full.ok) return full.step;
    return { kind: 'dispatch', input: full.input, deferred: full.deferred, taskName: node.name };
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
    return dispatchNamed(context, name, resolved, definition);
  },
};
