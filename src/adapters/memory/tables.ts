import { gateKey } from '../../domain/execution/admit.ts';
import type { QueuedFamily } from '../../domain/execution/commands.ts';
import type { ExecutionId } from '../../domain/kernel/brand.ts';
import type { EventHandlerRow } from '../../ports/event-handler-store.ts';
import type { ScheduleRow } from '../../ports/schedule-store.ts';
import { dedupeKeyOf, handlerRunKeyOf } from './event-handlers.ts';
import type { Journal } from './journal.ts';
import {
  type AdmissionRow,
  attemptKey,
  type ClosedTask,
  type DecideRow,
  type DomainPollRow,
  type EventDedupeRow,
  type ExternalPayloadRow,
  type IdempotencyRow,
  type InternalEventRow,
  inNamespace,
  type NamedValueRow,
  type OpenTask,
  type OutboxRow,
  type QuotaRow,
  type RateWindowRow,
  type RetryBucketRow,
  type SemaphoreRow,
  type StoredExecution,
  type StoredHandlerRun,
  type StoredScheduleRun,
  type TagRow,
  type TaskOutputRow,
  type TimerRow,
  timerKey,
  type WorkerPollRow,
  workerPollKey,
} from './rows.ts';
import { OrderedIndex, Table } from './table.ts';

/** Partition of the indexes that order all rows together. */
export const ALL = 'all';

const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

const executionTables = (journal: Journal) => {
  const newestFirst = new OrderedIndex<StoredExecution>(
    (row) => row.namespace,
    (a, b) => b.startedAt - a.startedAt || compareText(b.executionId, a.executionId),
  );
  const running = new OrderedIndex<StoredExecution>(
    (row) => (row.status === 'RUNNING' ? ALL : undefined),
    (a, b) => a.updatedAt - b.updatedAt || compareText(a.executionId, b.executionId),
  );
  return {
    executions: Object.assign(new Table<StoredExecution>(journal, (row) => row.executionId, [newestFirst, running]), {
      newestFirst,
      running,
    }),
  };
};

const isQueued = (row: OpenTask): boolean => row.task.family !== 'waiting' && row.outcome === undefined;
const isFree = (row: OpenTask): boolean => isQueued(row) && row.lease === undefined;
const isReady = (row: OpenTask, family: QueuedFamily): boolean =>
  isFree(row) && row.ready && row.task.family === family;
const isLeased = (row: OpenTask): boolean => row.outcome === undefined && row.lease !== undefined;
const queueOf = (row: OpenTask): string => inNamespace(row.namespace, row.task.queue);
const compareUrgency = (a: OpenTask, b: OpenTask): number =>
  b.task.priority - a.task.priority || a.turn - b.turn || a.order - b.order;

const openTaskTable = (journal: Journal) => {
  const byRun = new OrderedIndex<OpenTask>(
    (row) => row.executionId,
    (a, b) => a.order - b.order,
  );
  const byAttempt = new OrderedIndex<OpenTask>(
    (row) => attemptKey(row.executionId, row.task),
    (a, b) => a.order - b.order,
  );
  const queued = new OrderedIndex<OpenTask>(
    (row) => (isQueued(row) ? row.namespace : undefined),
    (a, b) => a.order - b.order,
  );
  const ready = new OrderedIndex<OpenTask>(
    (row) => (isReady(row, 'worker') ? queueOf(row) : undefined),
    compareUrgency,
  );
  const readySystem = new OrderedIndex<OpenTask>(
    (row) => (isReady(row, 'system') ? row.task.queue : undefined),
    compareUrgency,
  );
  const delayed = new OrderedIndex<OpenTask>(
    (row) => (isFree(row) && !row.ready ? row.task.queue : undefined),
    (a, b) => a.visibleAt - b.visibleAt || a.order - b.order,
  );
  const leasedByName = new OrderedIndex<OpenTask>(
    (row) => (isLeased(row) ? inNamespace(row.namespace, row.task.taskName) : undefined),
    (a, b) => a.order - b.order,
  );
  const byExpiry = new OrderedIndex<OpenTask>(
    (row) => (isLeased(row) ? ALL : undefined),
    (a, b) => (a.lease?.expiresAt ?? 0) - (b.lease?.expiresAt ?? 0) || a.order - b.order,
  );
  const withOutcome = new OrderedIndex<OpenTask>(
    (row) => (row.outcome === undefined ? undefined : row.executionId),
    (a, b) => (a.outcomeOrder ?? 0) - (b.outcomeOrder ?? 0),
  );
  const webhooks = new OrderedIndex<OpenTask>(
    (row) => (row.task.taskType === 'WAIT_FOR_WEBHOOK' && row.outcome === undefined ? row.namespace : undefined),
    (a, b) => compareText(a.task.taskId, b.task.taskId),
  );
  const withPermits = new OrderedIndex<OpenTask>(
    (row) => (isLeased(row) && (row.lease?.permits.length ?? 0) > 0 ? row.namespace : undefined),
    (a, b) => a.order - b.order,
  );
  const queues = { queued, ready, readySystem, delayed };
  const indexes = { byRun, byAttempt, ...queues, leasedByName, withPermits, byExpiry, withOutcome, webhooks };
  return Object.assign(new Table<OpenTask>(journal, (row) => row.task.taskId, Object.values(indexes)), indexes);
};

const closedTaskTable = (journal: Journal) => {
  const byRun = new OrderedIndex<ClosedTask>(
    (row) => row.executionId,
    (a, b) => compareText(attemptKey(a.executionId, a.closed), attemptKey(b.executionId, b.closed)),
  );
  const byTask = new OrderedIndex<ClosedTask>(
    (row) => row.closed.taskId,
    () => 0,
  );
  const keyOf = (row: ClosedTask) => attemptKey(row.executionId, row.closed);
  return Object.assign(new Table<ClosedTask>(journal, keyOf, [byRun, byTask]), { byRun, byTask });
};

const decideTable = (journal: Journal) => {
  const byDue = new OrderedIndex<DecideRow>(
    () => ALL,
    (a, b) => a.dueAt - b.dueAt || a.order - b.order,
  );
  return Object.assign(new Table<DecideRow>(journal, (row) => row.executionId, [byDue]), { byDue });
};

/**
 * Timers that end an attempt by themselves, and those that a use case deals with under the execution lock, stand in two
 * lines: one that waits for its lock must not hold up the others.
 */
export type TimerLine = 'fires' | 'underLock';
const lineOf = (row: TimerRow): TimerLine => (row.alertOnly || row.purpose === 'EXECUTION' ? 'underLock' : 'fires');

const timerTable = (journal: Journal) => {
  const byDue = new OrderedIndex<TimerRow>(lineOf, (a, b) => a.fireAt - b.fireAt || a.order - b.order);
  const byAttempt = new OrderedIndex<TimerRow>(
    (row) => attemptKey(row.executionId, row),
    (a, b) => a.order - b.order,
  );
  const byRun = new OrderedIndex<TimerRow>(
    (row) => row.executionId,
    (a, b) => a.order - b.order,
  );
  return Object.assign(new Table<TimerRow>(journal, timerKey, [byDue, byAttempt, byRun]), { byDue, byAttempt, byRun });
};

const outboxTable = (journal: Journal) => {
  const deliverable = new OrderedIndex<OutboxRow>(
    (row) => (row.dead ? undefined : ALL),
    (a, b) => a.order - b.order,
  );
  const byRun = new OrderedIndex<OutboxRow>(
    (row) => (row.dead ? undefined : row.message.executionId),
    (a, b) => a.order - b.order,
  );
  const byDedup = new OrderedIndex<OutboxRow>(
    (row) => dedupKeyOf(row.message),
    (a, b) => a.order - b.order,
  );
  const dead = new OrderedIndex<OutboxRow>(
    (row) => (row.dead ? row.message.namespace : undefined),
    (a, b) => a.order - b.order,
  );
  const indexes = { deliverable, byRun, byDedup, dead };
  return Object.assign(new Table<OutboxRow>(journal, (row) => row.message.id, Object.values(indexes)), indexes);
};

const internalEventTable = (journal: Journal) => {
  const bySink = new OrderedIndex<InternalEventRow>(
    (row) => inNamespace(row.namespace, row.sink),
    (a, b) => b.order - a.order,
  );
  return Object.assign(new Table<InternalEventRow>(journal, (row) => String(row.order), [bySink]), { bySink });
};

/** Key of a place: a run has one at each kind of gate. */
export const admissionKey = (executionId: ExecutionId, kind: AdmissionRow['gate']['kind']): string =>
  `${executionId}|${kind}`;

const admissionTable = (journal: Journal) => {
  const byPosition = (a: AdmissionRow, b: AdmissionRow): number => a.position - b.position;
  const byRun = new OrderedIndex<AdmissionRow>((row) => row.executionId, byPosition);
  const held = new OrderedIndex<AdmissionRow>(
    (row) => (row.admitted ? gateKey(row.namespace, row.gate) : undefined),
    byPosition,
  );
  const queued = new OrderedIndex<AdmissionRow>(
    (row) => (row.admitted ? undefined : gateKey(row.namespace, row.gate)),
    byPosition,
  );
  const allQueued = new OrderedIndex<AdmissionRow>((row) => (row.admitted ? undefined : ALL), byPosition);
  const indexes = { byRun, held, queued, allQueued };
  const keyOf = (row: AdmissionRow) => admissionKey(row.executionId, row.gate.kind);
  return Object.assign(new Table<AdmissionRow>(journal, keyOf, Object.values(indexes)), indexes);
};

const semaphoreTable = (journal: Journal) => {
  const byName = new OrderedIndex<SemaphoreRow>(
    (row) => row.namespace,
    (a, b) => compareText(a.name, b.name),
  );
  return Object.assign(new Table<SemaphoreRow>(journal, (row) => inNamespace(row.namespace, row.name), [byName]), {
    byName,
  });
};

/** Parts of a key that users write may hold anything, so they are told apart as JSON does it. */
export const namedValueKey = ({ namespace, kind, name }: Pick<NamedValueRow, 'namespace' | 'kind' | 'name'>): string =>
  JSON.stringify([namespace, kind, name]);

export const tagKey = ({ namespace, kind, name, key, value }: TagRow): string =>
  JSON.stringify([namespace, kind, name, key, value]);

const tagTable = (journal: Journal) => {
  const inOrder = new OrderedIndex<TagRow>(
    (row) => row.namespace,
    (a, b) =>
      compareText(a.kind, b.kind) ||
      compareText(a.name, b.name) ||
      compareText(a.key, b.key) ||
      compareText(a.value, b.value),
  );
  return Object.assign(new Table<TagRow>(journal, tagKey, [inOrder]), { inOrder });
};

const workerPollTable = (journal: Journal) => {
  const byQueue = new OrderedIndex<WorkerPollRow>(
    (row) => row.namespace,
    (a, b) => compareText(a.queue, b.queue) || compareText(a.workerId, b.workerId),
  );
  return Object.assign(new Table<WorkerPollRow>(journal, workerPollKey, [byQueue]), { byQueue });
};

const retryBucketTable = (journal: Journal) => {
  const byTask = new OrderedIndex<RetryBucketRow>(
    (row) => inNamespace(row.namespace, row.taskName),
    (a, b) => a.bucketAt - b.bucketAt,
  );
  const keyOf = (row: RetryBucketRow) => `${inNamespace(row.namespace, row.taskName)}@${row.bucketAt}`;
  return Object.assign(new Table<RetryBucketRow>(journal, keyOf, [byTask]), { byTask });
};

const eventHandlerTables = (journal: Journal) => {
  const byName = new OrderedIndex<EventHandlerRow>(
    (row) => row.namespace,
    (a, b) => compareText(a.handler.name, b.handler.name),
  );
  const newest = (a: StoredHandlerRun, b: StoredHandlerRun): number => b.order - a.order;
  const byHandler = new OrderedIndex<StoredHandlerRun>((row) => inNamespace(row.namespace, row.handler), newest);
  const byNamespace = new OrderedIndex<StoredHandlerRun>((row) => row.namespace, newest);
  const keyOf = (row: EventHandlerRow) => inNamespace(row.namespace, row.handler.name);
  return {
    eventHandlers: Object.assign(new Table<EventHandlerRow>(journal, keyOf, [byName]), { byName }),
    eventHandlerRuns: Object.assign(new Table<StoredHandlerRun>(journal, handlerRunKeyOf, [byHandler, byNamespace]), {
      byHandler,
      byNamespace,
    }),
    eventDedupes: new Table<EventDedupeRow>(journal, dedupeKeyOf),
  };
};

const scheduleTables = (journal: Journal) => {
  const byName = new OrderedIndex<ScheduleRow>(
    (row) => row.namespace,
    (a, b) => compareText(a.schedule.name, b.schedule.name),
  );
  const byDue = new OrderedIndex<ScheduleRow>(
    (row) => (row.fireAt === undefined || row.paused ? undefined : ALL),
    (a, b) => (a.fireAt ?? 0) - (b.fireAt ?? 0) || compareText(a.id, b.id),
  );
  const newest = (a: StoredScheduleRun, b: StoredScheduleRun): number => b.order - a.order;
  const ofSchedule = new OrderedIndex<StoredScheduleRun>((row) => row.scheduleId, newest);
  const ofNamespace = new OrderedIndex<StoredScheduleRun>((row) => row.namespace, newest);
  const keyOf = (row: ScheduleRow) => inNamespace(row.namespace, row.schedule.name);
  return {
    schedules: Object.assign(new Table<ScheduleRow>(journal, keyOf, [byName, byDue]), { byName, byDue }),
    scheduleRuns: Object.assign(new Table<StoredScheduleRun>(journal, (row) => row.id, [ofSchedule, ofNamespace]), {
      ofSchedule,
      ofNamespace,
    }),
  };
};

export const dedupKeyOf = (message: { executionId: ExecutionId; dedupKey: string }): string =>
  `${message.executionId}|${message.dedupKey}`;

/** Every table that a transaction writes, with the indexes that keep its operations independent of how much there is. */
export const createTables = (journal: Journal) => ({
  ...executionTables(journal),
  openTasks: openTaskTable(journal),
  closedTasks: closedTaskTable(journal),
  decideRows: decideTable(journal),
  timers: timerTable(journal),
  outbox: outboxTable(journal),
  internalEvents: internalEventTable(journal),
  taskOutputs: new Table<TaskOutputRow>(journal, ({ namespace, taskName, key }) =>
    JSON.stringify([namespace, taskName, key]),
  ),
  domainPolls: new Table<DomainPollRow>(journal, (row) => inNamespace(row.namespace, row.queue)),
  workerPolls: workerPollTable(journal),
  admissions: admissionTable(journal),
  quotas: new Table<QuotaRow>(journal, (row) => row.namespace),
  semaphores: semaphoreTable(journal),
  tags: tagTable(journal),
  externalPayloads: new Table<ExternalPayloadRow>(journal, (row) => inNamespace(row.namespace, row.path)),
  namedValues: new Table<NamedValueRow>(journal, namedValueKey, []),
  rateWindows: new Table<RateWindowRow>(journal, (row) => inNamespace(row.namespace, row.taskName)),
  retryBuckets: retryBucketTable(journal),
  ...scheduleTables(journal),
  ...eventHandlerTables(journal),
  idempotencyKeys: new Table<IdempotencyRow>(journal, (row) => inNamespace(row.namespace, row.key)),
});

export type Tables = ReturnType<typeof createTables>;
