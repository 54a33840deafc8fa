import { z } from 'zod';
import { type Namespace, parseTaskId, taskIdOf } from '../../domain/kernel/brand.ts';
import type { JsonValue } from '../../domain/kernel/json.ts';
import type {
  Deferral,
  Heartbeat,
  HeartbeatOutcome,
  LeasedTask,
  LeaseRef,
  LeaseRequest,
  LogLine,
} from '../../ports/engine-store.ts';
import type { Database, Session } from './database.ts';
import { leaseThroughGates } from './gated-leases.ts';
import {
  leasedColumns,
  leasedRow,
  leasedTask,
  leaseNumbered,
  nextTasks,
  servedBy,
  ungated,
} from './lease-statement.ts';
import {
  count,
  executionId,
  instant,
  jsonRows,
  leaseToken,
  namespaceName,
  prepared,
  sql,
  text,
  timestamp,
} from './statement.ts';

/** One row without a task where none was leased. */
const answerRow = leasedRow.partial().extend({ isGated: z.boolean() });
type AnswerRow = z.output<typeof answerRow>;
const leaseUngated = prepared('tasks_lease', answerRow);
const leaseSystem = prepared('tasks_lease_system', answerRow);
const extend = prepared(
  'tasks_heartbeat',
  z.object({ executionId, scheduledSeq: count, leaseToken, leaseExpiresAt: instant }),
);
const defer = prepared('tasks_defer', z.object({ executionId, scheduledSeq: count, leaseToken }));
const release = prepared('tasks_release', z.object({ namespace: namespaceName, queue: text }));
const log = prepared('task_logs_append', z.object({ held: count }));

const isLeased = (row: AnswerRow): row is z.output<typeof leasedRow> & AnswerRow => row.executionId !== undefined;

/**
 * Leases tasks that nothing holds back. `unlessGated`: leases none, and says 'gated', where a task definition of the
 * namespace (of any of them, for the server's tasks) holds tasks back. Hardly any does, and then a lease is one statement.
 */
const leaseNext = async (
  session: Session,
  request: LeaseRequest,
  unlessGated: boolean,
): Promise<readonly LeasedTask[] | 'gated'> => {
  const { namespace, queues, count } = request;
  const scope = sql.fragment`${servedBy(request)} and ${ungated} and not (select is_gated from gate)`;
  const rows = await session.rows((namespace === undefined ? leaseSystem : leaseUngated)`
    with gate as materialized (
      select ${unlessGated} and exists (
        select from task_definitions
        where gated and (${namespace ?? null}::text is null or namespace = ${namespace ?? null}::text)
      ) as is_gated
    ), picked as (${nextTasks(queues, count, scope)}
    ), numbered as (
      select place, is_first, row_number() over () as number from picked
    ), ${leaseNumbered(request, request.tokens.slice(0, count), sql.fragment``)}
    select gate.is_gated, ${leasedColumns}
    from gate left join leased on true
    order by leased.number`);
  return rows[0]?.isGated === true ? 'gated' : rows.filter(isLeased).map(leasedTask);
};

const leaseUngatedTasks = async (session: Session, request: LeaseRequest): Promise<readonly LeasedTask[]> => {
  const leased = await leaseNext(session, request, false);
  return leased === 'gated' ? [] : leased;
};

export const leaseTasks = async (session: Session, request: LeaseRequest): Promise<readonly LeasedTask[]> => {
  if (request.count <= 0 || request.queues.length === 0) return [];
  const leased = await leaseNext(session, request, true);
  return leased === 'gated' ? leaseThroughGates(session, request, leaseUngatedTasks) : leased;
};

/** Leases outside of a caller's transaction: one plain statement where nothing holds tasks back. */
export const leaseTasksAlone = async (database: Database, request: LeaseRequest): Promise<readonly LeasedTask[]> => {
  if (request.count <= 0 || request.queues.length === 0) return [];
  const leased = await leaseNext(database, request, true);
  if (leased !== 'gated') return leased;
  return database.transaction((session) => leaseThroughGates(session, request, leaseUngatedTasks));
};

const keyOf = (ref: LeaseRef): string => `${ref.taskId}/${ref.leaseToken}`;

const leaseRows = (leases: readonly (LeaseRef & Readonly<{ leaseMs?: number; progress?: JsonValue }>)[]) =>
  leases.flatMap(({ taskId, leaseToken, leaseMs, progress }) => {
    const task = parseTaskId(taskId);
    if (task === undefined) return [];
    return {
      workflow_id: task.executionId,
      scheduled_seq: task.scheduledSeq,
      lease_token: leaseToken,
      lease_ms: leaseMs,
      progress,
    };
  });

/** Extended by its holder alone, and only while nothing has ended the attempt: the outer WHERE sees the row as locked. */
export const heartbeat = async (
  session: Session,
  namespace: Namespace,
  heartbeats: readonly Heartbeat[],
): Promise<readonly HeartbeatOutcome[]> => {
  if (heartbeats.length === 0) return [];
  const rows = await session.rows(extend`
    with held as materialized (
      select * from json_to_recordset(${jsonRows(leaseRows(heartbeats))}::json) as r (
        workflow_id uuid, scheduled_seq bigint, lease_token uuid, lease_ms bigint, progress json
      )
      order by workflow_id, scheduled_seq
    )
    update task_queue t
    set lease_expires_at = clock_timestamp() + coalesce(held.lease_ms, t.heartbeat_ms) * interval '1 millisecond',
      progress = coalesce(held.progress, t.progress)
    from held
    where t.workflow_id = any(array[held.workflow_id]) and t.scheduled_seq = held.scheduled_seq
      and t.lease_token = held.lease_token and t.outcome is null and t.namespace = ${namespace}
    returning t.workflow_id as execution_id, t.scheduled_seq, t.lease_token, t.lease_expires_at`);
  const extended = new Map(
    rows.map((row) => [
      keyOf({ taskId: taskIdOf(row.executionId, row.scheduledSeq), leaseToken: row.leaseToken }),
      row.leaseExpiresAt,
    ]),
  );
  return heartbeats.map((ref) => {
    const leaseExpiresAt = extended.get(keyOf(ref));
    return leaseExpiresAt === undefined ? { kind: 'leaseLost' } : { kind: 'extended', leaseExpiresAt };
  });
};

export const releaseLeases = async (
  session: Session,
  namespace: Namespace | undefined,
  leases: readonly LeaseRef[],
): Promise<readonly Readonly<{ namespace: Namespace; queue: string }>[]> => {
  if (leases.length === 0) return [];
  return session.rows(release`
    with held as materialized (
      select * from json_to_recordset(${jsonRows(leaseRows(leases))}::json) as r (
        workflow_id uuid, scheduled_seq bigint, lease_token uuid
      )
      order by workflow_id, scheduled_seq
    )
    update task_queue t
    set lease_token = null, lease_expires_at = null, worker_id = null, permits = null
    from held
    where t.workflow_id = any(array[held.workflow_id]) and t.scheduled_seq = held.scheduled_seq
      and t.lease_token = held.lease_token and t.outcome is null
      and (${namespace ?? null}::text is null or t.namespace = ${namespace ?? null}::text)
    returning t.namespace, t.queue`);
};

/** A lease given back for later: nobody sees the attempt before its time, and whoever takes it then finds the progress. */
export const deferTasks = async (
  session: Session,
  namespace: Namespace | undefined,
  deferrals: readonly Deferral[],
): Promise<readonly boolean[]> => {
  if (deferrals.length === 0) return [];
  const held = deferrals.map(({ delayMs, ...rest }) => ({ ...rest, leaseMs: delayMs }));
  const rows = await session.rows(defer`
    with held as materialized (
      select * from json_to_recordset(${jsonRows(leaseRows(held))}::json) as r (
        workflow_id uuid, scheduled_seq bigint, lease_token uuid, lease_ms bigint, progress json
      )
      order by workflow_id, scheduled_seq
    )
    update task_queue t
    set lease_token = null, lease_expires_at = null, worker_id = null, permits = null,
      visible_at = clock_timestamp() + held.lease_ms * interval '1 millisecond',
      progress = coalesce(held.progress, t.progress)
    from held
    where t.workflow_id = any(array[held.workflow_id]) and t.scheduled_seq = held.scheduled_seq
      and t.lease_token = held.lease_token and t.outcome is null
      and (${namespace ?? null}::text is null or t.namespace = ${namespace ?? null}::text)
    returning t.workflow_id as execution_id, t.scheduled_seq, held.lease_token`);
  const deferred = new Set(
    rows.map((row) => keyOf({ taskId: taskIdOf(row.executionId, row.scheduledSeq), leaseToken: row.leaseToken })),
  );
  return deferrals.map((ref) => deferred.has(keyOf(ref)));
};

/** The row stays locked until the lines are in, so the lines of a task have the order in which they were accepted. */
export const appendLogs = async (
  session: Session,
  namespace: Namespace,
  lease: LeaseRef,
  lines: readonly LogLine[],
): Promise<boolean> => {
  const task = parseTaskId(lease.taskId);
  if (task === undefined) return false;
  const rows = lines.map(({ at, line }) => ({ logged_at: timestamp(at), line }));
  const { held } = await session.one(log`
    with held as (
      select workflow_id, scheduled_seq, namespace
      from task_queue
      where workflow_id = ${task.executionId} and scheduled_seq = ${task.scheduledSeq}::bigint
        and namespace = ${namespace} and lease_token = ${lease.leaseToken} and outcome is null
      for no key update
    ), written as (
      insert into task_logs (workflow_id, scheduled_seq, namespace, logged_at, line)
      select held.workflow_id, held.scheduled_seq, held.namespace, r.logged_at, r.line
      from held cross join rows from (
        json_to_recordset(${jsonRows(rows)}::json) as (logged_at timestamptz, line text)
      ) with ordinality as r (logged_at, line, position)
      order by r.position
    )
    select count(*) as held from held`);
  return held > 0;
};
