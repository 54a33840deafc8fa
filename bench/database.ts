import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { startEmbeddedPostgres } from '../src/adapters/embedded-postgres/embedded-postgres.ts';
import { migrate } from '../src/adapters/postgres/migrate.ts';
import { cpuMsOfTree, parentOf } from './processes.ts';

/** Of the whole server so far. `cpuMs` is undefined where its processes cannot be looked at. */
export type Counters = Readonly<{ transactions: number; walBytes: number; rows: number; cpuMs: number | undefined }>;

export type BenchDatabase = Readonly<{
  url: string;
  client: pg.Client;
  counters(): Promise<Counters>;
  checkpoint(): Promise<void>;
  close(): Promise<void>;
}>;

export type BenchServer = Readonly<{
  settings: Readonly<Record<string, string>>;
  /** A database of its own, with Rondo's tables; it is dropped when it is closed. */
  fresh(): Promise<BenchDatabase>;
  /** The same without any tables. */
  empty(): Promise<BenchDatabase>;
  close(): Promise<void>;
}>;

const DURABLE_SETTINGS = ['fsync', 'synchronous_commit', 'full_page_writes'];
const SETTINGS = ['server_version', ...DURABLE_SETTINGS, 'shared_buffers', 'max_wal_size', 'max_connections'];

/** A PostgreSQL with durable settings: that of DATABASE_URL, else an embedded server of its own. Unsafe settings are refused. */
export const openBenchServer = async (): Promise<BenchServer> => {
  const home = mkdtempSync(join(tmpdir(), 'rondo-bench-'));
  const given = process.env.DATABASE_URL;
  const embedded =
    given === undefined
      ? await startEmbeddedPostgres({ home, durable: true, binaries: 'bundled', log: () => undefined })
      : undefined;
  const url = given ?? embedded?.url ?? '';
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const close = async (): Promise<void> => {
    await client.end();
    await embedded?.stop();
    rmSync(home, { recursive: true, force: true });
  };
  const settings = await settingsOf(client);
  const unsafe = unsafeSetting(settings);
  if (unsafe !== undefined) {
    await close();
    throw new Error(`${unsafe} is not on: figures without durable commits say nothing`);
  }
  let count = 0;
  const empty = async (): Promise<BenchDatabase> => {
    count += 1;
    const name = `bench_${process.pid}_${count}`;
    await client.query(`create database ${name}`);
    return openDatabase(client, databaseUrl(url, name), name);
  };
  return {
    settings,
    empty,
    fresh: async () => {
      const database = await empty();
      await migrate({ url: database.url });
      return database;
    },
    close,
  };
};

const databaseUrl = (url: string, name: string): string => {
  const other = new URL(url);
  other.pathname = `/${name}`;
  return other.toString();
};

const openDatabase = async (admin: pg.Client, url: string, name: string): Promise<BenchDatabase> => {
  const database = await connectDatabase(url);
  return {
    ...database,
    close: async () => {
      await database.close();
      await admin.query(`drop database ${name} with (force)`);
    },
  };
};

export const connectDatabase = async (url: string): Promise<BenchDatabase> => {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return {
    url,
    client,
    counters: () => counters(client),
    // Only some roles may; without it, whoever writes first after a checkpoint of the server's own pays for full pages.
    checkpoint: async () => void (await client.query('checkpoint').catch(() => undefined)),
    close: () => client.end(),
  };
};

/** The first setting without which a commit may be lost; undefined when all are as they must be. */
export const unsafeSetting = (settings: Readonly<Record<string, string>>): string | undefined =>
  DURABLE_SETTINGS.find((name) => settings[name] !== 'on');

const settingsOf = async (client: pg.Client): Promise<Record<string, string>> =>
  Object.fromEntries(
    (
      await client.query('select name, current_setting(name) as value from pg_settings where name = any($1)', [
        SETTINGS,
      ])
    ).rows.map(({ name, value }) => [name, value]),
  );

const counters = async (client: pg.Client): Promise<Counters> => {
  await client.query('select pg_stat_force_next_flush()');
  const { rows } = await client.query(`
    select xact_commit::float8 as transactions, (tup_inserted + tup_updated + tup_deleted)::float8 as rows,
      pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8 as wal_bytes, pg_backend_pid() as pid
    from pg_stat_database where datname = current_database()`);
  const { transactions, wal_bytes: walBytes, rows: changed, pid } = rows[0];
  const postmaster = parentOf(pid);
  return {
    transactions,
    walBytes,
    rows: changed,
    cpuMs: postmaster === undefined ? undefined : cpuMsOfTree(postmaster),
  };
};

/** Waits until no run of the definition is open. All of them must have completed. */
export const untilAllCompleted = async (client: pg.Client, name: string, timeoutMs: number): Promise<void> => {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const { rows } = await client.query(
      `select exists (select from workflow_executions where namespace = 'default' and name = $1
        and status in ('RUNNING', 'PAUSED')) as are_open`,
      [name],
    );
    if (!rows[0].are_open) break;
    if (performance.now() > deadline) throw new Error(`runs of ${name} are open after ${timeoutMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  const { rows } = await client.query(
    `select status, reason from workflow_executions
     where namespace = 'default' and name = $1 and status <> 'COMPLETED' limit 1`,
    [name],
  );
  if (rows[0] !== undefined) throw new Error(`a run of ${name} ended ${rows[0].status}: ${rows[0].reason}`);
};
