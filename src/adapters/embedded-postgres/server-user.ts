import { chown, readdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { errorCodeOf } from './embedded-postgres-error.ts';

/** The user that runs the server where it is not the user of this process. PostgreSQL refuses to run as root. */
export type ServerUser = Readonly<{ uid: number; gid: number }> | 'self';

const NOBODY: ServerUser = { uid: 65_534, gid: 65_534 };

/**
 * Chooses who runs the server. As root, data that an ordinary user made keeps its owner, so that this user can go on
 * with it later; new data belongs to nobody.
 */
export async function chooseServerUser(dataDirectory: string): Promise<ServerUser> {
  if (process.getuid?.() !== 0) return 'self';
  try {
    const { uid, gid } = await stat(dataDirectory);
    return uid === 0 ? NOBODY : { uid, gid };
  } catch (error) {
    if (errorCodeOf(error) === 'ENOENT') return NOBODY;
    throw error;
  }
}

/** The part of spawn's options that makes a process run as the given user. */
export const spawnIdentity = (user: ServerUser): { uid?: number; gid?: number } => (user === 'self' ? {} : user);

/** Gives one file or folder to the user who runs the server. */
export async function giveTo(user: ServerUser, path: string): Promise<void> {
  if (user !== 'self') await chown(path, user.uid, user.gid);
}

/** Gives a folder and all below it to the user who runs the server. */
export async function giveTreeTo(user: ServerUser, path: string): Promise<void> {
  if (user === 'self') return;
  await giveTo(user, path);
  for (const entry of await readdir(path, { withFileTypes: true, recursive: true })) {
    if (!entry.isSymbolicLink()) await giveTo(user, join(entry.parentPath, entry.name));
  }
}

/** The nearest folder at or above a path that exists. */
async function nearestExisting(path: string): Promise<string> {
  try {
    await stat(path);
    return path;
  } catch (error) {
    if (errorCodeOf(error) !== 'ENOENT') throw error;
    return nearestExisting(dirname(path));
  }
}

/** Whether the user who runs the server can enter every folder down to the path, as far as it exists. */
export async function canReach(user: ServerUser, path: string): Promise<boolean> {
  if (user === 'self') return true;
  let folder = await nearestExisting(path);
  for (;;) {
    const { mode, uid, gid } = await stat(folder);
    const executeBit = uid === user.uid ? 0o100 : gid === user.gid ? 0o010 : 0o001;
    if ((mode & executeBit) === 0) return false;
    if (folder === dirname(folder)) return true;
    folder = dirname(folder);
  }
}
