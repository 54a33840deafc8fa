import type { FindViolation } from '../domain/execution/schema-check.ts';
import type { JsonValue } from '../domain/kernel/json.ts';

/** Checks values against JSON Schemas (2020-12), with a bound on the work of each check. */
export interface SchemaValidator {
  /** The first thing wrong with the value; undefined when it is valid. Never throws for a schema that cannot be used. */
  firstViolation: FindViolation;
  /** Why the schema itself cannot be used; undefined when it can. */
  problem(schema: JsonValue): string | undefined;
}
