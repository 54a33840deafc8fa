import { createHash } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { readdir, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { createBlobFiles } from '../../../src/adapters/files/blob-files.ts';

const folders: string[] = [];
afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true });
});

const HOUR_MS = 3_600_000;

const given = () => {
  const folder = mkdtempSync(join(tmpdir(), 'rondo-blob-files-'));
  folders.push(folder);
  const blob = (content: string) => ({ sha256: createHash('sha256').update(content).digest('hex'), content });
  const pathOf = (name: string) => join(folder, name.slice(0, 2), name);
  return {
    store: createBlobFiles(folder),
    blob,
    pathOf,
    shardOf: (name: string) => Number.parseInt(name.slice(0, 2), 16),
    grow: async (path: string, ms: number) => {
      const then = new Date(Date.now() - ms);
      await utimes(path, then, then);
    },
    files: async () =>
      (await readdir(folder, { recursive: true, withFileTypes: true })).filter((each) => each.isFile()),
  };
};

describe('values as files', () => {
  it('are there once they were put, whole and under their name, and leave no draft', async () => {
    const { store, blob, files } = given();
    const [a, b] = [blob('{"a":"€"}'), blob('[]')];
    await store.put([a, b, a]);
    expect(await store.get([a.sha256, b.sha256, blob('none').sha256])).toEqual(
      new Map([
        [a.sha256, a.content],
        [b.sha256, b.content],
      ]),
    );
    expect((await files()).map((each) => each.name).sort()).toEqual([a.sha256, b.sha256].sort());
  });

  it('that were damaged are not given', async () => {
    const { store, blob, pathOf } = given();
    const one = blob('{"a":1}');
    await store.put([one]);
    await writeFile(pathOf(one.sha256), '{"a":2}');
    expect(await store.get([one.sha256])).toEqual(new Map());
  });

  it('are idle since they were put last', async () => {
    const { store, blob, pathOf, grow, shardOf } = given();
    const one = blob('{"a":1}');
    const idle = () => store.idle(shardOf(one.sha256), HOUR_MS);
    expect(await idle()).toEqual([]);
    await store.put([one]);
    expect(await idle()).toEqual([]);
    await grow(pathOf(one.sha256), 2 * HOUR_MS);
    expect(await idle()).toEqual([one.sha256]);
    await store.put([one]);
    expect(await idle()).toEqual([]);
  });

  it('are removed only if nobody has put them again since they were found idle', async () => {
    const { store, blob, pathOf, grow } = given();
    const one = blob('{"a":1}');
    await store.put([one]);
    await grow(pathOf(one.sha256), 2 * HOUR_MS);
    await store.put([one]);
    expect(await store.remove(one.sha256, HOUR_MS)).toBe(false);
    expect((await store.get([one.sha256])).size).toBe(1);
    expect((await stat(pathOf(one.sha256))).isFile()).toBe(true);
    await grow(pathOf(one.sha256), 2 * HOUR_MS);
    expect([await store.remove(one.sha256, HOUR_MS), await store.remove(one.sha256, HOUR_MS)]).toEqual([true, false]);
    expect((await store.get([one.sha256])).size).toBe(0);
  });

  it('that somebody died over while removing them are still given, and come back', async () => {
    const { store, blob, pathOf, shardOf } = given();
    const one = blob('{"a":1}');
    await store.put([one]);
    await rename(pathOf(one.sha256), `${pathOf(one.sha256)}.dropped`);
    expect((await store.get([one.sha256])).size).toBe(1);
    await store.idle(shardOf(one.sha256), HOUR_MS);
    expect((await stat(pathOf(one.sha256))).isFile()).toBe(true);
  });
});
