import type { Database } from './store/database.ts';
import type { Limits, TaskLimits } from './store/session.ts';
import { placeKey } from './store/statements/admissions.ts';
import { headsOf, isHead } from './store/statements/outbox.ts';

const MINUTE_MS = 60_000;

/** Queued runs for which there is a place. */
const couldEnter = (database: Database): boolean => {
  const rows = [...database.tables.admissions.committed()];
  return rows.some((row) => {
    if (row.admitted || row.notBefore > database.now()) return false;
    const isGoing = database.tables.executions.find(row.executionId)?.committed?.status === 'RUNNING';
    const held = rows.filter((other) => other.admitted && placeKey(other) === placeKey(row)).length;
    return isGoing && held < row.runsMax;
  });
};

/** Moments after now at which something comes due, the first one first. */
export const dueTimes = (database: Database, timerAt: number | undefined): readonly number[] => {
  const { decideQueue, timers, taskQueue, outbox } = database.tables;
  const now = database.now();
  const due: number[] = [];
  const add = (at: number | undefined) => {
    if (at !== undefined && at > now) due.push(at);
  };
  for (const row of decideQueue.committed()) add(row.dueAt);
  for (const row of timers.committed()) add(row.fireAt);
  for (const row of outbox.committed()) if (row.deadAt === undefined) add(row.availableAt);
  for (const row of database.tables.admissions.committed()) if (!row.admitted) add(row.notBefore);
  for (const row of database.tables.rateWindows.committed()) add(row.closesAt);
  // The next minute has its own starts.
  for (const _ of database.tables.quotas.committed()) add(now - (now % MINUTE_MS) + MINUTE_MS);
  for (const row of taskQueue.committed()) {
    if (row.outcome !== undefined) continue;
    add(row.visibleAt);
    add(row.leaseExpiresAt);
  }
  add(timerAt);
  return due.sort((a, b) => a - b);
};

/** Loops and polls that would find something now, each as often as it would. */
export const whatIsDue = (database: Database, relays: boolean): readonly string[] => {
  const { decideQueue, timers, taskQueue, outbox } = database.tables;
  const now = database.now();
  const due: string[] = [];
  for (const row of decideQueue.committed()) if (row.dueAt <= now) due.push('evaluate');
  for (const row of timers.committed()) if (row.fireAt <= now) due.push('deadlines');
  for (const row of outbox.committed()) if (relays && row.availableAt <= now) due.push('relay-outbox');
  if (couldEnter(database)) due.push('admit-executions');
  for (const row of taskQueue.committed()) {
    if (row.outcome !== undefined) continue;
    if ((row.leaseExpiresAt ?? Number.POSITIVE_INFINITY) <= now) due.push('deadlines');
    if (row.leaseToken !== undefined || row.visibleAt > now) continue;
    if (row.task.family === 'system') due.push('system-tasks');
    if (row.task.family === 'worker') due.push('poll');
  }
  return due;
};

/** Whether more tasks of the name may be leased as things stand. */
const isHeldBack = (database: Database, { concurrent, rate, semaphores }: TaskLimits, name: string): boolean => {
  const [namespace, taskName] = name.split('/');
  const { rateWindows, taskQueue } = database.tables;
  const rows = [...taskQueue.committed()].filter((row) => row.outcome === undefined && row.namespace === namespace);
  const leased = rows.filter((row) => row.leaseToken !== undefined && row.task.taskName === taskName).length;
  if (concurrent > 0 && leased >= concurrent) return true;
  const window = rateWindows.find(name)?.committed;
  if (rate !== undefined && window !== undefined && window.closesAt > database.now() && window.used >= rate.leases) {
    return true;
  }
  return semaphores.some((semaphore) => {
    const row = database.tables.semaphores.find(`${namespace}/${semaphore}`)?.committed;
    return row !== undefined && rows.filter(({ permits }) => permits?.includes(semaphore)).length >= row.permits;
  });
};

const heldBack = (database: Database, limits: Limits): ReadonlySet<string> =>
  new Set([...limits].filter(([name, of]) => isHeldBack(database, of, name)).map(([name]) => name));

/** Nothing is due now that a worker or a loop could take. */
export const isIdle = (database: Database, limits: Limits): boolean => {
  const closed = heldBack(database, limits);
  const { decideQueue, timers, taskQueue, outbox } = database.tables;
  const now = database.now();
  if (couldEnter(database)) return false;
  for (const row of decideQueue.committed()) if (row.dueAt <= now) return false;
  for (const row of timers.committed()) if (row.fireAt <= now) return false;
  const messages = [...outbox.committed()].filter((row) => row.deadAt === undefined);
  // One behind another of its line has to wait for that.
  const heads = headsOf(messages);
  if (messages.some((row) => row.availableAt <= now && isHead(heads, row))) return false;
  for (const row of taskQueue.committed()) {
    // The decide row tells of it, which may be parked.
    if (row.outcome !== undefined) continue;
    if ((row.leaseExpiresAt ?? Number.POSITIVE_INFINITY) <= now) return false;
    if (row.leaseToken !== undefined || row.task.family === 'waiting' || row.visibleAt > now) continue;
    if (!closed.has(`${row.namespace}/${row.task.taskName}`)) return false;
  }
  return true;
};
