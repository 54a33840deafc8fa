import { z } from 'zod';
import { fieldsOf } from '../../../../domain/definition/document-fields.ts';
import type { JsonObject } from '../../../../domain/kernel/json.ts';
import { INTEGER_MAX } from '../../schemas/common.ts';

/** Scalars as Conductor's reader takes them: a number may be written as text, a flag too. */
const field = fieldsOf('conductor');

/** What may be absent or null, which is the same there. */
export const maybe = <T>(schema: z.ZodType<T>) =>
  schema.nullish().transform((value): T | undefined => value ?? undefined);

/** The same with what stands for it then. */
export const otherwise = <T>(schema: z.ZodType<T>, fallback: T) =>
  schema.nullish().transform((value): T => value ?? fallback);

export const text = field.text;
export const flag = field.flag;
export const object: z.ZodType<JsonObject> = field.object;
export const integer = field.integer;
export const decimal: z.ZodType<number> = field.decimal(-Number.MAX_VALUE, Number.MAX_VALUE);
export const version = field.integer(0, INTEGER_MAX);
export const texts = z.array(field.text);

/** Conductor's priorities. */
export const PRIORITY_MAX = 99;
export const priority = field.integer(0, PRIORITY_MAX);

/** Every value of a parameter, as the lenient reader of queries gives them. */
const given = z.array(z.string()).optional();

/** The first value that says something; an empty one is none, as it is to Conductor. */
const firstOf = (values: readonly string[] | undefined): string | undefined => values?.find((value) => value !== '');

/** Parameters of a query. */
export const query = {
  text: given.transform(firstOf),
  flag: (fallback: boolean) =>
    given
      .transform(firstOf)
      .pipe(
        z
          .string()
          .toLowerCase()
          .pipe(z.enum(['true', 'false']))
          .optional(),
      )
      .transform((word) => (word === undefined ? fallback : word === 'true')),
  integer: (min: number, max: number) =>
    given
      .transform(firstOf)
      .pipe(
        z
          .string()
          .trim()
          .regex(/^-?\d{1,16}$/, 'expected a whole number')
          .optional(),
      )
      .transform((digits) => (digits === undefined ? undefined : Number(digits)))
      .pipe(z.int().min(min).max(max).optional()),
  integerOr: (min: number, max: number, fallback: number) =>
    query.integer(min, max).transform((value) => value ?? fallback),
  /** Given again and again, or with commas. */
  list: given.transform((values): readonly string[] =>
    (values ?? [])
      .flatMap((value) => value.split(','))
      .map((value) => value.trim())
      .filter((value) => value !== ''),
  ),
};
