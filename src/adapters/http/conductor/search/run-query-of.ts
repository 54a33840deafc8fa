import { isJsonObject } from '../../../../domain/kernel/json.ts';
import { err, ok, type Result } from '../../../../domain/kernel/result.ts';
import { parseStrictJson } from '../../../../domain/kernel/strict-json.ts';
import type { RunCondition, RunQuery, RunSort } from '../../../../ports/run-query.ts';
import type { ApiError } from '../../api-error.ts';
import { EVERYTHING, parseSearch } from './parse-search.ts';
import { runFieldNamed, type SearchAbout } from './search-fields.ts';

/** Hits that are counted; beyond it totalHits says so many. */
export const TOTAL_HITS_MAX = 10_000;
const SORT_FIELDS_MAX = 10;

export type SearchCall = Readonly<{
  start: number;
  size: number;
  sort: string | undefined;
  freeText: string | undefined;
  query: string | undefined;
  classifier?: string | undefined;
  topLevelOnly?: boolean;
}>;

const refuse = (path: string, message: string) => err<ApiError>({ code: 'VALIDATION_FAILED', message, path });

/** `field:ASC|field2:DESC`; a field alone goes up. */
const sortOf = (text: string): Result<readonly RunSort[], ApiError> => {
  const sorts: RunSort[] = [];
  for (const part of text.split('|').filter((piece) => piece.trim() !== '')) {
    const [name = '', order = 'ASC', ...more] = part.split(':').map((piece) => piece.trim());
    const field = runFieldNamed(name);
    const direction = order.toUpperCase();
    if (field === undefined) return refuse('sort', `There is no field ${name} to sort by.`);
    if (more.length > 0 || !(direction === 'ASC' || direction === 'DESC')) {
      return refuse('sort', `${part} is not a field with ASC or DESC.`);
    }
    sorts.push({ field, descending: direction === 'DESC' });
  }
  return sorts.length > SORT_FIELDS_MAX ? refuse('sort', `More than ${SORT_FIELDS_MAX} fields.`) : ok(sorts);
};

/** An object in JSON is looked for in input and output; anything else is words that have to be found somewhere. */
const freeTextOf = (text: string): Result<RunCondition, ApiError> => {
  const trimmed = text.trim();
  if (trimmed === '' || trimmed === '*') return ok(EVERYTHING);
  if (!trimmed.startsWith('{')) {
    const of = trimmed.split(/\s+/).map((word): RunCondition => ({ kind: 'words', text: word }));
    return ok({ kind: 'all', of });
  }
  const document = parseStrictJson(trimmed);
  if (!document.ok || !isJsonObject(document.value)) return refuse('freeText', 'It is not an object in JSON.');
  return ok({ kind: 'holds', document: document.value });
};

const TOP_LEVEL: RunCondition = { kind: 'field', field: 'parentExecutionId', test: { operator: 'absent' } };
const NOTHING: RunCondition = { kind: 'any', of: [] };

/** The query that a call of Conductor's search asks for. Errors: VALIDATION_FAILED. */
export const runQueryOf = (call: SearchCall, about: SearchAbout = 'workflows'): Result<RunQuery, ApiError> => {
  const condition = parseSearch(call.query ?? '', about);
  if (!condition.ok) return refuse('query', condition.error);
  const words = freeTextOf(call.freeText ?? '');
  if (!words.ok) return words;
  const sort = sortOf(call.sort ?? '');
  if (!sort.ok) return sort;
  const of = [condition.value, words.value];
  if (call.topLevelOnly) of.push(TOP_LEVEL);
  // Agents are workflows of another kind in Conductor; there are none here.
  if (call.classifier !== undefined && call.classifier !== 'workflow') of.push(NOTHING);
  return ok({
    condition: { kind: 'all', of },
    sort: sort.value,
    offset: call.start,
    limit: call.size,
    countMax: TOTAL_HITS_MAX,
  });
};
