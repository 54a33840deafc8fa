import type { ErrorObject, ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { schemaBodyOf } from '../../domain/definition/schemas.ts';
import type { SchemaViolation } from '../../domain/execution/schema-check.ts';
import type { EvaluateScript } from '../../domain/execution/script.ts';
import { canonicalJson } from '../../domain/kernel/canonical-json.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../domain/kernel/json.ts';
import type { SchemaValidator } from '../../ports/schema-validator.ts';
import { meterCode, SPEND } from './metered-code.ts';
import { patternUnits } from './simple-pattern.ts';

/** Compiled schemas held in memory; compiling one costs milliseconds, using it microseconds. */
const SCHEMAS_MAX = 1_000;
/** Largest schema, as JSON, and most objects and lists in it: compiling one of this size takes about half a second, once. */
export const SCHEMA_BYTES_MAX = 64 * 1024;
export const SCHEMA_NODES_MAX = 2_000;
/** Work of one check; a unit is the cost of about 64 characters of generated code, and all of them take about 200 ms. */
const WORK_UNITS_MAX = 5_000_000;
/** What a pattern costs that has to run in the sandbox, which takes 0.1 ms, and one that the sandbox had to cut, 10 to 50 ms. */
const SANDBOX_UNITS = 10_000;
const CUT_UNITS = 1_000_000;

const TOO_MUCH: SchemaViolation = {
  path: '',
  message: `cannot be checked: that takes more than ${WORK_UNITS_MAX} units of work`,
};

/** Thrown through generated code, which knows no other way to stop. */
class WorkExceeded extends Error {}

/** Drafts whose schemas are read as 2020-12: what they share is what is in use. */
const DRAFT = /^https?:\/\/json-schema\.org\/(?:draft-0[4-7]\/schema|draft\/20(?:19-09|20-12)\/schema)#?$/u;

const withoutDraft = (schema: JsonValue): JsonValue => {
  if (!isJsonObject(schema) || typeof schema.$schema !== 'string' || !DRAFT.test(schema.$schema)) return schema;
  const { $schema: _, ...rest } = schema;
  return rest;
};

const pathOf = (error: ErrorObject): string =>
  error.instancePath
    .split('/')
    .slice(1)
    .map((segment) => segment.replaceAll('~1', '/').replaceAll('~0', '~'))
    .map((segment) => (/^\d+$/.test(segment) ? `[${segment}]` : `.${segment}`))
    .join('');

/** Counts the work of the check under way. */
class Meter {
  private left = 0;

  reset(): void {
    this.left = WORK_UNITS_MAX;
  }

  spend(units: number): void {
    this.left -= units;
    if (this.left < 0) throw new WorkExceeded();
  }
}

/** Patterns of a schema are a user's: the simple ones run here, all others metered in the sandbox. */
const regExpOf = (evaluateScript: EvaluateScript, meter: Meter) => {
  const create = (pattern: string, flags: string) => {
    const native = new RegExp(pattern, flags);
    const unitsOf = patternUnits(pattern);
    const inSandbox = (text: string): boolean => {
      meter.spend(SANDBOX_UNITS);
      const result = evaluateScript('new RegExp($.pattern, $.flags).test($.text)', { pattern, flags, text });
      if (!result.ok) meter.spend(CUT_UNITS);
      return result.ok && result.value === true;
    };
    return {
      // ajv tells compiled patterns apart by their text.
      toString: (): string => `/${pattern}/${flags}`,
      test: (text: string): boolean => {
        const units = unitsOf(text.length);
        if (units === undefined) return inSandbox(text);
        meter.spend(units);
        return native.test(text);
      },
    };
  };
  return Object.assign(create, { code: 'meteredRegExp' });
};

/** Each pair of a list compared with each other would be more work than the list is long. */
const hasUniqueItems =
  (meter: Meter) =>
  (isAsked: unknown, items: readonly JsonValue[]): boolean => {
    if (isAsked !== true) return true;
    meter.spend(items.length);
    return new Set(items.map((item) => canonicalJson(item))).size === items.length;
  };

/** A validator of its own for each schema: their ids must never meet, for they are of different owners. */
const newAjv = (evaluateScript: EvaluateScript, meter: Meter): Ajv2020 => {
  const ajv = new Ajv2020({
    strict: false,
    allErrors: false,
    validateFormats: true,
    validateSchema: false,
    inlineRefs: false,
    meta: false,
    logger: false,
    code: { regExp: regExpOf(evaluateScript, meter), process: meterCode, optimize: false },
  });
  formats.default(ajv);
  ajv.removeKeyword('uniqueItems');
  ajv.addKeyword({
    keyword: 'uniqueItems',
    type: 'array',
    schemaType: 'boolean',
    validate: hasUniqueItems(meter),
    error: { message: 'must NOT have duplicate items' },
  });
  return Object.assign(ajv, { [SPEND]: (units: number) => meter.spend(units) });
};

/** A compiled schema, or why there is none. */
type Compiled = Readonly<{ ok: true; validate: ValidateFunction }> | Readonly<{ ok: false; reason: string }>;

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : 'the schema cannot be used');

const nodesIn = (value: JsonValue): number =>
  typeof value !== 'object' || value === null
    ? 0
    : Object.values(value).reduce((sum: number, item: JsonValue) => sum + nodesIn(item), 1);

const sizeProblem = (schema: JsonValue): string | undefined => {
  if (Buffer.byteLength(JSON.stringify(schema)) > SCHEMA_BYTES_MAX) {
    return `a schema has at most ${SCHEMA_BYTES_MAX} bytes as JSON`;
  }
  return nodesIn(schema) > SCHEMA_NODES_MAX
    ? `a schema has at most ${SCHEMA_NODES_MAX} objects and lists in it`
    : undefined;
};

/** Compiles each schema once, and remembers what cannot be compiled as well: trying costs as much as succeeding. */
class CompiledSchemas {
  private readonly byContent = new Map<string, Compiled>();
  /** Schemas of cached plans are the same objects at each check: they are found without writing them out. */
  private readonly byIdentity = new WeakMap<object, Compiled>();
  private readonly newValidator: () => Ajv2020;

  constructor(newValidator: () => Ajv2020) {
    this.newValidator = newValidator;
  }

  of(schema: JsonValue): Compiled {
    if (!isJsonObject(schema)) return this.ofContent(schema);
    const known = this.byIdentity.get(schema) ?? this.ofContent(schema);
    this.byIdentity.set(schema, known);
    return known;
  }

  private ofContent(schema: JsonValue): Compiled {
    const key = canonicalJson(schema);
    const known = this.byContent.get(key) ?? this.compile(schema);
    if (this.byContent.size >= SCHEMAS_MAX) this.byContent.clear();
    this.byContent.set(key, known);
    return known;
  }

  private compile(schema: JsonValue): Compiled {
    const problem = sizeProblem(schema);
    if (problem !== undefined) return { ok: false, reason: problem };
    try {
      const validate = this.newValidator().compile(withoutDraft(schema) as JsonObject | boolean);
      return { ok: true, validate };
    } catch (error) {
      return { ok: false, reason: messageOf(error) };
    }
  }
}

/**
 * JSON Schema 2020-12 by ajv. A check is bounded whatever schema and value are: generated code counts its work, patterns
 * that could take long run metered in the script sandbox, and nothing outside of a schema can be referred to.
 */
export const createAjvValidator = (evaluateScript: EvaluateScript): SchemaValidator => {
  const meter = new Meter();
  const judge = new Ajv2020({ strict: false, logger: false });
  const compiled = new CompiledSchemas(() => newAjv(evaluateScript, meter));

  const check = (validate: ValidateFunction, value: JsonValue): SchemaViolation | undefined => {
    meter.reset();
    try {
      if (validate(value)) return undefined;
    } catch (error) {
      // A reference that leads back to itself without taking a step in the value never ends: it is cut one way or the other.
      if (error instanceof WorkExceeded || error instanceof RangeError) return TOO_MUCH;
      throw error;
    }
    const error = validate.errors?.[0];
    if (error === undefined) return { path: '', message: 'does not match the schema' };
    return { path: pathOf(error), message: `${error.message ?? 'does not match the schema'}` };
  };

  return {
    firstViolation: (schema, value) => {
      const body = schemaBodyOf(schema);
      if (body === undefined) return undefined;
      const found = compiled.of(body);
      return found.ok ? check(found.validate, value) : { path: '', message: `cannot be checked: ${found.reason}` };
    },
    problem: (schema) => {
      const body = schemaBodyOf(schema);
      if (body === undefined) return undefined;
      const size = sizeProblem(body);
      if (size !== undefined) return size;
      if (judge.validateSchema(withoutDraft(body) as JsonObject | boolean) !== true) {
        return `schema is invalid: ${judge.errorsText(judge.errors)}`;
      }
      const found = compiled.of(body);
      return found.ok ? undefined : found.reason;
    },
  };
};
