import type { TaskOutcome } from '../../../../src/domain/execution/requests.ts';
import type { ExecutionId, TaskId } from '../../../../src/domain/kernel/brand.ts';
import { parseTaskId, taskIdOf } from '../../../../src/domain/kernel/brand.ts';
import { StatementFailure } from '../failure.ts';
import { attemptKey, type ClosedRow, closedKey, type QueueRow, queueKey } from '../rows.ts';
import type { Tx, TxMethods } from '../session.ts';
import type { Statement } from '../statement.ts';
import { reportHash } from './reports.ts';

const seqOf = (taskId: TaskId): number => parseTaskId(taskId)?.scheduledSeq ?? 0;

/** The unique index over (iteration, workflow_id, ref, attempt): the open attempt that has the identity already. */
export const identityInTheWay = async (session: Tx, row: QueueRow): Promise<boolean> => {
  const { taskQueue } = session.database.tables;
  const identity = attemptKey(row.task);
  for (;;) {
    let rival: QueueRow | undefined;
    let waited = false;
    for (const cell of taskQueue.ofRun(row.executionId)) {
      const other = cell.holder !== undefined && cell.holder !== session.tx && cell.pending !== undefined;
      const rows = other ? [cell.pending?.row, cell.committed] : [cell.latest(session.tx)];
      if (!rows.some((each) => each !== undefined && attemptKey(each.task) === identity)) continue;
      if (other && cell.holder !== undefined) {
        await session.database.waitFor(session.tx, cell.holder, `identity ${row.executionId} ${identity}`);
        waited = true;
        break;
      }
      rival = cell.latest(session.tx);
      break;
    }
    if (!waited) return rival !== undefined;
  }
};

const enqueue = async (session: Tx, statement: Statement, row: QueueRow): Promise<boolean> => {
  const { closedTasks, taskQueue } = session.database.tables;
  if (statement.find(closedTasks, closedKey(row.executionId, row.task)) !== undefined) return false;
  if (await identityInTheWay(session, row)) return false;
  const rival = await statement.insert(taskQueue, row);
  if (rival === undefined) return true;
  throw new StatementFailure('23505', `duplicate key in task_queue: ${rival.key}`);
};

const outcomeOf = ({ task, outcome, workerId, startedAt, callbacks, callbackSeconds }: QueueRow): TaskOutcome[] => {
  if (outcome === undefined) return [];
  const { status, output, reason, deadline } = outcome;
  return [
    {
      ref: task.ref,
      iteration: task.iteration,
      attempt: task.attempt,
      status,
      output,
      ...(reason === undefined ? {} : { reason }),
      ...(deadline === undefined ? {} : { deadline }),
      ...(workerId === undefined ? {} : { workerId }),
      ...(startedAt === undefined ? {} : { startedAt }),
      ...(callbacks === undefined ? {} : { callbacks }),
      ...(callbackSeconds === undefined ? {} : { callbackSeconds }),
    },
  ];
};

const inOrderOfReport = (rows: readonly QueueRow[]): readonly QueueRow[] =>
  rows.toSorted((a, b) => (a.outcome?.at ?? 0) - (b.outcome?.at ?? 0) || a.seq - b.seq);

/** The outcomes, and for later what their reports are recognised by. */
const readRows = (session: Tx, rows: readonly QueueRow[]): readonly TaskOutcome[] => {
  for (const row of rows) {
    if (row.leaseToken === undefined || row.outcome === undefined) continue;
    session.memory.reportHashes.set(taskIdOf(row.executionId, row.seq), reportHash(row.leaseToken, row.outcome));
  }
  return inOrderOfReport(rows).flatMap(outcomeOf);
};

const canceledOf = (row: QueueRow, endedAt: ClosedRow['endedAt']): ClosedRow => ({
  executionId: row.executionId,
  namespace: row.namespace,
  seq: row.seq,
  taskId: row.task.taskId,
  ref: row.task.ref,
  iteration: row.task.iteration,
  attempt: row.task.attempt,
  status: 'CANCELED',
  taskType: row.task.taskType,
  taskName: row.task.taskName,
  scheduledAt: row.task.scheduledAt,
  endedAt,
  ...(row.startedAt === undefined ? {} : { startedAt: row.startedAt }),
  ...(row.workerId === undefined ? {} : { workerId: row.workerId }),
});

const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

export const taskMethods = (
  session: Tx,
): Pick<
  TxMethods,
  'readOutcomes' | 'readAllOutcomes' | 'openTaskIds' | 'enqueueTasks' | 'closeTasks' | 'cancelOpenWork'
> => {
  const { taskQueue, closedTasks, timers } = session.database.tables;
  return {
    readOutcomes: async (executionIds) => {
      const keys = executionIds.flatMap((id) =>
        [...(session.memory.reported.get(id) ?? [])].map((seq) => [id, seq] as const),
      );
      if (keys.length === 0) return new Map();
      return session.run('read-outcomes', (statement) => {
        const byRun = new Map<ExecutionId, QueueRow[]>();
        for (const [id, seq] of keys) {
          const row = statement.find(taskQueue, queueKey(id, seq));
          if (row?.outcome === undefined) continue;
          const rows = byRun.get(id) ?? [];
          rows.push(row);
          byRun.set(id, rows);
        }
        return new Map([...byRun].map(([id, rows]) => [id, readRows(session, rows)]));
      });
    },
    readAllOutcomes: (id) =>
      session.run('read-all-outcomes', (statement) =>
        readRows(
          session,
          statement.scan(taskQueue.ofRun(id), (row) => row.outcome !== undefined).map(({ row }) => row),
        ),
      ),
    openTaskIds: (id) =>
      session.run('open-task-ids', (statement) =>
        statement
          .scan(taskQueue.ofRun(id))
          .map(({ row }) => row.seq)
          .sort((a, b) => a - b)
          .map((seq) => taskIdOf(id, seq)),
      ),
    enqueueTasks: async (tasks) => {
      if (tasks.length === 0) return new Set();
      return session.run('enqueue', async (statement) => {
        const absorbed = new Set<ExecutionId>();
        const rows = tasks
          .map(({ executionId, namespace, item }): QueueRow => {
            const isReused = session.plant === 'retry-identity' && item.attempt > 1;
            const task = isReused ? { ...item, attempt: item.attempt - 1 } : item;
            return { executionId, namespace, seq: seqOf(item.taskId), task, visibleAt: item.visibleAt };
          })
          .sort((a, b) => compareText(a.executionId, b.executionId) || a.seq - b.seq);
        for (const row of rows) if (!(await enqueue(session, statement, row))) absorbed.add(row.executionId);
        return absorbed;
      });
    },
    closeTasks: async (tasks) => {
      if (tasks.length === 0) return;
      await session.run('close', async (statement) => {
        const rows = tasks
          .map(({ executionId, namespace, item: { type: _type, ...closed } }): ClosedRow => {
            const hash = session.memory.reportHashes.get(closed.taskId);
            const key = { executionId, namespace, seq: seqOf(closed.taskId) };
            return { ...closed, ...key, ...(hash === undefined ? {} : { reportHash: hash }) };
          })
          .sort((a, b) => compareText(a.executionId, b.executionId) || a.seq - b.seq);
        for (const row of rows) {
          if (session.plant === 'withdrawn-kept' && row.status === 'CANCELED') continue;
          const cell = taskQueue.find(queueKey(row.executionId, row.seq));
          if (cell === undefined || statement.get(cell) === undefined) continue;
          if ((await statement.lock(cell)) !== undefined) statement.write(cell, undefined);
        }
        for (const row of rows) {
          if (statement.find(closedTasks, closedKey(row.executionId, row)) === undefined) {
            await statement.mustInsert(closedTasks, row);
          }
        }
      });
    },
    cancelOpenWork: async (ended) => {
      if (ended.length === 0) return;
      const runs = ended.toSorted((a, b) => compareText(a.executionId, b.executionId));
      await session.run('cancel', async (statement) => {
        for (const { executionId, at } of runs) {
          const open = statement.scan(taskQueue.ofRun(executionId)).sort((a, b) => a.row.seq - b.row.seq);
          for (const { cell } of open) {
            const row = await statement.lock(cell);
            if (row === undefined || (session.plant === 'tasks-kept' && row.leaseToken !== undefined)) continue;
            statement.write(cell, undefined);
            await statement.insert(closedTasks, canceledOf(row, at));
          }
        }
      });
      if (session.plant === 'timer-kept') return;
      await session.run('disarm', async (statement) => {
        for (const { executionId } of runs) {
          const armed = statement.scan(timers.ofRun(executionId)).sort((a, b) => compareText(a.cell.key, b.cell.key));
          for (const { cell } of armed)
            if ((await statement.lock(cell)) !== undefined) statement.write(cell, undefined);
        }
      });
    },
  };
};
