import { isJsonObject, type JsonValue } from '../kernel/json.ts';
import { err, ok, type Result } from '../kernel/result.ts';
import { EVALUATION_CHARS_MAX, EVALUATION_VISITS_MAX, type ExpressionProblem } from './expression-problem.ts';
import { compareOrder, costOf, isOrdered, jsonEquals } from './json-compare.ts';
import type { Comparison, Filter, JsonPath, Operand, Step } from './json-path-ast.ts';
import { callFunction } from './json-path-functions.ts';

/** What one evaluation may still spend; shared by all paths of a template, and below zero once it is spent. */
export interface EvaluationBudget {
  visitsLeft: number;
  charsLeft: number;
}

export const newBudget = (): EvaluationBudget => ({
  visitsLeft: EVALUATION_VISITS_MAX,
  charsLeft: EVALUATION_CHARS_MAX,
});

export const isSpent = (budget: EvaluationBudget): boolean => budget.visitsLeft < 0 || budget.charsLeft < 0;

/** Where `$` begins: the value to start from, and how many of the steps led there. */
export type PathRoot = (steps: readonly Step[]) => { readonly value: JsonValue | undefined; readonly taken: number };

/** A definite path is at one value, undefined where there is none; an indefinite one holds all its matches. */
type Matches =
  | { readonly definite: true; readonly value: JsonValue | undefined }
  | { readonly definite: false; readonly values: readonly JsonValue[] };

const INDEX = /^\d{1,15}$/;

/**
 * Evaluates a path on a document. A definite path gives the value or null, an indefinite one the list of its matches.
 * Total; error EXPRESSION_LIMIT when it would visit more than 1,000,000 values.
 */
export const evaluateJsonPath = (path: JsonPath, document: JsonValue): Result<JsonValue, ExpressionProblem> => {
  const budget = newBudget();
  const value = readPath(path.steps, () => ({ value: document, taken: 0 }), budget);
  return isSpent(budget) ? err(budgetProblem(0)) : ok(value ?? null);
};

export const budgetProblem = (offset: number): ExpressionProblem => ({
  code: 'EXPRESSION_LIMIT',
  message: `the expression visits more than ${EVALUATION_VISITS_MAX} values or builds more than ${EVALUATION_CHARS_MAX} characters`,
  offset,
});

/** The value of a path from its root: undefined where a definite path leads nowhere. Meaningless once the budget is spent. */
export const readPath = (steps: readonly Step[], root: PathRoot, budget: EvaluationBudget): JsonValue | undefined => {
  const { value, taken } = root(steps);
  return outcomeOf(follow(value, steps, taken, { root, budget }));
};

interface Walk {
  readonly root: PathRoot;
  readonly budget: EvaluationBudget;
}

const outcomeOf = (matches: Matches): JsonValue | undefined => (matches.definite ? matches.value : matches.values);

const spend = (walk: Walk, visits: number): boolean => {
  walk.budget.visitsLeft -= visits;
  return walk.budget.visitsLeft >= 0;
};

const follow = (start: JsonValue | undefined, steps: readonly Step[], from: number, walk: Walk): Matches => {
  let matches: Matches = { definite: true, value: start };
  for (let at = from; at < steps.length; at += 1) {
    const step = steps[at];
    if (step === undefined || !spend(walk, 1)) break;
    matches = advance(matches, step, at === steps.length - 1, walk);
  }
  return matches;
};

const advance = (matches: Matches, step: Step, isLast: boolean, walk: Walk): Matches => {
  if (step.kind === 'call') return call(matches, step, walk);
  if (matches.definite) {
    if (step.kind === 'name') return { definite: true, value: member(matches.value, step.name) };
    if (step.kind === 'index') return { definite: true, value: element(matches.value, step.index) };
    if (step.kind === 'names' && isLast) return { definite: true, value: picked(matches.value, step.names) };
    return { definite: false, values: matches.value === undefined ? [] : children(matches.value, step, isLast, walk) };
  }
  const found: JsonValue[] = [];
  for (const value of matches.values) {
    const next = children(value, step, isLast, walk);
    if (!spend(walk, 1 + next.length)) break;
    for (const child of next) found.push(child);
  }
  return { definite: false, values: found };
};

const member = (value: JsonValue | undefined, name: string): JsonValue | undefined => {
  if (typeof value !== 'object' || value === null) return undefined;
  if (Array.isArray(value)) return INDEX.test(name) ? value[Number(name)] : undefined;
  return isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
};

const element = (value: JsonValue | undefined, index: number): JsonValue | undefined =>
  Array.isArray(value) ? value.at(index) : undefined;

const present = (value: JsonValue | undefined): readonly JsonValue[] => (value === undefined ? [] : [value]);

/** Several names at the end of a path give one object that holds those of them that exist. */
const picked = (value: JsonValue | undefined, names: readonly string[]): JsonValue | undefined => {
  if (!isJsonObject(value)) return undefined;
  return Object.fromEntries(
    names.flatMap((name) => present(member(value, name)).map((found) => [name, found] as const)),
  );
};

const below = (value: JsonValue): readonly JsonValue[] => {
  if (typeof value !== 'object' || value === null) return [];
  return Array.isArray(value) ? value : Object.values(value);
};

/** All matches of one step on one value. */
const children = (value: JsonValue, step: Exclude<Step, { kind: 'call' }>, isLast: boolean, walk: Walk) => {
  switch (step.kind) {
    case 'name':
      return present(member(value, step.name));
    case 'names':
      return isLast ? present(picked(value, step.names)) : step.names.flatMap((name) => present(member(value, name)));
    case 'index':
      return present(element(value, step.index));
    case 'indexes':
      return step.indexes.flatMap((index) => present(element(value, index)));
    case 'slice':
      return sliced(value, step, walk);
    case 'wildcard': {
      const values = below(value);
      return spend(walk, values.length) ? values : [];
    }
    case 'descend':
      return descend(value, walk);
    case 'filter':
      return filtered(value, step.filter, walk);
  }
};

const clamp = (bound: number, length: number, least: number, most: number): number =>
  Math.min(Math.max(bound < 0 ? length + bound : bound, least), most);

const sliced = (value: JsonValue, step: Extract<Step, { kind: 'slice' }>, walk: Walk): readonly JsonValue[] => {
  if (!Array.isArray(value)) return [];
  const { length } = value;
  const { start, end, stride } = step;
  const found: JsonValue[] = [];
  if (stride > 0) {
    const to = clamp(end ?? length, length, 0, length);
    for (let at = clamp(start ?? 0, length, 0, length); at < to; at += stride) found.push(value[at]);
  } else {
    const to = end === undefined ? -1 : clamp(end, length, -1, length - 1);
    for (let at = clamp(start ?? length - 1, length, -1, length - 1); at > to; at += stride) found.push(value[at]);
  }
  return spend(walk, found.length) ? found : [];
};

/** Parents before their children, siblings in order, on a stack of its own so that no depth can overflow. */
const descend = (value: JsonValue, walk: Walk): readonly JsonValue[] => {
  const found: JsonValue[] = [];
  const open: JsonValue[] = [value];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    found.push(next);
    const values = below(next);
    if (!spend(walk, 1 + values.length)) return [];
    for (let at = values.length - 1; at >= 0; at -= 1) open.push(values[at] ?? null);
  }
  return found;
};

/** A list is filtered element by element; anything else is itself the one candidate. */
const filtered = (value: JsonValue, filter: Filter, walk: Walk): readonly JsonValue[] => {
  const candidates: readonly JsonValue[] = Array.isArray(value) ? value : isJsonObject(value) ? [value] : [];
  const found: JsonValue[] = [];
  for (const candidate of candidates) {
    if (!spend(walk, 1)) break;
    if (holds(filter, candidate, walk)) found.push(candidate);
  }
  return found;
};

const holds = (filter: Filter, current: JsonValue, walk: Walk): boolean => {
  switch (filter.kind) {
    case 'or':
      return filter.filters.some((part) => holds(part, current, walk));
    case 'and':
      return filter.filters.every((part) => holds(part, current, walk));
    case 'not':
      return !holds(filter.filter, current, walk);
    case 'exists': {
      const matches = matchesOf(filter.operand, current, walk);
      return matches.definite ? matches.value !== undefined : matches.values.length > 0;
    }
    case 'compare': {
      const left = outcomeOf(matchesOf(filter.left, current, walk));
      const right = outcomeOf(matchesOf(filter.right, current, walk));
      return compares(filter.comparison, left, right, walk);
    }
  }
};

const matchesOf = (operand: Operand, current: JsonValue, walk: Walk): Matches => {
  if (operand.kind === 'literal') return { definite: true, value: operand.value };
  if (operand.from === '@') return follow(current, operand.steps, 0, walk);
  const { value, taken } = walk.root(operand.steps);
  return follow(value, operand.steps, taken, walk);
};

const listOf = (value: JsonValue | undefined): readonly JsonValue[] => (Array.isArray(value) ? value : []);

const compares = (
  comparison: Comparison,
  left: JsonValue | undefined,
  right: JsonValue | undefined,
  walk: Walk,
): boolean => {
  const includes = (list: readonly JsonValue[], item: JsonValue | undefined): boolean =>
    list.some((other) => jsonEquals(other, item, walk.budget));
  switch (comparison) {
    case '==':
      return jsonEquals(left, right, walk.budget);
    case '!=':
      return !jsonEquals(left, right, walk.budget);
    case '<':
    case '<=':
    case '>':
    case '>=': {
      const order = typeof left === 'string' && !spend(walk, costOf(left)) ? undefined : compareOrder(left, right);
      return order !== undefined && isOrdered(comparison, order);
    }
    case 'in':
      return includes(listOf(right), left);
    case 'nin':
      return !includes(listOf(right), left);
    case 'contains':
      if (typeof left !== 'string') return includes(listOf(left), right);
      return typeof right === 'string' && spend(walk, costOf(left)) && left.includes(right);
    case 'subsetof':
      return Array.isArray(left) && left.every((item) => includes(listOf(right), item));
    case 'anyof':
      return listOf(left).some((item) => includes(listOf(right), item));
    case 'noneof':
      return !listOf(left).some((item) => includes(listOf(right), item));
    case 'size':
      return sizeOf(left) !== undefined && sizeOf(left) === right;
    case 'empty':
      return sizeOf(left) !== undefined && (sizeOf(left) === 0) === right;
  }
};

const sizeOf = (value: JsonValue | undefined): number | undefined =>
  typeof value === 'string' || Array.isArray(value) ? value.length : undefined;

const textChars = (values: readonly JsonValue[]): number =>
  values.reduce((chars: number, value) => chars + (typeof value === 'string' ? value.length : 0), 0);

const call = (matches: Matches, step: Extract<Step, { kind: 'call' }>, walk: Walk): Matches => {
  const value = matches.definite ? (matches.value ?? null) : null;
  const items: readonly JsonValue[] = matches.definite ? listOf(value) : matches.values;
  if (!spend(walk, items.length)) return { definite: true, value: null };
  const operands = step.operands.map((operand) => outcomeOf(matchesOf(operand, value, walk)) ?? null);
  if (step.name === 'concat') walk.budget.charsLeft -= textChars([value, ...items, ...operands]);
  if (isSpent(walk.budget)) return { definite: true, value: null };
  const result = callFunction(step.name, { definite: matches.definite, items, value }, operands);
  return { definite: true, value: result };
};
