import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type OpenDatasources, openDatasources } from '../../../src/adapters/postgres/datasources.ts';
import type { SqlRequest } from '../../../src/ports/sql-datasources.ts';
import { createTestDatabase } from '../../support/postgres.ts';

describe('a datasource', () => {
  let database: Awaited<ReturnType<typeof createTestDatabase>>;
  let datasources: OpenDatasources;
  beforeAll(async () => {
    database = await createTestDatabase();
    datasources = openDatasources(
      new Map([
        ['orders', database.url],
        ['gone', 'postgres://nobody:hidden@127.0.0.1:1/none'],
      ]),
    );
    await run('create table parts (id int primary key, name text)');
    await run(`insert into parts select n, 'part ' || n from generate_series(1, 20) n`);
  });
  afterAll(async () => {
    await datasources.close();
    await database.drop();
  });

  const run = (statement: string, change: Partial<SqlRequest> = {}, name = 'orders', abort = new AbortController()) =>
    datasources.run(name, { statement, parameters: [], rowsMax: 100, timeoutMs: 5_000, ...change }, abort.signal);

  const codeOf = async (answer: ReturnType<typeof run>): Promise<readonly unknown[]> => {
    const result = await answer;
    return result.ok ? ['ok', result.value.rowCount] : [result.error.code, result.error.retryable];
  };

  it('gives rows as JSON has them, and texts where it has no form', async () => {
    const statement = `select 1 as i, 9007199254740993 as big, 5::int8 as small, 1.50::numeric as exact, true as b, null as none,
      '{"a":[1]}'::jsonb as doc, date '2026-01-02' as day, 1.5::float8 as f`;
    const answer = await run(statement);
    expect(answer.ok && answer.value.rows).toEqual([
      {
        i: 1,
        big: '9007199254740993',
        small: 5,
        exact: '1.50',
        b: true,
        none: null,
        doc: { a: [1] },
        day: '2026-01-02',
        f: 1.5,
      },
    ]);
  });

  it('takes values as parameters, whatever they hold', async () => {
    const hostile = `'; drop table parts; --`;
    const answer = await run('select $1::text as t, $2::jsonb as j', { parameters: [hostile, { a: hostile }] });
    expect(answer.ok && answer.value.rows).toEqual([{ t: hostile, j: { a: hostile } }]);
    expect(await codeOf(run('select 1; drop table parts'))).toEqual(['STATEMENT_FAILED', false]);
    expect(await codeOf(run('select * from parts'))).toEqual(['ok', 20]);
  });

  it('gives so many rows and no more', async () => {
    expect(await codeOf(run('select * from parts', { rowsMax: 20 }))).toEqual(['ok', 20]);
    expect(await codeOf(run('select * from parts', { rowsMax: 19 }))).toEqual(['TOO_MANY_ROWS', false]);
    expect(await codeOf(run('select generate_series(1, 100000000)', { rowsMax: 10 }))).toEqual([
      'TOO_MANY_ROWS',
      false,
    ]);
  });

  it('undoes a statement that changes another number of rows than expected', async () => {
    const statement = `update parts set name = 'x' where id <= $1`;
    expect(await codeOf(run(statement, { parameters: [3], expectedCount: 2 }))).toEqual(['UNEXPECTED_COUNT', false]);
    const left = await run(`select count(*)::int as n from parts where name = 'x'`);
    expect(left.ok && left.value.rows).toEqual([{ n: 0 }]);
    expect(await codeOf(run(statement, { parameters: [3], expectedCount: 3 }))).toEqual(['ok', 3]);
  });

  it('ends a statement at its time, on the server of the database', async () => {
    expect(await codeOf(run('select pg_sleep(30)', { timeoutMs: 50 }))).toEqual(['TIMED_OUT', true]);
  });

  it('gives a statement up when it is told to', async () => {
    const abort = new AbortController();
    const answer = run('select pg_sleep(30)', {}, 'orders', abort);
    await expect
      .poll(async () => codeOf(run(`select * from pg_stat_activity where query like 'select pg_sleep(30)%'`)))
      .toEqual(['ok', 1]);
    abort.abort();
    expect(await codeOf(answer)).toEqual(['ABORTED', true]);
  });

  it('tells failures of the statement from those of the database', async () => {
    const broken = await run('select nothing from parts');
    expect(broken).toMatchObject({ ok: false, error: { code: 'STATEMENT_FAILED', retryable: false } });
    expect(broken.ok ? '' : broken.error.message).toContain('42703');
    expect(await codeOf(run(`insert into parts values (1, 'again')`))).toEqual(['STATEMENT_FAILED', false]);
    const gone = await run('select 1', {}, 'gone');
    expect(gone).toMatchObject({ ok: false, error: { code: 'UNAVAILABLE', retryable: true } });
    expect(JSON.stringify(gone)).not.toMatch(/hidden|nobody|127\.0\.0\.1/);
    expect(await codeOf(run('select 1', {}, 'other'))).toEqual(['UNKNOWN_DATASOURCE', false]);
  });

  it('leaves nothing of a session to the next one', async () => {
    await run(`select set_config('work_mem', '77MB', false)`);
    await run('create temporary table left_over (a int)');
    const settings = await Promise.all(Array.from({ length: 4 }, () => run('show work_mem')));
    expect(JSON.stringify(settings)).not.toContain('77MB');
    expect(await codeOf(run('select * from left_over'))).toEqual(['STATEMENT_FAILED', false]);
  });
});
