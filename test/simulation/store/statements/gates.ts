import type { Namespace } from '../../../../src/domain/kernel/brand.ts';
import type { QueueRow } from '../rows.ts';
import type { Limits, TaskLimits, Tx } from '../session.ts';
import type { Statement } from '../statement.ts';

const MS_PER_SECOND = 1_000;
const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

export const isGated = (limits: TaskLimits | undefined): boolean =>
  limits !== undefined && (limits.concurrent > 0 || limits.rate !== undefined || limits.semaphores.length > 0);

export const limitsOf = (limits: Limits, namespace: Namespace, taskName: string): TaskLimits | undefined => {
  const found = limits.get(`${namespace}/${taskName}`);
  return isGated(found) ? found : undefined;
};

/** What one transaction knows of the names it has locked: how many more of each may be leased, and which permits are free. */
export class Gates {
  private readonly session: Tx;
  private readonly namespace: Namespace;
  private readonly names = new Map<string, TaskLimits>();
  private readonly room = new Map<string, number>();
  private readonly permits = new Map<string, number>();
  private readonly taken = new Map<string, number>();

  constructor(session: Tx, namespace: Namespace) {
    this.session = session;
    this.namespace = namespace;
  }

  get isEmpty(): boolean {
    return this.names.size === 0;
  }

  /** Counting and then leasing would let two transactions both see the last place: what is counted is locked. */
  async add(names: readonly string[]): Promise<void> {
    const { session, namespace } = this;
    for (const name of names) {
      const limits = limitsOf(session.limits, namespace, name);
      if (limits !== undefined) this.names.set(name, limits);
    }
    if (this.isEmpty) return;
    const locks = [...this.names].flatMap(([name, { semaphores }]) => [
      `${namespace}:task:${name}`,
      ...semaphores.map((semaphore) => `${namespace}:semaphore:${semaphore}`),
    ]);
    if (session.plant !== 'limit-without-lock') {
      await session.run('lock-limits', async () => {
        for (const lock of [...new Set(locks)].sort()) await session.database.lockAdvisory(session.tx, lock);
      });
    }
    await session.run('count-leased', (statement) => this.count(statement));
  }

  private count(statement: Statement): void {
    const { taskQueue, rateWindows, semaphores } = this.session.database.tables;
    const rows = statement
      .scan(taskQueue.cells.values(), (row) => row.namespace === this.namespace && row.outcome === undefined)
      .map(({ row }) => row);
    for (const [name, { concurrent, rate, semaphores: needed }] of this.names) {
      const leased = rows.filter((row) => row.task.taskName === name && row.leaseExpiresAt !== undefined).length;
      const window = statement.find(rateWindows, `${this.namespace}/${name}`);
      const used = window !== undefined && window.closesAt > statement.now() ? window.used : 0;
      const free = concurrent > 0 ? concurrent - leased : Number.POSITIVE_INFINITY;
      this.room.set(name, Math.max(0, Math.min(free, rate === undefined ? free : rate.leases - used)));
      for (const semaphore of needed) {
        const row = statement.find(semaphores, `${this.namespace}/${semaphore}`);
        if (row === undefined) continue;
        const held = rows.filter(({ permits }) => permits?.includes(semaphore)).length;
        this.permits.set(semaphore, row.permits - held);
      }
    }
  }

  isOpen(name: string): boolean {
    const limits = this.names.get(name);
    if (limits === undefined || (this.room.get(name) ?? 0) <= 0) return false;
    return limits.semaphores.every((semaphore) => (this.permits.get(semaphore) ?? 1) > 0);
  }

  closedNames(): readonly string[] {
    return [...this.names.keys()].filter((name) => !this.isOpen(name));
  }

  /** Takes the place and the permits of one task, all or none. */
  admit({ task }: QueueRow): boolean {
    const limits = this.names.get(task.taskName);
    if (limits === undefined) return true;
    if (!this.isOpen(task.taskName)) return false;
    this.room.set(task.taskName, (this.room.get(task.taskName) ?? 0) - 1);
    this.taken.set(task.taskName, (this.taken.get(task.taskName) ?? 0) + 1);
    for (const semaphore of limits.semaphores) {
      const free = this.permits.get(semaphore);
      if (free !== undefined) this.permits.set(semaphore, free - 1);
    }
    return true;
  }

  permitsOf(name: string): readonly string[] | undefined {
    const semaphores = this.names.get(name)?.semaphores ?? [];
    return semaphores.length === 0 ? undefined : semaphores;
  }

  /** Counts what was leased in the window of now. */
  async countLeases(): Promise<void> {
    const { session, namespace } = this;
    const counted = [...this.taken].filter(([name]) => this.names.get(name)?.rate !== undefined);
    if (counted.length === 0 || session.plant === 'rate-uncounted') return;
    await session.run('count-windows', async (statement) => {
      for (const [taskName, used] of counted.sort(([a], [b]) => compareText(a, b))) {
        const lengthMs = (this.names.get(taskName)?.rate?.windowSeconds ?? 1) * MS_PER_SECOND;
        const openedAt = Math.floor(statement.now() / lengthMs) * lengthMs;
        const row = { namespace, taskName, openedAt, closesAt: openedAt + lengthMs, used };
        await statement.upsert(session.database.tables.rateWindows, row, (present) => ({
          ...row,
          used: used + (present.closesAt > openedAt ? present.used : 0),
          closesAt: Math.max(present.closesAt, row.closesAt),
        }));
      }
    });
  }
}
