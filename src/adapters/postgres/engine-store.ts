import { z } from 'zod';
import type { ExecutionStatus } from '../../domain/execution/statuses.ts';
import type { ExecutionId, Instant, Namespace } from '../../domain/kernel/brand.ts';
import type { EngineStore, EngineTx, ExecutionHead } from '../../ports/engine-store.ts';
import { admitExecutions, admitQueued, findAdmissible, postponeAdmission, releaseAdmissions } from './admissions.ts';
import type { Database, Session } from './database.ts';
import { deleteDeadLetters, redriveDeadLetters } from './dead-letters.ts';
import { dropTimers, expireLeases, fireTimers, postponeTimers } from './deadlines.ts';
import {
  claimEvaluations,
  claimEvaluationsOf,
  newPassMemory,
  type PassMemory,
  parkEvaluation,
  requestEvaluations,
} from './decide-queue.ts';
import { findBundles, putBundle } from './definition-bundles.ts';
import { deleteExecution } from './delete-execution.ts';
import { notePolls, polledQueues, prunePolls } from './domain-polls.ts';
import { eventHandlerWrites } from './event-handlers.ts';
import { appendEvents, findEvent, readEvents } from './event-log.ts';
import { createExecutions, lookUpRun, projectExecutions, reviseExecutions } from './executions.ts';
import {
  claimIdempotencyKeys,
  findIdempotencyHolder,
  releaseIdempotencyKeys,
  takeOverIdempotencyKeys,
} from './idempotency.ts';
import { recordInternalEvent } from './internal-events.ts';
import { appendLogs, deferTasks, heartbeat, leaseTasks, leaseTasksAlone, releaseLeases } from './leases.ts';
import { findEnvironment } from './named-values.ts';
import { claimMessages, markDelivered, markFailed, putMessages } from './outbox.ts';
import { readAllOutcomes, readOutcomes } from './outcomes.ts';
import { appendTaskLogs, findOpenLease, putOffTask } from './put-off.ts';
import { readyQueues } from './ready-queues.ts';
import { settleTasks, settleTasksAlone } from './reports.ts';
import { addRetryCounts, forgetPastLimits, retryCounts } from './retry-counts.ts';
import { startRuns } from './run-starts.ts';
import { stepRuns } from './run-steps.ts';
import { scheduleWrites } from './schedules.ts';
import { count, executionId, instant, namespaceName, prepared, sql, text, word } from './statement.ts';
import { findTasks } from './task-definitions.ts';
import { findTaskOutput, pruneTaskOutputs, storeTaskOutputs } from './task-output-cache.ts';
import { cancelOpenWork, closeTasks, enqueueTasks, openTaskIds } from './task-queue.ts';
import { armTimers, cancelTimers } from './timers.ts';
import { QueueTurns } from './turns.ts';
import { holdAttempt, settleWaiting } from './waiting.ts';
import { findWorkflowVersion } from './workflow-definitions.ts';

const clock = prepared('engine_now', z.object({ now: instant }));
const context = prepared('engine_start_context', z.object({ now: instant, limited: z.array(namespaceName) }));
const head = prepared(
  'engine_head',
  z.object({ executionId, namespace: namespaceName, status: word<ExecutionStatus>(), definitionHash: text }),
);
const due = prepared(
  'engine_next_due',
  z.object({
    evaluation: count.exactOptional(),
    timer: count.exactOptional(),
    lease: count.exactOptional(),
    message: count.exactOptional(),
  }),
);
const stuck = prepared('engine_stuck', z.object({ executionId }));

const engineTx = (session: Session, memory: PassMemory, turns: QueueTurns): EngineTx => ({
  claimEvaluations: (limit) => claimEvaluations(session, memory, limit),
  claimEvaluationsOf: (executionIds) => claimEvaluationsOf(session, memory, executionIds),
  requestEvaluations: (executionIds) => requestEvaluations(session, executionIds),
  parkEvaluation: (parked) => parkEvaluation(session, memory, parked),
  readEvents: (after) => readEvents(session, after),
  readOutcomes: (executionIds) => readOutcomes(session, memory, executionIds),
  readAllOutcomes: (id) => readAllOutcomes(session, memory, id),
  openTaskIds: (id) => openTaskIds(session, id),
  appendEvents: (events) => appendEvents(session, events),
  enqueueTasks: (tasks) => enqueueTasks(session, turns, tasks),
  closeTasks: (tasks) => closeTasks(session, memory, tasks),
  cancelOpenWork: (ended) => cancelOpenWork(session, ended),
  armTimers: (timers) => armTimers(session, timers),
  cancelTimers: (timers) => cancelTimers(session, timers),
  projectExecutions: (projections) => projectExecutions(session, projections),
  reviseExecutions: (revisions) => reviseExecutions(session, revisions),
  putMessages: (messages) => putMessages(session, messages),
  lookUpRun: (id, startsIn) => lookUpRun(session, id, startsIn),
  storeTaskOutputs: (outputs) => storeTaskOutputs(session, outputs),
  findTaskOutput: (namespace, wanted, at) => findTaskOutput(session, namespace, wanted, at),
  pruneTaskOutputs: (limit) => pruneTaskOutputs(session, limit),
  notePolls: (queues) => notePolls(session, queues),
  polledQueues: (namespace, queues, withinMs) => polledQueues(session, namespace, queues, withinMs),
  findEnvironment: (namespace, names) => findEnvironment(session, namespace, names),
  prunePolls: (olderThanMs) => prunePolls(session, olderThanMs),
  createExecutions: (executions) => createExecutions(session, executions),
  deleteExecution: (id) => deleteExecution(session, id),
  admitExecutions: (requests) => admitExecutions(session, requests),
  admitQueued: (id) => admitQueued(session, id),
  postponeAdmission: (id, delayMs) => postponeAdmission(session, id, delayMs),
  releaseAdmissions: (ids) => releaseAdmissions(session, ids),
  claimIdempotencyKeys: (claims) => claimIdempotencyKeys(session, claims),
  findIdempotencyHolder: (namespace, key) => findIdempotencyHolder(session, namespace, key),
  takeOverIdempotencyKeys: (claims) => takeOverIdempotencyKeys(session, claims),
  releaseIdempotencyKeys: (keys) => releaseIdempotencyKeys(session, keys),
  settleTasks: (namespace, reports) => settleTasks(session, namespace, reports),
  settleWaiting: (namespace, outcomes) => settleWaiting(session, namespace, outcomes),
  holdAttempt: (namespace, taskId) => holdAttempt(session, namespace, taskId),
  leaseTasks: (request) => leaseTasks(session, request),
  heartbeat: (namespace, heartbeats) => heartbeat(session, namespace, heartbeats),
  releaseLeases: (namespace, leases) => releaseLeases(session, namespace, leases),
  deferTasks: (namespace, deferrals) => deferTasks(session, namespace, deferrals),
  findTasks: (namespace, names) => findTasks(session, namespace, names),
  findBundles: (hashes) => findBundles(session, hashes),
  findWorkflow: (namespace, name, version) => findWorkflowVersion(session, namespace, name, version),
  putBundle: (hash, bundle) => putBundle(session, hash, bundle),
  appendLogs: (namespace, lease, lines) => appendLogs(session, namespace, lease, lines),
  appendTaskLogs: (namespace, taskId, lines) => appendTaskLogs(session, namespace, taskId, lines),
  putOffTask: (namespace, putOff) => putOffTask(session, namespace, putOff),
  expireLeases: (limit) => expireLeases(session, limit),
  fireTimers: (limit) => fireTimers(session, limit),
  dropTimers: (timers) => dropTimers(session, timers),
  postponeTimers: (timers, delayMs) => postponeTimers(session, timers, delayMs),
  claimMessages: (limit, holdMs) => claimMessages(session, limit, holdMs),
  markDelivered: (ids) => markDelivered(session, ids),
  markFailed: (failures) => markFailed(session, failures),
  redriveDeadLetters: (namespace, ids) => redriveDeadLetters(session, namespace, ids),
  deleteDeadLetters: (namespace, ids) => deleteDeadLetters(session, namespace, ids),
  recordInternalEvent: (event, keepMax) => recordInternalEvent(session, event, keepMax),
  retryCounts: (namespace, taskNames) => retryCounts(session, namespace, taskNames),
  addRetryCounts: (counts) => addRetryCounts(session, counts),
  forgetPastLimits: () => forgetPastLimits(session),
  ...scheduleWrites(session),
  ...eventHandlerWrites(session),
});

const now = async (session: Session): Promise<Instant> => {
  const row = await session.one(clock`select clock_timestamp() as now`);
  return row.now;
};

const startContext = async (
  session: Session,
  namespaces: readonly Namespace[],
): Promise<Readonly<{ now: Instant; limited: ReadonlySet<Namespace> }>> => {
  const { now, limited } = await session.one(context`
    select clock_timestamp() as now, array(
      select namespace from namespace_quotas
      where namespace = any(${sql.array(namespaces, 'text')})
        and (max_concurrent_executions is not null or max_executions_per_minute is not null)
    ) as limited`);
  return { now, limited: new Set(limited) };
};

const findHead = (session: Session, namespace: Namespace, id: ExecutionId): Promise<ExecutionHead | undefined> =>
  session.row(head`
    select workflow_id as execution_id, namespace, status, definition_hash
    from workflow_executions where workflow_id = ${id} and namespace = ${namespace}`);

/** The next message is the first one that is at the head of its ordering key: its followers are not due by themselves. */
const nextDueInMs = (session: Session): ReturnType<EngineStore['nextDueInMs']> =>
  session.one(due`
    select
      case when evaluation is not null then ceil(1000 * extract(epoch from greatest(evaluation - at, '0')))::bigint end as evaluation,
      case when timer is not null then ceil(1000 * extract(epoch from greatest(timer - at, '0')))::bigint end as timer,
      case when lease is not null then ceil(1000 * extract(epoch from greatest(lease - at, '0')))::bigint end as lease,
      case when message is not null then ceil(1000 * extract(epoch from greatest(message - at, '0')))::bigint end as message
    from (
      select
        clock_timestamp() as at,
        (select min(due_at) from decide_queue) as evaluation,
        least(
          (select min(fire_at) from timers where not under_lock),
          (select min(fire_at) from timers where under_lock)
        ) as timer,
        (
          select q.lease_expires_at from task_queue q
          where q.lease_expires_at is not null and q.outcome is null
          order by q.lease_expires_at limit 1
        ) as lease,
        (
          select o.available_at from outbox_events o
          where o.dead_at is null and not exists (
            select from outbox_events before
            where before.namespace = o.namespace and before.ordering_key = o.ordering_key
              and before.dead_at is null and before.id < o.id
          )
          order by o.available_at limit 1
        ) as message
    ) as next`);

/**
 * Runs that nothing moves: no pass asked for, nothing to deliver, no attempt that somebody may yet report, no timer of
 * theirs but the deadline of the run, which would only end it. An outcome that no pass was asked for counts as stuck.
 */
const findStuck = async (session: Session, idleMs: number, limit: number): Promise<readonly ExecutionId[]> => {
  const rows = await session.rows(stuck`
    select w.workflow_id as execution_id
    from workflow_executions w
    where w.status = 'RUNNING'
      and w.updated_at <= (select clock_timestamp()) - ${idleMs}::bigint * interval '1 millisecond'
      and not exists (select from decide_queue d where d.workflow_id = w.workflow_id)
      and not exists (select from execution_admissions a where a.workflow_id = w.workflow_id and not a.admitted)
      and not exists (select from task_queue t where t.workflow_id = w.workflow_id and t.outcome is null)
      and not exists (select from timers m where m.workflow_id = w.workflow_id and m.purpose <> 'EXECUTION')
      and not exists (select from outbox_events o where o.workflow_id = w.workflow_id and o.dead_at is null)
      and coalesce((
        select (e.data ->> 'at')::bigint from workflow_events e
        where e.workflow_id = w.workflow_id order by e.seq desc limit 1
      ), 0) <= 1000 * extract(epoch from (select clock_timestamp())) - ${idleMs}::bigint
    order by w.workflow_id
    limit ${limit}::bigint`);
  return rows.map((row) => row.executionId);
};

/** The engine's store on PostgreSQL. Every write is a method of the transaction; the locks it takes are those of the port. */
export const createEngineStore = (database: Database, turns: QueueTurns = new QueueTurns()): EngineStore => ({
  transaction: (work) => database.transaction((session) => work(engineTx(session, newPassMemory(), turns))),
  leaseTasks: (request) => leaseTasksAlone(database, request),
  settleTasks: (namespace, reports) => settleTasksAlone(database, namespace, reports),
  stepRuns: (steps) => stepRuns(database, turns, steps),
  startRuns: (starts) => startRuns(database, turns, starts),
  findTaskOutput: (namespace, wanted, at) => findTaskOutput(database, namespace, wanted, at),
  polledQueues: (namespace, queues, withinMs) => polledQueues(database, namespace, queues, withinMs),
  findEnvironment: (namespace, names) => findEnvironment(database, namespace, names),
  now: () => now(database),
  startContext: (namespaces) => startContext(database, namespaces),
  findAdmissible: (limit) => findAdmissible(database, limit),
  retryCounts: (namespace, taskNames) => retryCounts(database, namespace, taskNames),
  findIdempotencyHolder: (namespace, key) => findIdempotencyHolder(database, namespace, key),
  findEvent: (id, seq) => findEvent(database, id, seq),
  findHead: (namespace, id) => findHead(database, namespace, id),
  findOpenLease: (namespace, taskId) => findOpenLease(database, namespace, taskId),
  nextDueInMs: () => nextDueInMs(database),
  readyQueues: async (candidates) => (candidates.length === 0 ? [] : readyQueues(database, candidates)),
  findStuck: (idleMs, limit) => findStuck(database, idleMs, limit),
});
