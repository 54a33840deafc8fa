import { addMs, type Instant, type LeaseToken, type Namespace } from '../../domain/kernel/brand.ts';
import type { EngineTx, LeasedTask, LeaseRef, LeaseRequest, LogLine } from '../../ports/engine-store.ts';
import { countLease, heldBackMs, permitsOf } from './gates.ts';
import { turnLine } from './open-tasks.ts';
import { optional } from './optional.ts';
import { setOutcome } from './outcomes.ts';
import { inNamespace, type OpenTask } from './rows.ts';
import type { MemoryState } from './state.ts';
import { ALL } from './tables.ts';
import { armTimer, dropTimer } from './timers.ts';

/** The open attempt that this token holds; undefined once it was ended, given back or taken by another (promise 7). */
export const heldTask = (
  state: MemoryState,
  namespace: Namespace | undefined,
  { taskId, leaseToken }: LeaseRef,
): OpenTask | undefined => {
  const row = state.tables.openTasks.get(taskId);
  if (row === undefined || row.namespace !== (namespace ?? row.namespace)) return undefined;
  return row.lease?.token === leaseToken && row.outcome === undefined ? row : undefined;
};

/** Moves the tasks of a queue whose time has come from the delayed to the ready ones. */
const promoteDue = (state: MemoryState, queue: string): void => {
  const { openTasks } = state.tables;
  const now = state.now();
  for (let row = openTasks.delayed.first(queue); row !== undefined && row.visibleAt <= now; ) {
    openTasks.put({ ...row, ready: true });
    row = openTasks.delayed.first(queue);
  }
};

const nextTask = (state: MemoryState, namespace: Namespace | undefined, queue: string): OpenTask | undefined => {
  const { ready, readySystem } = state.tables.openTasks;
  const rows = namespace === undefined ? readySystem.in(queue) : ready.in(inNamespace(namespace, queue));
  for (const row of rows) if (heldBackMs(state, row) === undefined) return row;
  return undefined;
};

/** The first lease of an attempt ends its wait for a worker and starts its time with one. */
const startAttempt = (state: MemoryState, row: OpenTask, now: Instant): void => {
  const { executionId, task } = row;
  const slot = { executionId, ref: task.ref, iteration: task.iteration, attempt: task.attempt };
  dropTimer(state, { ...slot, purpose: 'SCHEDULE_TO_START' });
  if (task.startToCloseMs > 0) {
    const fireAt = addMs(now, task.startToCloseMs);
    armTimer(state, { ...slot, purpose: 'START_TO_CLOSE', fireAt, alertOnly: task.alertOnly });
  }
};

const leasedTask = (
  { task, ...row }: OpenTask,
  lease: NonNullable<OpenTask['lease']>,
  startedAt: Instant,
): LeasedTask => ({
  heartbeatMs: task.heartbeatMs,
  ...optional('callbacks', row.callbacks),
  ...optional('callbackSeconds', row.callbackSeconds),
  ...optional('progress', row.progress),
  taskId: task.taskId,
  executionId: row.executionId,
  namespace: row.namespace,
  ref: task.ref,
  iteration: task.iteration,
  attempt: task.attempt,
  taskType: task.taskType,
  taskName: task.taskName,
  queue: task.queue,
  priority: task.priority,
  input: task.input,
  leaseToken: lease.token,
  leaseExpiresAt: lease.expiresAt,
  scheduledAt: task.scheduledAt,
  startedAt,
  workerId: lease.workerId,
});

/** Leases an open attempt that has room. */
export const leaseTask = (state: MemoryState, row: OpenTask, request: LeaseRequest, token: LeaseToken): LeasedTask => {
  const now = state.now();
  const expiresAt = addMs(now, request.leaseMs ?? row.task.heartbeatMs);
  const lease = { token, workerId: request.workerId, expiresAt, permits: permitsOf(state, row) };
  state.turns.serve(turnLine(row.namespace, row.task), row.turn);
  countLease(state, row, now);
  const startedAt = row.startedAt ?? now;
  if (row.startedAt === undefined) startAttempt(state, row, now);
  state.tables.openTasks.put({ ...row, lease, startedAt });
  return leasedTask(row, lease, startedAt);
};

const leaseTasks = (state: MemoryState, request: LeaseRequest): readonly LeasedTask[] => {
  const leased: LeasedTask[] = [];
  for (const queue of request.queues) {
    promoteDue(state, queue);
    for (const token of request.tokens.slice(leased.length, request.count)) {
      const row = nextTask(state, request.namespace, queue);
      if (row === undefined) break;
      leased.push(leaseTask(state, row, request, token));
    }
  }
  return leased;
};

const giveBack = (state: MemoryState, { lease: _lease, ...row }: OpenTask): void =>
  state.tables.openTasks.put({ ...row, visibleAt: state.now() });

const expireDue = (state: MemoryState, limit: number): readonly OpenTask[] => {
  const now = state.now();
  const expired: OpenTask[] = [];
  for (const row of state.tables.openTasks.byExpiry.in(ALL)) {
    if (row.lease === undefined || row.lease.expiresAt > now || expired.length >= limit) break;
    expired.push(row);
  }
  return expired;
};

const appendLines = (state: MemoryState, { namespace, task }: OpenTask, lines: readonly LogLine[]): void => {
  for (const { at, line } of lines) state.logs.append(task.taskId, { id: state.nextOrder(), namespace, at, line });
};

/** What workers do with tasks; each write after the lease is fenced by its token. */
export const leaseWrites = (
  state: MemoryState,
): Pick<EngineTx, 'leaseTasks' | 'heartbeat' | 'releaseLeases' | 'deferTasks' | 'appendLogs' | 'expireLeases'> => ({
  leaseTasks: async (request) => leaseTasks(state, request),
  heartbeat: async (namespace, heartbeats) =>
    heartbeats.map((heartbeat) => {
      const row = heldTask(state, namespace, heartbeat);
      if (row?.lease === undefined) return { kind: 'leaseLost' };
      const leaseExpiresAt = addMs(state.now(), heartbeat.leaseMs ?? row.task.heartbeatMs);
      const lease = { ...row.lease, expiresAt: leaseExpiresAt };
      state.tables.openTasks.put({ ...row, lease, ...optional('progress', heartbeat.progress) });
      return { kind: 'extended', leaseExpiresAt };
    }),
  releaseLeases: async (namespace, leases) =>
    leases.flatMap((lease) => {
      const row = heldTask(state, namespace, lease);
      if (row === undefined) return [];
      giveBack(state, row);
      return [{ namespace: row.namespace, queue: row.task.queue }];
    }),
  deferTasks: async (namespace, deferrals) =>
    deferrals.map((deferral) => {
      const held = heldTask(state, namespace, deferral);
      if (held === undefined) return false;
      const { lease: _lease, ...row } = held;
      const visibleAt = addMs(state.now(), deferral.delayMs);
      state.tables.openTasks.put({ ...row, visibleAt, ready: false, ...optional('progress', deferral.progress) });
      return true;
    }),
  appendLogs: async (namespace, lease, lines) => {
    const row = heldTask(state, namespace, lease);
    if (row === undefined) return false;
    appendLines(state, row, lines);
    return true;
  },
  expireLeases: async (limit) => {
    const expired = expireDue(state, limit);
    for (const row of expired) {
      const reason = `no heartbeat from worker ${row.lease?.workerId} before its lease ended`;
      setOutcome(state, row, { status: 'TIMED_OUT', output: {}, deadline: 'HEARTBEAT', reason });
    }
    return [...new Set(expired.map((row) => row.executionId))];
  },
});
