import type { JsonValue } from '../domain/kernel/json.ts';

/** Checks values against JSON Schemas (2020-12). */
export interface SchemaValidator {
  /** The first thing wrong with the value, its path like `.customer.id`; undefined when it is valid. */
  firstViolation(schema: JsonValue, value: JsonValue): Readonly<{ path: string; message: string }> | undefined;
  /** Why the schema itself cannot be used; undefined when it can. */
  problem(schema: JsonValue): string | undefined;
}
