import { z } from 'zod';
import type { QueuedFamily } from '../../domain/execution/commands.ts';
import { type Namespace, parseTaskId, type TaskId } from '../../domain/kernel/brand.ts';
import type { EngineTx, LogLine, OpenLease, PutOff } from '../../ports/engine-store.ts';
import type { Session } from './database.ts';
import { count, instant, jsonRows, leaseToken, prepared, text, timestamp, word } from './statement.ts';
import { taskKey } from './task-queue.ts';

const putOff = prepared('tasks_put_off', z.object({ queue: text, visibleAt: instant }));
const findLease = prepared(
  'tasks_find_lease',
  z.object({
    family: word<QueuedFamily>(),
    queue: text,
    leaseToken: leaseToken.exactOptional(),
    workerId: text.exactOptional(),
  }),
);
const log = prepared('task_logs_append_unheld', z.object({ known: count }));

/**
 * The fence stands in the outer WHERE, as that of a report does (promise 7). The worker stays named: it is who had the
 * attempt last.
 */
export const putOffTask = (
  session: Session,
  namespace: Namespace,
  { taskId, leaseToken: token, afterSeconds, progress }: PutOff,
): ReturnType<EngineTx['putOffTask']> => {
  const key = taskKey(taskId);
  return session.row(putOff`
    update task_queue t
    set progress = ${JSON.stringify(progress)}::json,
      lease_token = null, lease_expires_at = null, permits = null,
      visible_at = case when t.family = 'worker'
        then clock_timestamp() + ${afterSeconds}::bigint * interval '1 second' else t.visible_at end,
      callbacks = case when t.lease_token is null then t.callbacks else coalesce(t.callbacks, 0) + 1 end,
      callback_seconds = case when t.family = 'worker' then ${afterSeconds}::integer end
    where t.workflow_id = ${key.workflow_id} and t.scheduled_seq = ${key.scheduled_seq}::bigint
      and t.namespace = ${namespace} and t.family <> 'system' and t.outcome is null
      and t.lease_token is not distinct from ${token ?? null}::uuid
    returning t.queue, t.visible_at`);
};

export const findOpenLease = async (
  session: Session,
  namespace: Namespace,
  taskId: TaskId,
): Promise<OpenLease | undefined> => {
  const key = parseTaskId(taskId);
  if (key === undefined) return undefined;
  return session.row(findLease`
    select family, queue, lease_token, worker_id from task_queue
    where workflow_id = ${key.executionId} and scheduled_seq = ${key.scheduledSeq}::bigint
      and namespace = ${namespace} and outcome is null`);
};

/** The log tells whether the run ever had the attempt: lines about nothing would be kept for ever. */
export const appendTaskLogs = async (
  session: Session,
  namespace: Namespace,
  taskId: TaskId,
  lines: readonly LogLine[],
): Promise<boolean> => {
  const key = parseTaskId(taskId);
  if (key === undefined) return false;
  const rows = lines.map(({ at, line }) => ({ logged_at: timestamp(at), line }));
  const { known } = await session.one(log`
    with known as (
      select e.workflow_id, e.seq, e.namespace from workflow_events e
      where e.workflow_id = ${key.executionId} and e.seq = ${key.scheduledSeq}::bigint and e.namespace = ${namespace}
        and e.data ->> 'type' = 'TaskScheduled'
    ), written as (
      insert into task_logs (workflow_id, scheduled_seq, namespace, logged_at, line)
      select known.workflow_id, known.seq, known.namespace, r.logged_at, r.line
      from known cross join rows from (
        json_to_recordset(${jsonRows(rows)}::json) as (logged_at timestamptz, line text)
      ) with ordinality as r (logged_at, line, position)
      order by r.position
    )
    select count(*) as known from known`);
  return known > 0;
};
