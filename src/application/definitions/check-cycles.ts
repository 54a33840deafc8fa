import type { DefinitionProblem } from '../../domain/definition/definition-problem.ts';
import { type NodePlace, nodePlaces } from '../../domain/definition/node-children.ts';
import { subWorkflowParts } from '../../domain/definition/sub-workflow-parts.ts';
import type { WorkflowDefinition } from '../../domain/definition/workflow-definition.ts';
import type { Namespace } from '../../domain/kernel/brand.ts';
import { childPath } from '../../domain/kernel/value-path.ts';
import type { DefinitionStore } from '../../ports/definition-store.ts';

/** Definitions that one registration follows: as many as one may have steps. Beyond, the depth of its runs ends a cycle. */
export const DEFINITIONS_FOLLOWED_MAX = 10_000;

/** A child by what its step says of it; without a version it is the highest there is. */
type Child = Readonly<{ name: string; version: number | undefined; path: string }>;

const isChosen = (place: NodePlace): boolean => {
  for (let above = place.parent; above !== undefined; above = above.parent) {
    if (above.node.type === 'SWITCH' || above.node.type === 'DECISION') return true;
  }
  return false;
};

/** Children that every run of a definition starts: named in plain text, and in no case of a switch. */
const certainChildren = ({ tasks }: WorkflowDefinition): readonly Child[] =>
  nodePlaces(tasks).flatMap((place): readonly Child[] => {
    if (place.node.type !== 'SUB_WORKFLOW' || isChosen(place)) return [];
    const { inline, rest } = subWorkflowParts(place.node);
    const { name, version, workflowDefinition } = rest;
    const isPlain = typeof name === 'string' && !name.includes('${') && workflowDefinition === undefined;
    if (inline !== undefined || !isPlain || typeof version === 'string') return [];
    const path = childPath(childPath(place.path, 'subWorkflowParam'), 'name');
    return [{ name, version: typeof version === 'number' && version > 0 ? version : undefined, path }];
  });

/**
 * A workflow that starts itself again, by whatever way, without a choice in between: no run of it could ever end. What data
 * names, or a switch chooses, may end, and so may be meant.
 */
export const cycleProblems = async (
  namespace: Namespace,
  workflow: WorkflowDefinition,
  /** Undefined: it will be the next one. */
  itsVersion: number | undefined,
  definitions: Pick<DefinitionStore, 'findWorkflow'>,
): Promise<readonly DefinitionProblem[]> => {
  if (workflow.dialect === 'conductor') return [];
  const isItself = ({ name, version }: Child): boolean =>
    name === workflow.name && (version === undefined || version === itsVersion);
  const seen = new Set<string>();
  const cycleFrom = async (child: Child, names: readonly string[]): Promise<readonly string[] | undefined> => {
    const way = [...names, child.name];
    if (isItself(child)) return way;
    const key = JSON.stringify([child.name, child.version]);
    if (seen.has(key) || seen.size >= DEFINITIONS_FOLLOWED_MAX) return undefined;
    seen.add(key);
    const row = await definitions.findWorkflow(namespace, child.name, child.version);
    for (const next of row === undefined ? [] : certainChildren(row.definition)) {
      const found = await cycleFrom(next, way);
      if (found !== undefined) return found;
    }
    return undefined;
  };
  const problems: DefinitionProblem[] = [];
  for (const child of certainChildren(workflow)) {
    const way = await cycleFrom(child, [workflow.name]);
    if (way === undefined) continue;
    const message = `a run of this would never end: ${way.join(' starts ')}, with no choice in between`;
    problems.push({ code: 'INVALID_GRAPH', message, path: child.path });
  }
  return problems;
};
