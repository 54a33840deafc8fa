import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { assertDurable } from '../../../src/adapters/postgres/health.ts';
import { createPostgresStores } from '../../../src/adapters/postgres/stores.ts';
import { createTestDatabase } from '../../support/postgres.ts';
import { connect, createEmptyDatabase } from './sessions.ts';

describe('the health of the database', () => {
  let url: string;
  let drop: () => Promise<void>;
  let admin: pg.Client;

  beforeAll(async () => {
    ({ url, drop } = await createTestDatabase());
    admin = await connect(url);
  });
  afterAll(async () => {
    await admin.end();
    await drop();
  });

  const problemsOf = async (of: string, allowUnsafeDurability = true): Promise<readonly string[]> => {
    const stores = await createPostgresStores({ url: of, poolMax: 1, allowUnsafeDurability });
    try {
      return await stores.health.problems();
    } finally {
      await stores.close();
    }
  };
  const setForDatabase = (setting: string) =>
    admin.query(`do $$ begin execute format('alter database %I ${setting}', current_database()); end $$`);

  it('has no problems after the migrations', async () => {
    expect(await problemsOf(url)).toEqual([]);
  });

  it('names what the schema lacks', async () => {
    const empty = await createEmptyDatabase();
    expect(await problemsOf(empty.url)).toEqual([expect.stringContaining('0001_core.sql')]);
    await empty.drop();
  });

  it('names what the schema is ahead by', async () => {
    await admin.query(`insert into schema_migrations (version, name, checksum) values (9000, '9000_more.sql', 'x')`);
    expect(await problemsOf(url)).toEqual([expect.stringContaining('9000_more.sql')]);
    await admin.query('delete from schema_migrations where version = 9000');
  });

  it('names synchronous_commit when it is off, and the start is refused', async () => {
    await setForDatabase('set synchronous_commit = off');
    expect(await problemsOf(url, false)).toContainEqual(expect.stringContaining('synchronous_commit'));
    await expect(assertDurable(url)).rejects.toMatchObject({ code: 'UNSAFE_DURABILITY' });
    await setForDatabase('reset synchronous_commit');
  });

  it('is a problem told, not an error thrown, when the database goes away', async () => {
    const gone = await createEmptyDatabase();
    const stores = await createPostgresStores({ url: gone.url, poolMax: 1 });
    await gone.drop();
    expect(await stores.health.problems()).toHaveLength(1);
    await stores.close();
  });

  it('cannot be assured of a server that is away', async () => {
    await expect(assertDurable('postgres://nobody:x@127.0.0.1:1/none')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });
});
