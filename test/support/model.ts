import { type Named, type Program, undoRefOf } from './programs.ts';

/** What a program does when all of its tasks complete, found by walking it, without any of the engine's code. */
export type Expectation = Readonly<{
  /** Wire refs of everything that completes. */
  completed: readonly string[];
  /** What of it would have to be undone if the run failed at its very end, each with the ref of what undoes it. */
  undoable: ReadonlyMap<string, string>;
  /** Runs of each worker task that the definition itself names. */
  counts: ReadonlyMap<string, number>;
}>;

type Walk = { completed: string[]; undoable: Map<string, string>; counts: Map<string, number> };

const suffixed = (ref: string, path: readonly number[]): string => [ref, ...path].join('__');

const walkAll = (program: readonly Named[], path: readonly number[], walk: Walk): void => {
  for (const named of program) walkOne(named, path, walk);
};

const walkOne = (named: Named, path: readonly number[], walk: Walk): void => {
  const { shape, ref, joinRef, children } = named;
  walk.completed.push(suffixed(ref, path));
  switch (shape.kind) {
    case 'task':
      if (shape.undo !== 'not') walk.undoable.set(suffixed(ref, path), suffixed(undoRefOf(ref, shape.undo), path));
      walk.counts.set(ref, (walk.counts.get(ref) ?? 0) + 1);
      return;
    case 'switch':
      return walkAll(children[shape.taken < shape.cases.length ? shape.taken : children.length - 1] ?? [], path, walk);
    case 'fork':
      for (const branch of children) walkAll(branch, path, walk);
      walk.completed.push(suffixed(joinRef, path));
      return;
    case 'dynamic': {
      // Refs that data brings in go with the iteration they came in, so they count for themselves.
      const own: Walk = { ...walk, counts: new Map() };
      for (const branch of children) walkAll(branch, path, own);
      walk.completed.push(suffixed(joinRef, path));
      return;
    }
    case 'loop':
    case 'items': {
      const times = shape.kind === 'loop' ? shape.times : shape.count;
      for (let iteration = 1; iteration <= times; iteration += 1)
        walkAll(children[0] ?? [], [...path, iteration], walk);
      return;
    }
    default:
      return;
  }
};

export const expectationOf = (program: Program): Expectation => {
  const walk: Walk = { completed: [], undoable: new Map(), counts: new Map() };
  walkAll(program.root, [], walk);
  return walk;
};
