import type { Journal } from './journal.ts';
import { type Compare, SortedList } from './sorted-list.ts';

/** Rows of a table that share a partition key, in order; rows with an undefined key are not in the index. */
export class OrderedIndex<Row> {
  readonly #partitionOf: (row: Row) => string | undefined;
  readonly #compare: Compare<Row>;
  readonly #partitions = new Map<string, SortedList<Row>>();

  constructor(partitionOf: (row: Row) => string | undefined, compare: Compare<Row>) {
    this.#partitionOf = partitionOf;
    this.#compare = compare;
  }

  /** Live rows in order: copy them before writing to the table. */
  in(partition: string): Iterable<Row> {
    return this.#partitions.get(partition) ?? [];
  }

  first(partition: string): Row | undefined {
    return this.#partitions.get(partition)?.first();
  }

  count(partition: string): number {
    return this.#partitions.get(partition)?.size ?? 0;
  }

  add(row: Row): void {
    const partition = this.#partitionOf(row);
    if (partition === undefined) return;
    const list = this.#partitions.get(partition) ?? new SortedList<Row>(this.#compare);
    this.#partitions.set(partition, list);
    list.add(row);
  }

  remove(row: Row): void {
    const partition = this.#partitionOf(row);
    if (partition === undefined) return;
    const list = this.#partitions.get(partition);
    list?.remove(row);
    if (list?.size === 0) this.#partitions.delete(partition);
  }
}

/** Immutable rows by key. Every write goes to the journal, so a rolled back transaction leaves rows and indexes as they were. */
export class Table<Row> {
  readonly #journal: Journal;
  readonly #keyOf: (row: Row) => string;
  readonly #indexes: readonly OrderedIndex<Row>[];
  readonly #rows = new Map<string, Row>();

  constructor(journal: Journal, keyOf: (row: Row) => string, indexes: readonly OrderedIndex<Row>[] = []) {
    this.#journal = journal;
    this.#keyOf = keyOf;
    this.#indexes = indexes;
  }

  get(key: string): Row | undefined {
    return this.#rows.get(key);
  }

  has(key: string): boolean {
    return this.#rows.has(key);
  }

  values(): Iterable<Row> {
    return this.#rows.values();
  }

  /** Inserts the row, or replaces the one under its key. */
  put(row: Row): void {
    this.#write(this.#keyOf(row), row);
  }

  delete(key: string): Row | undefined {
    const row = this.#rows.get(key);
    if (row !== undefined) this.#write(key, undefined);
    return row;
  }

  #write(key: string, row: Row | undefined): void {
    const before = this.#rows.get(key);
    this.#journal.record(() => this.#replace(key, before));
    this.#replace(key, row);
  }

  #replace(key: string, row: Row | undefined): void {
    const before = this.#rows.get(key);
    if (before !== undefined) for (const index of this.#indexes) index.remove(before);
    if (row === undefined) this.#rows.delete(key);
    else this.#rows.set(key, row);
    if (row !== undefined) for (const index of this.#indexes) index.add(row);
  }
}
