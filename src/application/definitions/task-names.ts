import { nodePlaces } from '../../domain/definition/node-children.ts';
import { executedTypeOf, familyOf } from '../../domain/definition/task-types.ts';
import type { TaskNodeDefinition, WorkflowDefinition } from '../../domain/definition/workflow-definition.ts';

/** Operators have no settings of their own, and the name of a DYNAMIC is known at run time only. */
const hasTaskDefinition = ({ type, taskDefinition }: TaskNodeDefinition): boolean => {
  const executed = executedTypeOf(type);
  if (taskDefinition !== undefined || executed === 'DYNAMIC') return false;
  return executed === 'UNSUPPORTED' || familyOf(executed) !== 'operator';
};

/** The task definitions that a workflow names, each once and in order. */
export const taskNamesOf = (workflow: WorkflowDefinition): readonly string[] => {
  const nodes = nodePlaces(workflow.tasks).map((place) => place.node);
  return [...new Set(nodes.filter(hasTaskDefinition).map((node) => node.name))].sort();
};
