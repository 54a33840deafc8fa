import { createHash, randomUUID } from 'node:crypto';
import { mkdir, open, readdir, readFile, rename, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import type { Blob, BlobStore } from '../../ports/blob-store.ts';

const NAME = /^[0-9a-f]{64}$/;
/** A value that is being removed, and may yet turn out to be in use. */
const DROPPED = '.dropped';

const isMissing = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === 'ENOENT';

/** Undefined where there is no such file. */
const ifThere = async <T>(work: Promise<T>): Promise<T | undefined> => {
  try {
    return await work;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
};

const shardName = (shard: number): string => shard.toString(16).padStart(2, '0');

/**
 * Values as files of a folder, which several servers may share. A file appears whole or not at all, and is on the disk before
 * its name is told; its time of change says when it was put last.
 */
export const createBlobFiles = (folder: string): BlobStore => {
  const folderOf = (name: string): string => join(folder, name.slice(0, 2));
  const pathOf = (name: string): string => join(folderOf(name), name);

  const put = async ({ sha256: name, content }: Blob): Promise<void> => {
    const now = new Date();
    if ((await ifThere(utimes(pathOf(name), now, now).then(() => true))) === true) return;
    await mkdir(folderOf(name), { recursive: true });
    const draft = join(folder, `${name}.${randomUUID()}.draft`);
    const file = await open(draft, 'wx');
    try {
      await file.writeFile(content);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(draft, pathOf(name));
    await syncFolder(folderOf(name));
  };

  const read = async (name: string): Promise<string | undefined> => {
    const content =
      (await ifThere(readFile(pathOf(name), 'utf8'))) ?? (await ifThere(readFile(`${pathOf(name)}${DROPPED}`, 'utf8')));
    // A file that was damaged is as good as lost, and must not be taken for the value.
    const isWhole = content !== undefined && createHash('sha256').update(content).digest('hex') === name;
    return isWhole ? content : undefined;
  };

  const isIdle = async (path: string, forMs: number): Promise<boolean> => {
    const found = await ifThere(stat(path));
    return found !== undefined && Date.now() - found.mtimeMs >= forMs;
  };

  return {
    put: async (blobs) => {
      for (const blob of blobs) await put(blob);
    },
    get: async (names) => {
      const found = new Map<string, string>();
      for (const name of new Set(names)) {
        const content = await read(name);
        if (content !== undefined) found.set(name, content);
      }
      return found;
    },
    idle: async (shard, forMs) => {
      const shardFolder = join(folder, shardName(shard));
      const files = (await ifThere(readdir(shardFolder))) ?? [];
      // Whoever was removing it is gone, or about to find that it is not there.
      for (const file of files.filter((each) => each.endsWith(DROPPED))) {
        await ifThere(rename(join(shardFolder, file), join(shardFolder, file.slice(0, -DROPPED.length))));
      }
      const names: string[] = [];
      for (const file of files) if (NAME.test(file) && (await isIdle(pathOf(file), forMs))) names.push(file);
      return names;
    },
    remove: async (name, idleMs) => {
      const dropped = `${pathOf(name)}${DROPPED}`;
      // Out of the way first: from now on who puts it writes it anew, and who did so before has left a fresh time on it.
      if ((await ifThere(rename(pathOf(name), dropped).then(() => true))) !== true) return false;
      if (!(await isIdle(dropped, idleMs))) {
        await ifThere(rename(dropped, pathOf(name)));
        return false;
      }
      await rm(dropped, { force: true });
      return true;
    },
  };
};

/** A name is on the disk once its folder is. */
const syncFolder = async (path: string): Promise<void> => {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
};
