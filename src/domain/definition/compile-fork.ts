import { childPath } from '../kernel/value-path.ts';
import { type Compilation, type Draft, isBlank, report } from './compilation.ts';
import type { PlanNode, Sequence } from './plan.ts';
import type { TaskNodeDefinition } from './workflow-definition.ts';

const JOINS: ReadonlySet<string> = new Set(['JOIN', 'EXCLUSIVE_JOIN']);
const FORKS: ReadonlySet<string> = new Set(['FORK_JOIN', 'FORK_JOIN_DYNAMIC']);

/** The join that belongs to a fork is the very next node; a dynamic fork needs one that waits for whole branches. */
const joinOf = (draft: Draft, compilation: Compilation): string | undefined => {
  const { definition, siblings, base, path } = draft;
  const next = siblings[base.index + 1];
  const isJoin = next !== undefined && (definition.type === 'FORK_JOIN' ? JOINS.has(next.type) : next.type === 'JOIN');
  if (isJoin) return next.taskReferenceName;
  return report(compilation, 'INVALID_GRAPH', `a ${definition.type} must be followed by its JOIN`, path);
};

/** Compiles FORK_JOIN. A branch without tasks has nothing to wait for and is left out. */
export const compileFork = (draft: Draft, compilation: Compilation): PlanNode | undefined => {
  const { base, definition, path } = draft;
  const at = childPath(path, 'forkTasks');
  if ((definition.forkTasks ?? []).length === 0) {
    return report(compilation, 'INVALID_GRAPH', 'a FORK_JOIN needs at least one branch', at);
  }
  const branches: Sequence[] = [];
  for (const [index, nodes] of (definition.forkTasks ?? []).entries()) {
    const owner = { kind: 'branch', node: base.ref, index: branches.length } as const;
    const branch = compilation.compileNested(nodes, childPath(at, index), owner, base.loops);
    if (branch !== undefined) branches.push(branch);
  }
  const join = joinOf(draft, compilation);
  return join === undefined ? undefined : { ...base, type: 'FORK_JOIN', branches, join };
};

export const compileDynamicFork = (draft: Draft, compilation: Compilation): PlanNode | undefined => {
  const join = joinOf(draft, compilation);
  return join === undefined ? undefined : { ...draft.base, type: 'FORK_JOIN_DYNAMIC', join };
};

const forkBefore = (draft: Draft): TaskNodeDefinition | undefined => {
  const before = draft.siblings[draft.base.index - 1];
  return before !== undefined && FORKS.has(before.type) ? before : undefined;
};

const noFork = (draft: Draft, compilation: Compilation): undefined =>
  report(
    compilation,
    'INVALID_GRAPH',
    `a ${draft.definition.type} must follow its fork, or name in joinOn what it waits for`,
    draft.path,
  );

/** Compiles JOIN. After a dynamic fork the branches are known at run time only, whatever joinOn says. */
export const compileJoin = (draft: Draft, compilation: Compilation): PlanNode | undefined => {
  const fork = forkBefore(draft);
  const named = draft.definition.joinOn ?? [];
  if (fork === undefined && named.length === 0) return noFork(draft, compilation);
  const { expression } = draft.definition;
  return {
    ...draft.base,
    type: 'JOIN',
    joinOn: fork?.type === 'FORK_JOIN_DYNAMIC' ? [] : named,
    fork: fork?.taskReferenceName,
    script: isBlank(expression) ? undefined : expression,
  };
};

const lastRefs = (fork: TaskNodeDefinition): readonly string[] =>
  (fork.forkTasks ?? []).flatMap((branch) => branch.at(-1)?.taskReferenceName ?? []);

/** Compiles EXCLUSIVE_JOIN. Right after a fork it may leave out joinOn: then it takes the first branch that ends. */
export const compileExclusiveJoin = (draft: Draft, compilation: Compilation): PlanNode | undefined => {
  const fork = forkBefore(draft);
  const named = draft.definition.joinOn ?? [];
  const joinOn = named.length === 0 && fork !== undefined ? lastRefs(fork) : named;
  if (fork === undefined && joinOn.length === 0) return noFork(draft, compilation);
  return {
    ...draft.base,
    type: 'EXCLUSIVE_JOIN',
    joinOn,
    fallbacks: draft.definition.defaultExclusiveJoinTask ?? [],
    fork: fork?.taskReferenceName,
  };
};
