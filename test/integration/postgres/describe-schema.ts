import type pg from 'pg';

type Table = Readonly<{ name: string; partition_key: string | null; options: string | null; parent: string | null }>;

const TABLES = `
  select c.relname as name, pg_get_partkeydef(c.oid) as partition_key, array_to_string(c.reloptions, ', ') as options,
    (select p.relname from pg_inherits i join pg_class p on p.oid = i.inhparent where i.inhrelid = c.oid) as parent
  from pg_class c
  where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p')
    and (not c.relispartition or pg_get_expr(c.relpartbound, c.oid) = 'DEFAULT')
  order by c.relname`;

const COLUMNS = `
  select concat_ws(' ',
    a.attname, format_type(a.atttypid, a.atttypmod),
    case when a.attcollation <> t.typcollation then 'collate ' || quote_ident(l.collname) end,
    case when a.attnotnull then 'not null' end,
    case a.attidentity when 'a' then 'generated always as identity' end,
    'default ' || pg_get_expr(d.adbin, d.adrelid)
  ) as line
  from pg_attribute a
  join pg_type t on t.oid = a.atttypid
  left join pg_collation l on l.oid = a.attcollation
  left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
  where a.attrelid = $1::regclass and a.attnum > 0 and not a.attisdropped
  order by a.attnum`;

// From PostgreSQL 18 on every NOT NULL is a constraint of its own; the columns tell it already.
const CONSTRAINTS = `
  select 'constraint ' || conname || ' ' || pg_get_constraintdef(oid) as line from pg_constraint
  where conrelid = $1::regclass and contype <> 'n'
  order by contype desc, conname`;

const INDEXES = `
  select pg_get_indexdef(i.indexrelid) as line from pg_index i
  where i.indrelid = $1::regclass and not exists (select from pg_constraint c where c.conindid = i.indexrelid)
  order by 1`;

const SEQUENCES = `
  select 'create sequence ' || c.relname || ';' as line from pg_class c
  where c.relnamespace = 'public'::regnamespace and c.relkind = 'S'
    and not exists (select from pg_depend d where d.objid = c.oid and d.deptype = 'i')
  order by c.relname`;

const linesOf = async (client: pg.Client, query: string, table?: string): Promise<readonly string[]> => {
  const { rows } = await client.query<{ line: string }>(query, table === undefined ? [] : [table]);
  return rows.map((row) => row.line);
};

const describeTable = async (client: pg.Client, table: Table): Promise<string> => {
  const options = table.options === null ? '' : ` with (${table.options})`;
  if (table.parent !== null) return `create table ${table.name} partition of ${table.parent} default${options};`;
  const lines = [...(await linesOf(client, COLUMNS, table.name)), ...(await linesOf(client, CONSTRAINTS, table.name))];
  const key = table.partition_key === null ? '' : ` partition by ${table.partition_key}`;
  const indexes = await linesOf(client, INDEXES, table.name);
  return [
    `create table ${table.name} (\n  ${lines.join(',\n  ')}\n)${key}${options};`,
    ...indexes.map((index) => `${index};`),
  ].join('\n');
};

/** The schema as the catalog tells it, the same text for the same schema; partitions of months are left out. */
export const describeSchema = async (client: pg.Client): Promise<string> => {
  const { rows: tables } = await client.query<Table>(TABLES);
  const parts = [(await linesOf(client, SEQUENCES)).join('\n')];
  for (const table of tables) parts.push(await describeTable(client, table));
  return `-- What the migrations lead to, read from the catalog. Written by the test of the migrations, never by hand.\n\n${parts.join('\n\n')}\n`;
};
