import type { Transaction } from './transaction.ts';

type Version<Row> = Readonly<{ at: number; row: Row | undefined }>;

/** Every version of one row that somebody can still see, and who has it in hand. */
export class Cell<Row> {
  readonly table: Table<Row>;
  readonly key: string;
  readonly run: string;
  /** Committed versions, the oldest first; an undefined row is one that is not there. */
  versions: Version<Row>[] = [];
  /** Holds the lock of the row; if it has changed the row, `pending` is the version it would commit. */
  holder: Transaction | undefined;
  pending: { row: Row | undefined } | undefined;

  constructor(table: Table<Row>, key: string, run: string) {
    this.table = table;
    this.key = key;
    this.run = run;
  }

  get committed(): Row | undefined {
    return this.versions[this.versions.length - 1]?.row;
  }

  /** The newest version for this transaction: its own, or the last that was committed. */
  latest(tx: Transaction): Row | undefined {
    return this.holder === tx && this.pending !== undefined ? this.pending.row : this.committed;
  }

  /** What a statement of the transaction sees that began when `snapshot` was the last commit. */
  visible(tx: Transaction, snapshot: number): Row | undefined {
    if (this.holder === tx && this.pending !== undefined) return this.pending.row;
    for (let index = this.versions.length - 1; index >= 0; index -= 1) {
      const version = this.versions[index];
      if (version !== undefined && version.at <= snapshot) return version.row;
    }
    return undefined;
  }

  commit(at: number, oldestSnapshot: number): void {
    if (this.pending !== undefined) {
      this.versions.push({ at, row: this.pending.row });
      let keep = this.versions.length - 1;
      while (keep > 0 && (this.versions[keep]?.at ?? 0) > oldestSnapshot) keep -= 1;
      if (keep > 0) this.versions.splice(0, keep);
    }
    this.free();
  }

  free(): void {
    this.holder = undefined;
    this.pending = undefined;
    const isGone = this.versions.length === 0 || (this.versions.length === 1 && this.committed === undefined);
    if (isGone) this.table.drop(this);
  }
}

const NONE: ReadonlyMap<string, never> = new Map<string, never>();

/** The rows of one table by key, and by the run that they belong to. */
export class Table<Row> {
  readonly name: string;
  private readonly keyOf: (row: Row) => string;
  private readonly runOf: (row: Row) => string;
  readonly cells = new Map<string, Cell<Row>>();
  private readonly runs = new Map<string, Map<string, Cell<Row>>>();

  constructor(name: string, keyOf: (row: Row) => string, runOf: (row: Row) => string) {
    this.name = name;
    this.keyOf = keyOf;
    this.runOf = runOf;
  }

  find(key: string): Cell<Row> | undefined {
    return this.cells.get(key);
  }

  ofRun(run: string): Iterable<Cell<Row>> {
    return (this.runs.get(run) ?? NONE).values();
  }

  /** The place of a row, which may be empty. */
  place(row: Row): Cell<Row> {
    const key = this.keyOf(row);
    const known = this.cells.get(key);
    if (known !== undefined) return known;
    const run = this.runOf(row);
    const cell = new Cell<Row>(this, key, run);
    this.cells.set(key, cell);
    const ofRun = this.runs.get(run) ?? new Map<string, Cell<Row>>();
    ofRun.set(key, cell);
    this.runs.set(run, ofRun);
    return cell;
  }

  /** What is there before anybody looks. */
  furnish(row: Row): void {
    this.place(row).versions.push({ at: 0, row });
  }

  drop(cell: Cell<Row>): void {
    if (this.cells.get(cell.key) !== cell) return;
    this.cells.delete(cell.key);
    const ofRun = this.runs.get(cell.run);
    ofRun?.delete(cell.key);
    if (ofRun?.size === 0) this.runs.delete(cell.run);
  }

  /** Committed rows: what a look from outside shows. */
  *committed(): Iterable<Row> {
    for (const cell of this.cells.values()) {
      const row = cell.committed;
      if (row !== undefined) yield row;
    }
  }

  committedOf(run: string): readonly Row[] {
    const rows: Row[] = [];
    for (const cell of this.ofRun(run)) {
      const row = cell.committed;
      if (row !== undefined) rows.push(row);
    }
    return rows;
  }
}
