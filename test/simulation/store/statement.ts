import type { Database } from './database.ts';
import { StatementFailure } from './failure.ts';
import type { Cell, Table } from './table.ts';
import type { Transaction } from './transaction.ts';

/**
 * One statement under READ COMMITTED: it sees what was committed when it began, and its transaction's own earlier changes.
 * What it wants to change it locks first, waiting for whoever holds it; a row that has changed since it began it sees anew.
 */
export class Statement {
  readonly database: Database;
  readonly tx: Transaction;
  readonly snapshot: number;

  constructor(database: Database, tx: Transaction) {
    this.database = database;
    this.tx = tx;
    this.snapshot = database.commits;
  }

  /** The time of day, which goes on while a statement waits. */
  now(): number {
    return this.database.now();
  }

  get<Row>(cell: Cell<Row> | undefined): Row | undefined {
    return cell?.visible(this.tx, this.snapshot);
  }

  find<Row>(table: Table<Row>, key: string): Row | undefined {
    return this.get(table.find(key));
  }

  /** Rows of the table that pass the condition, with their places. */
  scan<Row>(
    cells: Iterable<Cell<Row>>,
    condition: (row: Row) => boolean = () => true,
  ): Readonly<{ cell: Cell<Row>; row: Row }>[] {
    const found: { cell: Cell<Row>; row: Row }[] = [];
    for (const cell of cells) {
      const row = this.get(cell);
      if (row !== undefined && condition(row)) found.push({ cell, row });
    }
    return found;
  }

  /**
   * Takes the lock of the row, waiting for its holder. The row as it is then; undefined: it has gone. The condition is asked
   * again only of a row that is not the one that the statement saw, as PostgreSQL does.
   */
  async lock<Row>(cell: Cell<Row>, condition: (row: Row) => boolean = () => true): Promise<Row | undefined> {
    await this.database.rowPoint(this.tx);
    while (cell.holder !== undefined && cell.holder !== this.tx) {
      await this.database.waitFor(this.tx, cell.holder, `row ${cell.table.name} ${cell.key}`);
    }
    return this.took(cell, condition);
  }

  /** The same without waiting: a row that another holds is passed over. */
  lockOrSkip<Row>(cell: Cell<Row>, condition: (row: Row) => boolean): Row | undefined {
    if (cell.holder !== undefined && cell.holder !== this.tx) return undefined;
    return this.took(cell, condition);
  }

  private took<Row>(cell: Cell<Row>, condition: (row: Row) => boolean): Row | undefined {
    const seen = this.get(cell);
    const row = cell.latest(this.tx);
    if (row === undefined) return undefined;
    this.hold(cell);
    return row === seen || condition(row) ? row : undefined;
  }

  private hold<Row>(cell: Cell<Row>): void {
    if (this.tx.isOver) throw new Error(`a transaction that has ended locks ${cell.key}`);
    cell.holder = this.tx;
    this.tx.cells.add(cell as Cell<unknown>);
  }

  /** Changes a row that is locked. */
  write<Row>(cell: Cell<Row>, row: Row | undefined): void {
    this.hold(cell);
    cell.pending = { row };
  }

  /**
   * Inserts where the key is free, waiting for a rival that has not ended. The place of the row that is in the way;
   * undefined: inserted.
   */
  async insert<Row>(table: Table<Row>, row: NoInfer<Row>): Promise<Cell<Row> | undefined> {
    await this.database.rowPoint(this.tx);
    for (;;) {
      const cell = table.place(row);
      if (cell.holder !== undefined && cell.holder !== this.tx && cell.pending !== undefined) {
        await this.database.waitFor(this.tx, cell.holder, `key ${table.name} ${cell.key}`);
        continue;
      }
      if (cell.latest(this.tx) !== undefined) return cell;
      this.write(cell, row);
      return undefined;
    }
  }

  /** ON CONFLICT DO UPDATE: locks the row in the way, and changes what it has become by then. */
  async upsert<Row>(table: Table<Row>, row: NoInfer<Row>, merge: (present: Row) => Row): Promise<void> {
    for (;;) {
      const rival = await this.insert(table, row);
      if (rival === undefined) return;
      while (rival.holder !== undefined && rival.holder !== this.tx) {
        await this.database.waitFor(this.tx, rival.holder, `row ${table.name} ${rival.key}`);
      }
      const present = rival.latest(this.tx);
      // Gone while we waited: there is room for ours now.
      if (present === undefined) continue;
      this.write(rival, merge(present));
      return;
    }
  }

  /** An insert without ON CONFLICT. */
  async mustInsert<Row>(table: Table<Row>, row: NoInfer<Row>): Promise<void> {
    const rival = await this.insert(table, row);
    if (rival !== undefined) throw new StatementFailure('23505', `duplicate key in ${table.name}: ${rival.key}`);
  }
}
