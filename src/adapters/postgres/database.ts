import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { createPool, type DatabasePool, type DatabasePoolConnection } from 'slonik';
import type { z } from 'zod';
import type { BlobStore } from '../../ports/blob-store.ts';
import { columnTypes } from './column-types.ts';
import { withServerSettings } from './connection-url.ts';
import { DatabaseDefectError } from './database-error.ts';
import { rowInterceptor } from './row-interceptor.ts';
import { classifyFailure, sqlstateOf, translateFailure } from './sqlstate.ts';
import { preparedCommand, type Statement } from './statement.ts';

const CONNECT_TIMEOUT_MS = 3_000;
const STATEMENT_TIMEOUT_MS = 15_000;
const IDLE_IN_TRANSACTION_TIMEOUT_MS = 30_000;
const CLOSE_TIMEOUT_MS = 5_000;
const ATTEMPTS_MAX = 6;
const RETRY_DELAY_MS = 8;

/**
 * Every statement here names its rows by key, so joins are nested loops over indexes. Left to itself the planner reads
 * whole tables while they are young or their statistics old: 40 ms instead of 1 ms to find that 50 runs have no new event.
 * A plan is kept for long and must not depend on what was in the tables when it was made, so statements of the hot path
 * look rows up in a way that has one plan only: reads in a lateral subquery, which `offset 0` or a lock keeps whole;
 * changes by `key = any(array[...])`, which no walk through a whole index can serve. What values of parameters could not
 * change is planned once a connection: planning anew was an eighth of the server's time.
 */
const SESSION_SETTINGS = {
  timezone: 'UTC',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  enable_seqscan: 'off',
  jit: 'off',
} as const;

/** What statements run on. */
export type Session = Readonly<{
  rows<Row>(statement: Statement<Row>): Promise<readonly Row[]>;
  row<Row>(statement: Statement<Row>): Promise<Row | undefined>;
  /** For a statement that always returns a row. */
  one<Row>(statement: Statement<Row>): Promise<Row>;
  /** Runs a statement for its effect; returns how many rows it touched. */
  run(statement: Statement<unknown>): Promise<number>;
  /** Where large values are kept, if not in a table. */
  blobs: BlobStore | undefined;
}>;

/** One pool of connections, and the only way to a transaction. */
export type Database = Session &
  Readonly<{
    /**
     * Runs `work` in one READ COMMITTED transaction. Lost races (40001, 40P01, 55P03) run it again with jitter, so it
     * must be re-runnable. Errors: UNAVAILABLE, DATABASE_DEFECT, and whatever `work` throws.
     */
    transaction<T>(work: (session: Session) => Promise<T>): Promise<T>;
    close(): Promise<void>;
  }>;

export type DatabaseOptions = Readonly<{
  url: string;
  /** Connections at most. */
  poolMax: number;
  blobs?: BlobStore | undefined;
  log?: (message: string) => void;
}>;

type Attempt<T> = Readonly<{ ok: true; value: T } | { ok: false; error: unknown }>;

const BEGIN = preparedCommand('begin')`begin isolation level read committed`;
const COMMIT = preparedCommand('commit')`commit`;
const ROLLBACK = preparedCommand('rollback')`rollback`;

const sessionOn = (connection: Pick<DatabasePoolConnection, 'query'>, blobs: BlobStore | undefined): Session => {
  const rows = async <Row>(statement: Statement<Row>): Promise<readonly Row[]> =>
    (await connection.query<z.ZodType<Row>>(statement)).rows;
  return {
    rows,
    row: async (statement) => (await rows(statement))[0],
    one: async (statement) => {
      const [row] = await rows(statement);
      if (row === undefined) throw new DatabaseDefectError(`statement ${statement.name} returned no row`, {});
      return row;
    },
    run: async (statement) => (await connection.query(statement)).rowCount ?? 0,
    blobs,
  };
};

/**
 * COMMIT of a transaction that a swallowed failure aborted answers ROLLBACK and no error, so the answer is checked.
 * An error that leaves a callback of slonik costs the connection, so failures leave it as values; only when the
 * connection does not even roll back may it go.
 */
const attemptOn = async <T>(
  connection: DatabasePoolConnection,
  blobs: BlobStore | undefined,
  work: (session: Session) => Promise<T>,
): Promise<Attempt<T>> => {
  await connection.query(BEGIN);
  try {
    const value = await work(sessionOn(connection, blobs));
    const { command } = await connection.query(COMMIT);
    if (String(command) === 'COMMIT') return { ok: true, value };
    throw new DatabaseDefectError('a failed statement was ignored, so the transaction was rolled back', {});
  } catch (error) {
    try {
      await connection.query(ROLLBACK);
    } catch {
      throw error;
    }
    return { ok: false, error };
  }
};

const attemptTransaction = async <T>(
  pool: DatabasePool,
  blobs: BlobStore | undefined,
  work: (session: Session) => Promise<T>,
): Promise<Attempt<T>> => {
  try {
    return await pool.connect((connection) => attemptOn(connection, blobs, work));
  } catch (error) {
    return { ok: false, error };
  }
};

const transactionIn = async <T>(
  pool: DatabasePool,
  blobs: BlobStore | undefined,
  work: (session: Session) => Promise<T>,
  log: (message: string) => void,
): Promise<T> => {
  for (let attempt = 1; ; attempt += 1) {
    const outcome = await attemptTransaction(pool, blobs, work);
    if (outcome.ok) return outcome.value;
    if (attempt === ATTEMPTS_MAX || classifyFailure(outcome.error) !== 'contention')
      throw translateFailure(outcome.error);
    log(`a transaction lost a race (${sqlstateOf(outcome.error)}) and runs again`);
    await delay(Math.random() * RETRY_DELAY_MS * 2 ** attempt);
  }
};

const openPool = async ({ url, poolMax }: DatabaseOptions): Promise<DatabasePool> => {
  try {
    return await createPool(withServerSettings(url, SESSION_SETTINGS), {
      maxPoolSize: poolMax,
      connectionTimeout: CONNECT_TIMEOUT_MS,
      connectionRetryLimit: 1,
      statementTimeout: STATEMENT_TIMEOUT_MS,
      idleInTransactionSessionTimeout: IDLE_IN_TRANSACTION_TIMEOUT_MS,
      gracefulTerminationTimeout: CLOSE_TIMEOUT_MS,
      idleTimeout: 'DISABLE_TIMEOUT',
      // The default forgets prepared statements after each use. Nothing here leaves state in a session.
      resetConnection: async () => undefined,
      // Retries belong to the transaction, with jitter.
      queryRetryLimit: 0,
      transactionRetryLimit: 0,
      typeParsers: columnTypes,
      interceptors: [rowInterceptor],
    });
  } catch (error) {
    throw translateFailure(error);
  }
};

/** Opens the pool. Errors: UNAVAILABLE. */
export async function openDatabase(options: DatabaseOptions): Promise<Database> {
  const log = options.log ?? (() => undefined);
  const pool = await openPool(options);
  // A second connection taken while holding one is how a pool deadlocks, so it is refused instead. What was started
  // inside and goes on after the end of the transaction is free again.
  const insideTransaction = new AsyncLocalStorage<{ isOpen: boolean }>();
  const refuseNesting = () => {
    if (insideTransaction.getStore()?.isOpen === true) {
      throw new DatabaseDefectError('a transaction is open here already: use its session', {});
    }
  };
  const onPool = sessionOn({ query: (statement) => pool.query(statement) }, options.blobs);
  const guarded = async <T>(query: () => Promise<T>): Promise<T> => {
    refuseNesting();
    try {
      return await query();
    } catch (error) {
      throw translateFailure(error);
    }
  };
  return {
    rows: (statement) => guarded(() => onPool.rows(statement)),
    row: (statement) => guarded(() => onPool.row(statement)),
    one: (statement) => guarded(() => onPool.one(statement)),
    run: (statement) => guarded(() => onPool.run(statement)),
    blobs: options.blobs,
    transaction: async (work) => {
      refuseNesting();
      const scope = { isOpen: true };
      try {
        return await insideTransaction.run(scope, () => transactionIn(pool, options.blobs, work, log));
      } finally {
        scope.isOpen = false;
      }
    },
    close: () => pool.end(),
  };
}
