import type { ExecutionId, Instant, Namespace } from '../../../src/domain/kernel/brand.ts';
import { parseTaskId, type TaskId, taskIdOf } from '../../../src/domain/kernel/brand.ts';
import type { OpenTaskRow } from '../../../src/ports/engine-store.ts';
import type { ExecutionIndex, ExecutionRow, ExecutionSummary } from '../../../src/ports/execution-index.ts';
import type { SimulatedStoreOptions } from './engine-store.ts';
import { translate } from './failure.ts';
import { asPort } from './outside-the-model.ts';
import type { ExecutionRecord, QueueRow } from './rows.ts';
import type { Statement } from './statement.ts';

const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

const openTaskRow = (row: QueueRow): OpenTaskRow => ({
  taskId: taskIdOf(row.executionId, row.seq),
  ref: row.task.ref,
  iteration: row.task.iteration,
  attempt: row.task.attempt,
  family: row.task.family,
  queue: row.task.queue,
  leased: row.leaseToken !== undefined,
  visibleAt: row.visibleAt,
  hasOutcome: row.outcome !== undefined,
  ...(row.workerId === undefined ? {} : { workerId: row.workerId }),
  ...(row.leaseExpiresAt === undefined ? {} : { leaseExpiresAt: Math.floor(row.leaseExpiresAt) as Instant }),
  ...(row.startedAt === undefined ? {} : { startedAt: row.startedAt }),
  ...(row.progress === undefined ? {} : { progress: row.progress }),
  ...(row.callbacks === undefined ? {} : { callbacks: row.callbacks }),
  ...(row.callbackSeconds === undefined ? {} : { callbackSeconds: row.callbackSeconds }),
});

const summaryOf = (row: ExecutionRecord): ExecutionSummary => {
  const { namespace: _namespace, definitionHash: _hash, input: _input, output: _output, ...summary } = row;
  return summary;
};

const isBehind = (taskId: TaskId, after: TaskId): boolean => {
  const [one, other] = [parseTaskId(taskId), parseTaskId(after)];
  if (one === undefined || other === undefined) return false;
  return (compareText(one.executionId, other.executionId) || one.scheduledSeq - other.scheduledSeq) > 0;
};

/** The reads of runs over the simulated database, each a statement by itself. */
export const createSimulatedIndex = ({ database, process }: SimulatedStoreOptions): ExecutionIndex => {
  const { tables } = database;
  const read = async <T>(label: string, body: (statement: Statement) => T): Promise<T> => {
    const tx = database.begin(process);
    try {
      return await database.run(tx, label, body);
    } catch (error) {
      throw translate(error);
    } finally {
      database.rollback(tx);
    }
  };
  const ofNamespace = (statement: Statement, namespace: Namespace, id: ExecutionId): ExecutionRecord | undefined => {
    const row = statement.find(tables.executions, id);
    return row?.namespace === namespace ? row : undefined;
  };
  return asPort<ExecutionIndex>({
    find: (namespace, id) =>
      read('find', (statement): ExecutionRow | undefined => {
        const row = ofNamespace(statement, namespace, id);
        const parked = statement.find(tables.decideQueue, id);
        if (row === undefined || parked?.reason === undefined) return row;
        const { attempts, reason, dueAt } = parked;
        return { ...row, parked: { attempts, reason, retryAt: Math.floor(dueAt) as Instant } };
      }),
    search: (namespace, filter, { limit }) =>
      read('search', (statement) =>
        statement
          .scan(tables.executions.cells.values(), (row) => row.namespace === namespace)
          .map(({ row }) => row)
          .filter(
            (row) =>
              (filter.statuses?.includes(row.status) ?? true) &&
              (filter.parentExecutionId ?? row.parentExecutionId) === row.parentExecutionId &&
              (filter.executionIds?.includes(row.executionId) ?? true),
          )
          .sort((a, b) => b.startedAt - a.startedAt || compareText(b.executionId, a.executionId))
          .slice(0, limit)
          .map(summaryOf),
      ),
    history: (namespace, id, after, limit) =>
      read('history', (statement) =>
        ofNamespace(statement, namespace, id) === undefined
          ? []
          : statement
              .scan(tables.events.ofRun(id), (row) => row.seq > after)
              .map(({ row }) => ({ seq: row.seq, event: row.event }))
              .sort((a, b) => a.seq - b.seq)
              .slice(0, limit),
      ),
    lastSeq: (namespace, id) =>
      read('last-seq', (statement) =>
        ofNamespace(statement, namespace, id) === undefined
          ? undefined
          : Math.max(0, ...statement.scan(tables.events.ofRun(id)).map(({ row }) => row.seq)),
      ),
    openTasks: (namespace, id) =>
      read('open-tasks', (statement) =>
        statement
          .scan(tables.taskQueue.ofRun(id), (row) => row.namespace === namespace)
          .map(({ row }) => openTaskRow(row)),
      ),
    webhookWaits: (namespace, { limit, after }) =>
      read('webhook-waits', (statement) =>
        statement
          .scan(
            tables.taskQueue.cells.values(),
            ({ task, outcome, ...row }) =>
              row.namespace === namespace && task.taskType === 'WAIT_FOR_WEBHOOK' && outcome === undefined,
          )
          .map(({ row }) => row)
          .sort((a, b) => compareText(a.executionId, b.executionId) || a.seq - b.seq)
          .map((row) => ({ taskId: taskIdOf(row.executionId, row.seq), input: row.task.input }))
          .filter(({ taskId }) => after === undefined || isBehind(taskId, after))
          .slice(0, limit),
      ),
    logs: (namespace, taskId, { after, limit }) =>
      read('logs', (statement) => {
        const key = parseTaskId(taskId);
        if (key === undefined) return [];
        return statement
          .scan(
            tables.logs.ofRun(key.executionId),
            (row) => row.seq === key.scheduledSeq && row.namespace === namespace && row.id > after,
          )
          .map(({ row: { id, at, line } }) => ({ id, at, line }))
          .slice(0, limit);
      }),
  });
};
