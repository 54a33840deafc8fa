import type { JsonValue } from '../kernel/json.ts';

export const PATH_FUNCTIONS = [
  'length',
  'size',
  'keys',
  'min',
  'max',
  'sum',
  'avg',
  'stddev',
  'first',
  'last',
  'index',
  'concat',
  'append',
] as const;
export type PathFunction = (typeof PATH_FUNCTIONS)[number];

export const COMPARISONS = [
  '==',
  '!=',
  '<=',
  '<',
  '>=',
  '>',
  'in',
  'nin',
  'contains',
  'subsetof',
  'anyof',
  'noneof',
  'size',
  'empty',
] as const;
export type Comparison = (typeof COMPARISONS)[number];

/** `@` begins at the element under test, `$` at the root. */
export type PathOperand = { readonly kind: 'path'; readonly from: '@' | '$'; readonly steps: readonly Step[] };
export type Operand = { readonly kind: 'literal'; readonly value: JsonValue } | PathOperand;

export type Filter =
  | { readonly kind: 'or' | 'and'; readonly filters: readonly Filter[] }
  | { readonly kind: 'not'; readonly filter: Filter }
  | { readonly kind: 'exists'; readonly operand: PathOperand }
  | {
      readonly kind: 'compare';
      readonly comparison: Comparison;
      readonly left: Operand;
      readonly right: Operand;
    };

export type Step =
  | { readonly kind: 'name'; readonly name: string }
  | { readonly kind: 'names'; readonly names: readonly string[] }
  | { readonly kind: 'index'; readonly index: number }
  | { readonly kind: 'indexes'; readonly indexes: readonly number[] }
  | {
      readonly kind: 'slice';
      readonly start: number | undefined;
      readonly end: number | undefined;
      readonly stride: number;
    }
  | { readonly kind: 'wildcard' }
  /** The node itself and everything below it, parents first. */
  | { readonly kind: 'descend' }
  | { readonly kind: 'filter'; readonly filter: Filter }
  | { readonly kind: 'call'; readonly name: PathFunction; readonly operands: readonly Operand[] };

export interface JsonPath {
  readonly steps: readonly Step[];
}

const operandsOf = (filter: Filter): readonly Operand[] => {
  switch (filter.kind) {
    case 'or':
    case 'and':
      return filter.filters.flatMap(operandsOf);
    case 'not':
      return operandsOf(filter.filter);
    case 'exists':
      return [filter.operand];
    case 'compare':
      return [filter.left, filter.right];
  }
};

/** The `$`-rooted paths inside the filters and calls of a path, at any depth. */
export const rootedPathsIn = (steps: readonly Step[]): readonly (readonly Step[])[] =>
  steps.flatMap((step) => {
    const operands = step.kind === 'filter' ? operandsOf(step.filter) : step.kind === 'call' ? step.operands : [];
    return operands.flatMap((operand) => {
      if (operand.kind === 'literal') return [];
      const below = rootedPathsIn(operand.steps);
      return operand.from === '$' ? [operand.steps, ...below] : below;
    });
  });
