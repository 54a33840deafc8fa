import type { ExecutionId, Instant, Namespace } from '../../../../src/domain/kernel/brand.ts';
import { parseTaskId } from '../../../../src/domain/kernel/brand.ts';
import type { LeasedTask, LeaseRef, LeaseRequest } from '../../../../src/ports/engine-store.ts';
import { type QueueRow, queueKey } from '../rows.ts';
import type { Tx, TxMethods } from '../session.ts';
import type { Statement } from '../statement.ts';
import type { Cell } from '../table.ts';
import { Gates, isGated, limitsOf } from './gates.ts';

const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

const compareUrgency = (a: QueueRow, b: QueueRow): number =>
  b.task.priority - a.task.priority ||
  a.task.scheduledAt - b.task.scheduledAt ||
  compareText(a.executionId, b.executionId) ||
  a.seq - b.seq;

export const isFree = (row: QueueRow, now: number): boolean =>
  row.leaseToken === undefined && row.outcome === undefined && row.visibleAt <= now;

export const leasedTask = (row: QueueRow, workerId: string): LeasedTask => ({
  taskId: row.task.taskId,
  executionId: row.executionId,
  namespace: row.namespace,
  ref: row.task.ref,
  iteration: row.task.iteration,
  attempt: row.task.attempt,
  taskType: row.task.taskType,
  taskName: row.task.taskName,
  queue: row.task.queue,
  priority: row.task.priority,
  input: row.task.input,
  leaseToken: row.leaseToken as LeasedTask['leaseToken'],
  leaseExpiresAt: Math.floor(row.leaseExpiresAt ?? 0) as Instant,
  scheduledAt: row.task.scheduledAt,
  startedAt: row.startedAt as Instant,
  workerId,
  heartbeatMs: row.task.heartbeatMs,
  ...(row.callbacks === undefined ? {} : { callbacks: row.callbacks }),
  ...(row.callbackSeconds === undefined ? {} : { callbackSeconds: row.callbackSeconds }),
  ...(row.progress === undefined ? {} : { progress: row.progress }),
});

type Picked = Readonly<{ cell: Cell<QueueRow>; row: QueueRow; isPlaceSeen: boolean }>;

/** Locks the next tasks where it finds them and waits for none. */
const pick = (
  session: Tx,
  statement: Statement,
  request: LeaseRequest,
  count: number,
  inScope: (row: QueueRow) => boolean,
): readonly Picked[] => {
  const now = statement.now();
  const picked: Picked[] = [];
  for (const queue of request.queues) {
    const isNext = (row: QueueRow) => row.task.queue === queue && isFree(row, now) && inScope(row);
    const found = statement.scan(session.database.tables.taskQueue.cells.values(), isNext);
    found.sort((a, b) => compareUrgency(a.row, b.row));
    let ofQueue = 0;
    for (const { cell, row: seen } of found) {
      if (ofQueue >= count || picked.length >= count) break;
      const row = session.plant === 'lease-without-lock' ? seen : statement.lockOrSkip(cell, isNext);
      if (row === undefined) continue;
      ofQueue += 1;
      picked.push({ cell, row, isPlaceSeen: row === seen });
    }
  }
  return picked;
};

const leaseOne = (
  statement: Statement,
  request: LeaseRequest,
  { cell, row }: Picked,
  place: number,
  permits: readonly string[] | undefined,
): QueueRow => {
  const now = statement.now();
  const leased = {
    ...row,
    ...(permits === undefined ? {} : { permits }),
    leaseToken: request.tokens[place] as LeasedTask['leaseToken'],
    workerId: request.workerId,
    leaseExpiresAt: now + (request.leaseMs ?? row.task.heartbeatMs),
    startedAt: row.startedAt ?? (Math.floor(now) as Instant),
  };
  statement.write(cell, leased);
  return leased;
};

const arm = async (session: Tx, statement: Statement, row: QueueRow): Promise<void> => {
  const { executionId, namespace, task, startedAt } = row;
  if (task.startToCloseMs <= 0) return;
  await statement.insert(session.database.tables.timers, {
    executionId,
    namespace,
    ref: task.ref,
    iteration: task.iteration,
    attempt: task.attempt,
    purpose: 'START_TO_CLOSE',
    fireAt: (startedAt ?? 0) + task.startToCloseMs,
    underLock: task.alertOnly,
  });
};

/** The rows that are leased in the end: a row whose place has changed since the statement began is found no more. */
const leasePicked = async (
  session: Tx,
  statement: Statement,
  request: LeaseRequest,
  picked: readonly Picked[],
  gates?: Gates,
): Promise<readonly LeasedTask[]> => {
  const leased: LeasedTask[] = [];
  for (const [place, each] of picked.entries()) {
    if (!each.isPlaceSeen) continue;
    if (session.plant === 'lease-without-lock') {
      await session.database.scheduler.point(session.tx.process, 'lease');
      if ((await statement.lock(each.cell)) === undefined) continue;
    }
    const row = leaseOne(statement, request, each, place, gates?.permitsOf(each.row.task.taskName));
    if (each.row.startedAt === undefined) await arm(session, statement, row);
    leased.push(leasedTask(row, request.workerId));
  }
  return leased;
};

export const leaseNext = (session: Tx, request: LeaseRequest): Promise<readonly LeasedTask[]> =>
  session.run('lease', async (statement) => {
    const { namespace } = request;
    const inScope = (row: QueueRow): boolean => {
      if (namespace === undefined) return row.task.family === 'system';
      const isOurs = row.task.family === 'worker' && row.namespace === namespace;
      return isOurs && limitsOf(session.limits, namespace, row.task.taskName) === undefined;
    };
    return leasePicked(session, statement, request, pick(session, statement, request, request.count, inScope));
  });

export const hasLimits = (session: Tx, namespace: Namespace): Promise<boolean> =>
  session.run('has-limits', () => {
    for (const [key, limits] of session.limits) if (isGated(limits) && key.startsWith(`${namespace}/`)) return true;
    return false;
  });

const limitedNames = (session: Tx, request: LeaseRequest, namespace: Namespace): Promise<readonly string[]> =>
  session.run('peek-limits', (statement) => {
    const now = statement.now();
    const names = new Set<string>();
    for (const queue of request.queues) {
      const next = statement
        .scan(
          session.database.tables.taskQueue.cells.values(),
          (row) =>
            row.task.queue === queue && row.namespace === namespace && row.task.family === 'worker' && isFree(row, now),
        )
        .map(({ row }) => row)
        .sort(compareUrgency);
      for (const row of next.slice(0, request.count)) names.add(row.task.taskName);
    }
    return [...names].filter((name) => limitsOf(session.limits, namespace, name) !== undefined).sort();
  });

const leaseRound = (
  session: Tx,
  request: LeaseRequest,
  namespace: Namespace,
  gates: Gates,
): Promise<readonly LeasedTask[]> =>
  session.run('lease-limited', async (statement) => {
    const full = gates.closedNames();
    const queues = request.queues.filter((queue) => !full.some((name) => queue === name || queue.endsWith(`:${name}`)));
    const inScope = ({ task, namespace: of }: QueueRow): boolean => {
      if (task.family !== 'worker' || of !== namespace) return false;
      return gates.isOpen(task.taskName) || limitsOf(session.limits, namespace, task.taskName) === undefined;
    };
    const picked = pick(session, statement, { ...request, queues }, request.count, inScope);
    const within = picked.filter(({ row }) => gates.admit(row));
    return leasePicked(session, statement, request, within, gates);
  });

export const leaseAll = async (session: Tx, request: LeaseRequest): Promise<readonly LeasedTask[]> => {
  const { namespace, queues, count } = request;
  if (count <= 0 || queues.length === 0) return [];
  if (namespace === undefined || !(await hasLimits(session, namespace))) return leaseNext(session, request);
  const gates = new Gates(session, namespace);
  await gates.add(await limitedNames(session, request, namespace));
  const leased: LeasedTask[] = [];
  for (;;) {
    const left = { ...request, count: count - leased.length, tokens: request.tokens.slice(leased.length, count) };
    const round = await leaseRound(session, left, namespace, gates);
    leased.push(...round);
    if (gates.isEmpty || round.length === 0 || leased.length >= count) break;
  }
  await gates.countLeases();
  return leased;
};

type Held = Readonly<{ executionId: ExecutionId; seq: number; place: number }>;

const heldInOrder = (refs: readonly LeaseRef[]): readonly Held[] =>
  refs
    .flatMap((ref, place): Held[] => {
      const key = parseTaskId(ref.taskId);
      return key === undefined ? [] : [{ executionId: key.executionId, seq: key.scheduledSeq, place }];
    })
    .sort((a, b) => compareText(a.executionId, b.executionId) || a.seq - b.seq);

/** Locks the rows whose leases are held with these tokens and changes each; the places of those that were. */
const changeHeld = async (
  session: Tx,
  statement: Statement,
  refs: readonly LeaseRef[],
  isOurs: (row: QueueRow, ref: LeaseRef) => boolean,
  change: (row: QueueRow, place: number) => QueueRow,
): Promise<ReadonlyMap<number, QueueRow>> => {
  const changed = new Map<number, QueueRow>();
  const touched = new Set<string>();
  for (const { executionId, seq, place } of heldInOrder(refs)) {
    const ref = refs[place];
    const key = queueKey(executionId, seq);
    const cell = session.database.tables.taskQueue.find(key);
    const seen = statement.get(cell);
    if (cell === undefined || seen === undefined || ref === undefined || !isOurs(seen, ref)) continue;
    // A row that this very statement has changed is left as it is.
    if (touched.has(key)) continue;
    const row = await statement.lock(cell, (now) => isOurs(now, ref));
    if (row === undefined) continue;
    const after = change(row, place);
    statement.write(cell, after);
    touched.add(key);
    changed.set(place, after);
  }
  return changed;
};

const isHeldBy =
  (session: Tx, unfenced: 'heartbeat-unfenced' | 'release-unfenced', namespace: Namespace | undefined) =>
  (row: QueueRow, { leaseToken }: LeaseRef): boolean => {
    const isHolder = session.plant === unfenced ? row.leaseToken !== undefined : row.leaseToken === leaseToken;
    return isHolder && row.outcome === undefined && (namespace === undefined || row.namespace === namespace);
  };

export const leaseMethods = (
  session: Tx,
): Pick<TxMethods, 'leaseTasks' | 'heartbeat' | 'releaseLeases' | 'deferTasks' | 'appendLogs'> => ({
  leaseTasks: (request) => leaseAll(session, request),
  heartbeat: async (namespace, heartbeats) => {
    if (heartbeats.length === 0) return [];
    return session.run('heartbeat', async (statement) => {
      const isOurs = isHeldBy(session, 'heartbeat-unfenced', namespace);
      const extended = await changeHeld(session, statement, heartbeats, isOurs, (row, place) => {
        const { leaseMs, progress } = heartbeats[place] ?? {};
        const leaseExpiresAt = statement.now() + (leaseMs ?? row.task.heartbeatMs);
        return { ...row, leaseExpiresAt, ...(progress === undefined ? {} : { progress }) };
      });
      return heartbeats.map((ref) => {
        const row = [...extended].find(([place]) => {
          const other = heartbeats[place];
          return other?.taskId === ref.taskId && other.leaseToken === ref.leaseToken;
        })?.[1];
        if (row === undefined) return { kind: 'leaseLost' };
        return { kind: 'extended', leaseExpiresAt: Math.floor(row.leaseExpiresAt ?? 0) as Instant };
      });
    });
  },
  releaseLeases: async (namespace, leases) => {
    if (leases.length === 0) return [];
    return session.run('release', async (statement) => {
      const isOurs = isHeldBy(session, 'release-unfenced', namespace);
      const released = await changeHeld(session, statement, leases, isOurs, (row) => {
        const { leaseToken: _token, leaseExpiresAt: _expiry, workerId: _worker, permits, ...free } = row;
        if (session.plant === 'permits-kept' && permits !== undefined) return { ...free, permits };
        return free;
      });
      return [...released.values()].map((row) => ({ namespace: row.namespace, queue: row.task.queue }));
    });
  },
  deferTasks: async (namespace, deferrals) => {
    if (deferrals.length === 0) return [];
    return session.run('defer', async (statement) => {
      const isOurs = isHeldBy(session, 'release-unfenced', namespace);
      const deferred = await changeHeld(session, statement, deferrals, isOurs, (row, place) => {
        const { leaseToken: _token, leaseExpiresAt: _expiry, workerId: _worker, permits: _permits, ...free } = row;
        const { delayMs = 0, progress } = deferrals[place] ?? {};
        return {
          ...free,
          visibleAt: Math.floor(statement.now() + delayMs) as Instant,
          ...(progress === undefined ? {} : { progress }),
        };
      });
      return deferrals.map((_, place) => deferred.has(place));
    });
  },
  appendLogs: (namespace, lease, lines) =>
    session.run('log', async (statement) => {
      const key = parseTaskId(lease.taskId);
      if (key === undefined) return false;
      const isOurs = (row: QueueRow): boolean =>
        row.namespace === namespace && row.leaseToken === lease.leaseToken && row.outcome === undefined;
      const cell = session.database.tables.taskQueue.find(queueKey(key.executionId, key.scheduledSeq));
      const seen = statement.get(cell);
      if (cell === undefined || seen === undefined || !isOurs(seen)) return false;
      if ((await statement.lock(cell, isOurs)) === undefined) return false;
      for (const { at, line } of lines) {
        const id = session.database.nextId();
        const row = { executionId: key.executionId, namespace, seq: key.scheduledSeq, id, at, line };
        await statement.mustInsert(session.database.tables.logs, row);
      }
      return true;
    }),
});
