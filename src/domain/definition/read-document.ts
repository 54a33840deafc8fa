import { z } from 'zod';
import { isJsonObject, type JsonObject, type JsonValue } from '../kernel/json.ts';
import { childPath } from '../kernel/value-path.ts';
import type { DefinitionProblem } from './definition-problem.ts';
import type { Dialect } from './workflow-definition.ts';

/** The schema of one kind of document at each door, and the fields of it that are only stored. */
export type DocumentSchema<T> = Readonly<{ doors: Readonly<Record<Dialect, z.ZodType<T>>>; stored: readonly string[] }>;

/** Builds the two forms of one schema: unknown fields are refused on /v1 and ignored on /api. */
export const documentSchema = <Shape extends z.ZodRawShape>(
  shapeAt: (door: Dialect) => Shape,
  stored: readonly string[],
): DocumentSchema<z.output<z.ZodObject<Shape>>> => ({
  doors: {
    v1: z.strictObject(shapeAt('v1')) as unknown as z.ZodType<z.output<z.ZodObject<Shape>>>,
    conductor: z.object(shapeAt('conductor')) as unknown as z.ZodType<z.output<z.ZodObject<Shape>>>,
  },
  stored,
});

/** Where in the document something stands, and where its problems go. */
export type ReadContext = Readonly<{ door: Dialect; problems: DefinitionProblem[] }>;

export type ReadDocument<T> = Readonly<{ fields: T; extra: JsonObject }>;

/**
 * Reads one object of a document, not what is nested in it. Undefined, with the problems added, when it does not fit.
 * Codes: VALIDATION_FAILED, UNKNOWN_FIELD.
 */
export const readDocument = <T>(
  document: JsonValue,
  path: string,
  schema: DocumentSchema<T>,
  context: ReadContext,
): ReadDocument<T> | undefined => {
  const source = context.door === 'conductor' ? withoutNulls(document) : document;
  const parsed = schema.doors[context.door].safeParse(source);
  if (!parsed.success) {
    context.problems.push(...parsed.error.issues.flatMap((issue) => problemsOf(issue, path)));
    return undefined;
  }
  return { fields: parsed.data, extra: isJsonObject(source) ? pick(source, schema.stored) : {} };
};

const withoutNulls = (document: JsonValue): JsonValue =>
  isJsonObject(document)
    ? Object.fromEntries(Object.entries(document).filter(([, value]) => value !== null))
    : document;

const pick = (document: JsonObject, names: readonly string[]): JsonObject =>
  Object.fromEntries(names.flatMap((name) => (Object.hasOwn(document, name) ? [[name, document[name] ?? null]] : [])));

const problemsOf = (issue: z.core.$ZodIssue, path: string): readonly DefinitionProblem[] => {
  const at = issue.path.reduce<string>(
    (parent, key) => childPath(parent, typeof key === 'symbol' ? key.toString() : key),
    path,
  );
  if (issue.code !== 'unrecognized_keys') return [{ code: 'VALIDATION_FAILED', message: issue.message, path: at }];
  return issue.keys.map((key) => ({
    code: 'UNKNOWN_FIELD',
    message: 'no such field is known here',
    path: childPath(at, key),
  }));
};
