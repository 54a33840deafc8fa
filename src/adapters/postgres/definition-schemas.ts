import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import type { Namespace } from '../../domain/kernel/brand.ts';
import type { JsonValue } from '../../domain/kernel/json.ts';
import type { DefinitionStore, SchemaRow } from '../../ports/definition-store.ts';
import type { Database, Session } from './database.ts';
import { count, instant, json, prepared, preparedCommand, text } from './statement.ts';

const row = z.object({ name: text, version: count, data: json, createdAt: instant });
const insert = preparedCommand('schemas_insert');
const lockName = preparedCommand('schemas_lock_name');
const find = prepared('schemas_find', row);
const list = prepared('schemas_list', row);
const replace = preparedCommand('schemas_replace');
const remove = preparedCommand('schemas_delete');

type Given = Parameters<DefinitionStore['putSchema']>[1];
type Stored = Awaited<ReturnType<DefinitionStore['putSchema']>>;

const findVersion = (
  session: Session,
  namespace: Namespace,
  name: string,
  version: number | undefined,
): Promise<SchemaRow | undefined> =>
  session.row(find`
    select name, version, content as data, created_at from definition_schemas
    where namespace = ${namespace} and name = ${name}
      and (${version ?? null}::integer is null or version = ${version ?? null}::integer)
    order by version desc
    limit 1`);

const insertVersion = async (
  session: Session,
  namespace: Namespace,
  name: string,
  version: number,
  data: JsonValue,
): Promise<boolean> =>
  (await session.run(insert`
    insert into definition_schemas (namespace, name, version, content)
    values (${namespace}, ${name}, ${version}, ${JSON.stringify(data)}::json)
    on conflict (namespace, name, version) do nothing`)) > 0;

const putVersion = async (
  session: Session,
  namespace: Namespace,
  name: string,
  version: number,
  data: JsonValue,
  overwrites = false,
): Promise<Stored> => {
  if (await insertVersion(session, namespace, name, version, data)) return { outcome: 'created', version };
  const present = await findVersion(session, namespace, name, version);
  if (isDeepStrictEqual(present?.data, data)) return { outcome: 'unchanged', version };
  if (!overwrites) return { outcome: 'conflict', version };
  await session.run(replace`
    update definition_schemas set content = ${JSON.stringify(data)}::json
    where namespace = ${namespace} and name = ${name} and version = ${version}`);
  return { outcome: 'replaced', version };
};

/** Two callers would read the same highest version, so they take turns on the name (promise 9). */
const put = async (
  session: Session,
  namespace: Namespace,
  { name, version, data, overwrites }: Given,
): Promise<Stored> => {
  await session.run(lockName`select pg_advisory_xact_lock(hashtextextended(${`${namespace}:schema:${name}`}, 0))`);
  if (version !== undefined) return putVersion(session, namespace, name, version, data, overwrites);
  const latest = await findVersion(session, namespace, name, undefined);
  if (latest !== undefined && isDeepStrictEqual(latest.data, data)) {
    return { outcome: 'unchanged', version: latest.version };
  }
  return putVersion(session, namespace, name, (latest?.version ?? 0) + 1, data);
};

/** Versions of registered schemas. */
export const schemaMethods = (
  database: Database,
): Pick<DefinitionStore, 'putSchema' | 'findSchema' | 'listSchemas' | 'deleteSchema'> => ({
  putSchema: (namespace, schema) => database.transaction((session) => put(session, namespace, schema)),
  findSchema: (namespace, name, version) => findVersion(database, namespace, name, version),
  listSchemas: (namespace, { limit, after }) =>
    database.rows(list`
      select name, version, content as data, created_at from definition_schemas
      where namespace = ${namespace} and (name, version) > (${after?.name ?? ''}, ${after?.version ?? 0}::integer)
      order by name, version
      limit ${limit}::bigint`),
  deleteSchema: async (namespace, name, version) =>
    (await database.run(remove`
      delete from definition_schemas
      where namespace = ${namespace} and name = ${name} and version = ${version}`)) > 0,
});
