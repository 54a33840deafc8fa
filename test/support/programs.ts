import fc from 'fast-check';
import type { JsonObject } from '../../src/domain/kernel/json.ts';
import {
  dynamicFork,
  exclusiveJoin,
  fork,
  join,
  loop,
  loopOverItems,
  noop,
  type Step,
  setVariable,
  simple,
  switchOn,
  terminate,
  wait,
} from './builders.ts';

/** How a task is undone when its run fails: by a task definition that is named, or by a step that is written out. */
type Undo = 'not' | 'named' | 'written out';

/** What a random program is made of. Names come later, so that shrinking leaves no gaps in them. */
export type Shape =
  | { kind: 'task'; flaky: boolean; optional: boolean; permissive: boolean; undo: Undo }
  | { kind: 'wait'; seconds: number | undefined }
  | { kind: 'noop' }
  | { kind: 'set' }
  | { kind: 'terminate'; status: 'COMPLETED' | 'FAILED' | 'TERMINATED' }
  | { kind: 'switch'; cases: Shape[][]; taken: number; fallback: Shape[] }
  | { kind: 'fork'; branches: Shape[][]; joins: 'all' | 'exclusive' | 'script' | number[]; optional: boolean }
  | { kind: 'dynamic'; branches: Shape[] }
  | { kind: 'loop'; times: number; body: Shape[] }
  | { kind: 'items'; count: number; body: Shape[] };

/** A shape with the refs its steps were given. */
export type Named = Readonly<{ shape: Shape; ref: string; joinRef: string; children: readonly (readonly Named[])[] }>;

export type Program = Readonly<{ root: readonly Named[]; tasks: readonly Step[]; input: JsonObject }>;

/** What programs are drawn from. */
type Kind = Readonly<{ wild: boolean; undone: boolean }>;

/**
 * `wild` programs fail, terminate and forgive; the others come to their end whenever their tasks do. Tasks of those that are
 * `undone` may declare how.
 */
const leaf = ({ wild, undone }: Kind): fc.Arbitrary<Shape> => {
  const flag = wild ? fc.boolean() : fc.constant(false);
  const undo = undone ? fc.constantFrom<Undo>('not', 'named', 'written out') : fc.constant<Undo>('not');
  const rare = wild ? [{ weight: 1, arbitrary: terminateShape }] : [];
  return fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({ kind: fc.constant('task'), flaky: fc.boolean(), optional: flag, permissive: flag, undo }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ kind: fc.constant('wait'), seconds: fc.constantFrom(undefined, undefined, 5) }),
    },
    { weight: 1, arbitrary: fc.constant({ kind: 'noop' }) },
    { weight: 1, arbitrary: fc.constant({ kind: 'set' }) },
    ...rare,
  ) as fc.Arbitrary<Shape>;
};

const terminateShape = fc.record({
  kind: fc.constant('terminate' as const),
  status: fc.constantFrom('COMPLETED' as const, 'FAILED' as const, 'TERMINATED' as const),
});

const sequence = (kind: Kind, depth: number, minLength: number): fc.Arbitrary<Shape[]> =>
  fc.array(shape(kind, depth), { minLength, maxLength: 3 });

const shape = (of: Kind, depth: number): fc.Arbitrary<Shape> => {
  if (depth === 0) return leaf(of);
  const inner = (minLength: number) => sequence(of, depth - 1, minLength);
  const named = fc.array(fc.nat(20), { minLength: 1, maxLength: 3 });
  return fc.oneof(
    { weight: 5, arbitrary: leaf(of) },
    {
      weight: 2,
      arbitrary: fc.record({
        kind: fc.constant('switch'),
        cases: fc.array(inner(0), { maxLength: 2 }),
        taken: fc.nat(2),
        fallback: inner(0),
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        kind: fc.constant('fork'),
        branches: fc.array(inner(1), { minLength: 1, maxLength: 3 }),
        joins: fc.oneof(fc.constantFrom('all', 'exclusive', 'script'), named),
        optional: of.wild ? fc.boolean() : fc.constant(false),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        kind: fc.constant('dynamic'),
        branches: fc.array(
          shape(of, depth - 1).filter(({ kind }) => kind !== 'fork' && kind !== 'dynamic'),
          { maxLength: 3 },
        ),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({ kind: fc.constant('loop'), times: fc.integer({ min: 1, max: 3 }), body: inner(1) }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ kind: fc.constant('items'), count: fc.nat(3), body: inner(1) }),
    },
  ) as fc.Arbitrary<Shape>;
};

const childrenOf = (of: Shape): readonly (readonly Shape[])[] => {
  switch (of.kind) {
    case 'switch':
      return [...of.cases, of.fallback];
    case 'fork':
      return of.branches;
    case 'dynamic':
      return of.branches.map((branch) => [branch]);
    case 'loop':
    case 'items':
      return [of.body];
    default:
      return [];
  }
};

const nameAll = (shapes: readonly Shape[], next: { number: number }): readonly Named[] =>
  shapes.map((of) => {
    next.number += 1;
    const ref = `${of.kind}${next.number}`;
    const children = childrenOf(of).map((inner) => nameAll(inner, next));
    return { shape: of, ref, joinRef: `join${next.number}of${ref}`, children };
  });

/** Every ref below, at any depth, outside of dynamic branches: what a join may name. */
const refsBelow = (named: Named): readonly string[] =>
  named.children.flat().flatMap((child) => [child.ref, ...(child.shape.kind === 'dynamic' ? [] : refsBelow(child))]);

/** The ref of what undoes a task. */
export const undoRefOf = (ref: string, undo: Undo): string => (undo === 'named' ? `${ref}__compensate` : `undo_${ref}`);

/** What is written out asks for the same input as what is only named is given. */
const undoing = (ref: string, undo: Undo): JsonObject => {
  if (undo === 'not') return {};
  if (undo === 'named') return { compensateWith: `un${ref}` };
  const inputParameters = { input: `\${${ref}.input}`, output: `\${${ref}.output}` };
  return { compensateWith: simple(undoRefOf(ref, undo), { inputParameters }) };
};

/** Counts its own runs: its last count is its input. */
const counting = (named: Named, shape: Extract<Shape, { kind: 'task' }>): Step =>
  simple(named.ref, {
    inputParameters: { n: `\${${named.ref}.output.n}` },
    optional: shape.optional,
    permissive: shape.permissive,
    ...undoing(named.ref, shape.undo),
  });

const ALL_ENDED = '$.joinOn.every((ref) => $[ref].status !== "IN_PROGRESS")';

const joinSteps = (named: Named, shape: Extract<Shape, { kind: 'fork' }>): Step => {
  const refs = refsBelow(named);
  const last = named.children.map((branch) => branch.at(-1)?.ref ?? '');
  const { joins, optional } = shape;
  if (joins === 'all') return join(named.joinRef, [], { optional });
  if (joins === 'exclusive') return exclusiveJoin(named.joinRef, last);
  if (joins === 'script') return join(named.joinRef, last, { optional, expression: ALL_ENDED });
  const picked = [...new Set(joins.map((pick) => refs[pick % refs.length] ?? ''))];
  return join(named.joinRef, picked, { optional });
};

const stepsOf = (program: readonly Named[], input: Record<string, JsonObject[]>): Step[] =>
  program.flatMap((named) => {
    const { shape, ref, joinRef } = named;
    const children = named.children.map((inner) => stepsOf(inner, input));
    const body = children[0] ?? [];
    switch (shape.kind) {
      case 'task':
        return [counting(named, shape)];
      case 'wait':
        return [wait(ref, shape.seconds === undefined ? {} : { duration: `${shape.seconds} seconds` })];
      case 'noop':
        return [noop(ref)];
      case 'set':
        return [setVariable(ref, { last: ref })];
      case 'terminate':
        return [terminate(ref, shape.status)];
      case 'switch': {
        const cases = Object.fromEntries(shape.cases.map((_, index) => [`case${index}`, children[index] ?? []]));
        return [switchOn(ref, `case${shape.taken}`, cases, children.at(-1))];
      }
      case 'fork':
        return [fork(ref, children), joinSteps(named, shape)];
      case 'dynamic':
        input[ref] = children.flat();
        return [dynamicFork(ref, `\${workflow.input.${ref}}`), join(joinRef)];
      case 'loop':
        return [loop(ref, shape.times, body)];
      case 'items':
        return [loopOverItems(ref, [...Array(shape.count).keys()], body)];
      default:
        return shape satisfies never;
    }
  });

const programOf = (shapes: readonly Shape[]): Program => {
  const root = nameAll(shapes, { number: 0 });
  const input: Record<string, JsonObject[]> = {};
  return { root, tasks: stepsOf(root, input), input };
};

export const programs = (wild: boolean, undone = wild, depth = 3): fc.Arbitrary<Program> =>
  sequence({ wild, undone }, depth, 1).map(programOf);
