import type { Instant, Namespace, TaskId } from '../../../../src/domain/kernel/brand.ts';
import { parseTaskId } from '../../../../src/domain/kernel/brand.ts';
import type { OpenLease } from '../../../../src/ports/engine-store.ts';
import { type QueueRow, queueKey } from '../rows.ts';
import type { Tx, TxMethods } from '../session.ts';
import type { Statement } from '../statement.ts';

const cellOf = (session: Tx, taskId: TaskId) => {
  const key = parseTaskId(taskId);
  return key && session.database.tables.taskQueue.find(queueKey(key.executionId, key.scheduledSeq));
};

export const openLease = (
  session: Tx,
  statement: Statement,
  namespace: Namespace,
  taskId: TaskId,
): OpenLease | undefined => {
  const row = statement.get(cellOf(session, taskId));
  if (row?.namespace !== namespace || row.outcome !== undefined) return undefined;
  const { family, queue } = row.task;
  return {
    family,
    queue,
    ...(row.leaseToken === undefined ? {} : { leaseToken: row.leaseToken }),
    ...(row.workerId === undefined ? {} : { workerId: row.workerId }),
  };
};

export const putOffMethods = (session: Tx): Pick<TxMethods, 'putOffTask' | 'appendTaskLogs'> => ({
  putOffTask: (namespace, { taskId, leaseToken, afterSeconds, progress }) =>
    session.run('put-off', async (statement) => {
      const isOurs = (row: QueueRow): boolean =>
        row.namespace === namespace &&
        row.task.family !== 'system' &&
        row.outcome === undefined &&
        row.leaseToken === leaseToken;
      const cell = cellOf(session, taskId);
      const seen = statement.get(cell);
      if (cell === undefined || seen === undefined || !isOurs(seen)) return undefined;
      const row = await statement.lock(cell, isOurs);
      if (row === undefined) return undefined;
      const isQueued = row.task.family === 'worker';
      const visibleAt = isQueued ? ((statement.now() + afterSeconds * 1_000) as Instant) : row.visibleAt;
      const { leaseToken: _token, leaseExpiresAt: _expiry, callbackSeconds: _before, permits: _permits, ...free } = row;
      statement.write(cell, {
        ...free,
        progress,
        visibleAt,
        ...(leaseToken === undefined ? {} : { callbacks: (row.callbacks ?? 0) + 1 }),
        ...(isQueued ? { callbackSeconds: afterSeconds } : {}),
      });
      return { queue: row.task.queue, visibleAt };
    }),
  appendTaskLogs: (namespace, taskId, lines) =>
    session.run('log-unheld', async (statement) => {
      const key = parseTaskId(taskId);
      const row = key && statement.find(session.database.tables.events, queueKey(key.executionId, key.scheduledSeq));
      if (key === undefined || row?.namespace !== namespace || row.event.type !== 'TaskScheduled') return false;
      for (const { at, line } of lines) {
        const id = session.database.nextId();
        const log = { executionId: key.executionId, namespace, seq: key.scheduledSeq, id, at, line };
        await statement.mustInsert(session.database.tables.logs, log);
      }
      return true;
    }),
});
