import { execFile } from 'node:child_process';
import { cp, lstat, readFile, rename, rm, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join, relative } from 'node:path';
import { promisify } from 'node:util';
import { EmbeddedPostgresError, errorCodeOf, fileSystemError } from './embedded-postgres-error.ts';
import { canReach, giveTreeTo, type ServerUser, spawnIdentity } from './server-user.ts';

/** A set of PostgreSQL programs that can be run. */
export type Binaries = Readonly<{ directory: string; major: number }>;

type SharedLibraryLink = Readonly<{ source: string; target: string }>;

/** The path of one of the programs. */
export const programPath = (binaries: Binaries, name: 'initdb' | 'pg_ctl' | 'postgres'): string =>
  join(binaries.directory, process.platform === 'win32' ? `${name}.exe` : name);

const packageName = (): string => {
  const os = process.platform === 'win32' ? 'windows' : process.platform;
  return `@embedded-postgres/${os}-${process.arch}`;
};

/** The folder of the installed package that holds bin, lib and share. */
const findNative = (): string => {
  try {
    return join(dirname(createRequire(import.meta.url).resolve(packageName())), '..', 'native');
  } catch (error) {
    throw new EmbeddedPostgresError(
      'PLATFORM_UNSUPPORTED',
      `No PostgreSQL comes with Rondo for ${process.platform}-${process.arch} (${packageName()} is not installed). Set DATABASE_URL to a PostgreSQL 15 or newer.`,
      { cause: error },
    );
  }
};

const readLinks = async (native: string): Promise<readonly SharedLibraryLink[]> => {
  try {
    return JSON.parse(await readFile(join(native, 'pg-symlinks.json'), 'utf8'));
  } catch (error) {
    if (errorCodeOf(error) === 'ENOENT') return [];
    throw error;
  }
};

const exists = async (path: string): Promise<boolean> => {
  try {
    await lstat(path);
    return true;
  } catch (error) {
    if (errorCodeOf(error) === 'ENOENT') return false;
    throw error;
  }
};

/**
 * Makes the links between shared libraries that a package cannot carry. The package would make them in an install
 * script, but Rondo installs without scripts.
 */
const linkSharedLibraries = async (native: string): Promise<void> => {
  for (const { source, target } of await readLinks(native)) {
    const path = join(native, relative('native', target));
    if (await exists(path)) continue;
    try {
      await symlink(basename(source), path);
    } catch (error) {
      // Two processes may start at once, and either may make the link.
      if (errorCodeOf(error) !== 'EEXIST') throw error;
    }
  }
};

/** The copy carries the version in its name, so that an upgrade of the package makes a new one. */
const copyNative = async (native: string, user: ServerUser, cache: string): Promise<string> => {
  const { version } = JSON.parse(await readFile(join(native, '..', 'package.json'), 'utf8'));
  const copy = join(cache, `native-${version}`);
  if (await exists(copy)) return copy;
  const unfinished = `${copy}.${process.pid}`;
  try {
    await cp(native, unfinished, { recursive: true, verbatimSymlinks: true });
    await linkSharedLibraries(unfinished);
    await giveTreeTo(user, unfinished);
    await rename(unfinished, copy);
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true });
    if (!(await exists(copy))) throw fileSystemError(error, copy);
  }
  return copy;
};

/** Prepares the programs where npm put them, or in a copy where this folder is closed to writing or to the server's user. */
const prepareNative = async (user: ServerUser, cache: string): Promise<string> => {
  const native = findNative();
  if (!(await canReach(user, native))) return copyNative(native, user, cache);
  try {
    await linkSharedLibraries(native);
    return native;
  } catch (error) {
    if (!['EACCES', 'EPERM', 'EROFS'].includes(errorCodeOf(error) ?? '')) throw fileSystemError(error, native);
    return copyNative(native, user, cache);
  }
};

const readMajor = async (directory: string, user: ServerUser): Promise<number> => {
  try {
    const { stdout } = await promisify(execFile)(programPath({ directory, major: 0 }, 'postgres'), ['--version'], {
      cwd: directory,
      ...spawnIdentity(user),
    });
    const [, major] = /PostgreSQL\) (\d+)/.exec(stdout) ?? [];
    return Number(major);
  } catch (error) {
    const [reason] = String(error instanceof Error ? error.message : error)
      .split('\n')
      .slice(-1);
    throw new EmbeddedPostgresError(
      'BINARIES_UNUSABLE',
      `The PostgreSQL in ${directory} does not run on this system (${reason}). Set DATABASE_URL to a PostgreSQL 15 or newer.`,
      { cause: error },
    );
  }
};

/**
 * Finds the PostgreSQL programs and makes them ready to run.
 * @param source `bundled` for the ones that come with Rondo, or the folder of others
 * @param cache an existing folder for a copy of the bundled ones, where one is needed
 * Errors: PLATFORM_UNSUPPORTED, BINARIES_UNUSABLE, NO_PERMISSION, DISK_FULL.
 */
export async function prepareBinaries(source: string, user: ServerUser, cache: string): Promise<Binaries> {
  const directory = source === 'bundled' ? join(await prepareNative(user, cache), 'bin') : source;
  return { directory, major: await readMajor(directory, user) };
}
