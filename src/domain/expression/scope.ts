import type { JsonObject, JsonValue } from '../kernel/json.ts';

/**
 * What the expressions of one node can see. Values are data: nothing in them is ever evaluated.
 * Secrets are in no scope; a reference to one stays literal.
 */
export interface Scope {
  /** The whole value of a root (`workflow`, `env`, …) or of a task ref; undefined when there is none. */
  resolve(head: string): JsonValue | undefined;
  /** `resolve(head)[field]`, without building the rest: the way almost every expression takes. */
  lookup(head: string, field: string): JsonValue | undefined;
  /** Whether the output field `name` of this task ref is sealed, so that a reference to it stays literal. */
  isSealed(ref: string, name: string): boolean;
}

/** First segments that name no task. */
export const SCOPE_ROOTS: ReadonlySet<string> = new Set([
  'workflow',
  'global',
  'env',
  'secrets',
  'CPEWF_TASK_ID',
  'NETFLIX_ENV',
  'NETFLIX_STACK',
]);

const ownValue = (value: JsonValue | undefined, key: string): JsonValue | undefined =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, key) ? (value as JsonObject)[key] : undefined;

/** A scope over values that are there already. */
export const scopeOf = (roots: JsonObject): Scope => ({
  resolve: (head) => ownValue(roots, head),
  lookup: (head, field) => ownValue(ownValue(roots, head), field),
  isSealed: () => false,
});
