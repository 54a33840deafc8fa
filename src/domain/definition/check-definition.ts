import type { CheckContext, CheckScript } from './check-context.ts';
import { checkGraph } from './check-graph.ts';
import { checkInlineDefinitions } from './check-inline-definitions.ts';
import { checkParameters } from './check-parameters.ts';
import { checkReferences } from './check-references.ts';
import { checkScripts } from './check-scripts.ts';
import { type CompilableBundle, compilePlan } from './compile-plan.ts';
import type { DefinitionProblem } from './definition-problem.ts';
import { PROBLEMS_MAX } from './limits.ts';
import { nodePlaces } from './node-children.ts';

const contextOf = ({ workflow, taskDefinitions }: CompilableBundle, checkScript: CheckScript): CheckContext => {
  const places = nodePlaces(workflow.tasks);
  const byRef = new Map(places.map((place) => [place.node.taskReferenceName, place]));
  return { workflow, taskDefinitions, places, byRef, checkScript };
};

/**
 * All that registration finds wrong with a definition that was read: what makes a plan impossible, and what would only fail
 * or hang at run time. At most 100 problems, each with its path; empty when the definition may be registered.
 */
export const checkDefinition = (bundle: CompilableBundle, checkScript: CheckScript): readonly DefinitionProblem[] => {
  const context = contextOf(bundle, checkScript);
  const compiled = compilePlan(bundle, '');
  return [
    ...(compiled.ok ? [] : compiled.error),
    ...checkGraph(context),
    ...checkParameters(context),
    ...checkReferences(context),
    ...checkScripts(context),
    ...checkInlineDefinitions(context, (inline) => checkDefinition(inline, checkScript)),
  ].slice(0, PROBLEMS_MAX);
};
