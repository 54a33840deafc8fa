import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { startEmbeddedPostgres } from '../../../src/adapters/embedded-postgres/embedded-postgres.ts';
import { type Database, openDatabase, type Session } from '../../../src/adapters/postgres/database.ts';
import { composed, count, preparedCommand } from '../../../src/adapters/postgres/statement.ts';
import { createTestDatabase } from '../../support/postgres.ts';
import { barrier, connect } from './sessions.ts';

const backend = composed(z.object({ pid: count }));
const pidOf = async (session: Session): Promise<number> => {
  const row = await session.row(backend`select pg_backend_pid() as pid`);
  return row?.pid ?? 0;
};
/** A caller that gets its 503 later than this is not told quickly. */
const ANSWER_MS_MAX = 3_000;
const change = composed(z.object({}));

describe('a transaction', () => {
  let database: Database;
  let observer: pg.Client;
  let drop: () => Promise<void>;

  beforeAll(async () => {
    const created = await createTestDatabase();
    drop = created.drop;
    observer = await connect(created.url);
    await observer.query('create table notes (id integer primary key, text text not null)');
    // One connection: what survives a failure is seen in the next transaction.
    database = await openDatabase({ url: created.url, poolMax: 1 });
  });
  beforeEach(async () => {
    await observer.query(`truncate notes; insert into notes values (1, 'first'), (2, 'second')`);
  });
  afterAll(async () => {
    await database.close();
    await observer.end();
    await drop();
  });

  const texts = async (): Promise<readonly string[]> => {
    const { rows } = await observer.query<{ text: string }>('select text from notes order by id');
    return rows.map((row) => row.text);
  };

  it('that throws leaves nothing behind and gives its connection back whole', async () => {
    const pid = await database.transaction(pidOf);
    const error = new Error('the work changed its mind');
    const attempt = database.transaction(async (session) => {
      await session.run(change`insert into notes values (3, 'third')`);
      throw error;
    });
    await expect(attempt).rejects.toBe(error);
    expect(await texts()).toEqual(['first', 'second']);
    expect(await database.transaction(pidOf)).toBe(pid);
  });

  it('that a failed statement aborted is not taken for committed, though COMMIT reports no error', async () => {
    const attempt = database.transaction(async (session) => {
      await session.run(change`insert into notes values (3, 'third')`);
      await session.run(change`insert into notes values (1, 'again')`).catch(() => undefined);
      return 'done';
    });
    await expect(attempt).rejects.toMatchObject({ code: 'DATABASE_DEFECT' });
    expect(await texts()).toEqual(['first', 'second']);
  });

  it('that breaks a constraint tells the SQLSTATE and keeps its connection', async () => {
    const pid = await database.transaction(pidOf);
    const attempt = database.transaction((session) => session.run(change`insert into notes values (1, 'again')`));
    await expect(attempt).rejects.toMatchObject({ code: 'DATABASE_DEFECT', sqlstate: '23505' });
    expect(await database.transaction(pidOf)).toBe(pid);
  });

  it('that the database cannot store the text of is a defect, not a crash', async () => {
    const attempt = database.transaction((session) => session.run(change`insert into notes values (3, ${'a\u0000b'})`));
    await expect(attempt).rejects.toMatchObject({ code: 'DATABASE_DEFECT' });
  });

  it('that lost a serialization race runs again until it wins', async () => {
    let runs = 0;
    const value = await database.transaction(async (session) => {
      runs += 1;
      await session.run(change`insert into notes values (3, ${`run ${runs}`})`);
      if (runs < 3) await session.run(change`do $$ begin raise exception using errcode = '40001'; end $$`);
      return runs;
    });
    expect(value).toBe(3);
    expect(await texts()).toEqual(['first', 'second', 'run 3']);
  });

  it('that always loses gives up and is unavailable', async () => {
    let runs = 0;
    const attempt = database.transaction(async (session) => {
      runs += 1;
      await session.run(change`do $$ begin raise exception using errcode = '40001'; end $$`);
    });
    await expect(attempt).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    expect(runs).toBe(6);
  });

  it('that is the victim of a deadlock runs again', async () => {
    const step = barrier();
    await observer.query('begin');
    await observer.query(`set local deadlock_timeout = '10s'`);
    await observer.query('select from notes where id = 2 for update');
    let runs = 0;
    const attempt = database.transaction(async (session) => {
      runs += 1;
      await session.run(change`set local deadlock_timeout = '10ms'`);
      await session.run(change`update notes set text = 'ours' where id = 1`);
      if (runs === 1) await step.stop();
      await session.run(change`update notes set text = 'ours' where id = 2`);
    });
    await step.reached;
    const theirs = observer.query('select from notes where id = 1 for update');
    step.go();
    await theirs;
    await observer.query('commit');
    await attempt;
    expect(runs).toBe(2);
    expect(await texts()).toEqual(['ours', 'ours']);
  });

  it('whose backend is ended is unavailable, and the next one gets a new connection', async () => {
    const attempt = database.transaction(async (session) => {
      const pid = await pidOf(session);
      await session.run(change`insert into notes values (3, 'third')`);
      await observer.query('select pg_terminate_backend($1)', [pid]);
      await session.run(change`insert into notes values (4, 'fourth')`);
    });
    await expect(attempt).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    expect(await texts()).toEqual(['first', 'second']);
    expect(await database.transaction(pidOf)).toBeGreaterThan(0);
  });

  it('refuses another transaction or query of the pool inside, which could wait for itself for ever', async () => {
    const nested = database.transaction(() => database.transaction(pidOf));
    await expect(nested).rejects.toMatchObject({ code: 'DATABASE_DEFECT' });
    const query = database.transaction(() => pidOf(database));
    await expect(query).rejects.toMatchObject({ code: 'DATABASE_DEFECT' });
  });

  it('does not bind what was started inside and goes on after it', async () => {
    const ended = Promise.withResolvers<void>();
    let later: Promise<number> | undefined;
    await database.transaction(async () => {
      later = ended.promise.then(() => database.transaction(pidOf));
    });
    ended.resolve();
    expect(await later).toBeGreaterThan(0);
  });

  it('waits for its turn when the pool is in use', async () => {
    const step = barrier();
    const first = database.transaction(() => step.stop());
    await step.reached;
    const second = database.transaction(pidOf);
    step.go();
    await first;
    expect(await second).toBeGreaterThan(0);
  });

  it('names prepared statements once a connection, whatever failed in between', async () => {
    const named = preparedCommand('test_touch');
    const touch = (session: Session) => session.run(named`update notes set text = text where id = ${1}`);
    expect(await database.transaction(touch)).toBe(1);
    await database
      .transaction((session) => session.run(change`insert into notes values (1, 'x')`))
      .catch(() => undefined);
    expect(await database.transaction(touch)).toBe(1);
  });
});

describe('a database that is away', () => {
  it('is unavailable at once when it is opened', async () => {
    const opening = openDatabase({ url: 'postgres://nobody:x@127.0.0.1:1/none', poolMax: 1 });
    await expect(opening).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });

  it('is unavailable at once while it is down, and works again by itself when it is back', async () => {
    const home = await mkdtemp(join(tmpdir(), 'rondo-outage-'));
    await chmod(home, 0o755);
    const start = () => startEmbeddedPostgres({ home, durable: false, binaries: 'bundled', log: () => undefined });
    const before = await start();
    const database = await openDatabase({ url: before.url, poolMax: 4 });
    expect(await Promise.all([database.transaction(pidOf), database.transaction(pidOf)])).toHaveLength(2);
    await before.stop();
    const during = Date.now();
    await expect(database.transaction(pidOf)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await expect(pidOf(database)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    expect(Date.now() - during).toBeLessThan(ANSWER_MS_MAX);
    const after = await start();
    expect(after.url).toBe(before.url);
    expect(await database.transaction(pidOf)).toBeGreaterThan(0);
    await database.close();
    await after.stop();
    await rm(after.directory, { recursive: true, force: true });
    await rm(home, { recursive: true, force: true });
  });
});
