import type { Chance } from '../../support/chance.ts';
import type { Process, Scheduler } from '../scheduler.ts';
import { SimulatedDefectError, StatementFailure } from './failure.ts';
import {
  type AdmissionRow,
  attemptKey,
  type ClosedRow,
  closedKey,
  type DecideRow,
  type EventRow,
  type ExecutionRecord,
  type IdempotencyRow,
  idempotencyKey,
  type LogRow,
  type OutboxRow,
  type QueueRow,
  type QuotaRow,
  queueKey,
  type RateWindowRow,
  type SemaphoreRow,
  type TimerRow,
  timerKey,
} from './rows.ts';
import { Statement } from './statement.ts';
import { Table } from './table.ts';
import { Transaction } from './transaction.ts';

const createTables = () => ({
  decideQueue: new Table<DecideRow>(
    'decide_queue',
    (row) => row.executionId,
    (row) => row.executionId,
  ),
  executions: new Table<ExecutionRecord>(
    'workflow_executions',
    (row) => row.executionId,
    (row) => row.executionId,
  ),
  events: new Table<EventRow>(
    'workflow_events',
    (row) => queueKey(row.executionId, row.seq),
    (row) => row.executionId,
  ),
  taskQueue: new Table<QueueRow>(
    'task_queue',
    (row) => queueKey(row.executionId, row.seq),
    (row) => row.executionId,
  ),
  closedTasks: new Table<ClosedRow>(
    'task_executions',
    (row) => closedKey(row.executionId, row),
    (row) => row.executionId,
  ),
  timers: new Table<TimerRow>('timers', timerKey, (row) => row.executionId),
  outbox: new Table<OutboxRow>(
    'outbox_events',
    (row) => `${row.executionId}|${row.dedupKey}`,
    (row) => row.executionId,
  ),
  idempotencyKeys: new Table<IdempotencyRow>('idempotency_keys', idempotencyKey, (row) => row.executionId),
  admissions: new Table<AdmissionRow>(
    'execution_admissions',
    (row) => `${row.executionId}|${row.kind}`,
    (row) => row.executionId,
  ),
  quotas: new Table<QuotaRow>(
    'namespace_quotas',
    (row) => row.namespace,
    (row) => row.namespace,
  ),
  semaphores: new Table<SemaphoreRow>(
    'semaphores',
    (row) => `${row.namespace}/${row.name}`,
    (row) => row.namespace,
  ),
  rateWindows: new Table<RateWindowRow>(
    'rate_windows',
    (row) => `${row.namespace}/${row.taskName}`,
    (row) => row.namespace,
  ),
  logs: new Table<LogRow>(
    'task_logs',
    (row) => `${row.executionId}.${row.seq}.${row.id}`,
    (row) => row.executionId,
  ),
});

export type Tables = ReturnType<typeof createTables>;

/** What may go wrong at a statement; the campaign draws it. */
export type StatementFault = 'error' | 'lost' | 'done-but-lost';

/** One row before and after a commit. */
export type Change = Readonly<{ table: string; run: string; before: unknown; after: unknown }>;

export type DatabaseHooks = Readonly<{
  /** Asked before each statement and each commit. */
  fault(label: string): StatementFault | undefined;
  /** Which failure a fault is. */
  sqlstate(): string;
  committed(changes: readonly Change[]): void;
  deadlocked(description: string): void;
}>;

/** No faults, and nobody looks on. */
export const QUIET: DatabaseHooks = {
  fault: () => undefined,
  sqlstate: () => '57014',
  committed: () => undefined,
  deadlocked: () => undefined,
};

export type DatabaseOptions = Readonly<{
  scheduler: Scheduler;
  chance: Chance;
  hooks: DatabaseHooks;
  /** How often a statement over several rows stands still between two of them. */
  rowPointShare: number;
  startAt: number;
}>;

/** The simulated PostgreSQL: versions of rows, locks and who waits for them, on virtual time. */
export class Database {
  readonly tables: Tables = createTables();
  readonly scheduler: Scheduler;
  readonly hooks: DatabaseHooks;
  /** Commits so far: what a snapshot is. */
  commits = 0;
  deadlocks = 0;
  private readonly chance: Chance;
  private readonly rowPointShare: number;
  private clock: number;
  private transactions = 0;
  private sequence = 0;
  private readonly open = new Set<Transaction>();
  private readonly advisory = new Map<string, Transaction>();
  private readonly statements = new Set<Statement>();

  constructor(options: DatabaseOptions) {
    this.scheduler = options.scheduler;
    this.hooks = options.hooks;
    this.chance = options.chance;
    this.rowPointShare = options.rowPointShare;
    this.clock = options.startAt;
  }

  now(): number {
    return this.clock;
  }

  advance(ms: number): void {
    this.clock += ms;
  }

  /** A sequence: what was drawn is gone, whether its transaction commits or not. */
  nextId(): number {
    this.sequence += 1;
    return this.sequence;
  }

  begin(process: Process): Transaction {
    this.transactions += 1;
    const tx = new Transaction(this.transactions, process);
    // What a timer of a dead server would still begin reaches no database.
    if (!process.isDead) this.open.add(tx);
    return tx;
  }

  get openTransactions(): number {
    return this.open.size;
  }

  openOf(process: Process): readonly Transaction[] {
    return [...this.open].filter((tx) => tx.process === process);
  }

  get advisoryLocks(): number {
    return this.advisory.size;
  }

  /** Runs one statement of an open transaction. */
  async run<T>(tx: Transaction, label: string, body: (statement: Statement) => T | Promise<T>): Promise<T> {
    await this.scheduler.point(tx.process, label);
    if (tx.isCut) throw new StatementFailure('08006', `the connection is gone (${label})`);
    if (tx.isOver) throw new SimulatedDefectError(`the transaction has ended (${label})`);
    if (tx.isAborted) throw new StatementFailure('25P02', `the transaction is aborted (${label})`);
    tx.statements.push(label);
    const fault = this.hooks.fault(label);
    if (fault === 'error') {
      tx.isAborted = true;
      throw new StatementFailure(this.hooks.sqlstate(), `injected at ${label}`);
    }
    if (fault !== undefined) {
      this.rollback(tx);
      throw new StatementFailure('08006', `the connection broke at ${label}`);
    }
    return this.execute(tx, body);
  }

  private async execute<T>(tx: Transaction, body: (statement: Statement) => T | Promise<T>): Promise<T> {
    const statement = new Statement(this, tx);
    this.statements.add(statement);
    try {
      return await body(statement);
    } catch (error) {
      tx.isAborted = true;
      throw error;
    } finally {
      this.statements.delete(statement);
    }
  }

  /** COMMIT; of an aborted transaction it is a ROLLBACK, and says so. */
  async commit(tx: Transaction): Promise<'COMMIT' | 'ROLLBACK'> {
    await this.scheduler.point(tx.process, 'commit');
    if (tx.isCut) throw new StatementFailure('08006', 'the connection is gone at commit');
    if (tx.isAborted) {
      this.rollback(tx);
      return 'ROLLBACK';
    }
    const fault = this.hooks.fault('commit');
    if (fault === 'error' || fault === 'lost') {
      this.rollback(tx);
      throw new StatementFailure('08006', 'the connection broke before the commit');
    }
    this.makeDurable(tx);
    if (fault === 'done-but-lost') throw new StatementFailure('08006', 'the answer to the commit was lost');
    return 'COMMIT';
  }

  /** The commit of a statement that is a transaction by itself. */
  commitAlone(tx: Transaction): void {
    const fault = this.hooks.fault('alone');
    if (fault === 'error' || fault === 'lost') {
      this.rollback(tx);
      throw new StatementFailure('08006', 'the connection broke during the statement');
    }
    this.makeDurable(tx);
    if (fault === 'done-but-lost') throw new StatementFailure('08006', 'the answer to the statement was lost');
  }

  private makeDurable(tx: Transaction): void {
    this.commits += 1;
    const oldest = this.oldestSnapshot();
    const changes: Change[] = [];
    for (const cell of tx.cells) {
      const { pending, committed: before } = cell;
      if (pending !== undefined) changes.push({ table: cell.table.name, run: cell.run, before, after: pending.row });
      cell.commit(this.commits, oldest);
    }
    if (changes.length > 0) this.hooks.committed(changes);
    this.end(tx);
  }

  rollback(tx: Transaction): void {
    if (tx.isOver) return;
    for (const cell of tx.cells) cell.free();
    this.end(tx);
  }

  private end(tx: Transaction): void {
    tx.isOver = true;
    this.open.delete(tx);
    for (const key of tx.advisoryLocks) this.advisory.delete(key);
    tx.waitsFor = undefined;
    for (const { of, label, go } of tx.waiters) {
      if (of.isOver) continue;
      of.waitsFor = undefined;
      this.scheduler.add({ process: of.process, label, go });
    }
  }

  private oldestSnapshot(): number {
    let oldest = this.commits;
    for (const { snapshot } of this.statements) if (snapshot < oldest) oldest = snapshot;
    return oldest;
  }

  /** Between two rows of one statement others may run. */
  async rowPoint(tx: Transaction): Promise<void> {
    if (this.rowPointShare > 0 && this.chance.isBelow(this.rowPointShare)) {
      await this.scheduler.point(tx.process, 'row');
      if (tx.isCut) throw new StatementFailure('08006', 'the connection is gone (row)');
    }
  }

  /** Waits for the end of the transaction that is in the way; 40P01 when that waits for us. */
  waitFor(tx: Transaction, holder: Transaction, label: string): Promise<void> {
    for (let next: Transaction | undefined = holder; next !== undefined; next = next.waitsFor) {
      if (next !== tx) continue;
      this.deadlocks += 1;
      this.hooks.deadlocked(`${label}: [${tx.statements.join(' ')}] against [${holder.statements.join(' ')}]`);
      throw new StatementFailure('40P01', `deadlock at ${label}`);
    }
    tx.waitsFor = holder;
    return new Promise((resolve, reject) => {
      const go = () => {
        if (tx.isCut) reject(new StatementFailure('08006', `the connection is gone (${label})`));
        else resolve();
      };
      holder.waiters.push({ of: tx, label, go });
    });
  }

  async lockAdvisory(tx: Transaction, key: string): Promise<void> {
    for (let holder = this.advisory.get(key); holder !== undefined && holder !== tx; holder = this.advisory.get(key)) {
      await this.waitFor(tx, holder, `advisory ${key}`);
    }
    this.advisory.set(key, tx);
    tx.advisoryLocks.add(key);
  }

  /** The server ends the session of a client that stands still in a transaction. */
  cut(tx: Transaction): void {
    tx.isCut = true;
    const waiting = tx.waitsFor?.waiters.find(({ of }) => of === tx);
    this.rollback(tx);
    if (waiting !== undefined) this.scheduler.add({ process: tx.process, label: waiting.label, go: waiting.go });
  }

  /** What PostgreSQL does when it loses a client: its transactions never were. */
  disconnect(process: Process): void {
    for (const tx of this.openOf(process)) this.rollback(tx);
  }
}

export const identityOf = (row: QueueRow): string => attemptKey(row.task);
