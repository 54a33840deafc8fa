import { isJsonObject, type JsonValue } from '../kernel/json.ts';
import { err, ok, type Result } from '../kernel/result.ts';
import { parseStrictJson } from '../kernel/strict-json.ts';
import type { DeferredReference, EvaluationMode } from './evaluate.ts';
import type { ExpressionProblem } from './expression-problem.ts';
import { evaluateJsonPath } from './json-path.ts';
import { parseRootedPath, secretStoreSteps } from './rooted-path.ts';

/** What a deferred reference names: a secret, or a sealed field of a task's output. */
export type DeferredSource =
  | { readonly kind: 'secret'; readonly name: string }
  | { readonly kind: 'sealed'; readonly ref: string; readonly name: string };

/** Opens what a reference names; undefined when there is no such thing. */
export type OpenDeferred = (source: DeferredSource) => JsonValue | undefined;

/**
 * Fills in the references that evaluation left literal, in the copy that is handed to a worker or executor. Nothing but
 * the listed places is touched, and nothing that is filled in is read again.
 * Errors: EXPRESSION_FAILED when `open` knows no such secret or field, EXPRESSION_INVALID when the value is not the one
 * the references were made for.
 */
export const fillDeferred = (
  value: JsonValue,
  deferred: readonly DeferredReference[],
  open: OpenDeferred,
  mode: EvaluationMode,
): Result<JsonValue, ExpressionProblem> => {
  let filled = value;
  for (const [pointer, places] of Map.groupBy(deferred, (reference) => reference.pointer)) {
    const text = valueAt(value, segmentsOf(pointer));
    if (typeof text !== 'string') return err(invalid(`there is no text at "${pointer}"`, 0));
    const replaced = fillText(text, places, open, mode);
    if (!replaced.ok) return replaced;
    filled = replacedAt(filled, segmentsOf(pointer), 0, replaced.value);
  }
  return ok(filled);
};

const invalid = (message: string, offset: number): ExpressionProblem => ({
  code: 'EXPRESSION_INVALID',
  message,
  offset,
});

const segmentsOf = (pointer: string): readonly string[] =>
  pointer
    .split('/')
    .slice(1)
    .map((segment) => segment.replaceAll('~1', '/').replaceAll('~0', '~'));

const entry = (value: JsonValue | undefined, key: string): JsonValue | undefined => {
  if (Array.isArray(value)) return value[Number(key)];
  return isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
};

const valueAt = (value: JsonValue, segments: readonly string[]): JsonValue | undefined =>
  segments.reduce<JsonValue | undefined>(entry, value);

/** A copy with one place replaced; everything beside the way there is shared. */
const replacedAt = (value: JsonValue, segments: readonly string[], at: number, replacement: JsonValue): JsonValue => {
  const key = segments[at];
  const inner = key === undefined ? undefined : entry(value, key);
  if (key === undefined || inner === undefined) return replacement;
  const next = replacedAt(inner, segments, at + 1, replacement);
  if (Array.isArray(value)) return value.with(Number(key), next);
  return isJsonObject(value) ? { ...value, [key]: next } : replacement;
};

const fillText = (
  text: string,
  places: readonly DeferredReference[],
  open: OpenDeferred,
  mode: EvaluationMode,
): Result<JsonValue, ExpressionProblem> => {
  let filled = '';
  let position = 0;
  for (const { start, end } of places.toSorted((a, b) => a.start - b.start)) {
    const opened = openReference(text.slice(start, end), start, open);
    if (!opened.ok) return opened;
    if (start === 0 && end === text.length) return opened;
    filled += text.slice(position, start) + textOf(opened.value, mode);
    position = end;
  }
  return ok(filled + text.slice(position));
};

const textOf = (value: JsonValue, mode: EvaluationMode): string => {
  if (typeof value === 'string') return value;
  return value === null ? mode.nullText : JSON.stringify(value);
};

const openReference = (literal: string, offset: number, open: OpenDeferred): Result<JsonValue, ExpressionProblem> => {
  const path = literal.startsWith('${')
    ? parseRootedPath(literal.slice(2, -1))
    : err(invalid('no reference here', offset));
  if (!path.ok) return path;
  const { steps, head, field, name, secret } = path.value;
  const store = secretStoreSteps([head, field]);
  const source: DeferredSource | undefined =
    secret !== undefined
      ? { kind: 'secret', name: secret }
      : name === undefined
        ? undefined
        : { kind: 'sealed', ref: head, name };
  const base = source === undefined ? undefined : open(source);
  if (base === undefined) {
    return err({ code: 'EXPRESSION_FAILED', message: `there is nothing to fill in for "${literal}"`, offset });
  }
  const rest = steps.slice(secret === undefined ? 3 : store + 1);
  return rest.length === 0 ? ok(base) : evaluateJsonPath({ steps: rest }, documentOf(base));
};

/** A secret that holds JSON can be read into by a path; any other text leads nowhere. */
const documentOf = (base: JsonValue): JsonValue => {
  if (typeof base !== 'string') return base;
  const parsed = parseStrictJson(base);
  return parsed.ok ? parsed.value : null;
};
