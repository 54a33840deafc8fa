import type { JsonValue } from '../kernel/json.ts';
import { err, ok, type Result } from '../kernel/result.ts';
import { type Condition, type ConditionSign, parseCondition } from './condition-parser.ts';
import { evaluateTemplate, V1_MODE } from './evaluate.ts';
import { EVALUATION_VISITS_MAX, type ExpressionProblem } from './expression-problem.ts';
import { compareOrder, isOrdered, jsonEquals } from './json-compare.ts';
import type { CompiledTemplate } from './parse-template.ts';
import { type References, referencesOfAll } from './references.ts';
import type { Scope } from './scope.ts';

/**
 * Whether a condition is of the comparison grammar rather than JavaScript: all of it parses, and it reads something
 * through `${…}`.
 */
export const isGrammarCondition = (text: string): boolean => {
  if (!text.includes('${')) return false;
  const parsed = parseCondition(text);
  return parsed.ok && operandsOf(parsed.value).some((operand) => operand.kind === 'text');
};

/** Everything a condition can read. */
export const referencesOfCondition = (condition: Condition): References => referencesOfAll(operandsOf(condition));

/**
 * Evaluates a condition. `==` and `!=` compare any values; order is defined between two numbers and two texts. A text
 * that is a decimal number counts as that number beside a number. Errors: EXPRESSION_FAILED when values cannot be
 * compared or are neither true nor false, and those of `evaluateTemplate`.
 */
export const evaluateCondition = (condition: Condition, scope: Scope): Result<boolean, ExpressionProblem> => {
  switch (condition.kind) {
    case 'and':
      return evaluateChain(condition.conditions, scope, false);
    case 'or':
      return evaluateChain(condition.conditions, scope, true);
    case 'not': {
      const inner = evaluateCondition(condition.condition, scope);
      return inner.ok ? ok(!inner.value) : inner;
    }
    case 'truth': {
      const value = operandValue(condition.operand, scope);
      return value.ok ? truthOf(value.value, condition.offset) : value;
    }
    case 'compare': {
      const left = operandValue(condition.left, scope);
      if (!left.ok) return left;
      const right = operandValue(condition.right, scope);
      return right.ok ? compare(condition.sign, left.value, right.value, condition.offset) : right;
    }
  }
};

const operandsOf = (condition: Condition): readonly CompiledTemplate[] => {
  switch (condition.kind) {
    case 'and':
    case 'or':
      return condition.conditions.flatMap(operandsOf);
    case 'not':
      return operandsOf(condition.condition);
    case 'truth':
      return [condition.operand];
    case 'compare':
      return [condition.left, condition.right];
  }
};

/** Left to right, and no further than the first that `decides` the whole. */
const evaluateChain = (
  conditions: readonly Condition[],
  scope: Scope,
  decides: boolean,
): Result<boolean, ExpressionProblem> => {
  for (const condition of conditions) {
    const result = evaluateCondition(condition, scope);
    if (!result.ok || result.value === decides) return result;
  }
  return ok(!decides);
};

const failed = (message: string, offset: number): { readonly ok: false; readonly error: ExpressionProblem } =>
  err({ code: 'EXPRESSION_FAILED', message, offset });

/** A sealed field stays literal, and what is literal cannot be compared. */
const operandValue = (operand: CompiledTemplate, scope: Scope): Result<JsonValue, ExpressionProblem> => {
  const evaluated = evaluateTemplate(operand, scope, V1_MODE);
  if (!evaluated.ok) return evaluated;
  if (evaluated.value.deferred.length === 0) return ok(evaluated.value.value);
  return err({ code: 'FORBIDDEN_REFERENCE', message: 'a sealed field cannot be compared', offset: 0 });
};

const describe = (value: JsonValue): string => {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'an object' : typeof value === 'string' ? 'a text' : `a ${typeof value}`;
};

const truthOf = (value: JsonValue, offset: number): Result<boolean, ExpressionProblem> => {
  if (value === true || value === 'true') return ok(true);
  if (value === false || value === 'false' || value === null) return ok(false);
  return failed(`true or false is expected, not ${describe(value)}`, offset);
};

const DECIMAL = /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** Beside a number, a text that spells one counts as it. */
const likeOther = (value: JsonValue, other: JsonValue): JsonValue =>
  typeof value === 'string' && typeof other === 'number' && value.length <= 400 && DECIMAL.test(value)
    ? Number(value)
    : value;

const compare = (
  sign: ConditionSign,
  left: JsonValue,
  right: JsonValue,
  offset: number,
): Result<boolean, ExpressionProblem> => {
  const a = likeOther(left, right);
  const b = likeOther(right, left);
  if (sign === '==' || sign === '!=') {
    const budget = { visitsLeft: EVALUATION_VISITS_MAX };
    const equal = jsonEquals(a, b, budget);
    if (budget.visitsLeft < 0)
      return err({ code: 'EXPRESSION_LIMIT', message: 'the values are too large to compare', offset });
    return ok(equal === (sign === '=='));
  }
  const order = compareOrder(a, b);
  return order === undefined
    ? failed(`${describe(left)} and ${describe(right)} have no order for "${sign}"`, offset)
    : ok(isOrdered(sign, order));
};
