import { z } from 'zod';
import type { JsonObject, JsonValue } from '../kernel/json.ts';
import { INT32_MAX } from './limits.ts';
import type { Dialect } from './workflow-definition.ts';

/** A number written as text, a fraction where a whole number is meant: Conductor's reader takes them. */
const INTEGER_TEXT = /^\s*-?\d{1,15}\s*$/;
const NUMBER_TEXT = /^\s*-?\d{1,15}(?:\.\d{1,15})?\s*$/;

const toNumber = (value: unknown): unknown =>
  typeof value === 'string' && NUMBER_TEXT.test(value) ? Number(value) : value;

const toInteger = (value: unknown): unknown => {
  if (typeof value === 'number') return Math.trunc(value);
  return typeof value === 'string' && INTEGER_TEXT.test(value) ? Number(value) : value;
};

const toFlag = (value: unknown): unknown => {
  const word = typeof value === 'string' ? value.trim().toLowerCase() : value;
  return word === 'true' ? true : word === 'false' ? false : value;
};

const toText = (value: unknown): unknown =>
  typeof value === 'number' || typeof value === 'boolean' ? String(value) : value;

const integer = (min: number, max: number) => z.int().min(min).max(max);
const decimal = (min: number, max: number) => z.number().min(min).max(max);
const seconds = integer(0, INT32_MAX);
const object = z.custom<JsonObject>(
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  'Invalid input: expected object',
);
const list = z.array(z.custom<JsonValue>((value) => value !== undefined));

const EXACT = {
  text: z.string(),
  flag: z.boolean(),
  integer,
  decimal,
  seconds,
  object,
  list,
  any: z.custom<JsonValue>((value) => value !== undefined),
};

const lenient = (convert: (value: unknown) => unknown) => {
  return <T>(schema: z.ZodType<T>): z.ZodType<T> => z.preprocess(convert, schema) as unknown as z.ZodType<T>;
};

/** The same shapes, read as Conductor reads them. */
const LENIENT = {
  ...EXACT,
  text: lenient(toText)(z.string()),
  flag: lenient(toFlag)(z.boolean()),
  integer: (min: number, max: number) => lenient(toInteger)(integer(min, max)),
  decimal: (min: number, max: number) => lenient(toNumber)(decimal(min, max)),
  seconds: lenient(toInteger)(seconds),
};

export type DocumentFields = Readonly<{
  text: z.ZodType<string>;
  flag: z.ZodType<boolean>;
  /** Whole number within bounds, both included. */
  integer: (min: number, max: number) => z.ZodType<number>;
  decimal: (min: number, max: number) => z.ZodType<number>;
  seconds: z.ZodType<number>;
  /** Any JSON object: what is in it is the user's, and it is never walked here, however deep it is. */
  object: z.ZodType<JsonObject>;
  list: z.ZodType<JsonValue[]>;
  any: z.ZodType<JsonValue>;
}>;

/** How the scalars of a document are read at a door: exactly on /v1, as Conductor converts them on /api. */
export const fieldsOf = (door: Dialect): DocumentFields => (door === 'v1' ? EXACT : LENIENT);
