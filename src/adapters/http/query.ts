import { err, ok, type Result } from '../../domain/kernel/result.ts';
import type { ApiError } from './api-error.ts';

type Query = Readonly<Record<string, string>>;
type ListedQuery = Readonly<Record<string, readonly string[]>>;
type Pair = Readonly<{ name: string; value: string }>;

/** No parameter has a use for them, and PostgreSQL refuses U+0000 in text. */
const CONTROL = /\p{Cc}/u;

const refuse = (message: string) => err<ApiError>({ code: 'VALIDATION_FAILED', message, path: 'query' });

const decode = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return undefined;
  }
};

/** The pairs of a query, decoded. VALIDATION_FAILED for what is not percent-encoded UTF-8 and for control characters. */
const pairsOf = (target: string): Result<readonly Pair[], ApiError> => {
  const start = target.indexOf('?');
  const pairs: Pair[] = [];
  for (const pair of start < 0 ? [] : target.slice(start + 1).split('&')) {
    if (pair === '') continue;
    const equals = pair.indexOf('=');
    const name = decode(equals < 0 ? pair : pair.slice(0, equals));
    const value = decode(equals < 0 ? '' : pair.slice(equals + 1));
    if (name === undefined || value === undefined) return refuse('The query is not percent-encoded UTF-8.');
    if (CONTROL.test(value)) return refuse('The query holds a control character.');
    pairs.push({ name, value });
  }
  return ok(pairs);
};

/**
 * The query of a request target, each parameter once and only those in `known`. VALIDATION_FAILED for a repeated or unknown
 * parameter and for what is not percent-encoded UTF-8.
 */
export const parseQuery = (target: string, known: readonly string[]): Result<Query, ApiError> => {
  const pairs = pairsOf(target);
  if (!pairs.ok) return pairs;
  const query = new Map<string, string>();
  for (const { name, value } of pairs.value) {
    if (!known.includes(name))
      return refuse(`A parameter is not known here; known are: ${known.join(', ') || 'none'}.`);
    if (query.has(name)) return refuse(`The parameter ${name} is given twice.`);
    query.set(name, value);
  }
  return ok(Object.fromEntries(query));
};

/** The same as Conductor reads it: every value of each parameter in `known`, and what else is said is passed over. */
export const parseLenientQuery = (target: string, known: readonly string[]): Result<ListedQuery, ApiError> => {
  const pairs = pairsOf(target);
  if (!pairs.ok) return pairs;
  const query = new Map<string, string[]>();
  for (const { name, value } of pairs.value) {
    if (!known.includes(name)) continue;
    query.set(name, [...(query.get(name) ?? []), value]);
  }
  return ok(Object.fromEntries(query));
};
