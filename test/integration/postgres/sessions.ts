import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, inject } from 'vitest';
import { createPostgresStores, type PostgresStores } from '../../../src/adapters/postgres/stores.ts';
import { createDatabase, databaseUrl, dropDatabase } from '../../support/databases.ts';
import { allowUnsafeDurability, createTestDatabase } from '../../support/postgres.ts';

/** A database of the file's own: two sets of stores over it, as of two servers, and a session to look around with. */
export type TwoServers = Readonly<{ url: string; one: PostgresStores; two: PostgresStores; observer: pg.Client }>;

const POOL_MAX = 24;

export const connect = async (url: string): Promise<pg.Client> => {
  const client = new pg.Client({ connectionString: url });
  // Tests end backends on purpose.
  client.on('error', () => undefined);
  await client.connect();
  return client;
};

export const openStores = (url: string): Promise<PostgresStores> =>
  createPostgresStores({ url, poolMax: POOL_MAX, allowUnsafeDurability: allowUnsafeDurability() });

/** Opens both servers for the tests of the file. */
export const useTwoServers = (): (() => TwoServers) => {
  let servers: TwoServers | undefined;
  let drop: (() => Promise<void>) | undefined;
  beforeAll(async () => {
    const database = await createTestDatabase();
    drop = database.drop;
    const [one, two, observer] = await Promise.all([
      openStores(database.url),
      openStores(database.url),
      connect(database.url),
    ]);
    servers = { url: database.url, one, two, observer };
  });
  afterAll(async () => {
    await Promise.all([servers?.one.close(), servers?.two.close(), servers?.observer.end()]);
    await drop?.();
  });
  return () => {
    if (servers === undefined) throw new Error('the servers are open only while tests run');
    return servers;
  };
};

/** A database without any schema. */
export const createEmptyDatabase = async (): Promise<{ url: string; drop: () => Promise<void> }> => {
  const { adminUrl, databasePrefix } = inject('testPostgres');
  const name = `${databasePrefix}_empty_${randomBytes(6).toString('hex')}`;
  await createDatabase(adminUrl, name, 'template0');
  return { url: databaseUrl(adminUrl, name), drop: () => dropDatabase(adminUrl, name) };
};

/** Resolves once another session of the observer's database waits for a lock. */
export const whenBlocked = async (observer: pg.Client): Promise<void> => {
  for (let waiting = 0; waiting === 0; ) {
    // Inside a transaction the view would show the same picture for ever.
    await observer.query('select pg_stat_clear_snapshot()');
    const { rows } = await observer.query<{ waiting: number }>(
      `select count(*)::integer as waiting from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`,
    );
    waiting = rows[0]?.waiting ?? 0;
  }
};

/** A transaction that stands still between `reached` and `go`. */
export const barrier = () => {
  const reached = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  return {
    /** Called inside the transaction. */
    stop: async (): Promise<void> => {
      reached.resolve();
      await gate.promise;
    },
    reached: reached.promise,
    go: gate.resolve,
  };
};
