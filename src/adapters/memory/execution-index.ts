import type { ExecutionId, Namespace } from '../../domain/kernel/brand.ts';
import type { OpenTaskRow } from '../../ports/engine-store.ts';
import type {
  ExecutionCursor,
  ExecutionFilter,
  ExecutionIndex,
  ExecutionRow,
  ExecutionSummary,
} from '../../ports/execution-index.ts';
import { waitingAdmission } from './admissions.ts';
import { deadLetters } from './dead-letters.ts';
import { taskGatesOf } from './gates.ts';
import { internalEvents } from './internal-events.ts';
import { optional } from './optional.ts';
import { queueDepths } from './queue-depths.ts';
import type { OpenTask, StoredExecution } from './rows.ts';
import { searchRuns } from './run-search.ts';
import type { Serializer } from './serializer.ts';
import type { MemoryState } from './state.ts';
import { searchTasks } from './task-search.ts';

const findRow = (state: MemoryState, namespace: Namespace, executionId: ExecutionId): ExecutionRow | undefined => {
  const row = state.tables.executions.get(executionId);
  if (row?.namespace !== namespace) return undefined;
  const decideRow = state.tables.decideRows.get(executionId);
  return {
    ...row,
    ...queuedFlag(state, executionId),
    ...optional('parked', decideRow?.parked && { ...decideRow.parked, retryAt: decideRow.dueAt }),
  };
};

const queuedFlag = (state: MemoryState, executionId: ExecutionId): { awaitingAdmission?: true } =>
  [...state.tables.admissions.byRun.in(executionId)].some((place) => !place.admitted)
    ? { awaitingAdmission: true }
    : {};

const matchesName = (name: string, wanted: string): boolean =>
  wanted.endsWith('*') ? name.startsWith(wanted.slice(0, -1)) : name === wanted;

const matches = (row: StoredExecution, filter: ExecutionFilter): boolean => {
  const equal = <T>(wanted: T | undefined, actual: T | undefined) => wanted === undefined || wanted === actual;
  return (
    (filter.executionIds?.includes(row.executionId) ?? true) &&
    (filter.statuses?.includes(row.status) ?? true) &&
    (filter.name === undefined || matchesName(row.name, filter.name)) &&
    equal(filter.version, row.version) &&
    equal(filter.correlationId, row.correlationId) &&
    equal(filter.idempotencyKey, row.idempotencyKey) &&
    equal(filter.parentExecutionId, row.parentExecutionId) &&
    (filter.startedAfter === undefined || row.startedAt >= filter.startedAfter) &&
    (filter.startedBefore === undefined || row.startedAt < filter.startedBefore)
  );
};

const isAfter = (row: StoredExecution, cursor: ExecutionCursor): boolean =>
  row.startedAt < cursor.startedAt || (row.startedAt === cursor.startedAt && row.executionId < cursor.executionId);

const summaryOf = (row: StoredExecution): ExecutionSummary => {
  const { namespace: _namespace, definitionHash: _hash, input: _input, output: _output, ...summary } = row;
  return summary;
};

const search = (
  state: MemoryState,
  namespace: Namespace,
  filter: ExecutionFilter,
  page: Readonly<{ limit: number; after?: ExecutionCursor }>,
): readonly ExecutionSummary[] => {
  const found: ExecutionSummary[] = [];
  for (const row of state.tables.executions.newestFirst.in(namespace)) {
    if (found.length >= page.limit) break;
    const flag = queuedFlag(state, row.executionId);
    const fits = filter.awaitingAdmission === undefined || filter.awaitingAdmission === 'awaitingAdmission' in flag;
    if (!fits || (page.after !== undefined && !isAfter(row, page.after)) || !matches(row, filter)) continue;
    found.push({ ...summaryOf(row), ...flag });
  }
  return found;
};

const descendants = (
  state: MemoryState,
  namespace: Namespace,
  executionId: ExecutionId,
  limit: number,
): readonly ExecutionSummary[] => {
  const rows = [...state.tables.executions.newestFirst.in(namespace)];
  const found: ExecutionSummary[] = [];
  let level = new Set([executionId]);
  while (level.size > 0 && found.length < limit) {
    const above: ReadonlySet<ExecutionId> = level;
    const children = rows.filter((row) => row.parentExecutionId !== undefined && above.has(row.parentExecutionId));
    found.push(...children.map(summaryOf));
    level = new Set(children.map((row) => row.executionId));
  }
  return found.slice(0, limit);
};

const openTaskRow = ({ task, lease, ...row }: OpenTask): OpenTaskRow => ({
  taskId: task.taskId,
  ref: task.ref,
  iteration: task.iteration,
  attempt: task.attempt,
  family: task.family,
  queue: task.queue,
  leased: lease !== undefined,
  visibleAt: row.visibleAt,
  hasOutcome: row.outcome !== undefined,
  ...optional('workerId', lease?.workerId ?? row.lastWorkerId),
  ...optional('leaseExpiresAt', lease?.expiresAt),
  ...optional('startedAt', row.startedAt),
  ...optional('progress', row.progress),
  ...optional('callbacks', row.callbacks),
  ...optional('callbackSeconds', row.callbackSeconds),
});

/** The reads of runs over the tables of the engine's store. */
export const createExecutionIndex = (state: MemoryState, serializer: Serializer): ExecutionIndex => {
  const isOf = (namespace: Namespace, executionId: ExecutionId): boolean =>
    state.tables.executions.get(executionId)?.namespace === namespace;
  return {
    find: (namespace, executionId) => serializer.read(() => findRow(state, namespace, executionId)),
    search: (namespace, filter, page) => serializer.read(() => search(state, namespace, filter, page)),
    searchRuns: (namespace, query) => serializer.read(() => searchRuns(state, namespace, query)),
    descendants: (namespace, executionId, limit) =>
      serializer.read(() => descendants(state, namespace, executionId, limit)),
    history: (namespace, executionId, after, limit) =>
      serializer.read(() =>
        isOf(namespace, executionId) ? state.events.get(executionId).slice(after, after + limit) : [],
      ),
    lastSeq: (namespace, executionId) =>
      serializer.read(() => (isOf(namespace, executionId) ? state.events.get(executionId).length : undefined)),
    waitingAdmission: (namespace, executionId) =>
      serializer.read(() => (isOf(namespace, executionId) ? waitingAdmission(state, executionId) : undefined)),
    openTasks: (namespace, executionId) =>
      serializer.read(() =>
        isOf(namespace, executionId) ? [...state.tables.openTasks.byRun.in(executionId)].map(openTaskRow) : [],
      ),
    logs: (namespace, taskId, { after, limit }) =>
      serializer.read(() =>
        state.logs
          .get(taskId)
          .filter((line) => line.namespace === namespace && line.id > after)
          .slice(0, limit)
          .map(({ id, at, line }) => ({ id, at, line })),
      ),
    webhookWaits: (namespace, { limit, after }) =>
      serializer.read(() =>
        [...state.tables.openTasks.webhooks.in(namespace)]
          .filter(({ task }) => after === undefined || task.taskId > after)
          .slice(0, limit)
          .map(({ task }) => ({ taskId: task.taskId, input: task.input })),
      ),
    queues: (namespace) => serializer.read(() => queueDepths(state, namespace)),
    searchTasks: (namespace, filter, page) => serializer.read(() => searchTasks(state, namespace, filter, page)),
    deadLetters: (namespace, page) => serializer.read(() => deadLetters(state, namespace, page)),
    internalEvents: (namespace, sink, page) => serializer.read(() => internalEvents(state, namespace, sink, page)),
    taskGates: (namespace, taskNames) =>
      serializer.read(() => taskNames.flatMap((name) => taskGatesOf(state, namespace, name) ?? [])),
  };
};
