import { setTimeout as delay } from 'node:timers/promises';
import type { Binaries } from './binaries.ts';
import type { Cluster } from './cluster.ts';
import { EmbeddedPostgresError } from './embedded-postgres-error.ts';
import { choosePort, rememberPort } from './port.ts';
import { disownPostmaster, isServerOf, readPostmaster } from './postmaster-file.ts';
import { type Address, MAINTENANCE_DATABASE } from './probe.ts';
import { launchServer, passwordMismatch, settleProbe, stopServer } from './server-process.ts';

/** All that a start needs to know. */
export type ServerContext = Readonly<{
  cluster: Cluster;
  binaries: Binaries;
  password: string;
  durable: boolean;
  log: (message: string) => void;
}>;

/** A server that answers queries, and whether it was running before. */
export type RunningServer = Readonly<{ port: number; reused: boolean }>;

const RETRY_MS = 100;
const RETRY_MS_MAX = 10_000;
const PORTS_MAX = 5;
// What passes by itself: backends that outlive a killed server for a moment, and a second process that starts at once.
const PASSING_CODES = ['SHARED_MEMORY_IN_USE', 'DATA_DIRECTORY_IN_USE'];

/** The address of the database that every server has, for work on the server itself. */
export const maintenanceAddress = ({ password }: ServerContext, port: number): Address => ({
  port,
  password,
  database: MAINTENANCE_DATABASE,
});

/** Finds a server that already has this data, such as one that outlived the process that started it. */
const findRunning = async (context: ServerContext): Promise<RunningServer | undefined> => {
  const { cluster, binaries, durable, log } = context;
  const postmaster = await readPostmaster(cluster);
  if (postmaster === undefined) return undefined;
  const { pid, port } = postmaster;
  if (!(await isServerOf(cluster, pid))) {
    await disownPostmaster(cluster);
    return undefined;
  }
  if (port === undefined) return undefined;
  const hasEnded = async () => !(await isServerOf(cluster, pid));
  const result = await settleProbe(cluster, maintenanceAddress(context, port), hasEnded, log);
  if (result === 'unauthorized') throw passwordMismatch(cluster);
  if (result === 'up' || (result === 'upWithoutFsync' && !durable)) return { port, reused: true };
  if (result === 'upWithoutFsync') await stopServer(cluster, binaries);
  return undefined;
};

const startNew = async (context: ServerContext, fixedPort: number | 'any'): Promise<RunningServer> => {
  const { cluster, binaries, durable, log } = context;
  const port = fixedPort === 'any' ? await choosePort(cluster, log) : fixedPort;
  await launchServer(cluster, binaries, durable, maintenanceAddress(context, port), log);
  await rememberPort(cluster, port);
  return { port, reused: false };
};

/**
 * Makes sure that a server runs on the data: the one that runs already, or a new one.
 * @param fixedPort the port that clients already know, or `any`
 * Errors: every code of a start.
 */
export async function ensureServer(context: ServerContext, fixedPort: number | 'any'): Promise<RunningServer> {
  const deadlineMs = performance.now() + RETRY_MS_MAX;
  for (let portsTried = 0; ; ) {
    try {
      return (await findRunning(context)) ?? (await startNew(context, fixedPort));
    } catch (error) {
      if (!(error instanceof EmbeddedPostgresError)) throw error;
      const takenByOther = error.code === 'PORT_UNAVAILABLE' && fixedPort === 'any';
      if (takenByOther) portsTried += 1;
      const passing = PASSING_CODES.includes(error.code) && performance.now() < deadlineMs;
      if (!passing && !(takenByOther && portsTried < PORTS_MAX)) throw error;
      await delay(RETRY_MS);
    }
  }
}
