import { z } from 'zod';
import type { Namespace } from '../../domain/kernel/brand.ts';
import type { Tag, Tagged, TaggedKind, TagStore } from '../../ports/tag-store.ts';
import type { Database, Session } from './database.ts';
import { count, jsonRows, prepared, preparedCommand, sql, text, word } from './statement.ts';

const lockThing = preparedCommand('tags_lock');
const countWith = prepared('tags_count', z.object({ total: count }));
const insert = preparedCommand('tags_insert');
const clear = preparedCommand('tags_clear');
const remove = preparedCommand('tags_remove');
const find = prepared('tags_find', z.object({ name: text, key: text, value: text }));
const names = prepared('tags_names', z.object({ name: text }));
const list = prepared('tags_list', z.object({ kind: word<TaggedKind>(), name: text, key: text, value: text }));

/** Who counts or replaces the tags of a thing takes turns with others who do (promise 9). */
const lock = (session: Session, namespace: Namespace, { kind, name }: Tagged) =>
  session.run(lockThing`select pg_advisory_xact_lock(hashtextextended(${`${namespace}:tags:${kind}:${name}`}, 0))`);

const put = (session: Session, namespace: Namespace, { kind, name }: Tagged, tags: readonly Tag[]) =>
  session.run(insert`
    insert into tags (namespace, kind, name, key, value)
    select ${namespace}, ${kind}, ${name}, r.key, r.value
    from json_to_recordset(${jsonRows(tags)}::json) as r (key text, value text)
    order by r.key collate "C", r.value collate "C"
    on conflict do nothing`);

const clearAll = (session: Session, namespace: Namespace, { kind, name }: Tagged) =>
  session.run(clear`delete from tags where namespace = ${namespace} and kind = ${kind} and name = ${name}`);

const addWithin = async (
  session: Session,
  namespace: Namespace,
  thing: Tagged,
  tags: readonly Tag[],
  tagsMax: number,
): Promise<boolean> => {
  await lock(session, namespace, thing);
  const { total } = await session.one(countWith`
    select count(*) as total from (
      select key, value from tags
      where namespace = ${namespace} and kind = ${thing.kind} and name = ${thing.name}
      union
      select r.key, r.value from json_to_recordset(${jsonRows(tags)}::json) as r (key text, value text)
    ) as after`);
  if (total > tagsMax) return false;
  await put(session, namespace, thing, tags);
  return true;
};

/** Tags on PostgreSQL. */
export const createTagStore = (database: Database): TagStore => ({
  addTags: (namespace, thing, tags, tagsMax) =>
    database.transaction((session) => addWithin(session, namespace, thing, tags, tagsMax)),
  replaceTags: (namespace, thing, tags) =>
    database.transaction(async (session) => {
      await lock(session, namespace, thing);
      await clearAll(session, namespace, thing);
      await put(session, namespace, thing, tags);
    }),
  removeTags: (namespace, { kind, name }, tags) =>
    database.run(remove`
      delete from tags
      using json_to_recordset(${jsonRows(tags)}::json) as r (key text, value text)
      where tags.namespace = ${namespace} and tags.kind = ${kind} and tags.name = ${name}
        and tags.key = r.key and tags.value = r.value`),
  clearTags: async (namespace, thing) => {
    await clearAll(database, namespace, thing);
  },
  tagsOf: async (namespace, kind, wanted) => {
    if (wanted.length === 0) return new Map();
    const rows = await database.rows(find`
      select name, key, value from tags
      where namespace = ${namespace} and kind = ${kind} and name = any(${sql.array(wanted, 'text')})
      order by name, key, value`);
    const found = new Map<string, Tag[]>();
    for (const { name, ...tag } of rows) found.set(name, [...(found.get(name) ?? []), tag]);
    return found;
  },
  namesWith: async (namespace, kind, { key, value }, limit) => {
    const rows = await database.rows(names`
      select name from tags
      where namespace = ${namespace} and kind = ${kind} and key = ${key} and value = ${value}
      order by name
      limit ${limit}::bigint`);
    return rows.map(({ name }) => name);
  },
  listTags: async (namespace, limit) => {
    const rows = await database.rows(list`
      select kind, name, key, value from tags
      where namespace = ${namespace}
      order by kind, name, key, value
      limit ${limit}::bigint`);
    return rows.map(({ kind, name, ...tag }) => ({ kind, name, tag }));
  },
});
