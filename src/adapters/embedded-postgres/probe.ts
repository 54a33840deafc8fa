import { realpath } from 'node:fs/promises';
import { Client } from 'pg';
import type { Cluster } from './cluster.ts';
import { ROLE } from './data-directory.ts';
import { errorCodeOf } from './embedded-postgres-error.ts';

/**
 * What answers on a port: our server, our server before it is ready, a server with another
 * password, nothing, or somebody else.
 */
export type ProbeResult = 'up' | 'upWithoutFsync' | 'notReady' | 'unauthorized' | 'refused' | 'foreign';

/** How to reach a server of ours. */
export type Address = Readonly<{ port: number; password: string; database: string }>;

/** A database that every server has. */
export const MAINTENANCE_DATABASE = 'postgres';

const CONNECT_TIMEOUT_MS = 3_000;
// Starting, recovering or shutting down; just ended by a crash; all connections in use.
const NOT_READY_CODES = ['57P03', '57P01', '57P02', '53300', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT'];

/** A connection string for clients. */
export const addressUrl = ({ port, password, database }: Address): string =>
  `postgres://${ROLE}:${password}@127.0.0.1:${port}/${database}`;

/** A client that is not connected yet. */
export const clientFor = (address: Address, applicationName: string): Client =>
  new Client({
    connectionString: addressUrl(address),
    application_name: applicationName,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
  });

const classify = (error: unknown): ProbeResult => {
  const code = errorCodeOf(error);
  if (code === 'ECONNREFUSED') return 'refused';
  if (code === '28P01') return 'unauthorized';
  const dropped = error instanceof Error && /terminated|timeout/i.test(error.message);
  return dropped || NOT_READY_CODES.includes(code ?? '') ? 'notReady' : 'foreign';
};

/**
 * Connects and asks which data the server has: a port, like a process id, may have passed to another program, and a
 * copied home carries the password of the original.
 */
export async function probe(cluster: Cluster, address: Address): Promise<ProbeResult> {
  const client = clientFor(address, 'rondo probe');
  client.on('error', () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<{ directory: string; fsync: string }>(
      `select current_setting('data_directory') as directory, current_setting('fsync') as fsync`,
    );
    const [server] = rows;
    if (server === undefined || (await realpath(server.directory)) !== (await realpath(cluster.dataDirectory)))
      return 'foreign';
    return server.fsync === 'on' ? 'up' : 'upWithoutFsync';
  } catch (error) {
    return classify(error);
  } finally {
    await client.end().catch(() => undefined);
  }
}
