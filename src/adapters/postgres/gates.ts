import { z } from 'zod';
import type { Namespace } from '../../domain/kernel/brand.ts';
import type { Session } from './database.ts';
import { count, jsonOf, jsonRows, namespaceName, prepared, preparedCommand, sql, text } from './statement.ts';

const lock = preparedCommand('gates_lock');
const tryLock = prepared('gates_try_lock', z.object({ lockKey: text, isLocked: z.boolean() }));
const countLeased = prepared('gates_count_leased', z.object({ namespace: namespaceName, name: text, leased: count }));
const readWindows = prepared('gates_read_windows', z.object({ namespace: namespaceName, name: text, used: count }));
const readSemaphores = prepared(
  'gates_read_semaphores',
  z.object({ namespace: namespaceName, name: text, permits: count, held: count }),
);
const countWindows = preparedCommand('gates_count_windows');

/** A name of tasks that something may hold back, as its task definition says. */
export const gatedNameRow = z.object({
  namespace: namespaceName,
  name: text,
  concurrentExecLimit: count,
  rateLeases: count,
  rateWindowSeconds: count,
  semaphores: jsonOf<readonly string[]>(),
});
export type GatedName = z.output<typeof gatedNameRow>;

type Named = Readonly<{ namespace: Namespace; name: string }>;
type TaskNamed = Readonly<{ namespace: Namespace; taskName: string }>;

/** A namespace has no slash in it. */
const keyOf = ({ namespace, name }: Named): string => `${namespace}/${name}`;

const lockKeysOf = ({ namespace, name, semaphores }: GatedName): readonly string[] => [
  `${namespace}:task:${name}`,
  ...semaphores.map((semaphore) => `${namespace}:semaphore:${semaphore}`),
];

const columns = (names: readonly Named[]) => ({
  namespaces: sql.array(
    names.map(({ namespace }) => namespace),
    'text',
  ),
  names: sql.array(
    names.map(({ name }) => name),
    'text',
  ),
});

/**
 * What one transaction knows of the names it has locked: how many more tasks of each may be leased, and how many permits of
 * each semaphore are free. Counting and then leasing would let two transactions both see the last place, so what is counted
 * is locked until the transaction ends (promise 9).
 */
export class Gates {
  private readonly session: Session;
  private readonly names = new Map<string, GatedName>();
  private readonly room = new Map<string, number>();
  private readonly permits = new Map<string, number>();
  private readonly closed = new Set<string>();
  private readonly taken = new Map<string, number>();

  constructor(session: Session) {
    this.session = session;
  }

  /** Locks further names and counts. Only the first call waits for locks: a later one would take them out of order. */
  async add(found: readonly GatedName[]): Promise<void> {
    if (found.length === 0) return;
    const locked = this.names.size === 0 ? await this.lockAll(found) : await this.lockFree(found);
    for (const name of found) {
      this.names.set(keyOf(name), name);
      this.room.set(keyOf(name), Number.POSITIVE_INFINITY);
      if (!locked.includes(name)) this.closed.add(keyOf(name));
    }
    await this.countRoom(locked);
    await this.countPermits(locked);
  }

  /** In the order of the locks themselves, so that two names with the same one cannot matter. */
  private async lockAll(found: readonly GatedName[]): Promise<readonly GatedName[]> {
    await this.session.run(lock`
      select pg_advisory_xact_lock(ordered.lock) from (
        select distinct hashtextextended(wanted.lock_key, 0) as lock
        from unnest(${sql.array(found.flatMap(lockKeysOf), 'text')}) as wanted (lock_key)
        order by 1
      ) as ordered`);
    return found;
  }

  private async lockFree(found: readonly GatedName[]): Promise<readonly GatedName[]> {
    const rows = await this.session.rows(tryLock`
      select wanted.lock_key, pg_try_advisory_xact_lock(hashtextextended(wanted.lock_key, 0)) as is_locked
      from unnest(${sql.array(found.flatMap(lockKeysOf), 'text')}) as wanted (lock_key)`);
    const missed = new Set(rows.filter(({ isLocked }) => !isLocked).map(({ lockKey }) => lockKey));
    return found.filter((name) => !lockKeysOf(name).some((key) => missed.has(key)));
  }

  private narrow(key: string, room: number): void {
    this.room.set(key, Math.min(this.room.get(key) ?? 0, Math.max(0, room)));
  }

  private async countRoom(found: readonly GatedName[]): Promise<void> {
    const counted = found.filter(({ concurrentExecLimit }) => concurrentExecLimit > 0);
    const rated = found.filter(({ rateLeases }) => rateLeases > 0);
    const leased = counted.length === 0 ? [] : await this.leasedOf(counted);
    const used = rated.length === 0 ? [] : await this.usedOf(rated);
    const leasedBy = new Map(leased.map((row) => [keyOf(row), row.leased]));
    const usedBy = new Map(used.map((row) => [keyOf(row), row.used]));
    for (const name of counted) this.narrow(keyOf(name), name.concurrentExecLimit - (leasedBy.get(keyOf(name)) ?? 0));
    for (const name of rated) this.narrow(keyOf(name), name.rateLeases - (usedBy.get(keyOf(name)) ?? 0));
  }

  private leasedOf(names: readonly GatedName[]) {
    const wanted = columns(names);
    return this.session.rows(countLeased`
      select wanted.namespace, wanted.name, (
        select count(*) from task_queue t
        where t.namespace = wanted.namespace and t.task_name = wanted.name
          and t.lease_expires_at is not null and t.outcome is null
      ) as leased
      from unnest(${wanted.namespaces}, ${wanted.names}) as wanted (namespace, name)`);
  }

  private usedOf(names: readonly GatedName[]) {
    const wanted = columns(names);
    return this.session.rows(readWindows`
      select w.namespace, w.task_name as name, w.used
      from unnest(${wanted.namespaces}, ${wanted.names}) as wanted (namespace, name)
      join rate_windows w on w.namespace = wanted.namespace and w.task_name = wanted.name
      where w.closes_at > clock_timestamp()`);
  }

  /** A name that is no semaphore holds nothing back. */
  private async countPermits(found: readonly GatedName[]): Promise<void> {
    const named = found.flatMap(({ namespace, semaphores }) => semaphores.map((name) => ({ namespace, name })));
    const unknown = [...new Map(named.map((each) => [keyOf(each), each])).values()].filter(
      (each) => !this.permits.has(keyOf(each)),
    );
    if (unknown.length === 0) return;
    const wanted = columns(unknown);
    const rows = await this.session.rows(readSemaphores`
      select s.namespace, s.name, s.permits, (
        select count(*) from task_queue t
        where t.namespace = s.namespace and t.permits is not null and t.outcome is null and s.name = any(t.permits)
      ) as held
      from unnest(${wanted.namespaces}, ${wanted.names}) as wanted (namespace, name)
      join semaphores s on s.namespace = wanted.namespace and s.name = wanted.name`);
    for (const row of rows) this.permits.set(keyOf(row), row.permits - row.held);
  }

  private semaphoresOf({ namespace, semaphores }: GatedName): readonly string[] {
    return semaphores.map((name) => keyOf({ namespace, name }));
  }

  private isOpen(name: GatedName): boolean {
    if (this.closed.has(keyOf(name)) || (this.room.get(keyOf(name)) ?? 0) <= 0) return false;
    return this.semaphoresOf(name).every((key) => (this.permits.get(key) ?? 1) > 0);
  }

  /** Takes the place and the permits of one task, all or none; false: the task stays where it is. */
  admit({ namespace, taskName }: TaskNamed): boolean {
    const key = keyOf({ namespace, name: taskName });
    const name = this.names.get(key);
    if (name === undefined) return true;
    if (!this.isOpen(name)) return false;
    this.room.set(key, (this.room.get(key) ?? 0) - 1);
    this.taken.set(key, (this.taken.get(key) ?? 0) + 1);
    for (const semaphore of this.semaphoresOf(name)) {
      const free = this.permits.get(semaphore);
      if (free !== undefined) this.permits.set(semaphore, free - 1);
    }
    return true;
  }

  /** The semaphores of which a leased task of this name holds a permit. */
  permitsOf({ namespace, taskName }: TaskNamed): readonly string[] | undefined {
    const semaphores = this.names.get(keyOf({ namespace, name: taskName }))?.semaphores ?? [];
    return semaphores.length === 0 ? undefined : semaphores;
  }

  /** Keys of the locked names that may be leased. */
  openKeys(): readonly string[] {
    return [...this.names].filter(([, name]) => this.isOpen(name)).map(([key]) => key);
  }

  /** Keys of the locked names of which nothing may be leased. */
  closedKeys(): readonly string[] {
    return [...this.names].filter(([, name]) => !this.isOpen(name)).map(([key]) => key);
  }

  knows(name: Named): boolean {
    return this.names.has(keyOf(name));
  }

  /**
   * Counts what was leased in the window of now. A window that closed since it was read had room for these tasks, and the
   * one that is open now is charged with them: so neither goes over its limit, whichever of the two they were leased in.
   */
  async countLeases(): Promise<void> {
    const rows = [...this.names].flatMap(([key, { namespace, name, rateLeases, rateWindowSeconds }]) => {
      const used = this.taken.get(key) ?? 0;
      return rateLeases === 0 || used === 0 ? [] : { namespace, name, used, seconds: rateWindowSeconds };
    });
    if (rows.length === 0) return;
    await this.session.run(countWindows`
      insert into rate_windows as present (namespace, task_name, opened_at, closes_at, used)
      select r.namespace, r.name, this.opened_at, this.opened_at + r.seconds * interval '1 second', r.used
      from json_to_recordset(${jsonRows(rows)}::json) as r (namespace text, name text, used integer, seconds integer)
      cross join lateral (
        select to_timestamp(floor(extract(epoch from clock_timestamp()) / r.seconds) * r.seconds) as opened_at
      ) as this
      order by r.namespace collate "C", r.name collate "C"
      on conflict (namespace, task_name) do update
      set used = excluded.used + case when present.closes_at > excluded.opened_at then present.used else 0 end,
        opened_at = excluded.opened_at, closes_at = greatest(present.closes_at, excluded.closes_at)`);
  }
}
