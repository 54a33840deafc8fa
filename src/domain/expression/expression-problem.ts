/**
 * Why an expression or condition is refused, or could not be evaluated.
 * EXPRESSION_INVALID: the text does not parse. EXPRESSION_LIMIT: evaluating it would cost too much.
 * FORBIDDEN_REFERENCE: it names a secret where none may be named. EXPRESSION_FAILED: its values do not fit together.
 */
export type ExpressionProblemCode =
  | 'EXPRESSION_INVALID'
  | 'EXPRESSION_LIMIT'
  | 'FORBIDDEN_REFERENCE'
  | 'EXPRESSION_FAILED';

export interface ExpressionProblem {
  readonly code: ExpressionProblemCode;
  readonly message: string;
  /** Where in the text, in UTF-16 code units from its start. */
  readonly offset: number;
}

/** Longest single `${…}` with its braces, longest JSONPath, longest condition. */
export const EXPRESSION_CHARS_MAX = 10_000;
/** Deepest nesting of `${…}` in `${…}`, of filters and parentheses, and of a templated value. */
export const EXPRESSION_NESTING_MAX = 100;
/** Most values one evaluation may look at, over all its expressions. */
export const EVALUATION_VISITS_MAX = 1_000_000;
/** Longest text one evaluation may build, over all its strings. */
export const EVALUATION_CHARS_MAX = 10_000_000;

/** Names that reach into a JavaScript object's machinery: refused wherever a path could name them. */
const PROTOTYPE_KEYS: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype']);

export const isPrototypeKey = (name: string): boolean => PROTOTYPE_KEYS.has(name);
