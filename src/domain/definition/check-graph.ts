import { childPath } from '../kernel/value-path.ts';
import { type CheckContext, problem } from './check-context.ts';
import type { DefinitionProblem } from './definition-problem.ts';
import type { NodePlace } from './node-children.ts';
import { executedTypeOf } from './task-types.ts';

const ancestorsOf = (place: NodePlace): readonly NodePlace[] => {
  const ancestors: NodePlace[] = [];
  for (let above = place.parent; above !== undefined; above = above.parent) ancestors.push(above);
  return ancestors;
};

/** Why a join could never see the end of what it waits for; undefined when it can. */
const deadlockOf = (join: NodePlace, target: NodePlace): string | undefined => {
  if (target === join) return 'a join cannot wait for itself';
  if (target.isCompensation) return 'a join cannot wait for a compensation';
  if (ancestorsOf(join).includes(target)) return 'a join cannot wait for the step it is part of';
  const top = [target, ...ancestorsOf(target)].find((place) => place.siblings === join.siblings);
  return top !== undefined && top.index > join.index ? 'a join cannot wait for a step that comes after it' : undefined;
};

const joinListProblems = (
  place: NodePlace,
  field: 'joinOn' | 'defaultExclusiveJoinTask',
  context: CheckContext,
): readonly DefinitionProblem[] =>
  (place.node[field] ?? []).flatMap((ref, index) => {
    const path = childPath(childPath(place.path, field), index);
    const target = context.byRef.get(ref);
    if (target === undefined) return [problem('INVALID_GRAPH', `"${ref}" is no task of this definition`, path)];
    const deadlock = deadlockOf(place, target);
    return deadlock === undefined ? [] : [problem('INVALID_GRAPH', deadlock, path)];
  });

/** Of a join after a dynamic fork, joinOn means nothing: its branches are known at run time only. */
const dynamicJoinProblems = (place: NodePlace, context: CheckContext): readonly DefinitionProblem[] =>
  context.workflow.dialect === 'v1' && (place.node.joinOn ?? []).length > 0
    ? [
        problem(
          'INVALID_GRAPH',
          'the JOIN of a FORK_JOIN_DYNAMIC waits for every branch: leave joinOn out',
          childPath(place.path, 'joinOn'),
        ),
      ]
    : [];

const joinProblems = (place: NodePlace, context: CheckContext): readonly DefinitionProblem[] => {
  if (place.node.type === 'EXCLUSIVE_JOIN') {
    return [
      ...joinListProblems(place, 'joinOn', context),
      ...joinListProblems(place, 'defaultExclusiveJoinTask', context),
    ];
  }
  if (place.node.type !== 'JOIN') return [];
  const isAfterDynamicFork = place.siblings[place.index - 1]?.type === 'FORK_JOIN_DYNAMIC';
  return isAfterDynamicFork ? dynamicJoinProblems(place, context) : joinListProblems(place, 'joinOn', context);
};

/** What follows a TERMINATE in its list can never run. Conductor accepts it. */
const unreachableProblems = (place: NodePlace, context: CheckContext): readonly DefinitionProblem[] =>
  context.workflow.dialect === 'v1' && place.siblings[place.index - 1]?.type === 'TERMINATE'
    ? [problem('INVALID_GRAPH', 'this step can never run: a TERMINATE comes right before it', place.path)]
    : [];

/** Steps whose end is not a moment of their own: a fork is over when it has begun, and a TERMINATE ends the run. */
const NEVER_UNDONE: ReadonlySet<string> = new Set(['FORK_JOIN', 'FORK_JOIN_DYNAMIC', 'TERMINATE']);

const compensationProblems = ({ node, path }: NodePlace): readonly DefinitionProblem[] => {
  const { compensateWith, name, type } = node;
  const at = childPath(path, 'compensateWith');
  if (compensateWith === undefined) return [];
  if (NEVER_UNDONE.has(type)) {
    return [problem('INVALID_GRAPH', `a ${type} cannot be undone: undo its steps, or the one after it`, at)];
  }
  return compensateWith === name && executedTypeOf(type) === 'SIMPLE'
    ? [problem('INVALID_GRAPH', 'a task cannot compensate itself', at)]
    : [];
};

/** Joins that wait for nothing or for ever, steps that can never run, and undoing that undoes nothing. Problems: INVALID_GRAPH. */
export const checkGraph = (context: CheckContext): readonly DefinitionProblem[] =>
  context.places.flatMap((place) => [
    ...joinProblems(place, context),
    ...unreachableProblems(place, context),
    ...compensationProblems(place),
  ]);
