import { isJsonObject, type JsonValue } from '../kernel/json.ts';
import { err, ok, type Result } from '../kernel/result.ts';
import { childPath } from '../kernel/value-path.ts';
import { EXPRESSION_CHARS_MAX, EXPRESSION_NESTING_MAX, type ExpressionProblem } from './expression-problem.ts';
import { leadingNames, parseRootedPath, type RootedPath, secretStoreSteps } from './rooted-path.ts';

type Quote = '' | "'" | '"';

/** One `${…}`. `offset` is where it begins in its text. */
export type Expression =
  | { readonly kind: 'blank'; readonly offset: number }
  | { readonly kind: 'path'; readonly offset: number; readonly path: RootedPath }
  | {
      /** Holds other expressions: its path is known once they are evaluated. */
      readonly kind: 'dynamic';
      readonly offset: number;
      readonly parts: readonly DynamicPart[];
      /** The segments that are known before. */
      readonly names: readonly string[];
    };

/** `quote` is the quote the expression stands in, so that what it gives cannot close it. */
export type DynamicPart = string | { readonly expression: Expression; readonly quote: Quote };

/** A string as it was written, parsed once. */
export type Template =
  | { readonly kind: 'literal'; readonly text: string }
  | { readonly kind: 'single'; readonly expression: Expression }
  | { readonly kind: 'concatenation'; readonly parts: readonly (string | Expression)[] };

/** A JSON value with its strings parsed once; what holds no expression is kept as the value it is. */
export type CompiledTemplate =
  | { readonly kind: 'constant'; readonly value: JsonValue }
  | {
      readonly kind: 'text';
      readonly template: Exclude<Template, { kind: 'literal' }>;
      /** JSON pointer of this string in the value. */
      readonly pointer: string;
    }
  | { readonly kind: 'list'; readonly items: readonly CompiledTemplate[] }
  | { readonly kind: 'object'; readonly entries: readonly (readonly [string, CompiledTemplate])[] };

export type TemplateProblem = ExpressionProblem & { readonly path: string };

const invalid = (message: string, offset: number): ExpressionProblem => ({
  code: 'EXPRESSION_INVALID',
  message,
  offset,
});

/**
 * Parses one string: `${…}` is an expression, `$${…}` is the text `${…}`, `${}` is "".
 * Errors, with the offset of the expression: EXPRESSION_INVALID, FORBIDDEN_REFERENCE.
 */
export const parseTemplate = (text: string): Result<Template, ExpressionProblem> => {
  const parts: (string | Expression)[] = [];
  let literal = '';
  let position = 0;
  for (let open = text.indexOf('${'); open >= 0; open = text.indexOf('${', position)) {
    const isEscaped = open > position && text[open - 1] === '$';
    if (isEscaped) {
      literal += `${text.slice(position, open - 1)}\${`;
      position = open + 2;
      continue;
    }
    const parsed = parseExpression(text, open);
    if (!parsed.ok) return parsed;
    literal += text.slice(position, open);
    if (literal !== '') parts.push(literal);
    literal = '';
    parts.push(parsed.value.expression);
    position = parsed.value.end;
  }
  return ok(templateOf(parts, literal + text.slice(position)));
};

const templateOf = (parts: readonly (string | Expression)[], tail: string): Template => {
  const [only] = parts;
  if (only === undefined) return { kind: 'literal', text: tail };
  if (tail === '' && parts.length === 1 && typeof only !== 'string') return { kind: 'single', expression: only };
  return { kind: 'concatenation', parts: tail === '' ? parts : [...parts, tail] };
};

/** Parses the `${…}` that begins at `open`; `end` is just after its closing brace. */
export const parseExpression = (
  text: string,
  open: number,
): Result<{ readonly expression: Expression; readonly end: number }, ExpressionProblem> => {
  const scanned = scanExpression(text, open, 0);
  if (!scanned.ok) return scanned;
  const expression = expressionOf(scanned.value.parts, open);
  return expression.ok ? ok({ expression: expression.value, end: scanned.value.end }) : expression;
};

interface Scanned {
  readonly parts: readonly DynamicPart[];
  readonly end: number;
}

/** Finds the closing brace: braces in quotes and in pairs belong to the path, and `${` begins an inner expression. */
const scanExpression = (text: string, open: number, depth: number): Result<Scanned, ExpressionProblem> => {
  if (depth > EXPRESSION_NESTING_MAX) return err(invalid('the expression is nested too deeply', open));
  const parts: DynamicPart[] = [];
  let quote: Quote = '';
  let braces = 0;
  let from = open + 2;
  for (let at = from; at < text.length; at += 1) {
    if (at - open >= EXPRESSION_CHARS_MAX) {
      return err(invalid(`the expression is longer than ${EXPRESSION_CHARS_MAX} characters`, open));
    }
    const char = text[at];
    if (char === '$' && text[at + 1] === '{') {
      const inner = innerExpression(text, at, depth + 1);
      if (!inner.ok) return inner;
      parts.push(text.slice(from, at), { expression: inner.value.expression, quote });
      from = inner.value.end;
      at = from - 1;
    } else if (quote !== '') {
      if (char === '\\') at += 1;
      else if (char === quote) quote = '';
    } else if (char === "'" || char === '"') quote = char;
    else if (char === '{') braces += 1;
    else if (char === '}') {
      if (braces === 0) return ok({ parts: [...parts, text.slice(from, at)], end: at + 1 });
      braces -= 1;
    }
  }
  return err(invalid('the expression is not closed: "}" is missing', open));
};

const innerExpression = (text: string, open: number, depth: number) => {
  const scanned = scanExpression(text, open, depth);
  if (!scanned.ok) return scanned;
  const expression = expressionOf(scanned.value.parts, open);
  if (!expression.ok) return expression;
  if (readsSecret(expression.value)) {
    return err<ExpressionProblem>({
      code: 'FORBIDDEN_REFERENCE',
      message: 'a secret cannot choose what another expression reads',
      offset: open,
    });
  }
  return ok({ expression: expression.value, end: scanned.value.end });
};

const expressionOf = (parts: readonly DynamicPart[], offset: number): Result<Expression, ExpressionProblem> => {
  const [only = ''] = parts;
  if (parts.length > 1 || typeof only !== 'string') {
    return ok({ kind: 'dynamic', offset, parts, names: typeof only === 'string' ? leadingNames(only) : [] });
  }
  if (only.trim() === '') return ok({ kind: 'blank', offset });
  const path = parseRootedPath(only);
  if (path.ok) return ok({ kind: 'path', offset, path: path.value });
  const begins = offset + 2 + (only.length - only.trimStart().length);
  return err({ ...path.error, offset: begins + path.error.offset });
};

/** Whether the expression stays literal because it reads a secret. */
export const readsSecret = (expression: Expression): boolean => {
  switch (expression.kind) {
    case 'blank':
      return false;
    case 'path':
      return expression.path.secret !== undefined;
    case 'dynamic':
      return secretStoreSteps(expression.names) > 0;
  }
};

/**
 * Parses every string of a JSON value, at any depth. Keys are never expressions.
 * `path` is where the value stands and begins the path of each problem. All problems are reported, not only the first.
 */
export const compileTemplate = (
  value: JsonValue,
  path: string,
): Result<CompiledTemplate, readonly TemplateProblem[]> => {
  const problems: TemplateProblem[] = [];
  const compiled = compileValue(value, { path, pointer: '', depth: 0 }, problems);
  return problems.length === 0 ? ok(compiled) : err(problems);
};

interface Place {
  readonly path: string;
  readonly pointer: string;
  readonly depth: number;
}

const below = (place: Place, key: string | number): Place => ({
  path: childPath(place.path, key),
  pointer: `${place.pointer}/${typeof key === 'number' ? key : key.replaceAll('~', '~0').replaceAll('/', '~1')}`,
  depth: place.depth + 1,
});

const compileValue = (value: JsonValue, place: Place, problems: TemplateProblem[]): CompiledTemplate => {
  if (typeof value === 'string') return compileText(value, place, problems);
  if (typeof value !== 'object' || value === null) return { kind: 'constant', value };
  if (place.depth >= EXPRESSION_NESTING_MAX) {
    problems.push({ ...invalid('the value is nested too deeply', 0), path: place.path });
    return { kind: 'constant', value: null };
  }
  return isJsonObject(value) ? compileObject(value, place, problems) : compileList(value, place, problems);
};

const compileText = (text: string, place: Place, problems: TemplateProblem[]): CompiledTemplate => {
  if (!text.includes('${')) return { kind: 'constant', value: text };
  const parsed = parseTemplate(text);
  if (!parsed.ok) {
    problems.push({ ...parsed.error, path: place.path });
    return { kind: 'constant', value: text };
  }
  const template = parsed.value;
  return template.kind === 'literal'
    ? { kind: 'constant', value: template.text }
    : { kind: 'text', template, pointer: place.pointer };
};

/** The value itself while nothing under it changed, so that constants are shared and not copied. */
const keptAs = (value: JsonValue, item: CompiledTemplate): boolean => item.kind === 'constant' && item.value === value;

const compileList = (values: readonly JsonValue[], place: Place, problems: TemplateProblem[]): CompiledTemplate => {
  const items = values.map((value, index) => compileValue(value, below(place, index), problems));
  if (items.every((item, index) => keptAs(values[index] ?? null, item))) return { kind: 'constant', value: values };
  return { kind: 'list', items };
};

const compileObject = (
  object: Extract<JsonValue, { readonly [key: string]: JsonValue }>,
  place: Place,
  problems: TemplateProblem[],
): CompiledTemplate => {
  const entries = Object.entries(object).map(([key, value]) => {
    const inner = below(place, key);
    if (key === '__proto__') problems.push({ ...invalid('the key "__proto__" is refused', 0), path: inner.path });
    return [key, compileValue(value, inner, problems)] as const;
  });
  if (entries.every(([key, item]) => keptAs(object[key] ?? null, item))) return { kind: 'constant', value: object };
  return { kind: 'object', entries };
};
