import type pg from 'pg';
import { inTransaction, withConnection } from './admin-connection.ts';
import { SchemaError } from './database-error.ts';
import {
  type AppliedMigration,
  compareMigrations,
  MIGRATIONS_DIRECTORY,
  type MigrationFile,
  readMigrations,
} from './migration-files.ts';
import { ensurePartitionsOn, SCHEMA_LOCK } from './partitions.ts';

export { ensurePartitions } from './partitions.ts';

export type MigrateOptions = Readonly<{
  url: string;
  log?: (message: string) => void;
  /** Where the numbered files are; Rondo's own by default. */
  directory?: string;
}>;

const HISTORY_TABLE = `
  create table if not exists schema_migrations (
    version integer primary key,
    name text not null,
    checksum text not null,
    applied_at timestamptz not null default clock_timestamp()
  )`;

const readApplied = async (client: pg.Client): Promise<readonly AppliedMigration[]> => {
  const { rows: tables } = await client.query<{ there: boolean }>(
    `select to_regclass('schema_migrations') is not null as there`,
  );
  if (tables[0]?.there !== true) return [];
  const { rows } = await client.query<AppliedMigration>(
    'select version, name, checksum from schema_migrations order by version',
  );
  return rows;
};

/** What is to be applied. Errors: SCHEMA_NEWER, MIGRATION_CHANGED. */
const pendingOf = async (client: pg.Client, files: readonly MigrationFile[]): Promise<readonly MigrationFile[]> => {
  const { pending, ahead, changed } = compareMigrations(files, await readApplied(client));
  if (ahead.length > 0) {
    throw new SchemaError(
      'SCHEMA_NEWER',
      `the database was migrated by a newer Rondo (${ahead.join(', ')}): start that version, or restore a backup`,
    );
  }
  if (changed.length > 0) {
    throw new SchemaError(
      'MIGRATION_CHANGED',
      `migrations that the database has applied were edited since: ${changed.join(', ')}. Restore the files.`,
    );
  }
  return pending;
};

const applyFile = async (client: pg.Client, file: MigrationFile): Promise<void> => {
  try {
    await client.query(file.sql);
  } catch (error) {
    throw new SchemaError('MIGRATION_FAILED', `migration ${file.name} failed: ${String(error)}`, { cause: error });
  }
  await client.query('insert into schema_migrations (version, name, checksum) values ($1, $2, $3)', [
    file.version,
    file.name,
    file.checksum,
  ]);
};

/** Applies the next file in a transaction of its own, whoever else is doing the same; undefined when none is left. */
const applyNext = (client: pg.Client, files: readonly MigrationFile[]): Promise<MigrationFile | undefined> =>
  inTransaction(client, async () => {
    await client.query(SCHEMA_LOCK);
    await client.query(HISTORY_TABLE);
    const [next] = await pendingOf(client, files);
    if (next !== undefined) await applyFile(client, next);
    return next;
  });

/**
 * Brings the schema up to date and creates the partitions of these months. Several starters at once are safe.
 * Errors: SCHEMA_NEWER, MIGRATION_CHANGED, MIGRATION_FAILED, UNAVAILABLE.
 */
export async function migrate({ url, log, directory = MIGRATIONS_DIRECTORY }: MigrateOptions): Promise<void> {
  const files = await readMigrations(directory);
  await withConnection(url, async (client) => {
    let applied = await applyNext(client, files);
    while (applied !== undefined) {
      log?.(`applied migration ${applied.name}`);
      applied = await applyNext(client, files);
    }
    const partitions = await ensurePartitionsOn(client);
    if (partitions.length > 0) log?.(`created partitions ${partitions.join(', ')}`);
  });
}

/** Names of the migrations that the database still lacks. Errors: SCHEMA_NEWER, MIGRATION_CHANGED, UNAVAILABLE. */
export async function pendingMigrations({
  url,
  directory = MIGRATIONS_DIRECTORY,
}: MigrateOptions): Promise<readonly string[]> {
  const files = await readMigrations(directory);
  return withConnection(url, async (client) => (await pendingOf(client, files)).map(({ name }) => name));
}
