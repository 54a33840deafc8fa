import pg from 'pg';
import type { JsonValue } from '../../domain/kernel/json.ts';
import { err, ok, type Result } from '../../domain/kernel/result.ts';
import type { SqlAnswer, SqlDatasources, SqlProblem, SqlRequest } from '../../ports/sql-datasources.ts';

/** Connections to one datasource at a time, and how long one that nobody uses is kept, in milliseconds. */
const CONNECTIONS_MAX = 8;
const IDLE_MS = 30_000;
const CONNECT_MS = 5_000;
/** What a database has to end a statement by itself, before its connection is given up. */
const GRACE_MS = 2_000;
const MESSAGE_CHARS_MAX = 300;

type Answer = Result<SqlAnswer, SqlProblem>;

const problem = (code: SqlProblem['code'], message: string, retryable: boolean): Answer =>
  err({ code, message, retryable });

const INT8 = 20;
const NUMBERS: ReadonlySet<number> = new Set([21, 23, 26, 700, 701]);
const DOCUMENTS: ReadonlySet<number> = new Set([114, 3802]);
const BOOL = 16;

/** A value as JSON has it. What JSON has no form for, dates and exact numbers among it, stays the text that it is. */
const jsonValue = (oid: number, text: string): JsonValue => {
  if (oid === BOOL) return text === 't';
  if (NUMBERS.has(oid)) return Number.isFinite(Number(text)) ? Number(text) : text;
  if (oid === INT8) return Number.isSafeInteger(Number(text)) ? Number(text) : text;
  return DOCUMENTS.has(oid) ? (JSON.parse(text) as JsonValue) : text;
};

const types = {
  getTypeParser: (oid: number) => (text: string) => jsonValue(oid, text),
} as unknown as pg.CustomTypesConfig;

const parameterOf = (value: JsonValue): unknown =>
  typeof value === 'object' && value !== null ? JSON.stringify(value) : value;

/** The states in which another attempt may go better: no connection, no room, a race that was lost. */
const RETRYABLE = /^(08|53|57P|40|55P03)/;
const QUERY_CANCELED = '57014';

const failureOf = (error: unknown, signal: AbortSignal): Answer => {
  if (signal.aborted) return problem('ABORTED', 'The statement was given up.', true);
  const { code = '', message = '' } = error as { code?: string; message?: string };
  if (code === QUERY_CANCELED) return problem('TIMED_OUT', 'The statement took longer than it may.', true);
  if (/^[0-9A-Z]{5}$/.test(code) && !RETRYABLE.test(code)) {
    return problem('STATEMENT_FAILED', `${code} ${message.slice(0, MESSAGE_CHARS_MAX)}`, false);
  }
  // What went wrong with a connection may name its address and user, which are nobody's business here.
  return problem('UNAVAILABLE', `The datasource cannot be used now (${code === '' ? 'no connection' : code}).`, true);
};

class TooManyRows extends Error {}
class UnexpectedCount extends Error {}

/** Rows are counted as they come, and none is kept beyond those that may be. */
const rowsOf = (client: pg.PoolClient, { statement, parameters, rowsMax }: SqlRequest): Promise<SqlAnswer> =>
  new Promise((resolve, reject) => {
    const rows: Record<string, JsonValue>[] = [];
    const config = { text: statement, values: parameters.map(parameterOf), types, queryMode: 'extended' };
    const query = client.query(new pg.Query(config));
    query.on('row', (row: Record<string, JsonValue>) => {
      if (rows.length < rowsMax) rows.push(row);
      else reject(new TooManyRows());
    });
    query.on('end', (result: pg.QueryResult) => resolve({ rows, rowCount: result.rowCount ?? rows.length }));
    query.on('error', reject);
  });

const within = async (client: pg.PoolClient, request: SqlRequest): Promise<SqlAnswer> => {
  await client.query('begin');
  await client.query(`select set_config('statement_timeout', $1, true)`, [String(request.timeoutMs)]);
  const answer = await rowsOf(client, request);
  const { expectedCount } = request;
  if (expectedCount !== undefined && answer.rowCount !== expectedCount)
    throw new UnexpectedCount(String(answer.rowCount));
  await client.query('commit');
  return answer;
};

export type OpenDatasources = SqlDatasources & Readonly<{ close(): Promise<void> }>;

/** The operator's databases. A connection that anything went wrong on is thrown away, and no session outlives its statement. */
export const openDatasources = (urls: ReadonlyMap<string, string>): OpenDatasources => {
  const pools = new Map<string, pg.Pool>();
  const poolOf = (name: string): pg.Pool | undefined => {
    const connectionString = urls.get(name);
    const present = pools.get(name);
    if (connectionString === undefined || present !== undefined) return present;
    const pool = new pg.Pool({
      connectionString,
      max: CONNECTIONS_MAX,
      idleTimeoutMillis: IDLE_MS,
      connectionTimeoutMillis: CONNECT_MS,
      application_name: 'rondo',
    });
    // A connection that breaks while nobody uses it is no news: the next one is another.
    pool.on('error', () => undefined);
    pools.set(name, pool);
    return pool;
  };
  const runOn = async (client: pg.PoolClient, request: SqlRequest, signal: AbortSignal): Promise<Answer> => {
    let isBroken = false;
    const giveUp = (): void => {
      isBroken = true;
      client.release(true);
    };
    const timer = setTimeout(giveUp, request.timeoutMs + GRACE_MS);
    signal.addEventListener('abort', giveUp, { once: true });
    try {
      const answer = await within(client, request);
      await client.query('discard all');
      if (!isBroken) client.release();
      return ok(answer);
    } catch (error) {
      if (!isBroken) client.release(true);
      if (error instanceof TooManyRows) {
        return problem('TOO_MANY_ROWS', `The statement gives more than ${request.rowsMax} rows.`, false);
      }
      if (error instanceof UnexpectedCount) {
        const message = `The statement would have changed ${error.message} rows, not ${request.expectedCount}; nothing was.`;
        return problem('UNEXPECTED_COUNT', message, false);
      }
      return failureOf(error, signal);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', giveUp);
    }
  };
  return {
    run: async (datasource, request, signal) => {
      const pool = poolOf(datasource);
      if (pool === undefined) return problem('UNKNOWN_DATASOURCE', `There is no datasource ${datasource}.`, false);
      try {
        const client = await pool.connect();
        client.on('error', () => undefined);
        return await runOn(client, request, signal);
      } catch (error) {
        return failureOf(error, signal);
      }
    },
    close: async () => {
      await Promise.all([...pools.values()].map((pool) => pool.end()));
    },
  };
};
