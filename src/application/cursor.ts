import type { z } from 'zod';
import { canonicalJson } from '../domain/kernel/canonical-json.ts';
import { fnv1a32 } from '../domain/kernel/hash.ts';
import type { JsonValue } from '../domain/kernel/json.ts';
import { err, ok, type Result } from '../domain/kernel/result.ts';
import type { ApplicationError } from './application-error.ts';

/** A cursor carries a keyset and nothing else; a longer one was not made here. */
const CURSOR_CHARS_MAX = 4_096;

const checksum = (scope: string, key: JsonValue): number => fnv1a32(`${scope}\n${canonicalJson(key)}`);

/**
 * Writes where a list goes on. `scope` names the list with everything that chooses its content (the namespace, a filter):
 * a cursor is refused by any other list.
 */
export const encodeCursor = (scope: string, key: JsonValue): string =>
  Buffer.from(JSON.stringify([checksum(scope, key), key]), 'utf8').toString('base64url');

const invalidCursor = err<ApplicationError>({
  code: 'INVALID_CURSOR',
  message: 'the cursor does not belong to this list, or was changed',
});

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

/**
 * Reads a cursor made by `encodeCursor` for the same scope. The checksum finds accidents and cursors of other lists; it keeps
 * nobody out: what a cursor holds is checked by `schema` and used as a keyset within the caller's own namespace only.
 * Error: INVALID_CURSOR.
 */
export const decodeCursor = <T extends JsonValue>(
  scope: string,
  cursor: string,
  schema: z.ZodType<T>,
): Result<T, ApplicationError> => {
  if (cursor.length > CURSOR_CHARS_MAX) return invalidCursor;
  const bytes = Buffer.from(cursor, 'base64url');
  // Buffer skips what is no base64url, so that many texts would read as the same cursor.
  if (bytes.toString('base64url') !== cursor) return invalidCursor;
  const parsed = parseJson(bytes.toString('utf8'));
  if (!Array.isArray(parsed) || parsed.length !== 2) return invalidCursor;
  const key = schema.safeParse(parsed[1]);
  return key.success && parsed[0] === checksum(scope, key.data) ? ok(key.data) : invalidCursor;
};
