import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { startEmbeddedPostgres } from '../src/adapters/embedded-postgres/embedded-postgres.ts';
import { migrate } from '../src/adapters/postgres/migrate.ts';

export type BenchDatabase = Readonly<{
  url: string;
  client: pg.Client;
  /** Transactions committed and bytes of WAL written by the whole server so far. */
  counters(): Promise<Readonly<{ transactions: number; walBytes: number; rows: number }>>;
  close(): Promise<void>;
}>;

const SETTINGS = [
  'server_version',
  'fsync',
  'synchronous_commit',
  'full_page_writes',
  'shared_buffers',
  'max_wal_size',
];

/** A fresh database with durable settings: the one of DATABASE_URL, else an embedded server of its own. Unsafe settings are refused. */
export const openBenchDatabase = async (): Promise<BenchDatabase> => {
  const home = mkdtempSync(join(tmpdir(), 'rondo-bench-'));
  const given = process.env['DATABASE_URL'];
  const embedded =
    given === undefined
      ? await startEmbeddedPostgres({ home, durable: true, binaries: 'bundled', log: () => undefined })
      : undefined;
  const url = given ?? embedded?.url ?? '';
  await migrate({ url });
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  for (const name of ['fsync', 'synchronous_commit', 'full_page_writes']) {
    if ((await setting(client, name)) !== 'on')
      throw new Error(`${name} is not on: figures without durable commits say nothing`);
  }
  return {
    url,
    client,
    counters: () => counters(client),
    close: async () => {
      await client.end();
      await embedded?.stop();
      rmSync(home, { recursive: true, force: true });
    },
  };
};

const setting = async (client: pg.Client, name: string): Promise<string> =>
  (await client.query('select current_setting($1) as value', [name])).rows[0].value;

export const settings = async (client: pg.Client): Promise<Record<string, string>> =>
  Object.fromEntries(await Promise.all(SETTINGS.map(async (name) => [name, await setting(client, name)])));

const counters = async (client: pg.Client) => {
  await client.query('select pg_stat_force_next_flush()');
  const { rows } = await client.query(`
    select xact_commit::float8 as transactions, (tup_inserted + tup_updated + tup_deleted)::float8 as rows,
      pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8 as wal_bytes
    from pg_stat_database where datname = current_database()`);
  return { transactions: rows[0].transactions, walBytes: rows[0].wal_bytes, rows: rows[0].rows };
};

/** Waits until that many runs of the definition have completed, looking every few milliseconds. */
export const untilCompleted = async (
  client: pg.Client,
  name: string,
  runs: number,
  timeoutMs: number,
): Promise<void> => {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const { rows } = await client.query(
      `select count(*)::int as done from workflow_executions where name = $1 and status = 'COMPLETED'`,
      [name],
    );
    if (rows[0].done >= runs) return;
    if (performance.now() > deadline)
      throw new Error(`${rows[0].done} of ${runs} runs of ${name} completed within ${timeoutMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
};
