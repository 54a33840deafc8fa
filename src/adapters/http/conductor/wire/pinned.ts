import type { Plan } from '../../../../domain/definition/plan.ts';
import { stripSuffix } from '../../../../domain/execution/task-key.ts';
import type { JsonObject } from '../../../../domain/kernel/json.ts';
import { workflowDefOf } from './definitions.ts';

/** The definition that a run follows, as Conductor shows it: whole, and by step. */
export type PinnedWire = Readonly<{ workflowDefinition: JsonObject; steps: ReadonlyMap<string, JsonObject> }>;

/** Made once for each plan: all runs of it show the same, and a plan never changes. */
const made = new WeakMap<Plan, PinnedWire>();

export const pinnedWireOf = (plan: Plan): PinnedWire => {
  const known = made.get(plan);
  if (known !== undefined) return known;
  const steps = new Map<string, JsonObject>();
  const workflowDefinition = workflowDefOf(plan.definition, undefined, plan.taskDefinitions, (step) => {
    if (typeof step.taskReferenceName === 'string') steps.set(step.taskReferenceName, step);
  });
  const wire = { workflowDefinition, steps };
  made.set(plan, wire);
  return wire;
};

/** The step of a task by its wire ref; a task that data brought in has none in the definition. */
export const stepByRef = ({ steps }: PinnedWire, wireRef: string): JsonObject | undefined => {
  for (let ref: string | undefined = wireRef; ref !== undefined; ref = stripSuffix(ref)?.ref) {
    const step = steps.get(ref);
    if (step !== undefined) return step;
  }
  return undefined;
};
