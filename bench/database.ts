import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { startEmbeddedPostgres } from '../src/adapters/embedded-postgres/embedded-postgres.ts';
import { migrate } from '../src/adapters/postgres/migrate.ts';

/** Of the whole server so far. `cpuMs` is undefined where its processes cannot be looked at. */
export type Counters = Readonly<{ transactions: number; walBytes: number; rows: number; cpuMs: number | undefined }>;

export type BenchDatabase = Readonly<{
  url: string;
  client: pg.Client;
  /** Transactions committed and bytes of WAL written by the whole server so far. */
  counters(): Promise<Counters>;
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
  const given = process.env.DATABASE_URL;
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
  Object.fromEntries(
    (await client.query('select name, setting from pg_settings where name = any($1)', [SETTINGS])).rows.map(
      ({ name, setting: value }) => [name, value],
    ),
  );

const counters = async (client: pg.Client): Promise<Counters> => {
  await client.query('select pg_stat_force_next_flush()');
  const { rows } = await client.query(`
    select xact_commit::float8 as transactions, (tup_inserted + tup_updated + tup_deleted)::float8 as rows,
      pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8 as wal_bytes
    from pg_stat_database where datname = current_database()`);
  const { transactions, wal_bytes: walBytes, rows: changed } = rows[0];
  return { transactions, walBytes, rows: changed, cpuMs: await serverCpuMs(client) };
};

const CLOCK_TICK_MS = 10;

/** Processor time of the postmaster, its ended children and those that run (proc(5): utime, stime, cutime, cstime). */
const serverCpuMs = async (client: pg.Client): Promise<number | undefined> => {
  const { rows } = await client.query('select pg_backend_pid() as pid');
  try {
    const postmaster = statOf(rows[0].pid)[1];
    if (postmaster === undefined) return undefined;
    const ended = statOf(postmaster);
    let ticks = [11, 12, 13, 14].reduce((sum, field) => sum + (ended[field] ?? 0), 0);
    for (const entry of readdirSync('/proc')) {
      if (!/^[0-9]+$/.test(entry)) continue;
      const stat = statIfThere(Number(entry));
      if (stat?.[1] === postmaster) ticks += (stat[11] ?? 0) + (stat[12] ?? 0);
    }
    return ticks * CLOCK_TICK_MS;
  } catch {
    return undefined;
  }
};

/** The numbers after the name of the program, the parent's pid at index 1. */
const statOf = (pid: number): readonly number[] => {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return text
    .slice(text.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number);
};

const statIfThere = (pid: number): readonly number[] | undefined => {
  try {
    return statOf(pid);
  } catch {
    return undefined;
  }
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
