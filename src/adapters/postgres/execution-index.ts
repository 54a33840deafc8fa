import { z } from 'zod';
import type { SequencedEvent, WorkflowEvent } from '../../domain/execution/events.ts';
import type { ExecutionStatus } from '../../domain/execution/statuses.ts';
import { type ExecutionId, type Namespace, parseTaskId, taskIdOf } from '../../domain/kernel/brand.ts';
import type { OpenTaskRow } from '../../ports/engine-store.ts';
import type {
  ExecutionCursor,
  ExecutionFilter,
  ExecutionIndex,
  ExecutionRow,
  ExecutionSummary,
  WebhookWait,
} from '../../ports/execution-index.ts';
import { findWaitingAdmission } from './admissions.ts';
import type { Session } from './database.ts';
import { deadLetters } from './dead-letters.ts';
import { internalEvents } from './internal-events.ts';
import { wholeValue, withWholeEvents } from './offload.ts';
import { queueDepths } from './queue-depths.ts';
import { searchRuns } from './run-search.ts';
import {
  composed,
  count,
  executionId,
  instant,
  json,
  jsonOf,
  namespaceName,
  prepared,
  sql,
  text,
  timestamp,
  word,
} from './statement.ts';
import { taskGates } from './task-gates.ts';
import { searchTasks } from './task-search.ts';

const summary = z.object({
  executionId,
  name: text,
  version: count,
  status: word<ExecutionStatus>(),
  correlationId: text.exactOptional(),
  idempotencyKey: text.exactOptional(),
  priority: count,
  parentExecutionId: executionId.exactOptional(),
  startedAt: instant,
  updatedAt: instant,
  endedAt: instant.exactOptional(),
  reason: text.exactOptional(),
  failedTask: text.exactOptional(),
  awaitingAdmission: z.literal(true).exactOptional(),
});
const detail = summary.extend({
  namespace: namespaceName,
  definitionHash: text,
  input: json,
  output: json.exactOptional(),
  parkedAttempts: count.exactOptional(),
  parkedReason: text.exactOptional(),
  retryAt: instant.exactOptional(),
});
const openTask = z.object({
  scheduledSeq: count,
  ref: text,
  iteration: count,
  attempt: count,
  family: word<OpenTaskRow['family']>(),
  queue: text,
  leased: z.boolean(),
  workerId: text.exactOptional(),
  leaseExpiresAt: instant.exactOptional(),
  startedAt: instant.exactOptional(),
  visibleAt: instant,
  progress: json.exactOptional(),
  callbacks: count.exactOptional(),
  callbackSeconds: count.exactOptional(),
  hasOutcome: z.boolean(),
});

const find = prepared('index_find', detail);
const descendants = prepared('index_descendants', summary);
const history = prepared('index_history', z.object({ seq: count, event: jsonOf<WorkflowEvent>() }));
const lastSeq = prepared('index_last_seq', z.object({ seq: count }));
const openTasks = prepared('index_open_tasks', openTask);
const webhooks = prepared('index_webhook_waits', z.object({ executionId, scheduledSeq: count, input: json }));
const logs = prepared('index_logs', z.object({ id: count, at: instant, line: text }));

/** Hardly any run is queued, and what is asked for a page looks by key into a small table. */
const isQueued = sql.fragment`exists (
  select from execution_admissions a where a.workflow_id = w.workflow_id and not a.admitted
)`;
const awaitingAdmission = sql.fragment`case when ${isQueued} then true end as awaiting_admission`;

const findExecution = async (
  session: Session,
  namespace: Namespace,
  id: ExecutionId,
): Promise<ExecutionRow | undefined> => {
  const row = await session.row(find`
    select w.workflow_id as execution_id, w.namespace, w.name, w.version, w.status, w.definition_hash, w.priority,
      w.correlation_id, w.idempotency_key, w.parent_id as parent_execution_id, w.input, w.output, w.reason,
      w.failed_task, w.started_at, w.updated_at, w.ended_at, ${awaitingAdmission},
      d.attempts as parked_attempts, d.reason as parked_reason, d.due_at as retry_at
    from workflow_executions w
    left join decide_queue d on d.workflow_id = w.workflow_id and d.attempts > 0
    where w.workflow_id = ${id} and w.namespace = ${namespace}`);
  if (row === undefined) return undefined;
  const { parkedAttempts: attempts, parkedReason: reason, retryAt, input, output, ...rest } = row;
  const execution = {
    ...rest,
    input: await wholeValue(session, input),
    ...(output === undefined ? {} : { output: await wholeValue(session, output) }),
  };
  const isParked = attempts !== undefined && retryAt !== undefined;
  return isParked ? { ...execution, parked: { attempts, reason: reason ?? '', retryAt } } : execution;
};

const prefixPattern = (name: string): string => `${name.slice(0, -1).replace(/[\\%_]/g, '\\$&')}%`;

const conditionsOf = (filter: ExecutionFilter, after: ExecutionCursor | undefined) => [
  filter.executionIds && sql.fragment`workflow_id = any(${sql.array(filter.executionIds, 'uuid')})`,
  filter.statuses && statusCondition(filter.statuses),
  filter.name !== undefined &&
    (filter.name.endsWith('*')
      ? sql.fragment`name like ${prefixPattern(filter.name)}`
      : sql.fragment`name = ${filter.name}`),
  filter.version !== undefined && sql.fragment`version = ${filter.version}`,
  filter.correlationId !== undefined && sql.fragment`correlation_id = ${filter.correlationId}`,
  filter.idempotencyKey !== undefined && sql.fragment`idempotency_key = ${filter.idempotencyKey}`,
  filter.parentExecutionId !== undefined && sql.fragment`parent_id = ${filter.parentExecutionId}::uuid`,
  filter.startedAfter !== undefined && sql.fragment`started_at >= ${timestamp(filter.startedAfter)}::timestamptz`,
  filter.startedBefore !== undefined && sql.fragment`started_at < ${timestamp(filter.startedBefore)}::timestamptz`,
  filter.awaitingAdmission !== undefined && sql.fragment`${isQueued} = ${filter.awaitingAdmission}`,
  after !== undefined &&
    sql.fragment`(started_at, workflow_id) < (${timestamp(after.startedAt)}::timestamptz, ${after.executionId}::uuid)`,
];

// Literal lists let the planner prove that a partial index of running or of failing runs holds all that is asked for.
const statusCondition = (statuses: readonly ExecutionStatus[]) =>
  statuses.length === 0
    ? sql.fragment`false`
    : sql.fragment`status in (${sql.join(
        statuses.map((status) => sql.literalValue(status)),
        sql.fragment`, `,
      )})`;

const search = (
  session: Session,
  namespace: Namespace,
  filter: ExecutionFilter,
  page: Readonly<{ limit: number; after?: ExecutionCursor }>,
): Promise<readonly ExecutionSummary[]> =>
  session.rows(composed(summary)`
    select workflow_id as execution_id, name, version, status, correlation_id, idempotency_key, priority,
      parent_id as parent_execution_id, started_at, updated_at, ended_at, reason, failed_task, ${awaitingAdmission}
    from workflow_executions w
    where ${sql.and([sql.fragment`namespace = ${namespace}`, ...conditionsOf(filter, page.after)])}
    order by started_at desc, workflow_id desc
    limit ${page.limit}::bigint`);

const findDescendants = (
  session: Session,
  namespace: Namespace,
  id: ExecutionId,
  limit: number,
): Promise<readonly ExecutionSummary[]> =>
  session.rows(descendants`
    with recursive below as (
      select w.* from workflow_executions w where w.parent_id = ${id} and w.namespace = ${namespace}
      union all
      select child.* from below
      cross join lateral (
        select w.* from workflow_executions w where w.parent_id = below.workflow_id and w.namespace = ${namespace}
        offset 0
      ) as child
    )
    select workflow_id as execution_id, name, version, status, correlation_id, idempotency_key, priority,
      parent_id as parent_execution_id, started_at, updated_at, ended_at, reason, failed_task
    from below
    limit ${limit}::bigint`);

const findHistory = async (
  session: Session,
  namespace: Namespace,
  id: ExecutionId,
  after: number,
  limit: number,
): Promise<readonly SequencedEvent[]> =>
  withWholeEvents(
    session,
    await session.rows(history`
      select seq, data as event from workflow_events
      where workflow_id = ${id} and seq > ${after}::bigint and namespace = ${namespace}
      order by seq
      limit ${limit}::bigint`),
  );

const findLastSeq = async (session: Session, namespace: Namespace, id: ExecutionId): Promise<number | undefined> => {
  const row = await session.row(lastSeq`
    select seq from workflow_events
    where workflow_id = ${id} and namespace = ${namespace}
    order by seq desc
    limit 1`);
  return row?.seq;
};

const findOpenTasks = async (
  session: Session,
  namespace: Namespace,
  id: ExecutionId,
): Promise<readonly OpenTaskRow[]> => {
  const rows = await session.rows(openTasks`
    select scheduled_seq, ref, iteration, attempt, family, queue, lease_token is not null as leased, worker_id,
      lease_expires_at, started_at, visible_at, progress, callbacks, callback_seconds,
      outcome is not null as has_outcome
    from task_queue
    where workflow_id = ${id} and namespace = ${namespace}
    order by scheduled_seq`);
  return rows.map(({ scheduledSeq, ...row }) => ({ ...row, taskId: taskIdOf(id, scheduledSeq) }));
};

/** Before the first task of the first run. */
const NO_TASK = { executionId: '00000000-0000-0000-0000-000000000000', scheduledSeq: 0 };

const findWebhookWaits = async (
  session: Session,
  namespace: Namespace,
  { limit, after }: Parameters<ExecutionIndex['webhookWaits']>[1],
): Promise<readonly WebhookWait[]> => {
  const last = (after === undefined ? undefined : parseTaskId(after)) ?? NO_TASK;
  const rows = await session.rows(webhooks`
    select workflow_id as execution_id, scheduled_seq, input from task_queue
    where namespace = ${namespace} and task_type = 'WAIT_FOR_WEBHOOK' and outcome is null
      and (workflow_id, scheduled_seq) > (${last.executionId}::uuid, ${last.scheduledSeq}::bigint)
    order by workflow_id, scheduled_seq
    limit ${limit}::bigint`);
  return rows.map(({ executionId: id, scheduledSeq, input }) => ({ taskId: taskIdOf(id, scheduledSeq), input }));
};

/** The reads of runs, each filtered by its namespace. */
export const createExecutionIndex = (session: Session): ExecutionIndex => ({
  find: (namespace, id) => findExecution(session, namespace, id),
  search: (namespace, filter, page) => search(session, namespace, filter, page),
  searchRuns: (namespace, query) => searchRuns(session, namespace, query),
  descendants: (namespace, id, limit) => findDescendants(session, namespace, id, limit),
  history: (namespace, id, after, limit) => findHistory(session, namespace, id, after, limit),
  lastSeq: (namespace, id) => findLastSeq(session, namespace, id),
  waitingAdmission: (namespace, id) => findWaitingAdmission(session, namespace, id),
  openTasks: (namespace, id) => findOpenTasks(session, namespace, id),
  logs: async (namespace, taskId, { after, limit }) => {
    const task = parseTaskId(taskId);
    if (task === undefined) return [];
    return session.rows(logs`
      select line_number as id, logged_at as at, line from task_logs
      where workflow_id = ${task.executionId} and scheduled_seq = ${task.scheduledSeq}::bigint
        and line_number > ${after}::bigint and namespace = ${namespace}
      order by line_number
      limit ${limit}::bigint`);
  },
  webhookWaits: (namespace, page) => findWebhookWaits(session, namespace, page),
  queues: (namespace) => queueDepths(session, namespace),
  searchTasks: (namespace, filter, page) => searchTasks(session, namespace, filter, page),
  deadLetters: (namespace, page) => deadLetters(session, namespace, page),
  internalEvents: (namespace, sink, page) => internalEvents(session, namespace, sink, page),
  taskGates: (namespace, taskNames) => taskGates(session, namespace, taskNames),
});
