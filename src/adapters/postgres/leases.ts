import { z } from 'zod';
import { type LeaseToken, type Namespace, parseTaskId, taskIdOf } from '../../domain/kernel/brand.ts';
import type { JsonValue } from '../../domain/kernel/json.ts';
import type {
  Heartbeat,
  HeartbeatOutcome,
  LeasedTask,
  LeaseRef,
  LeaseRequest,
  LogLine,
} from '../../ports/engine-store.ts';
import { hasLimits, lockRoom, queuesWithRoom, type Room, roomAfter } from './concurrency-limits.ts';
import type { Database, Session } from './database.ts';
import {
  count,
  executionId,
  instant,
  json,
  jsonRows,
  leaseToken,
  namespaceName,
  prepared,
  sql,
  text,
  timestamp,
} from './statement.ts';

const leasedRow = z.object({
  executionId,
  scheduledSeq: count,
  namespace: namespaceName,
  ref: text,
  iteration: count,
  attempt: count,
  taskType: text,
  taskName: text,
  queue: text,
  priority: count,
  input: json.exactOptional(),
  leaseToken,
  leaseExpiresAt: instant,
  scheduledAt: instant,
  startedAt: instant,
  workerId: text,
});
const leaseUnlimited = prepared('tasks_lease', leasedRow);
const leaseLimited = prepared('tasks_lease_limited', leasedRow);
const leaseSystem = prepared('tasks_lease_system', leasedRow);
const extend = prepared(
  'tasks_heartbeat',
  z.object({ executionId, scheduledSeq: count, leaseToken, leaseExpiresAt: instant }),
);
const release = prepared('tasks_release', z.object({ namespace: namespaceName, queue: text }));
const log = prepared('task_logs_append', z.object({ held: count }));

const leasedTask = ({ scheduledSeq, input, ...row }: z.output<typeof leasedRow>): LeasedTask => ({
  ...row,
  taskId: taskIdOf(row.executionId, scheduledSeq),
  input: input ?? null,
});

type Fragment = ReturnType<typeof sql.fragment>;

/**
 * The next tasks of the queues in order. The rows are locked where they are found and never waited for, so the order of
 * locking cannot matter.
 */
const nextTasks = (queues: readonly string[], count: number, scope: Fragment): Fragment => sql.fragment`
  select t.*
  from unnest(${sql.array(queues, 'text')}) as wanted (queue)
  cross join lateral (
    select q.ctid as place, q.task_name, q.started_at is null as is_first
    from task_queue q
    where q.queue = wanted.queue and q.lease_token is null and q.outcome is null
      and q.visible_at <= (select clock_timestamp())
      and ${scope}
    order by q.priority desc, q.scheduled_at, q.workflow_id, q.scheduled_seq
    limit ${count}::bigint
    for update skip locked
  ) t
  limit ${count}::bigint`;

/**
 * Leases the rows of the table `numbered` (place, is_first, number), which this statement has locked: so their places hold. The time
 * of the attempt with its worker starts with its first lease; the clock is the database's, at the moment of the lease.
 * A later lease does not even try to arm the timer: it would wait for a pass that drops it, which may wait for our rows.
 */
const leaseNumbered = ({ workerId, leaseMs }: LeaseRequest, tokens: readonly LeaseToken[]): Fragment => sql.fragment`
  leased as (
    update task_queue t
    set lease_token = (${sql.array(tokens, 'uuid')})[numbered.number],
      worker_id = ${workerId},
      lease_expires_at = clock_timestamp()
        + coalesce(${leaseMs ?? null}::bigint, t.heartbeat_ms) * interval '1 millisecond',
      started_at = coalesce(t.started_at, clock_timestamp())
    from numbered
    where t.ctid = numbered.place
    returning t.workflow_id, t.scheduled_seq, t.namespace, t.ref, t.iteration, t.attempt, t.task_type, t.task_name,
      t.queue, t.priority, t.input, t.lease_token, t.lease_expires_at, t.scheduled_at, t.started_at, t.worker_id,
      t.start_to_close_ms, t.alert_only, numbered.is_first, numbered.number
  ), armed as (
    insert into timers (workflow_id, ref, iteration, attempt, purpose, namespace, fire_at, under_lock)
    select workflow_id, ref, iteration, attempt, 'START_TO_CLOSE', namespace,
      started_at + start_to_close_ms * interval '1 millisecond', alert_only
    from leased where start_to_close_ms > 0 and is_first
    on conflict do nothing
  )
  select workflow_id as execution_id, scheduled_seq, namespace, ref, iteration, attempt, task_type, task_name, queue,
    priority, input, lease_token, lease_expires_at, scheduled_at, started_at, worker_id
  from leased
  order by number`;

/** Tasks with a limit are left alone here, so nothing is leased beyond one, whatever a caller believes of limits. */
const unlimited = (namespace: Namespace): Fragment => sql.fragment`
  q.family = 'worker' and q.namespace = ${namespace} and not exists (
    select from task_definitions d
    where d.namespace = ${namespace} and d.name = q.task_name and d.concurrent_exec_limit > 0
  )`;

const leaseNext = async (session: Session, request: LeaseRequest): Promise<readonly LeasedTask[]> => {
  const { namespace, queues, count } = request;
  const scope = namespace === undefined ? sql.fragment`q.family = 'system'` : unlimited(namespace);
  const rows = await session.rows((namespace === undefined ? leaseSystem : leaseUnlimited)`
    with picked as (${nextTasks(queues, count, scope)}
    ), numbered as (
      select place, is_first, row_number() over () as number from picked
    ), ${leaseNumbered(request, request.tokens.slice(0, count))}`);
  return rows.map(leasedTask);
};

/** A task with a limit is taken only as one of the names that are locked and have room. */
const leaseRound = async (
  session: Session,
  request: LeaseRequest,
  namespace: Namespace,
  tokens: readonly LeaseToken[],
  room: Room,
): Promise<readonly LeasedTask[]> => {
  const open = [...room].filter(([, free]) => free > 0);
  const names = sql.array(
    open.map(([name]) => name),
    'text',
  );
  const free = sql.array(
    open.map(([, free]) => free),
    'int8',
  );
  const scope = sql.fragment`q.family = 'worker' and q.namespace = ${namespace} and (
        q.task_name = any(${names}) or not exists (
          select from task_definitions d
          where d.namespace = ${namespace} and d.name = q.task_name and d.concurrent_exec_limit > 0
        )
      )`;
  const rows = await session.rows(leaseLimited`
    with picked as (${nextTasks(queuesWithRoom(request.queues, room), tokens.length, scope)}
    ), ordered as (
      select place, task_name, is_first, row_number() over () as number from picked
    ), ranked as (
      select place, task_name, is_first, number,
        row_number() over (partition by task_name order by number) as number_in_name
      from ordered
    ), numbered as (
      select place, is_first, row_number() over (order by number) as number
      from ranked left join unnest(${names}, ${free}) as room (name, free) on room.name = ranked.task_name
      where room.free is null or number_in_name <= room.free
    ), ${leaseNumbered(request, tokens)}`);
  return rows.map(leasedTask);
};

/** Rounds end when there is enough or nothing left; without limits among the next tasks the first round says it all. */
export const leaseTasks = async (session: Session, request: LeaseRequest): Promise<readonly LeasedTask[]> => {
  const { namespace, queues, tokens, count } = request;
  if (count <= 0 || queues.length === 0) return [];
  if (namespace === undefined || !(await hasLimits(session, namespace))) return leaseNext(session, request);
  let room = await lockRoom(session, namespace, queues, count);
  const isLimited = room.size > 0;
  const leased: LeasedTask[] = [];
  for (;;) {
    const round = await leaseRound(session, request, namespace, tokens.slice(leased.length, count), room);
    leased.push(...round);
    if (!isLimited || round.length === 0 || leased.length >= count) return leased;
    room = roomAfter(room, round);
  }
};

/**
 * Leases outside of a caller's transaction: one plain statement where the namespace has no limits. A limit that comes
 * between the two looks is not exceeded, since that statement leaves tasks with a limit alone.
 */
export const leaseTasksAlone = async (database: Database, request: LeaseRequest): Promise<readonly LeasedTask[]> => {
  const { namespace, queues, count } = request;
  if (count <= 0 || queues.length === 0) return [];
  if (namespace === undefined || !(await hasLimits(database, namespace))) return leaseNext(database, request);
  return database.transaction((session) => leaseTasks(session, request));
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
    set lease_token = null, lease_expires_at = null, worker_id = null
    from held
    where t.workflow_id = any(array[held.workflow_id]) and t.scheduled_seq = held.scheduled_seq
      and t.lease_token = held.lease_token and t.outcome is null
      and (${namespace ?? null}::text is null or t.namespace = ${namespace ?? null}::text)
    returning t.namespace, t.queue`);
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
