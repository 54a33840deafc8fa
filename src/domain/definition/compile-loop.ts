import { referencesOf } from '../expression/references.ts';
import type { JsonValue } from '../kernel/json.ts';
import { childPath } from '../kernel/value-path.ts';
import { type Compilation, type Draft, isBlank, report } from './compilation.ts';
import { loopChooser } from './compile-chooser.ts';
import { readsOnlyIteration } from './loop-history.ts';
import type { Chooser, LoopNode, PlanNode } from './plan.ts';
import { compiledOrProblems } from './templates.ts';
import type { TaskNodeDefinition } from './workflow-definition.ts';

type Items = Readonly<{ value: JsonValue; path: string }>;

/**
 * The list that a loop walks over. `items` among the inputs means it only where there is no condition: with one, it may
 * be an input like any other that the condition reads.
 */
export const loopItemsOf = (node: TaskNodeDefinition, path: string): Items | undefined => {
  const { items, inputParameters, loopCondition } = node;
  const inputs = childPath(path, 'inputParameters');
  if (items !== undefined) return { value: items, path: childPath(path, 'items') };
  if (inputParameters._items !== undefined) {
    return { value: inputParameters._items, path: childPath(inputs, '_items') };
  }
  const named = isBlank(loopCondition) ? inputParameters.items : undefined;
  return named === undefined ? undefined : { value: named, path: childPath(inputs, 'items') };
};

const keepLastNOf = (draft: Draft): number | undefined => {
  const { keepLastN, inputParameters } = draft.definition;
  const given = keepLastN ?? inputParameters.keepLastN;
  return typeof given === 'number' && given >= 1 ? Math.trunc(given) : undefined;
};

const readsHistory = (draft: Draft, condition: Chooser | undefined): boolean => {
  const { ref, input } = draft.base;
  const inputs = referencesOf(input);
  const readsOwnOutput = inputs.all.some(
    ({ head, field, name }) => head === ref && field !== 'iteration' && !(field === 'output' && name === 'iteration'),
  );
  if (readsOwnOutput || inputs.hasUnknownHead) return true;
  return condition !== undefined && !readsOnlyIteration(condition, ref);
};

/** Compiles DO_WHILE. */
export const compileLoop = (draft: Draft, compilation: Compilation): PlanNode | undefined => {
  const { base, definition, path } = draft;
  const at = childPath(path, 'loopOver');
  const owner = { kind: 'body', node: base.ref } as const;
  const body = compilation.compileNested(definition.loopOver ?? [], at, owner, [...base.loops, base.ref]);
  const isEmpty = (definition.loopOver ?? []).length === 0;
  if (isEmpty) report(compilation, 'INVALID_GRAPH', 'a DO_WHILE needs at least one step in loopOver', at);
  const source = loopItemsOf(definition, path);
  const { loopCondition } = definition;
  if (isBlank(loopCondition) && source === undefined) {
    const message = 'a DO_WHILE needs a loopCondition, or items to walk over';
    return report(compilation, 'VALIDATION_FAILED', message, childPath(path, 'loopCondition'));
  }
  const items = source === undefined ? undefined : compiledOrProblems(source.value, source.path, compilation.problems);
  const condition = isBlank(loopCondition) ? undefined : loopChooser(draft, loopCondition, compilation);
  if (body === undefined) return undefined;
  return {
    ...base,
    type: 'DO_WHILE',
    body,
    condition,
    readsHistory: readsHistory(draft, condition),
    items,
    keepLastN: keepLastNOf(draft),
  } satisfies LoopNode;
};
