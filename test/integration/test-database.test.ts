import { Client } from 'pg';
import { afterEach, expect, test } from 'vitest';
import { createTestDatabase } from '../support/postgres.ts';

const dropped: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const drop of dropped.splice(0)) await drop();
});

const connect = async (): Promise<Client> => {
  const { url, drop } = await createTestDatabase();
  const client = new Client({ connectionString: url });
  await client.connect();
  dropped.push(async () => {
    await client.end();
    await drop();
  });
  return client;
};

test('each test database is its own: what one writes, the other does not see', async () => {
  const [first, second] = await Promise.all([connect(), connect()]);
  await first.query('create table only_in_the_first ()');
  const { rows } = await second.query(`select to_regclass('only_in_the_first') as found`);
  expect(rows).toEqual([{ found: null }]);
});

test('a commit is acknowledged only when it is written, as in production', async () => {
  const client = await connect();
  const { rows } = await client.query('show synchronous_commit');
  expect(rows).toEqual([{ synchronous_commit: 'on' }]);
});

test('a dropped test database is gone although a client is still connected', async () => {
  const { url, drop } = await createTestDatabase();
  const client = new Client({ connectionString: url });
  const ended = new Promise((resolve) => client.once('end', resolve));
  client.on('error', () => undefined);
  await client.connect();
  await drop();
  await ended;
  await expect(new Client({ connectionString: url }).connect()).rejects.toMatchObject({ code: '3D000' });
});
