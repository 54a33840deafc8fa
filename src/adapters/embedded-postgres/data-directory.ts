import { randomUUID } from 'node:crypto';
import { open, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type Binaries, programPath } from './binaries.ts';
import { type Cluster, readIfPresent } from './cluster.ts';
import { EmbeddedPostgresError, errorCodeOf, fileSystemError, serverOutputError } from './embedded-postgres-error.ts';
import { runProgram } from './run-program.ts';

/** The role that owns everything in the embedded server. */
export const ROLE = 'rondo';

const BUILTIN_LOCALE_MAJOR_MIN = 17;
const ABANDONED_MS = 60 * 60_000;
const UNFINISHED_PREFIX = 'data.new-';

/** The built-in locale sorts and compares the same on every system, whatever the system's own locales are. */
const localeArguments = (major: number): readonly string[] =>
  major >= BUILTIN_LOCALE_MAJOR_MIN
    ? ['--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--locale=C']
    : ['--locale=C.UTF-8'];

const entriesOf = async (directory: string): Promise<readonly string[]> => {
  try {
    return await readdir(directory);
  } catch (error) {
    if (errorCodeOf(error) === 'ENOENT') return [];
    throw fileSystemError(error, directory);
  }
};

/** Whether the data directory is there and fits the programs; false where there is none yet. */
const checkDataDirectory = async ({ dataDirectory }: Cluster, { major }: Binaries): Promise<boolean> => {
  const found = (await readIfPresent(join(dataDirectory, 'PG_VERSION')))?.trim();
  if (found === String(major)) return true;
  if (found !== undefined) {
    throw new EmbeddedPostgresError(
      'DATA_DIRECTORY_VERSION',
      `${dataDirectory} was made by PostgreSQL ${found}, this is PostgreSQL ${major}. Use the Rondo that made it to export the data, or move the folder away to start empty.`,
    );
  }
  if ((await entriesOf(dataDirectory)).length === 0) return false;
  throw new EmbeddedPostgresError(
    'DATA_DIRECTORY_CORRUPT',
    `${dataDirectory} is not a PostgreSQL data directory (it has no PG_VERSION). Restore a backup, or move the folder away to start empty.`,
  );
};

/** Removes what a killed first start left behind. A start that is under way is younger. */
const removeAbandoned = async ({ directory }: Cluster): Promise<void> => {
  const unfinished = (await entriesOf(directory)).filter((name) => name.startsWith(UNFINISHED_PREFIX));
  for (const name of unfinished) {
    const path = join(directory, name);
    if (Date.now() - (await stat(path)).mtimeMs > ABANDONED_MS) await rm(path, { recursive: true, force: true });
  }
};

const syncFolder = async (path: string): Promise<void> => {
  if (process.platform === 'win32') return;
  const handle = await open(path, 'r');
  await handle.sync();
  await handle.close();
};

/** Gives the finished data directory its name. Of two processes that start at once, one wins and the other uses its data. */
const publish = async (unfinished: string, cluster: Cluster): Promise<void> => {
  try {
    await rename(unfinished, cluster.dataDirectory);
    await syncFolder(cluster.directory);
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true });
    if (!['ENOTEMPTY', 'EEXIST'].includes(errorCodeOf(error) ?? '')) throw fileSystemError(error, unfinished);
  }
};

/**
 * Makes the data directory on first use. It is built under another name and renamed when it is whole, so a process
 * killed half-way never leaves a directory that looks finished.
 * Errors: DATA_DIRECTORY_VERSION, DATA_DIRECTORY_CORRUPT, NO_PERMISSION, DISK_FULL, START_FAILED.
 */
export async function ensureDataDirectory(cluster: Cluster, binaries: Binaries, durable: boolean): Promise<void> {
  if (await checkDataDirectory(cluster, binaries)) return;
  await removeAbandoned(cluster);
  const unfinished = join(cluster.directory, `${UNFINISHED_PREFIX}${randomUUID()}`);
  const { exitCode, output } = await runProgram(cluster, programPath(binaries, 'initdb'), [
    `--pgdata=${unfinished}`,
    `--username=${ROLE}`,
    `--pwfile=${cluster.passwordFile}`,
    '--auth=scram-sha-256',
    '--encoding=UTF8',
    '--no-instructions',
    ...localeArguments(binaries.major),
    ...(durable ? [] : ['--no-sync']),
  ]);
  if (exitCode !== 0) {
    await rm(unfinished, { recursive: true, force: true });
    throw serverOutputError(output, `PostgreSQL could not make its data directory in ${cluster.directory}`);
  }
  await publish(unfinished, cluster);
}
