import { isJsonObject, type JsonObject, type JsonValue } from '../kernel/json.ts';
import { err, ok, type Result } from '../kernel/result.ts';

const PRIORITY_MAX = 99;
export const KEY_CHARS_MAX = 255;
const STRATEGIES = ['RETURN_EXISTING', 'FAIL', 'FAIL_ON_RUNNING'] as const;

export type IdempotencyStrategy = (typeof STRATEGIES)[number];

/** How a run is started that a task names; what is absent is the parent's. */
export type ChildFields = Readonly<{
  name?: string;
  /** Absent: the latest at the start. */
  version?: number;
  priority?: number;
  correlationId?: string;
  taskToDomain?: Readonly<Record<string, string>>;
  idempotencyKey?: string;
  idempotencyStrategy?: IdempotencyStrategy;
}>;

export type ChildFieldProblem = Readonly<{ field: string; message: string }>;

type Read<T> = (value: JsonValue) => T | undefined;

const isGiven = (value: JsonValue | undefined): value is JsonValue =>
  value !== undefined && value !== null && value !== '';

/** Conductor's version may be text, as an expression gives it. */
const integer = (max: number): Read<number> => {
  return (value) => {
    const number = typeof value === 'string' && /^\d{1,10}$/.test(value.trim()) ? Number(value) : value;
    return typeof number === 'number' && Number.isInteger(number) && number >= 0 && number <= max ? number : undefined;
  };
};

const text: Read<string> = (value) => (typeof value === 'string' && value.length <= KEY_CHARS_MAX ? value : undefined);

const domains: Read<Readonly<Record<string, string>>> = (value) =>
  isJsonObject(value) && Object.values(value).every((domain) => typeof domain === 'string')
    ? (value as Readonly<Record<string, string>>)
    : undefined;

const strategy: Read<IdempotencyStrategy> = (value) => STRATEGIES.find((known) => known === value);

const READERS: Readonly<Record<keyof ChildFields, Readonly<{ read: Read<unknown>; expected: string }>>> = {
  name: { read: text, expected: 'a text' },
  version: { read: integer(2 ** 31 - 1), expected: 'a whole number from 0' },
  priority: { read: integer(PRIORITY_MAX), expected: `a whole number from 0 to ${PRIORITY_MAX}` },
  correlationId: { read: text, expected: `a text of at most ${KEY_CHARS_MAX} characters` },
  taskToDomain: { read: domains, expected: 'an object of texts' },
  idempotencyKey: { read: text, expected: `a text of at most ${KEY_CHARS_MAX} characters` },
  idempotencyStrategy: { read: strategy, expected: `one of ${STRATEGIES.join(', ')}` },
};

export const CHILD_FIELD_NAMES: readonly string[] = Object.keys(READERS);

/** Reads what a task says of the run it starts. Absent, null and empty mean the same; so do no version and version 0. */
export const readChildFields = (given: JsonObject): Result<ChildFields, ChildFieldProblem> => {
  const fields: Record<string, unknown> = {};
  for (const [field, { read, expected }] of Object.entries(READERS)) {
    const value = Object.hasOwn(given, field) ? given[field] : undefined;
    if (!isGiven(value)) continue;
    const found = read(value);
    if (found === undefined) {
      return err({ field, message: `${field} must be ${expected}; it is ${JSON.stringify(value).slice(0, 200)}` });
    }
    fields[field] = found;
  }
  if (fields.version === 0) delete fields.version;
  return ok(fields as ChildFields);
};
