import type { JsonValue } from '../kernel/json.ts';
import { measureJson } from '../kernel/json-depth.ts';
import { err, ok, type Result } from '../kernel/result.ts';
import { EXPRESSION_CHARS_MAX, EXPRESSION_NESTING_MAX, type ExpressionProblem } from './expression-problem.ts';
import { budgetProblem, type EvaluationBudget, isSpent, newBudget, type PathRoot, readPath } from './json-path.ts';
import { rootedPathsIn, type Step } from './json-path-ast.ts';
import {
  type CompiledTemplate,
  type DynamicPart,
  type Expression,
  readsSecret,
  type Template,
} from './parse-template.ts';
import { parseRootedPath, type RootedPath } from './rooted-path.ts';
import { SCOPE_ROOTS, type Scope } from './scope.ts';

export interface EvaluationMode {
  /** What null is inside a longer text: "" on /v1, "null" on /api. */
  readonly nullText: '' | 'null';
}

export const V1_MODE: EvaluationMode = { nullText: '' };
export const CONDUCTOR_MODE: EvaluationMode = { nullText: 'null' };

/**
 * Where a `${…}` that reads a secret or a sealed field stands in the evaluated value, still literal. Only what is listed
 * is to be filled in later: any other text that looks like one is data.
 */
export type DeferredReference = Readonly<{
  /** JSON pointer of the string. */
  pointer: string;
  /** From `$` to after `}`, in UTF-16 code units of that string. */
  start: number;
  end: number;
}>;

export interface Evaluated {
  readonly value: JsonValue;
  readonly deferred: readonly DeferredReference[];
}

const NONE_DEFERRED: readonly DeferredReference[] = [];

/**
 * Evaluates a compiled value in a scope. A string that is one expression keeps the type of what it gives, null when
 * there is nothing; inside a longer text values become text. Errors, with the offset of the expression in its string:
 * EXPRESSION_INVALID (a path put together at run time does not parse), FORBIDDEN_REFERENCE (data led it to a secret),
 * EXPRESSION_LIMIT.
 */
export const evaluateTemplate = (
  compiled: CompiledTemplate,
  scope: Scope,
  mode: EvaluationMode,
): Result<Evaluated, ExpressionProblem> => {
  if (compiled.kind === 'constant') return ok({ value: compiled.value, deferred: NONE_DEFERRED });
  const evaluation = new Evaluation(scope, mode);
  const value = evaluation.value(compiled);
  return evaluation.problem === undefined ? ok({ value, deferred: evaluation.deferred }) : err(evaluation.problem);
};

/** What one expression gives: a value, or its own text again when it stays literal. */
type Yield = { readonly literal: false; readonly value: JsonValue } | { readonly literal: true; readonly text: string };

const NOTHING: Yield = { literal: false, value: null };

/** One run over one compiled value. The first problem is kept; what is computed after it is thrown away. */
class Evaluation {
  problem: ExpressionProblem | undefined;
  private readonly found: DeferredReference[] = [];
  private readonly scope: Scope;
  private readonly mode: EvaluationMode;
  private readonly budget: EvaluationBudget = newBudget();
  private readonly root: PathRoot;

  constructor(scope: Scope, mode: EvaluationMode) {
    this.scope = scope;
    this.mode = mode;
    this.root = rootOf(scope);
  }

  get deferred(): readonly DeferredReference[] {
    return this.found.length === 0 ? NONE_DEFERRED : this.found;
  }

  value(compiled: CompiledTemplate): JsonValue {
    switch (compiled.kind) {
      case 'constant':
        return compiled.value;
      case 'text':
        return this.text(compiled.template, compiled.pointer);
      case 'list':
        return compiled.items.map((item) => this.value(item));
      case 'object': {
        const object: Record<string, JsonValue> = {};
        for (const [key, value] of compiled.entries) object[key] = this.value(value);
        return object;
      }
    }
  }

  private text(template: Exclude<Template, { kind: 'literal' }>, pointer: string): JsonValue {
    if (template.kind === 'single') {
      const result = this.expression(template.expression);
      if (!result.literal) return result.value;
      this.defer(pointer, 0, result.text);
      return result.text;
    }
    let text = '';
    for (const part of template.parts) {
      const result: Yield = typeof part === 'string' ? { literal: false, value: part } : this.expression(part);
      if (this.problem !== undefined) return null;
      if (result.literal) this.defer(pointer, text.length, result.text);
      const piece = result.literal
        ? result.text
        : this.textOf(result.value, typeof part === 'string' ? 0 : part.offset);
      this.budget.charsLeft -= piece.length;
      if (this.isOverBudget(0)) return null;
      text += piece;
    }
    return text;
  }

  private defer(pointer: string, start: number, literal: string): void {
    this.found.push({ pointer, start, end: start + literal.length });
  }

  private expression(expression: Expression): Yield {
    switch (expression.kind) {
      case 'blank':
        return { literal: false, value: '' };
      case 'path':
        return this.path(expression.path, expression.offset);
      case 'dynamic':
        return this.dynamic(expression);
    }
  }

  private path(path: RootedPath, offset: number): Yield {
    if (path.secret !== undefined || this.isSealed(path)) return { literal: true, text: `\${${path.source}}` };
    const value = readPath(path.steps, this.root, this.budget);
    return this.isOverBudget(offset) ? NOTHING : { literal: false, value: value ?? null };
  }

  private isSealed({ head, field, name }: RootedPath): boolean {
    return field === 'output' && name !== undefined && this.scope.isSealed(head, name);
  }

  private dynamic(expression: Extract<Expression, { kind: 'dynamic' }>): Yield {
    const source = this.joined(expression.parts);
    if (source === undefined) return NOTHING;
    const path = parseRootedPath(source);
    if (!path.ok) return this.refuse({ ...path.error, offset: expression.offset });
    const problem = problemOfRuntimePath(path.value, expression);
    return problem === undefined ? this.path(path.value, expression.offset) : this.refuse(problem);
  }

  /** The path as text; undefined when a part of it is null, or is not to be read. */
  private joined(parts: readonly DynamicPart[]): string | undefined {
    let source = '';
    for (const part of parts) {
      const piece = typeof part === 'string' ? part : this.partText(part.expression, part.quote);
      if (piece === undefined) return undefined;
      source += piece;
      if (source.length > EXPRESSION_CHARS_MAX) return source;
    }
    return source;
  }

  private partText(expression: Expression, quote: string): string | undefined {
    const result = this.expression(expression);
    if (result.literal) {
      this.refuse(forbidden('a sealed field cannot choose what another expression reads', expression.offset));
      return undefined;
    }
    if (result.value === null || this.problem !== undefined) return undefined;
    const text = this.textOf(result.value, expression.offset);
    return quote === '' ? text : text.replaceAll('\\', '\\\\').replaceAll(quote, `\\${quote}`);
  }

  private textOf(value: JsonValue, offset: number): string {
    if (typeof value === 'string') return value;
    if (value === null) return this.mode.nullText;
    if (typeof value !== 'object') return String(value);
    const measured = measureJson(value, {
      bytesMax: Math.max(this.budget.charsLeft, 0),
      depthMax: EXPRESSION_NESTING_MAX,
    });
    if (measured.ok) return JSON.stringify(value);
    this.refuse({ code: 'EXPRESSION_LIMIT', message: 'the value is too large or too deep to become text', offset });
    return '';
  }

  private isOverBudget(offset: number): boolean {
    if (!isSpent(this.budget)) return false;
    this.refuse(budgetProblem(offset));
    return true;
  }

  private refuse(problem: ExpressionProblem): Yield {
    this.problem ??= problem;
    return NOTHING;
  }
}

const rootOf =
  (scope: Scope): PathRoot =>
  (steps) => {
    const [head, field] = steps;
    if (head?.kind !== 'name') return { value: undefined, taken: steps.length };
    return field?.kind === 'name'
      ? { value: scope.lookup(head.name, field.name), taken: 2 }
      : { value: scope.resolve(head.name), taken: 1 };
  };

const forbidden = (message: string, offset: number): ExpressionProblem => ({
  code: 'FORBIDDEN_REFERENCE',
  message,
  offset,
});

/**
 * Data may choose where a path goes on, but not that it leads to a secret, nor which other task a filter reads:
 * what a plan keeps readable is known from the text alone.
 */
const problemOfRuntimePath = (path: RootedPath, expression: Expression): ExpressionProblem | undefined => {
  const { offset } = expression;
  if (path.secret !== undefined && !readsSecret(expression)) return forbidden('data cannot lead to a secret', offset);
  const isOtherTask = (steps: readonly Step[]): boolean => steps[0]?.kind === 'name' && !SCOPE_ROOTS.has(steps[0].name);
  if (!rootedPathsIn(path.steps).some(isOtherTask)) return undefined;
  return {
    code: 'EXPRESSION_INVALID',
    message: 'a path put together at run time cannot read another task in a filter',
    offset,
  };
};
