import { spawn } from 'node:child_process';
import { open, rename, stat } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { type Binaries, programPath } from './binaries.ts';
import { type Cluster, readIfPresent } from './cluster.ts';
import { EmbeddedPostgresError, errorCodeOf, fileSystemError, serverOutputError } from './embedded-postgres-error.ts';
import { readPostmaster } from './postmaster-file.ts';
import { type Address, type ProbeResult, probe } from './probe.ts';
import { runProgram, serverEnvironment } from './run-program.ts';
import { spawnIdentity } from './server-user.ts';
import { settingArguments } from './settings.ts';

const LOG_BYTES_MAX = 16 * 1024 * 1024;
const POLL_MS = 20;
const SILENT_START_MS_MAX = 60_000;
const RECOVERY_MS_MAX = 30 * 60_000;
const RECOVERY_NOTICE_MS = 10_000;
const STOP_SECONDS_MAX = 60;

type Launched = Readonly<{ hasEnded: () => Promise<boolean>; logStart: number }>;

const sizeOf = async (path: string): Promise<number> => {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if (errorCodeOf(error) === 'ENOENT') return 0;
    throw fileSystemError(error, path);
  }
};

/** Opens the log for appending. An old one that has grown large is kept once, under another name. */
const openLog = async ({ logFile }: Cluster) => {
  try {
    if ((await sizeOf(logFile)) > LOG_BYTES_MAX) await rename(logFile, `${logFile}.1`);
    return await open(logFile, 'a', 0o600);
  } catch (error) {
    throw fileSystemError(error, logFile);
  }
};

const launch = async (cluster: Cluster, binaries: Binaries, durable: boolean, port: number): Promise<Launched> => {
  const log = await openLog(cluster);
  try {
    const { size } = await log.stat();
    const child = spawn(
      programPath(binaries, 'postgres'),
      ['-D', cluster.dataDirectory, ...settingArguments(durable, port)],
      {
        cwd: cluster.directory,
        env: serverEnvironment(),
        stdio: ['ignore', log.fd, log.fd],
        // A process group of its own: Ctrl-C must not stop the database before the application has drained.
        detached: true,
        ...spawnIdentity(cluster.user),
      },
    );
    let ended = false;
    const markEnded = () => {
      ended = true;
    };
    child.once('exit', markEnded);
    child.once('error', markEnded);
    child.unref();
    return { hasEnded: async () => ended, logStart: size };
  } finally {
    await log.close();
  }
};

const startFailure = async (cluster: Cluster, { logStart }: Launched): Promise<EmbeddedPostgresError> => {
  const log = Buffer.from((await readIfPresent(cluster.logFile)) ?? '');
  return serverOutputError(log.subarray(logStart).toString(), `PostgreSQL did not start (see ${cluster.logFile})`);
};

/** The error for a password file that is not the one with which the data was made. */
export const passwordMismatch = ({ passwordFile, dataDirectory }: Cluster): EmbeddedPostgresError =>
  new EmbeddedPostgresError(
    'PASSWORD_MISMATCH',
    `The password in ${passwordFile} is not that of the data in ${dataDirectory}. Restore the file, or move the data away to start empty.`,
  );

/**
 * Waits while a server gets ready, ends or recovers.
 * @param hasEnded says that the process is known to be gone, so that waiting is pointless
 * @returns the last answer: not `notReady`, and `refused` only if nothing came up in time
 */
export async function settleProbe(
  cluster: Cluster,
  address: Address,
  hasEnded: () => Promise<boolean>,
  log: (message: string) => void,
): Promise<ProbeResult> {
  const startedMs = performance.now();
  let noticedMs = startedMs;
  for (;;) {
    const result = await probe(cluster, address);
    const nowMs = performance.now();
    const waitMsMax = result === 'notReady' ? RECOVERY_MS_MAX : SILENT_START_MS_MAX;
    if (result !== 'notReady' && result !== 'refused') return result;
    if (nowMs - startedMs > waitMsMax || (await hasEnded())) return result;
    if (nowMs - noticedMs > RECOVERY_NOTICE_MS) {
      noticedMs = nowMs;
      log('PostgreSQL is not ready yet: it recovers after a crash, or ends');
    }
    await delay(POLL_MS);
  }
}

const unusable = (cluster: Cluster, { port }: Address, result: ProbeResult): EmbeddedPostgresError => {
  if (result === 'unauthorized') return passwordMismatch(cluster);
  if (result === 'foreign') {
    return new EmbeddedPostgresError('PORT_UNAVAILABLE', `Another server answers on port ${port}.`);
  }
  return new EmbeddedPostgresError(
    'START_FAILED',
    `PostgreSQL ran but did not answer on port ${port}; see ${cluster.logFile}.`,
  );
};

/**
 * Starts a server and waits until it answers queries.
 * Errors: those of a server that gave up, by its own words; START_FAILED, PORT_UNAVAILABLE, PASSWORD_MISMATCH.
 */
export async function launchServer(
  cluster: Cluster,
  binaries: Binaries,
  durable: boolean,
  address: Address,
  log: (message: string) => void,
): Promise<void> {
  const launched = await launch(cluster, binaries, durable, address.port);
  const result = await settleProbe(cluster, address, launched.hasEnded, log);
  if (result === 'up' || result === 'upWithoutFsync') return;
  if (await launched.hasEnded()) throw await startFailure(cluster, launched);
  await stopServer(cluster, binaries);
  throw unusable(cluster, address, result);
}

/**
 * Stops the server in order: open transactions are rolled back and the data is flushed. Where that takes too long, it
 * is ended at once and recovers at the next start. Nothing happens where none runs.
 * Errors: STOP_FAILED.
 */
export async function stopServer(cluster: Cluster, binaries: Binaries): Promise<void> {
  let said = '';
  for (const mode of ['fast', 'immediate']) {
    if ((await readPostmaster(cluster)) === undefined) return;
    const stop = ['stop', '-D', cluster.dataDirectory, '-m', mode, '-w', '-t', String(STOP_SECONDS_MAX)];
    const { exitCode, output } = await runProgram(cluster, programPath(binaries, 'pg_ctl'), stop);
    if (exitCode === 0 || /no such process|is not running|does not exist/i.test(output)) return;
    said = output.trim().split('\n').at(-1) ?? '';
  }
  throw new EmbeddedPostgresError('STOP_FAILED', `PostgreSQL in ${cluster.directory} did not stop: ${said}`);
}
