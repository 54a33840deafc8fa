import { z } from 'zod';
import type { Instant } from '../../../domain/kernel/brand.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../domain/kernel/json.ts';

export const NAME_CHARS_MAX = 255;
export const REASON_CHARS_MAX = 4_096;
export const CURSOR_CHARS_MAX = 1_024;
export const PAGE_ITEMS_MAX = 1_000;
export const PAGE_ITEMS_DEFAULT = 100;
export const WAIT_SECONDS_MAX = 60;
/** PostgreSQL's integer: the largest version or sequence a request may name where a column is one. */
export const INTEGER_MAX = 2_147_483_647;
const SEQ_MAX = Number.MAX_SAFE_INTEGER;

/** JSON was parsed before a schema sees it, so these only look at the outermost shape: a 10 MB payload is not walked again. */
export const jsonValue = z.custom<JsonValue>((value) => value !== undefined).meta({ description: 'Any JSON value.' });
export const jsonObject = z.custom<JsonObject>(isJsonObject, 'expected an object').meta({ type: 'object' });

/** An instant as it leaves: ISO-8601 in UTC with milliseconds. */
export const instantText = z.iso.datetime({ precision: 3 });

/** An instant as it arrives: ISO-8601 with an offset; days that do not exist are refused. */
export const instantInput = z.iso.datetime({ offset: true }).transform((text): Instant => Date.parse(text) as Instant);

export const uuidText = z
  .string()
  .regex(/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/, 'expected a UUID in lower case');

export const nameText = z.string().min(1).max(NAME_CHARS_MAX);
export const reasonText = z.string().max(REASON_CHARS_MAX);
export const cursorText = z.string().min(1).max(CURSOR_CHARS_MAX);
export const count = z.int().min(0);
export const versionNumber = z.int().min(1).max(INTEGER_MAX);
export const pageLimit = z.int().min(1).max(PAGE_ITEMS_MAX).default(PAGE_ITEMS_DEFAULT);

/** A whole number in a query string: digits only, so that `1e3`, `+1` and ` 1` are refused. */
export const integerQuery = (minimum: number, maximum: number) =>
  z
    .string()
    .regex(/^\d{1,16}$/, 'expected a whole number')
    .transform(Number)
    .pipe(z.int().min(minimum).max(maximum));

export const versionQuery = integerQuery(1, INTEGER_MAX);
export const seqQuery = integerQuery(0, SEQ_MAX);
export const limitQuery = integerQuery(1, PAGE_ITEMS_MAX).default(PAGE_ITEMS_DEFAULT);

export const pageQuery = z.strictObject({ limit: limitQuery, cursor: cursorText.optional() });

export const errorSchema = z.strictObject({
  /** Stable. The message is not. */
  error: z.string(),
  message: z.string(),
  path: z.string().optional(),
  details: jsonValue.optional(),
  requestId: z.string(),
});
export type ErrorBody = z.output<typeof errorSchema>;
