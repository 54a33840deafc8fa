import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ensurePartitions, migrate, pendingMigrations } from '../../../src/adapters/postgres/migrate.ts';
import type { Instant } from '../../../src/domain/kernel/brand.ts';
import { describeSchema } from './describe-schema.ts';
import { connect, createEmptyDatabase, whenBlocked } from './sessions.ts';

const MIGRATIONS = fileURLToPath(new URL('../../../migrations', import.meta.url));
const SNAPSHOT_MAJOR = 18;

let url: string;
let drop: () => Promise<void>;
let client: pg.Client;
let directory: string;

beforeEach(async () => {
  ({ url, drop } = await createEmptyDatabase());
  client = await connect(url);
  directory = await mkdtemp(join(tmpdir(), 'rondo-migrations-'));
});
afterEach(async () => {
  await client.end();
  await drop();
  await rm(directory, { recursive: true, force: true });
});

const copyMigrations = async (): Promise<void> => {
  for (const name of await readdir(MIGRATIONS)) {
    await writeFile(join(directory, name), await readFile(join(MIGRATIONS, name)));
  }
};
const addMigration = (name: string, text: string): Promise<void> => writeFile(join(directory, name), text);
const tableExists = async (name: string): Promise<boolean> => {
  const { rows } = await client.query<{ there: boolean }>('select to_regclass($1) is not null as there', [name]);
  return rows[0]?.there === true;
};

describe('migrating', () => {
  it('is done once by many starters at once', async () => {
    const applied: string[] = [];
    const log = (message: string) => applied.push(message);
    await Promise.all(Array.from({ length: 6 }, () => migrate({ url, log })));
    expect(applied.filter((message) => message.startsWith('applied migration 0001'))).toHaveLength(1);
    expect(await pendingMigrations({ url })).toEqual([]);
  });

  it('tells what is pending before it is done', async () => {
    expect(await pendingMigrations({ url })).toContain('0001_core.sql');
    await migrate({ url });
    expect(await pendingMigrations({ url })).toEqual([]);
  });

  it('applies only what is new', async () => {
    await migrate({ url });
    await copyMigrations();
    await addMigration('9000_more.sql', 'create table more (id integer)');
    const log: string[] = [];
    await migrate({ url, directory, log: (message) => log.push(message) });
    expect(log).toEqual(['applied migration 9000_more.sql']);
    expect(await tableExists('more')).toBe(true);
  });

  it('refuses a schema that is newer than this program', async () => {
    await copyMigrations();
    await addMigration('9000_more.sql', 'create table more (id integer)');
    await migrate({ url, directory });
    await expect(migrate({ url })).rejects.toMatchObject({ code: 'SCHEMA_NEWER' });
    await expect(migrate({ url })).rejects.toThrow('9000_more.sql');
    await expect(pendingMigrations({ url })).rejects.toMatchObject({ code: 'SCHEMA_NEWER' });
  });

  it('refuses a file that was edited after it was applied', async () => {
    await copyMigrations();
    await migrate({ url, directory });
    await addMigration('0001_core.sql', 'select 1');
    await expect(migrate({ url, directory })).rejects.toMatchObject({ code: 'MIGRATION_CHANGED' });
  });

  it('leaves nothing of a file that fails', async () => {
    await copyMigrations();
    await addMigration('9000_broken.sql', 'create table half (id integer); select no_such_column');
    await expect(migrate({ url, directory })).rejects.toMatchObject({ code: 'MIGRATION_FAILED' });
    expect(await tableExists('half')).toBe(false);
    expect(await tableExists('workflow_events')).toBe(true);
  });

  it('lets traffic pass while it waits for a lock, and goes on once it is free', async () => {
    await migrate({ url });
    await copyMigrations();
    await addMigration('9000_more.sql', 'alter table timers add column note text');
    await client.query('begin');
    await client.query('select from timers');
    const migration = migrate({ url, directory });
    const other = await connect(url);
    await whenBlocked(client);
    // The migration stands in line with its strong lock, and this waits behind it, but only until that gives up.
    await other.query('select from timers');
    await client.query('commit');
    await migration;
    await other.end();
    expect(await pendingMigrations({ url, directory })).toEqual([]);
  });

  it('leads to the schema of the snapshot', async () => {
    const { rows } = await client.query<{ major: number }>(
      `select current_setting('server_version_num')::integer / 10000 as major`,
    );
    await migrate({ url });
    const schema = await describeSchema(client);
    // Other versions word some definitions differently.
    if (rows[0]?.major === SNAPSHOT_MAJOR) await expect(schema).toMatchFileSnapshot(`${MIGRATIONS}/schema.sql`);
    expect(schema).toContain('create table task_queue (');
  });
});

describe('partitions', () => {
  const OCTOBER = Date.UTC(2031, 9, 15) as Instant;
  const inOctober = (last: string) =>
    `${OCTOBER.toString(16)
      .padStart(12, '0')
      .replace(/^(.{8})/, '$1-')}-7000-8000-${last.padStart(12, '0')}`;
  const partitionOf = async (id: string): Promise<string | undefined> => {
    const { rows } = await client.query<{ name: string }>(
      'select tableoid::regclass::text as name from workflow_events where workflow_id = $1',
      [id],
    );
    return rows[0]?.name;
  };
  const insertEvent = (id: string) =>
    client.query(`insert into workflow_events (workflow_id, seq, namespace, data) values ($1, 1, 'a', '{}')`, [id]);

  beforeEach(() => migrate({ url }));

  it('exist ahead of time, and creating them again changes nothing', async () => {
    const created = await ensurePartitions({ url, now: OCTOBER });
    expect(created.filter((name) => name.startsWith('workflow_events'))).toEqual([
      'workflow_events_203110',
      'workflow_events_203111',
      'workflow_events_203112',
    ]);
    expect(await ensurePartitions({ url, now: OCTOBER })).toEqual([]);
  });

  it('exist for the months around now once the migrations ran', async () => {
    expect(await ensurePartitions({ url })).toEqual([]);
  });

  it('take the runs of their month', async () => {
    await ensurePartitions({ url, now: OCTOBER });
    await insertEvent(inOctober('1'));
    expect(await partitionOf(inOctober('1'))).toBe('workflow_events_203110');
  });

  it('that come late take over the rows that had no place', async () => {
    await insertEvent(inOctober('2'));
    expect(await partitionOf(inOctober('2'))).toBe('workflow_events_default');
    await ensurePartitions({ url, now: OCTOBER });
    expect(await partitionOf(inOctober('2'))).toBe('workflow_events_203110');
  });

  it('are created once by many at once', async () => {
    const created = await Promise.all(Array.from({ length: 4 }, () => ensurePartitions({ url, now: OCTOBER })));
    expect(new Set(created.flat()).size).toBe(created.flat().length);
    expect(created.flat()).toContain('task_executions_203112');
  });
});
