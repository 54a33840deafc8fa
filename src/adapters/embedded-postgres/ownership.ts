import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from 'pg';
import { EmbeddedPostgresError } from './embedded-postgres-error.ts';
import { type Address, clientFor } from './probe.ts';

/** The right to stop the server, and the connection that keeps it. */
export type Ownership = Readonly<{
  /** Resolves when the connection is gone, which is the first sign that the server is. */
  lost: Promise<void>;
}>;

const LOCK_KEY = 7_366_640;
const RETRY_MS = 50;
// The session of an owner that was killed a moment ago takes a little to end.
const RETRY_MS_MAX = 2_000;
const APPLICATION_NAME = 'rondo owner';

const tryLock = async (client: Client): Promise<boolean> => {
  const { rows } = await client.query<{ locked: boolean }>('select pg_try_advisory_lock($1) as locked', [LOCK_KEY]);
  return rows[0]?.locked === true;
};

const ownerName = async (client: Client): Promise<string> => {
  const { rows } = await client.query<{ name: string }>(
    `select a.application_name as name from pg_locks l join pg_stat_activity a using (pid)
      where l.locktype = 'advisory' and l.objid = $1 and l.granted`,
    [LOCK_KEY],
  );
  return rows[0]?.name.replace(APPLICATION_NAME, 'pid').trim() ?? 'pid unknown';
};

const lockOrRefuse = async (client: Client, home: string): Promise<void> => {
  const deadlineMs = performance.now() + RETRY_MS_MAX;
  while (!(await tryLock(client))) {
    if (performance.now() > deadlineMs) {
      throw new EmbeddedPostgresError(
        'HOME_IN_USE',
        `Another Rondo (${await ownerName(client)}) runs on ${home}. Stop it, or set RONDO_HOME to another folder.`,
      );
    }
    await delay(RETRY_MS);
  }
};

/**
 * Becomes the one process that may stop the server of a home. The right is a lock in the server itself, held by a
 * session, so it ends with this process however that ends.
 * Errors: HOME_IN_USE.
 */
export async function takeOwnership(address: Address, home: string): Promise<Ownership> {
  // The type of pg leaves out unref. Without it the lock alone would keep a finished process alive.
  const client = clientFor(address, `${APPLICATION_NAME} ${process.pid}`) as Client & { unref(): void };
  client.on('error', () => undefined);
  const lost = new Promise<void>((resolve) => client.once('end', () => resolve()));
  await client.connect();
  try {
    await lockOrRefuse(client, home);
  } catch (error) {
    await client.end();
    throw error;
  }
  client.unref();
  return { lost };
}
