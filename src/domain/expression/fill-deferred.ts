import { isJsonObject, type JsonObject, type JsonValue } from '../kernel/json.ts';
import { err, ok, type Result } from '../kernel/result.ts';
import type { DeferredReference } from './evaluate.ts';
import { evaluateJsonPath } from './json-path.ts';
import { parseRootedPath, type RootedPath, secretStoreSteps } from './rooted-path.ts';

const segmentsOf = (pointer: string): readonly string[] =>
  pointer === ''
    ? []
    : pointer
        .slice(1)
        .split('/')
        .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));

const childOf = (value: JsonValue | undefined, key: string): JsonValue | undefined => {
  if (Array.isArray(value)) return (value as readonly JsonValue[])[Number(key)];
  return value !== undefined && isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
};

const replacedAt = (value: JsonValue, [key, ...rest]: readonly string[], put: JsonValue): JsonValue => {
  if (key === undefined) return put;
  if (Array.isArray(value)) {
    return (value as readonly JsonValue[]).map((item, index) =>
      index === Number(key) ? replacedAt(item, rest, put) : item,
    );
  }
  if (!isJsonObject(value) || !Object.hasOwn(value, key)) return value;
  const inside: JsonObject = { ...value, [key]: replacedAt(value[key] ?? null, rest, put) };
  return inside;
};

type Found = Readonly<{ segments: readonly string[]; text: string; reference: DeferredReference; path: RootedPath }>;

/** What stands at the places that were told; a place where nothing of the kind stands any more is left out. */
const found = (input: JsonValue, deferred: readonly DeferredReference[]): readonly Found[] =>
  deferred.flatMap((reference) => {
    const segments = segmentsOf(reference.pointer);
    const text = segments.reduce<JsonValue | undefined>((value, key) => childOf(value, key), input);
    if (typeof text !== 'string') return [];
    const written = text.slice(reference.start, reference.end);
    const path = written.startsWith('${') && written.endsWith('}') ? parseRootedPath(written.slice(2, -1)) : undefined;
    return path?.ok === true ? [{ segments, text, reference, path: path.value }] : [];
  });

/** The names of the secrets that are to be filled in. */
export const secretsToFill = (input: JsonValue, deferred: readonly DeferredReference[]): ReadonlySet<string> =>
  new Set(found(input, deferred).flatMap(({ path }) => (path.secret === undefined ? [] : [path.secret])));

const parsedJson = (text: string): JsonValue | undefined => {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
};

/** The secret itself or, where the path goes on behind its name, what the path finds in it as JSON. */
const secretValue = ({ steps, head, field, secret }: RootedPath, text: string): Result<JsonValue, string> => {
  const rest = steps.slice(secretStoreSteps([head, field]) + 1);
  if (rest.length === 0) return ok(text);
  const document = parsedJson(text);
  if (document === undefined) return err(`The secret ${secret} is no JSON, so that no path leads into it.`);
  const value = evaluateJsonPath({ steps: rest }, document);
  return value.ok ? ok(value.value) : err(`No path leads into the secret ${secret} as it is written.`);
};

const inText = (value: JsonValue): string => {
  if (typeof value === 'string') return value;
  return value === null ? '' : JSON.stringify(value);
};

/**
 * The input with its secrets in it: only at the places that were told when it was evaluated, since any other text that looks
 * like a reference is data. `texts` has each secret that is to be filled in.
 */
export const fillDeferred = (
  input: JsonValue,
  deferred: readonly DeferredReference[],
  texts: ReadonlyMap<string, string>,
): Result<JsonValue, string> => {
  let filled = input;
  // From the back, so that the places before a filled one stay where they are.
  const places = found(input, deferred).toSorted((a, b) => b.reference.start - a.reference.start);
  const current = new Map<string, string>();
  for (const { segments, text, reference, path } of places) {
    if (path.secret === undefined) continue;
    const value = secretValue(path, texts.get(path.secret) ?? '');
    if (!value.ok) return value;
    const isAll = reference.start === 0 && reference.end === text.length;
    const before = current.get(reference.pointer) ?? text;
    const after = before.slice(0, reference.start) + inText(value.value) + before.slice(reference.end);
    current.set(reference.pointer, after);
    filled = replacedAt(filled, segments, isAll ? value.value : after);
  }
  return ok(filled);
};
