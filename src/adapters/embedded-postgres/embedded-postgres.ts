import { resolve } from 'node:path';
import { DATABASE, ensureDatabase } from './application-database.ts';
import { prepareBinaries } from './binaries.ts';
import { ensurePassword, openCluster } from './cluster.ts';
import { ensureDataDirectory } from './data-directory.ts';
import { ensureServer, maintenanceAddress } from './ensure-server.ts';
import { takeOwnership } from './ownership.ts';
import { addressUrl } from './probe.ts';
import { Supervisor } from './supervisor.ts';

export type EmbeddedPostgresOptions = Readonly<{
  /** The folder that holds everything, usually `.rondo`. It is made if it is missing. */
  home: string;
  /** False only for tests: a crash of the machine may then lose or damage data. */
  durable: boolean;
  /** The folder of the PostgreSQL programs, or `bundled` for those that come with Rondo. */
  binaries: string;
  log: (message: string) => void;
}>;

export type EmbeddedPostgres = Readonly<{
  /** Connection string, with the password, of the database `rondo`. It stays valid when the server is restarted. */
  url: string;
  port: number;
  /** The folder of the data directory, the password and the log. */
  directory: string;
  /** Whether the server outlived an earlier process and goes on serving. */
  reused: boolean;
  /** Stops the server; to be called after the clients have drained. Repeated calls return the same promise. */
  stop: () => Promise<void>;
}>;

/**
 * Starts a PostgreSQL that needs no setup, or goes on with the one that a killed process left running. It listens on
 * 127.0.0.1 only and demands a password that is kept, mode 0600, beside the data. If the server dies, it is started
 * again on the same port. Ctrl-C does not reach it: it runs until `stop`.
 *
 * Everything is in `<home>/postgres`. As root the server runs as an unprivileged user; if this user cannot enter the
 * home, the data is in a folder of its own under /var/tmp, which `<home>/postgres/location` names.
 *
 * One process at a time owns a home: a second one is refused.
 *
 * Errors: EmbeddedPostgresError, whose code names the cause and whose message says in one line what to do.
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const { durable, log } = options;
  const home = resolve(options.home);
  const cluster = await openCluster(home, log);
  const binaries = await prepareBinaries(options.binaries, cluster.user, cluster.directory);
  const password = await ensurePassword(cluster);
  await ensureDataDirectory(cluster, binaries, durable);
  const context = { cluster, binaries, password, durable, log };
  const { port, reused } = await ensureServer(context, 'any');
  const maintenance = maintenanceAddress(context, port);
  const ownership = await takeOwnership(maintenance, home);
  await ensureDatabase(maintenance);
  const supervisor = new Supervisor(context, home, port, ownership);
  return {
    url: addressUrl({ port, password, database: DATABASE }),
    port,
    directory: cluster.directory,
    reused,
    stop: () => supervisor.stop(),
  };
}
