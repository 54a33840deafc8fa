import type { ErrorObject, ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import type { EvaluateScript } from '../../domain/execution/script.ts';
import { canonicalJson } from '../../domain/kernel/canonical-json.ts';
import { isJsonObject, type JsonValue } from '../../domain/kernel/json.ts';
import type { SchemaValidator } from '../../ports/schema-validator.ts';

/** Compiled schemas held in memory; compiling one costs milliseconds, using it microseconds. */
const SCHEMAS_MAX = 1_000;

/** Conductor names a registered schema as `{name, version, type, data}`; the schema itself is in `data`. */
const schemaOf = (schema: JsonValue): JsonValue => {
  const isNamed = isJsonObject(schema) && typeof schema.name === 'string' && schema.properties === undefined;
  return isNamed ? (schema.data ?? true) : schema;
};

const pathOf = (error: ErrorObject): string =>
  error.instancePath
    .split('/')
    .slice(1)
    .map((segment) => segment.replaceAll('~1', '/').replaceAll('~0', '~'))
    .map((segment) => (/^\d+$/.test(segment) ? `[${segment}]` : `.${segment}`))
    .join('');

/**
 * JSON Schema 2020-12 by ajv. The patterns of a schema are a user's regular expressions, so they run metered in the
 * script sandbox: one that would take for ever is cut and counts as no match.
 */
export const createAjvValidator = (evaluateScript: EvaluateScript): SchemaValidator => {
  const regExp = Object.assign(
    (pattern: string, flags: string) => ({
      // ajv tells compiled patterns apart by their text.
      toString: (): string => `/${pattern}/${flags}`,
      test: (text: string): boolean => {
        const result = evaluateScript('new RegExp($.pattern, $.flags).test($.text)', { pattern, flags, text });
        return result.ok && result.value === true;
      },
    }),
    { code: 'meteredRegExp' },
  );
  const ajv = new Ajv2020({ strict: false, allErrors: false, validateFormats: true, code: { regExp } });
  formats.default(ajv);
  const compiled = new Map<string, ValidateFunction>();

  const compile = (schema: JsonValue): ValidateFunction => {
    const key = canonicalJson(schema);
    const known = compiled.get(key);
    if (known !== undefined) return known;
    const validate = ajv.compile(schemaOf(schema) as object);
    if (compiled.size >= SCHEMAS_MAX) compiled.clear();
    compiled.set(key, validate);
    return validate;
  };

  return {
    firstViolation: (schema, value) => {
      const validate = compile(schema);
      if (validate(value)) return undefined;
      const error = validate.errors?.[0];
      if (error === undefined) return { path: '', message: 'does not match the schema' };
      return { path: pathOf(error), message: `${error.message ?? 'does not match the schema'}` };
    },
    problem: (schema) => {
      if (typeof schema === 'string') return 'registered schemas are not available: give the schema itself';
      try {
        compile(schema);
        return undefined;
      } catch (error) {
        return error instanceof Error ? error.message : 'the schema cannot be used';
      }
    },
  };
};
