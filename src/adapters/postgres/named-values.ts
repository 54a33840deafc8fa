import { z } from 'zod';
import { EVERY_NAME } from '../../domain/definition/environment-names.ts';
import type { Namespace } from '../../domain/kernel/brand.ts';
import type { NamedValueStore } from '../../ports/named-values.ts';
import type { Database, Session } from './database.ts';
import { count, instant, prepared, preparedCommand, sql, text } from './statement.ts';

const row = z.object({
  name: text,
  value: text,
  keyId: text.exactOptional(),
  createdAt: instant,
  updatedAt: instant,
});
const lockKind = preparedCommand('named_values_lock');
const present = prepared('named_values_present', z.object({ total: count, isThere: z.boolean() }));
const put = preparedCommand('named_values_put');
const find = prepared('named_values_find', row);
const list = prepared('named_values_list', row);
const remove = preparedCommand('named_values_delete');
const otherwise = prepared('named_values_otherwise', row);
const reseal = preparedCommand('named_values_reseal');
const environment = prepared('named_values_environment', z.object({ name: text, value: text }));

const COLUMNS = sql.fragment`name, value, key_id, created_at, updated_at`;

const putWithin = async (
  session: Session,
  ...[namespace, kind, { name, value, keyId }, valuesMax]: Parameters<NamedValueStore['putValue']>
): ReturnType<NamedValueStore['putValue']> => {
  await session.run(lockKind`
    select pg_advisory_xact_lock(hashtextextended(${`${namespace}:values:${kind}`}, 0))`);
  const { total, isThere } = await session.one(present`
    select count(*) as total, coalesce(bool_or(name = ${name}), false) as is_there
    from named_values where namespace = ${namespace} and kind = ${kind}`);
  if (!isThere && total >= valuesMax) return 'refused';
  await session.run(put`
    insert into named_values as stored (namespace, kind, name, value, key_id)
    values (${namespace}, ${kind}, ${name}, ${value}, ${keyId ?? null})
    on conflict (namespace, kind, name) do update
    set value = excluded.value, key_id = excluded.key_id, updated_at = clock_timestamp()`);
  return isThere ? 'replaced' : 'created';
};

/** Environment values and sealed secrets of a namespace. */
export const createNamedValueStore = (database: Database): NamedValueStore => ({
  putValue: (...given) => database.transaction((session) => putWithin(session, ...given)),
  findValues: async (namespace, kind, names) =>
    names.length === 0
      ? []
      : database.rows(find`
          select ${COLUMNS} from named_values
          where namespace = ${namespace} and kind = ${kind} and name = any(${sql.array(names, 'text')})
          order by name`),
  listValues: (namespace, kind, { limit, after }) =>
    database.rows(list`
      select ${COLUMNS} from named_values
      where namespace = ${namespace} and kind = ${kind} and name > ${after ?? ''}
      order by name
      limit ${limit}::bigint`),
  deleteValue: async (namespace, kind, name) =>
    (await database.run(remove`
      delete from named_values where namespace = ${namespace} and kind = ${kind} and name = ${name}`)) > 0,
  findSealedOtherwise: (namespace, keyId, limit) =>
    database.rows(otherwise`
      select ${COLUMNS} from named_values
      where namespace = ${namespace} and kind = 'SECRET' and key_id <> ${keyId}
      order by name
      limit ${limit}::bigint`),
  resealValue: async (namespace, name, from, to) =>
    (await database.run(reseal`
      update named_values set value = ${to.value}, key_id = ${to.keyId}
      where namespace = ${namespace} and kind = 'SECRET' and name = ${name} and value = ${from}`)) > 0,
});

/** What a decision reads of the environment; only of runs whose definition reads any. */
export const findEnvironment = async (
  session: Session,
  namespace: Namespace,
  names: readonly string[],
): Promise<ReadonlyMap<string, string>> => {
  if (names.length === 0) return new Map();
  const rows = await session.rows(environment`
    select name, value from named_values
    where namespace = ${namespace} and kind = 'ENVIRONMENT'
      and (${names.includes(EVERY_NAME)}::boolean or name = any(${sql.array(names, 'text')}))
    order by name`);
  return new Map(rows.map(({ name, value }) => [name, value]));
};
