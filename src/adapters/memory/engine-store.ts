import type { ExecutionId, Instant, Namespace } from '../../domain/kernel/brand.ts';
import type { DefinitionStore } from '../../ports/definition-store.ts';
import type {
  DefinitionReads,
  EngineStore,
  EngineTx,
  ExecutionHead,
  IdempotencyHolder,
} from '../../ports/engine-store.ts';
import { admissible, admissionWrites, startContext } from './admissions.ts';
import { deadLetterWrites } from './dead-letters.ts';
import { deleteWrites } from './delete-execution.ts';
import { evaluationWrites } from './evaluations.ts';
import { eventHandlerWrites } from './event-handlers.ts';
import { eventLogWrites } from './event-log.ts';
import { executionWrites } from './executions.ts';
import { internalEventWrites } from './internal-events.ts';
import { leaseWrites } from './leases.ts';
import { environmentOf } from './named-values.ts';
import { openTaskWrites } from './open-tasks.ts';
import { optional } from './optional.ts';
import { deliveryHeads, outboxWrites } from './outbox.ts';
import { cacheWrites } from './output-cache.ts';
import { openLeaseOf, putOffWrites } from './put-off.ts';
import { readyQueues } from './ready-queues.ts';
import { reportWrites } from './reports.ts';
import { retryCounts, retryCountWrites } from './retry-counts.ts';
import { inNamespace, type StoredExecution } from './rows.ts';
import { startRuns } from './run-starts.ts';
import { stepRuns } from './run-steps.ts';
import { scheduleWrites } from './schedules.ts';
import type { Serializer } from './serializer.ts';
import type { MemoryState } from './state.ts';
import { ALL } from './tables.ts';
import { timerWrites } from './timers.ts';
import { waitingWrites } from './waiting.ts';

/** Bundles are addressed by their content: one that outlives a rolled back transaction does no harm. */
type DefinitionsInTx = DefinitionReads & Pick<DefinitionStore, 'putBundle'>;

const engineTx = (state: MemoryState, definitions: DefinitionsInTx): EngineTx => ({
  findTasks: definitions.findTasks,
  findBundles: definitions.findBundles,
  findWorkflow: definitions.findWorkflow,
  putBundle: definitions.putBundle,
  ...evaluationWrites(state),
  findIdempotencyHolder: async (namespace, key) => idempotencyHolder(state, namespace, key),
  ...eventLogWrites(state),
  ...openTaskWrites(state),
  ...executionWrites(state),
  ...admissionWrites(state),
  ...deleteWrites(state),
  ...leaseWrites(state),
  ...putOffWrites(state),
  ...reportWrites(state),
  ...waitingWrites(state),
  ...timerWrites(state),
  ...outboxWrites(state),
  ...deadLetterWrites(state),
  ...internalEventWrites(state),
  ...cacheWrites(state),
  findEnvironment: async (namespace, names) => environmentOf(state, namespace, names),
  ...retryCountWrites(state),
  ...scheduleWrites(state),
  ...eventHandlerWrites(state),
});

/** Runs the work on a transaction object that dies with the transaction, and undoes what it wrote when it throws. */
const runTransaction = async <T>(state: MemoryState, tx: EngineTx, work: (tx: EngineTx) => Promise<T>): Promise<T> => {
  const lent = Proxy.revocable(tx, {});
  try {
    const result = await work(lent.proxy);
    state.journal.commit();
    return result;
  } catch (error) {
    state.journal.rollback();
    throw error;
  } finally {
    state.claimedReports.clear();
    lent.revoke();
  }
};

const headOf = (row: StoredExecution): ExecutionHead => ({
  executionId: row.executionId,
  namespace: row.namespace,
  status: row.status,
  definitionHash: row.definitionHash,
});

const idempotencyHolder = (state: MemoryState, namespace: Namespace, key: string): IdempotencyHolder | undefined => {
  const claim = state.tables.idempotencyKeys.get(inNamespace(namespace, key));
  const row = claim && state.tables.executions.get(claim.executionId);
  return claim && row && { executionId: claim.executionId, fingerprint: claim.fingerprint, status: row.status };
};

const nextDueInMs = (state: MemoryState): Awaited<ReturnType<EngineStore['nextDueInMs']>> => {
  const { decideRows, timers, openTasks } = state.tables;
  const now = state.now();
  const dueIn = (instants: Iterable<Instant | undefined>): number | undefined => {
    const known = [...instants].filter((instant) => instant !== undefined);
    return known.length === 0 ? undefined : Math.max(0, Math.min(...known) - now);
  };
  return {
    ...optional('evaluation', dueIn([decideRows.byDue.first(ALL)?.dueAt])),
    ...optional('timer', dueIn([timers.byDue.first('fires')?.fireAt, timers.byDue.first('underLock')?.fireAt])),
    ...optional('lease', dueIn([openTasks.byExpiry.first(ALL)?.lease?.expiresAt])),
    ...optional('message', dueIn(deliveryHeads(state).map((row) => row.nextAttemptAt))),
  };
};

/**
 * Whether anything could still move the run: a pass, a message, an attempt that somebody may yet report, or a timer. The
 * deadline of the run itself does not count, for it would only end it.
 */
const canWake = ({ tables }: MemoryState, executionId: ExecutionId): boolean =>
  tables.decideRows.has(executionId) ||
  [...tables.admissions.byRun.in(executionId)].some((row) => !row.admitted) ||
  tables.outbox.byRun.first(executionId) !== undefined ||
  tables.openTasks.byRun.count(executionId) > tables.openTasks.withOutcome.count(executionId) ||
  [...tables.timers.byRun.in(executionId)].some((timer) => timer.purpose !== 'EXECUTION');

const stuckRuns = (state: MemoryState, idleMs: number, limit: number): readonly ExecutionId[] => {
  const idleSince = state.now() - idleMs;
  const stuck: ExecutionId[] = [];
  for (const { executionId, updatedAt } of state.tables.executions.running.in(ALL)) {
    if (updatedAt > idleSince || stuck.length >= limit) break;
    const lastEventAt = state.events.get(executionId).at(-1)?.event.at ?? updatedAt;
    if (lastEventAt <= idleSince && !canWake(state, executionId)) stuck.push(executionId);
  }
  return stuck;
};

/** The engine's store in memory: one transaction at a time, so every lock of the port is held by construction. */
export const createEngineStore = (
  state: MemoryState,
  serializer: Serializer,
  definitions: DefinitionsInTx,
): EngineStore => {
  const tx = engineTx(state, definitions);
  return {
    transaction: (work) => serializer.transaction(() => runTransaction(state, tx, work)),
    leaseTasks: (request) =>
      serializer.transaction(() => runTransaction(state, tx, (open) => open.leaseTasks(request))),
    settleTasks: (namespace, reports) =>
      serializer.transaction(() => runTransaction(state, tx, (open) => open.settleTasks(namespace, reports))),
    stepRuns: (steps) =>
      serializer.transaction(() => runTransaction(state, tx, (open) => stepRuns(state, open, steps))),
    startRuns: (starts) =>
      serializer.transaction(() => runTransaction(state, tx, (open) => startRuns(state, open, starts))),
    findTaskOutput: (namespace, wanted, now) => serializer.transaction(() => tx.findTaskOutput(namespace, wanted, now)),
    polledQueues: (namespace, queues, withinMs) =>
      serializer.transaction(() => tx.polledQueues(namespace, queues, withinMs)),
    findEnvironment: (namespace, names) => serializer.read(() => environmentOf(state, namespace, names)),
    now: async () => state.now(),
    startContext: (namespaces) => serializer.read(() => startContext(state, namespaces)),
    findAdmissible: (limit) => serializer.read(() => admissible(state).slice(0, limit)),
    retryCounts: (namespace, taskNames) => serializer.read(() => retryCounts(state, namespace, taskNames)),
    findIdempotencyHolder: (namespace, key) => serializer.read(() => idempotencyHolder(state, namespace, key)),
    findEvent: (executionId, seq) =>
      serializer.read(() => {
        const namespace = state.tables.executions.get(executionId)?.namespace;
        const event = state.events.get(executionId)[seq - 1]?.event;
        return namespace === undefined || event === undefined ? undefined : { namespace, event };
      }),
    findHead: (namespace, executionId) =>
      serializer.read(() => {
        const row = state.tables.executions.get(executionId);
        return row?.namespace === namespace ? headOf(row) : undefined;
      }),
    findOpenLease: (namespace, taskId) => serializer.read(() => openLeaseOf(state, namespace, taskId)),
    nextDueInMs: () => serializer.read(() => nextDueInMs(state)),
    readyQueues: (candidates) => serializer.read(() => readyQueues(state, candidates)),
    findStuck: (idleMs, limit) => serializer.read(() => stuckRuns(state, idleMs, limit)),
  };
};
