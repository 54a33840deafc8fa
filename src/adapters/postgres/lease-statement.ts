import { z } from 'zod';
import { type LeaseToken, taskIdOf } from '../../domain/kernel/brand.ts';
import type { LeasedTask, LeaseRequest } from '../../ports/engine-store.ts';
import { count, executionId, instant, json, leaseToken, namespaceName, sql, text } from './statement.ts';

/** What every lease answers with. */
export const leasedRow = z.object({
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
  heartbeatMs: count,
  callbacks: count.exactOptional(),
  callbackSeconds: count.exactOptional(),
  progress: json.exactOptional(),
});
export const leasedTask = ({ scheduledSeq, input, ...row }: z.output<typeof leasedRow>): LeasedTask => ({
  ...row,
  taskId: taskIdOf(row.executionId, scheduledSeq),
  input: input ?? null,
});

type Fragment = ReturnType<typeof sql.fragment>;

/**
 * The next tasks of the queues in order. The rows are locked where they are found and never waited for, so the order of
 * locking cannot matter.
 */
export const nextTasks = (queues: readonly string[], count: number, scope: Fragment): Fragment => sql.fragment`
  select t.*
  from unnest(${sql.array(queues, 'text')}) as wanted (queue)
  cross join lateral (
    select q.ctid as place, q.started_at is null as is_first
    from task_queue q
    where q.queue = wanted.queue and q.lease_token is null and q.outcome is null
      and q.visible_at <= (select clock_timestamp())
      and ${scope}
    order by q.priority desc, q.turn, q.workflow_id, q.scheduled_seq
    limit ${count}::bigint
    for update skip locked
  ) t
  limit ${count}::bigint`;

/**
 * Leases the rows of the table `numbered` (place, is_first,
 * number), which this statement has locked: so their places hold. The time
 * of the attempt with its worker starts with its first lease; the clock is the database's, at the moment of the lease.
 * A later lease does not even try to arm the timer: it would wait for a pass that drops it, which may wait for our rows.
 */
export const leaseNumbered = (
  { workerId, leaseMs }: LeaseRequest,
  tokens: readonly LeaseToken[],
  change: Fragment,
): Fragment => sql.fragment`
  leased as (
    update task_queue t
    set lease_token = (${sql.array(tokens, 'uuid')})[numbered.number],
      worker_id = ${workerId},
      lease_expires_at = clock_timestamp()
        + coalesce(${leaseMs ?? null}::bigint, t.heartbeat_ms) * interval '1 millisecond',
      started_at = coalesce(t.started_at, clock_timestamp())${change}
    from numbered
    where t.ctid = numbered.place
    returning t.workflow_id, t.scheduled_seq, t.namespace, t.ref, t.iteration, t.attempt, t.task_type, t.task_name,
      t.queue, t.priority, t.input, t.lease_token, t.lease_expires_at, t.scheduled_at, t.started_at, t.worker_id,
      t.heartbeat_ms, t.callbacks, t.callback_seconds, t.progress, t.start_to_close_ms, t.alert_only, numbered.is_first,
      numbered.number
  ), armed as (
    insert into timers (workflow_id, ref, iteration, attempt, purpose, namespace, fire_at, under_lock)
    select workflow_id, ref, iteration, attempt, 'START_TO_CLOSE', namespace,
      started_at + start_to_close_ms * interval '1 millisecond', alert_only
    from leased where start_to_close_ms > 0 and is_first
    on conflict do nothing
  )`;

/** What `leasedRow` reads of the table `leased`. */
export const leasedColumns = sql.fragment`leased.workflow_id as execution_id, leased.scheduled_seq, leased.namespace,
  leased.ref, leased.iteration, leased.attempt, leased.task_type, leased.task_name, leased.queue, leased.priority,
  leased.input, leased.lease_token, leased.lease_expires_at, leased.scheduled_at, leased.started_at, leased.worker_id,
  leased.heartbeat_ms, leased.callbacks, leased.callback_seconds, leased.progress`;

/** Whose tasks these are: those for the workers of a namespace, or those of the server in all of them. */
export const servedBy = ({ namespace }: LeaseRequest): Fragment =>
  namespace === undefined
    ? sql.fragment`q.family = 'system'`
    : sql.fragment`q.family = 'worker' and q.namespace = ${namespace}`;

/** Tasks that something may hold back are left alone here, whatever a caller believes of limits. */
export const ungated = sql.fragment`not exists (
    select from task_definitions d where d.namespace = q.namespace and d.name = q.task_name and d.gated
    offset 0
  )`;
