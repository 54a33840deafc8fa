import type { TaskId } from '../../../../src/domain/kernel/brand.ts';
import { type ExecutionId, type Namespace, parseTaskId } from '../../../../src/domain/kernel/brand.ts';
import type { WaitingOutcome } from '../../../../src/ports/engine-store.ts';
import { type QueueRow, queueKey } from '../rows.ts';
import type { Tx, TxMethods } from '../session.ts';
import { askForPass, seqsByRun } from './decide-queue.ts';

type Placed = Readonly<{ outcome: WaitingOutcome; executionId: ExecutionId; seq: number; place: number }>;

const placed = (outcomes: readonly WaitingOutcome[]): readonly Placed[] =>
  outcomes
    .flatMap((outcome, place): Placed[] => {
      const key = parseTaskId(outcome.taskId);
      return key === undefined ? [] : [{ outcome, executionId: key.executionId, seq: key.scheduledSeq, place }];
    })
    .sort((a, b) => (a.executionId < b.executionId ? -1 : a.executionId > b.executionId ? 1 : a.seq - b.seq));

const settleWaiting = (
  session: Tx,
  namespace: Namespace,
  outcomes: readonly WaitingOutcome[],
): Promise<ReadonlySet<TaskId>> =>
  session.run('settle-waiting', async (statement) => {
    const { taskQueue } = session.database.tables;
    const isOpen = (row: QueueRow): boolean =>
      row.task.family === 'waiting' &&
      (row.outcome === undefined || session.plant === 'waiting-settled-twice') &&
      row.namespace === namespace;
    const open = placed(outcomes).filter(({ executionId, seq }) => {
      const row = statement.find(taskQueue, queueKey(executionId, seq));
      return row !== undefined && isOpen(row);
    });
    for (const [id, seqs] of seqsByRun(open)) await askForPass(session, statement, id, seqs);
    const at = statement.now();
    const settled = new Set<TaskId>();
    for (const { outcome, executionId, seq, place } of open) {
      const cell = taskQueue.find(queueKey(executionId, seq));
      if (cell === undefined || settled.has(outcome.taskId)) continue;
      const row = await statement.lock(cell, isOpen);
      if (row === undefined) continue;
      const { status, output, reason, by } = outcome;
      const columns = { status, output, at: at + place / 1_000, ...(reason === undefined ? {} : { reason }) };
      statement.write(cell, { ...row, outcome: columns, ...(by === undefined ? {} : { workerId: by }) });
      settled.add(outcome.taskId);
    }
    return settled;
  });

/** What waits for somebody outside. The share lock of an attempt that is held is modelled as an exclusive one. */
export const waitingMethods = (session: Tx): Pick<TxMethods, 'settleWaiting' | 'holdAttempt'> => ({
  settleWaiting: async (namespace, outcomes) =>
    outcomes.length === 0 ? new Set() : settleWaiting(session, namespace, outcomes),
  holdAttempt: (namespace, taskId) =>
    session.run('hold-attempt', async (statement) => {
      const key = parseTaskId(taskId);
      const cell = key && session.database.tables.taskQueue.find(queueKey(key.executionId, key.scheduledSeq));
      const isOpen = (row: QueueRow): boolean => row.namespace === namespace && row.outcome === undefined;
      const seen = statement.get(cell);
      if (cell === undefined || seen === undefined || !isOpen(seen)) return false;
      return (await statement.lock(cell, isOpen)) !== undefined;
    }),
});
