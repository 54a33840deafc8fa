import { isJsonObject, type JsonObject, type JsonValue } from '../kernel/json.ts';

/** Fields of a registered schema, by which a definition names one; anything else in the object makes it a schema itself. */
const NAMED_FIELDS: ReadonlySet<string> = new Set(['name', 'version', 'type', 'data', 'externalRef']);

/** The only kind of schema that values are checked against. */
export const JSON_SCHEMA_TYPE = 'JSON';

/** How a definition names a registered schema. `data` is the schema itself, once it was found. */
export type NamedSchema = Readonly<{ name: string; version?: number; type: string; data?: JsonValue }>;

const isNamed = (schema: JsonValue): schema is JsonObject =>
  isJsonObject(schema) &&
  typeof schema.name === 'string' &&
  Object.keys(schema).every((field) => NAMED_FIELDS.has(field));

/** The name that a schema field holds, as text or as an object; undefined for a schema written in place. */
export const namedSchemaOf = (schema: JsonValue): NamedSchema | undefined => {
  if (typeof schema === 'string') return { name: schema, type: JSON_SCHEMA_TYPE };
  if (!isNamed(schema)) return undefined;
  const { version, type, data } = schema;
  return {
    name: String(schema.name),
    type: typeof type === 'string' ? type : JSON_SCHEMA_TYPE,
    ...(typeof version === 'number' && version > 0 ? { version } : {}),
    ...(data === undefined || data === null ? {} : { data }),
  };
};

/** What values are checked against; undefined for a name whose schema is not known, or is of another kind. */
export const schemaBodyOf = (schema: JsonValue | undefined): JsonValue | undefined => {
  if (schema === undefined) return undefined;
  const named = namedSchemaOf(schema);
  if (named === undefined) return schema;
  return named.type === JSON_SCHEMA_TYPE ? named.data : undefined;
};

/** The schemas that are enforced on a task or a run. */
export type EnforcedSchemas = Readonly<{ input?: JsonValue; output?: JsonValue }>;

type WithSchemas = Readonly<{ inputSchema?: JsonValue; outputSchema?: JsonValue; enforceSchema?: boolean }>;

/** Undefined where nothing is enforced. */
export const enforcedSchemasOf = (definition: WithSchemas | undefined): EnforcedSchemas | undefined => {
  if (definition?.enforceSchema !== true) return undefined;
  const input = schemaBodyOf(definition.inputSchema);
  const output = schemaBodyOf(definition.outputSchema);
  if (input === undefined && output === undefined) return undefined;
  return { ...(input === undefined ? {} : { input }), ...(output === undefined ? {} : { output }) };
};
