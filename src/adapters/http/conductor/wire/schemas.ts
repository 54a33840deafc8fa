import type { JsonValue } from '../../../../domain/kernel/json.ts';
import type { SchemaRow } from '../../../../ports/definition-store.ts';

/** Conductor's SchemaDef. */
export type SchemaDefBody = Readonly<{
  name: string;
  version: number;
  type: 'JSON';
  data: JsonValue;
  createTime: number;
}>;

export const schemaDefOf = ({ name, version, data, createdAt }: SchemaRow): SchemaDefBody => ({
  name,
  version,
  type: 'JSON',
  data,
  createTime: createdAt,
});
