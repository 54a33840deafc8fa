import { isJsonObject, type JsonValue } from '../kernel/json.ts';

type Pair = readonly [JsonValue | undefined, JsonValue | undefined];

const pairsBelow = (left: JsonValue, right: JsonValue): readonly Pair[] | undefined => {
  if (Array.isArray(left) && Array.isArray(right)) {
    return left.length === right.length ? left.map((item, index) => [item, right[index]] as const) : undefined;
  }
  if (!isJsonObject(left) || !isJsonObject(right)) return undefined;
  const keys = Object.keys(left);
  if (keys.length !== Object.keys(right).length || !keys.every((key) => Object.hasOwn(right, key))) return undefined;
  return keys.map((key) => [left[key], right[key]] as const);
};

/** Comparing two texts costs about as much as visiting one value for each so many characters of them. */
const CHARS_PER_VISIT = 64;

/** How many visits it costs to compare this value with another, its children not counted. */
export const costOf = (value: JsonValue): number => {
  if (typeof value === 'string') return 1 + Math.floor(value.length / CHARS_PER_VISIT);
  if (typeof value !== 'object' || value === null) return 1;
  return 1 + (Array.isArray(value) ? value.length : Object.keys(value).length);
};

/**
 * Whether two values are the same JSON; the order of keys does not matter. Total at any depth, since it keeps its own
 * stack. Draws on the budget, and answers false once that is spent.
 */
export const jsonEquals = (
  left: JsonValue | undefined,
  right: JsonValue | undefined,
  budget: { visitsLeft: number },
): boolean => {
  const open: Pair[] = [[left, right]];
  for (let pair = open.pop(); pair !== undefined; pair = open.pop()) {
    const [a, b] = pair;
    if (a === undefined || b === undefined || typeof a !== typeof b) {
      if (a === b) continue;
      return false;
    }
    budget.visitsLeft -= Math.max(costOf(a), costOf(b));
    if (budget.visitsLeft < 0) return false;
    if (a === b) continue;
    const below = typeof a === 'object' && typeof b === 'object' && a !== null && b !== null && pairsBelow(a, b);
    if (!below) return false;
    for (const next of below) open.push(next);
  }
  return true;
};

/** Negative, zero or positive as `left` comes before, with or after `right`; undefined unless both are numbers or both texts. */
export const compareOrder = (left: JsonValue | undefined, right: JsonValue | undefined): number | undefined => {
  if (typeof left === 'number' && typeof right === 'number') return left - right;
  if (typeof left !== 'string' || typeof right !== 'string') return undefined;
  return left < right ? -1 : left > right ? 1 : 0;
};

export const isOrdered = (sign: '<' | '<=' | '>' | '>=', order: number): boolean => {
  switch (sign) {
    case '<':
      return order < 0;
    case '<=':
      return order <= 0;
    case '>':
      return order > 0;
    case '>=':
      return order >= 0;
  }
};
