import type { Process } from '../scheduler.ts';
import type { Cell } from './table.ts';

/** One transaction of the simulated database, from its first statement to its end. */
export class Transaction {
  readonly number: number;
  readonly process: Process;
  /** Rows that it has locked or changed. */
  readonly cells = new Set<Cell<unknown>>();
  readonly advisoryLocks = new Set<string>();
  /** Labels of what it has done, for the report of a deadlock. */
  readonly statements: string[] = [];
  /** Waits for the end of another. */
  waitsFor: Transaction | undefined;
  /** Go on when it has ended. */
  readonly waiters: Readonly<{ of: Transaction; label: string; go: () => void }>[] = [];
  /** A statement of it failed: nothing but a rollback is possible. */
  isAborted = false;
  isOver = false;
  /** The server has closed its connection; the client does not know yet. */
  isCut = false;

  constructor(number: number, process: Process) {
    this.number = number;
    this.process = process;
  }
}
