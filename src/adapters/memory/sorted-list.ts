export type Compare<T> = (a: T, b: T) => number;

/** A list is cut in two above this length, so that an insertion moves a few kilobytes and never the whole list. */
const CHUNK_ITEMS_MAX = 512;

/** First position in `items` for which `isBefore` does not hold; it must hold for a prefix. */
const partitionPoint = <T>(items: readonly T[], isBefore: (item: T) => boolean): number => {
  let low = 0;
  let high = items.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isBefore(items[middle] as T)) low = middle + 1;
    else high = middle;
  }
  return low;
};

/** Items in the total order of `compare`; no two of them compare equal. */
export class SortedList<T> {
  readonly #compare: Compare<T>;
  readonly #chunks: T[][] = [];
  #size = 0;

  constructor(compare: Compare<T>) {
    this.#compare = compare;
  }

  get size(): number {
    return this.#size;
  }

  add(item: T): void {
    const at = Math.min(this.#chunkOf(item), Math.max(this.#chunks.length - 1, 0));
    const chunk = this.#chunks[at];
    this.#size += 1;
    if (chunk === undefined) {
      this.#chunks.push([item]);
      return;
    }
    chunk.splice(this.#positionIn(chunk, item), 0, item);
    if (chunk.length > CHUNK_ITEMS_MAX) this.#chunks.splice(at + 1, 0, chunk.splice(chunk.length >>> 1));
  }

  remove(item: T): void {
    const at = this.#chunkOf(item);
    const chunk = this.#chunks[at];
    const position = chunk === undefined ? 0 : this.#positionIn(chunk, item);
    const found = chunk?.[position];
    if (chunk === undefined || found === undefined || this.#compare(found, item) !== 0) {
      throw new Error('an index lost a row: rows must not change while they are indexed');
    }
    chunk.splice(position, 1);
    this.#size -= 1;
    if (chunk.length === 0) this.#chunks.splice(at, 1);
  }

  first(): T | undefined {
    return this.#chunks[0]?.[0];
  }

  /** In order; the list must not change meanwhile. */
  *[Symbol.iterator](): Generator<T> {
    for (const chunk of this.#chunks) yield* chunk;
  }

  #chunkOf(item: T): number {
    return partitionPoint(this.#chunks, (chunk) => this.#compare(chunk[chunk.length - 1] as T, item) < 0);
  }

  #positionIn(chunk: readonly T[], item: T): number {
    return partitionPoint(chunk, (other) => this.#compare(other, item) < 0);
  }
}
