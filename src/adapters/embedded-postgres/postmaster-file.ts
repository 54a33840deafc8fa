import { execFile } from 'node:child_process';
import { readFile, readlink, realpath, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Cluster, readIfPresent } from './cluster.ts';
import { errorCodeOf } from './embedded-postgres-error.ts';

/** What a server notes about itself in postmaster.pid. The port is missing for a moment while it starts. */
export type Postmaster = Readonly<{ pid: number; port: number | undefined }>;

const PID_LINE = 0;
const PORT_LINE = 3;

const filePath = (cluster: Cluster): string => join(cluster.dataDirectory, 'postmaster.pid');

/** Reads the server's note about itself; undefined where no server runs or the last one ended in order. */
export async function readPostmaster(cluster: Cluster): Promise<Postmaster | undefined> {
  const lines = (await readIfPresent(filePath(cluster)))?.split('\n');
  const pid = Number(lines?.[PID_LINE]);
  if (!Number.isInteger(pid) || pid === 0) return undefined;
  const port = Number(lines?.[PORT_LINE]);
  return { pid, port: Number.isInteger(port) && port > 0 ? port : undefined };
}

/** A server works inside its data directory, so the kernel knows whose it is, even after the folder was moved. */
const worksIn = async (pid: number, directory: string): Promise<boolean> => {
  try {
    return (await readlink(`/proc/${pid}/cwd`)) === (await realpath(directory));
  } catch (error) {
    // A process of another user keeps its folder to itself. Then PostgreSQL's own check decides.
    return ['EACCES', 'EPERM'].includes(errorCodeOf(error) ?? '');
  }
};

const isNamedPostgres = async (pid: number): Promise<boolean> => {
  try {
    const { stdout } = await promisify(execFile)('ps', ['-o', 'command=', '-p', String(pid)]);
    return stdout.includes('postgres');
  } catch (error) {
    // Without ps (Windows) nothing is known. Then PostgreSQL's own check decides.
    return errorCodeOf(error) === 'ENOENT';
  }
};

/**
 * Whether the process named in postmaster.pid is the server of this data. That the pid is alive proves nothing: it may
 * have been reused, or have ended without its parent having collected it.
 */
export const isServerOf = (cluster: Cluster, pid: number): Promise<boolean> =>
  process.platform === 'linux' ? worksIn(pid, cluster.dataDirectory) : isNamedPostgres(pid);

/**
 * Lets a new server start although postmaster.pid names a live process that is no PostgreSQL. The pid is replaced by
 * that of this process, since PostgreSQL ignores its own parent there, and the rest stays, since PostgreSQL finds
 * surviving backends of the old server by the shared memory key in it. Removing the file would remove that check.
 */
export async function disownPostmaster(cluster: Cluster): Promise<void> {
  const lines = (await readFile(filePath(cluster), 'utf8')).split('\n');
  lines[PID_LINE] = String(process.pid);
  await writeFile(filePath(cluster), lines.join('\n'));
}
