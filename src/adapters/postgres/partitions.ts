import type pg from 'pg';
import type { Instant } from '../../domain/kernel/brand.ts';
import { inTransaction, withConnection } from './admin-connection.ts';

const INSERT_ONLY = 'autovacuum_vacuum_insert_scale_factor = 0.1, autovacuum_analyze_scale_factor = 0.05';

/** Tables partitioned by the time in the id of the run, with the settings that a partition cannot take from its parent. */
const PARTITIONED: Readonly<Record<string, string>> = {
  workflow_executions: 'fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02',
  workflow_events: INSERT_ONLY,
  task_executions: INSERT_ONLY,
  task_logs: INSERT_ONLY,
};

const MONTHS_AHEAD = 2;
/** Everyone who changes the schema holds this. */
export const SCHEMA_LOCK = `select pg_advisory_xact_lock(hashtextextended('rondo:schema', 0))`;

type Month = Readonly<{ suffix: string; from: string; to: string }>;

/** The lowest UUIDv7 that an instant can have. */
const lowestId = (atMs: number): string => {
  const hex = atMs.toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`;
};

const monthOf = (now: Instant, ahead: number): Month => {
  const date = new Date(now);
  const start = Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + ahead, 1);
  const end = Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + ahead + 1, 1);
  const suffix = new Date(start).toISOString().slice(0, 7).replace('-', '');
  return { suffix, from: lowestId(start), to: lowestId(end) };
};

// to_regclass would answer from a cache that waiting for an advisory lock does not refresh.
const isThere = async (client: pg.Client, name: string): Promise<boolean> => {
  const { rows } = await client.query<{ there: boolean }>(
    'select exists (select from pg_class where relname = $1 and pg_table_is_visible(oid)) as there',
    [name],
  );
  return rows[0]?.there === true;
};

/**
 * Attaching takes a weaker lock on the parent than creating in place. Rows of the month that had to go into the default
 * partition move first, or attaching would refuse.
 */
const createPartition = async (client: pg.Client, parent: string, month: Month): Promise<boolean> => {
  const name = `${parent}_${month.suffix}`;
  await client.query(SCHEMA_LOCK);
  if (await isThere(client, name)) return false;
  await client.query(`create table ${name} (like ${parent} including all) with (${PARTITIONED[parent]})`);
  await client.query(`lock table ${parent}_default in access exclusive mode`);
  await client.query(
    `with moved as (
      delete from ${parent}_default where workflow_id >= '${month.from}' and workflow_id < '${month.to}' returning *
    )
    insert into ${name} select * from moved`,
  );
  await client.query(
    `alter table ${parent} attach partition ${name} for values from ('${month.from}') to ('${month.to}')`,
  );
  return true;
};

/** What `ensurePartitions` does, on a connection that is there. */
export const ensurePartitionsOn = async (client: pg.Client, now?: Instant): Promise<readonly string[]> => {
  const created: string[] = [];
  for (const parent of Object.keys(PARTITIONED)) {
    for (let ahead = 0; ahead <= MONTHS_AHEAD; ahead += 1) {
      const month = monthOf(now ?? (await databaseNow(client)), ahead);
      const name = `${parent}_${month.suffix}`;
      if (await isThere(client, name)) continue;
      if (await inTransaction(client, () => createPartition(client, parent, month))) created.push(name);
    }
  }
  // Autovacuum never analyzes a partitioned parent, and a new partition has no statistics at all.
  const parents = new Set(created.map((name) => name.replace(/_\d{6}$/, '')));
  for (const parent of parents) await client.query(`analyze ${parent}`);
  return created;
};

const databaseNow = async (client: pg.Client): Promise<Instant> => {
  const { rows } = await client.query<{ now: string }>(
    'select floor(1000 * extract(epoch from clock_timestamp()))::bigint as now',
  );
  return Number(rows[0]?.now) as Instant;
};

/**
 * Creates the monthly partitions of this month and the next two where they are missing; returns their names. Safe to run
 * by many at once and under traffic; call it at least once a month. `now` is for tests: else the database's clock counts.
 * Errors: UNAVAILABLE, DATABASE_DEFECT.
 */
export const ensurePartitions = (options: Readonly<{ url: string; now?: Instant }>): Promise<readonly string[]> =>
  withConnection(options.url, (client) => ensurePartitionsOn(client, options.now));
