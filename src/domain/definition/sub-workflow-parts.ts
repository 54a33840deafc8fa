import { isJsonObject, type JsonObject } from '../kernel/json.ts';
import type { TaskNodeDefinition } from './workflow-definition.ts';

export type SubWorkflowParts = Readonly<{
  /** A definition that is written out where the child is named. */
  inline: JsonObject | undefined;
  /** Everything else, which may hold expressions of the parent. */
  rest: JsonObject;
}>;

/**
 * Takes apart what a SUB_WORKFLOW says of its child. A node that only data named may say nothing: then the child is the
 * workflow of the node's own name.
 */
export const subWorkflowParts = ({ name, subWorkflowParam }: TaskNodeDefinition): SubWorkflowParts => {
  const { workflowDefinition = null, ...rest } = subWorkflowParam ?? { name };
  if (isJsonObject(workflowDefinition)) return { inline: workflowDefinition, rest };
  return { inline: undefined, rest: workflowDefinition === null ? rest : { ...rest, workflowDefinition } };
};
