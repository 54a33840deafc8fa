/** A value as JSON text, by the sha-256 of that text in hexadecimal. */
export type Blob = Readonly<{ sha256: string; content: string }>;

/** Parts that values are sought in, one at a time: by the first two digits of their names. */
export const BLOB_SHARDS = 256;

/**
 * Where large values are kept outside of the database. A value that was put is there, durably, until it is removed; it is put
 * before anything refers to it, and so one that nothing refers to may be somebody's who has not committed yet. Putting it
 * again counts as using it.
 */
export interface BlobStore {
  put(blobs: readonly Blob[]): Promise<void>;
  /** Those that are there, whole. */
  get(names: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** Names of values in the shard that nobody has put for so long. */
  idle(shard: number, forMs: number): Promise<readonly string[]>;
  /** Removes a value unless somebody has put it again meanwhile. */
  remove(name: string, idleMs: number): Promise<boolean>;
}

/** Removes values that no run refers to. */
export interface BlobCollector {
  /** Those of the shard that were not put for so long. Returns how many. */
  collect(shard: number, idleMs: number): Promise<number>;
}
