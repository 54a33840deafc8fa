import type { JsonValue } from '../kernel/json.ts';

/** The first thing wrong with a value, its path like `.customer.id`. */
export type SchemaViolation = Readonly<{ path: string; message: string }>;

/**
 * Checks a value against a JSON Schema. The same schema and value give the same answer on every machine: a check that would
 * take too much work is a violation that says so. A schema that cannot be used is a violation too.
 */
export type FindViolation = (schema: JsonValue, value: JsonValue) => SchemaViolation | undefined;

/** A violation as a sentence about `what`: `output.total must be number`. */
export const violationText = (what: string, { path, message }: SchemaViolation): string => `${what}${path} ${message}`;
