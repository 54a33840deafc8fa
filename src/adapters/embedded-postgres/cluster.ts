import { randomBytes } from 'node:crypto';
import { link, lstat, mkdir, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { EmbeddedPostgresError, errorCodeOf, fileSystemError } from './embedded-postgres-error.ts';
import { canReach, chooseServerUser, giveTo, type ServerUser } from './server-user.ts';

/** Where one server keeps everything: the data, the password, the port and the log. */
export type Cluster = Readonly<{
  directory: string;
  dataDirectory: string;
  passwordFile: string;
  portFile: string;
  logFile: string;
  user: ServerUser;
}>;

const PASSWORD_BYTES = 24;
const RELOCATED_PARENT = '/var/tmp';

const clusterIn = async (directory: string): Promise<Cluster> => {
  const dataDirectory = join(directory, 'data');
  return {
    directory,
    dataDirectory,
    passwordFile: join(directory, 'password'),
    portFile: join(directory, 'port'),
    logFile: join(directory, 'server.log'),
    user: await chooseServerUser(dataDirectory),
  };
};

/** Reads a small file; undefined if there is none. */
export const readIfPresent = async (path: string): Promise<string | undefined> => {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (errorCodeOf(error) === 'ENOENT') return undefined;
    throw fileSystemError(error, path);
  }
};

/** Writes a private file unless it exists, whole or not at all, and returns what it holds in the end. */
const writeOnce = async (path: string, content: string, user: ServerUser): Promise<string> => {
  const draft = `${path}.${process.pid}`;
  await writeFile(draft, content, { mode: 0o600 });
  await giveTo(user, draft);
  try {
    await link(draft, path);
  } catch (error) {
    if (errorCodeOf(error) !== 'EEXIST') throw error;
  } finally {
    await rm(draft, { force: true });
  }
  return readFile(path, 'utf8');
};

/** A folder in a place open to all must not be one that somebody else put there. */
const refuseForeignFolder = async ({ directory, user }: Cluster): Promise<void> => {
  const found = await lstat(directory);
  const trusted = user === 'self' || found.uid === 0 || found.uid === user.uid;
  if (found.isDirectory() && trusted) return;
  throw new EmbeddedPostgresError(
    'NO_PERMISSION',
    `${directory} belongs to another user. Remove it, or set RONDO_HOME to a folder that every user can enter.`,
  );
};

/**
 * The place of the data for a home that the server's user cannot enter, such as one under /root. The choice is noted
 * in the home, so that removing the home starts an empty database, and its name cannot be guessed by others.
 */
const relocatedCluster = async (base: string, log: (message: string) => void): Promise<Cluster> => {
  await mkdir(base, { recursive: true, mode: 0o700 });
  const proposal = join(RELOCATED_PARENT, `rondo-${randomBytes(8).toString('hex')}`);
  const directory = (await writeOnce(join(base, 'location'), `${proposal}\n`, 'self')).trim();
  log(`PostgreSQL may not run as root and its user cannot enter ${base}: its data is in ${directory}`);
  return clusterIn(directory);
};

/**
 * Chooses the folders for a home and makes them. Usually everything is in `<home>/postgres`.
 * Errors: NO_PERMISSION, DISK_FULL.
 */
export async function openCluster(home: string, log: (message: string) => void): Promise<Cluster> {
  const base = join(home, 'postgres');
  try {
    await mkdir(home, { recursive: true });
    const near = await clusterIn(join(await realpath(home), 'postgres'));
    const cluster = (await canReach(near.user, await realpath(home))) ? near : await relocatedCluster(base, log);
    await mkdir(cluster.directory, { recursive: true, mode: 0o700 });
    if (cluster !== near) await refuseForeignFolder(cluster);
    await giveTo(cluster.user, cluster.directory);
    return cluster;
  } catch (error) {
    throw fileSystemError(error, base);
  }
}

/** The password of the server's only user, made on first use and readable by the owner alone. */
export async function ensurePassword(cluster: Cluster): Promise<string> {
  const { passwordFile, user } = cluster;
  try {
    const present = await readIfPresent(passwordFile);
    return present ?? (await writeOnce(passwordFile, randomBytes(PASSWORD_BYTES).toString('base64url'), user));
  } catch (error) {
    throw fileSystemError(error, passwordFile);
  }
}
