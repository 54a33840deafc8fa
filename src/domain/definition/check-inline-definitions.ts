import type { JsonObject } from '../kernel/json.ts';
import { childPath } from '../kernel/value-path.ts';
import type { CheckContext } from './check-context.ts';
import type { CompilableBundle } from './compile-plan.ts';
import type { DefinitionProblem } from './definition-problem.ts';
import { parseWorkflowDefinition } from './parse-definition.ts';
import { subWorkflowParts } from './sub-workflow-parts.ts';
import type { TaskNodeDefinition } from './workflow-definition.ts';

/** A definition that is written out in a task may leave its name to that: it is known by no other. */
export const inlineDocument = (document: JsonObject, name: string): JsonObject => ({ name, ...document });

/** The name of a child that is written out: what its task says, or the task's own. */
export const inlineName = ({ name, subWorkflowParam }: TaskNodeDefinition): string =>
  typeof subWorkflowParam?.name === 'string' && subWorkflowParam.name !== '' ? subWorkflowParam.name : name;

/**
 * What is wrong with the definitions that are written out in SUB_WORKFLOWs, as if each were registered by itself. The tasks
 * they name are not looked up: that is done when the child starts.
 */
export const checkInlineDefinitions = (
  context: CheckContext,
  check: (bundle: CompilableBundle) => readonly DefinitionProblem[],
): readonly DefinitionProblem[] =>
  context.places.flatMap(({ node, path }) => {
    const { inline } = node.type === 'SUB_WORKFLOW' ? subWorkflowParts(node) : { inline: undefined };
    if (inline === undefined) return [];
    const at = childPath(childPath(path, 'subWorkflowParam'), 'workflowDefinition');
    const parsed = parseWorkflowDefinition(inlineDocument(inline, inlineName(node)), context.workflow.dialect);
    const problems = parsed.ok ? check({ workflow: parsed.value, taskDefinitions: {} }) : parsed.error;
    return problems.map((problem) => ({ ...problem, path: problem.path === '' ? at : `${at}.${problem.path}` }));
  });
