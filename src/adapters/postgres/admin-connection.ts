import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { withServerSettings } from './connection-url.ts';
import { classifyFailure, translateFailure } from './sqlstate.ts';

const CONNECT_TIMEOUT_MS = 5_000;
const LOCK_TIMEOUT_MS = 2_000;
const LOCK_ATTEMPTS_MAX = 60;
const RETRY_DELAY_MS = 200;

/** Runs work on a plain connection of its own. Errors: UNAVAILABLE, DATABASE_DEFECT, and what `work` throws. */
export const withConnection = async <T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> => {
  const client = new pg.Client({
    connectionString: withServerSettings(url, { timezone: 'UTC', lock_timeout: String(LOCK_TIMEOUT_MS) }),
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  });
  // A connection that breaks between two statements would end the process; the next statement reports it instead.
  client.on('error', () => undefined);
  try {
    await client.connect();
    return await work(client);
  } catch (error) {
    throw translateFailure(error);
  } finally {
    await client.end().catch(() => undefined);
  }
};

/**
 * Runs work in a transaction. A lock that is not to be had soon is let go and tried for again, so that the traffic behind
 * us in its line goes on.
 */
export const inTransaction = async <T>(client: pg.Client, work: () => Promise<T>): Promise<T> => {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await client.query('begin');
      const value = await work();
      await client.query('commit');
      return value;
    } catch (error) {
      await client.query('rollback').catch(() => undefined);
      if (attempt === LOCK_ATTEMPTS_MAX || classifyFailure(error) !== 'contention') throw error;
      await delay(RETRY_DELAY_MS * (0.5 + Math.random()));
    }
  }
};
