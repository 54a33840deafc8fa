import { z } from 'zod';
import { type Namespace, type TaskId, taskIdOf } from '../../domain/kernel/brand.ts';
import type { WaitingOutcome } from '../../ports/engine-store.ts';
import type { Session } from './database.ts';
import { onRequestedBefore } from './decide-queue.ts';
import { count, executionId, jsonRows, prepared } from './statement.ts';
import { taskKey } from './task-queue.ts';

const settle = prepared('waiting_settle', z.object({ executionId, scheduledSeq: count }));
const hold = prepared('waiting_hold', z.object({ scheduledSeq: count }));

/**
 * Takes the decide rows first, as a report does, and only then touches the attempts; the outer WHERE is checked again on
 * the row as it is once the lock is ours, so an attempt that ended, or has an outcome, takes no other (promise 7).
 */
export const settleWaiting = async (
  session: Session,
  namespace: Namespace,
  outcomes: readonly WaitingOutcome[],
): Promise<ReadonlySet<TaskId>> => {
  if (outcomes.length === 0) return new Set();
  const rows = outcomes.map(({ taskId, status, output, reason, by }, position) => ({
    ...taskKey(taskId),
    status,
    output,
    reason,
    worker_id: by,
    position,
  }));
  const settled = await session.rows(settle`
    with ended as materialized (
      select * from json_to_recordset(${jsonRows(rows)}::json) as r (
        workflow_id uuid, scheduled_seq bigint, status text, output json, reason text, worker_id text, position integer
      )
      order by workflow_id, scheduled_seq
    ), requested as (
      insert into decide_queue as present (workflow_id, due_at, reported)
      select e.workflow_id, clock_timestamp(), array_agg(e.scheduled_seq)
      from ended e
      cross join lateral (
        select from task_queue t
        where t.workflow_id = e.workflow_id and t.scheduled_seq = e.scheduled_seq and t.family = 'waiting'
          and t.outcome is null and t.namespace = ${namespace}
        offset 0
      ) as open
      group by e.workflow_id
      order by e.workflow_id
      ${onRequestedBefore}
      returning workflow_id
    )
    update task_queue t
    set outcome = ended.status, outcome_output = ended.output, outcome_reason = ended.reason, worker_id = ended.worker_id,
      outcome_at = (select clock_timestamp()) + ended.position * interval '1 microsecond'
    from ended
    where (select count(*) from requested) > 0
      and t.workflow_id = any(array[ended.workflow_id]) and t.scheduled_seq = ended.scheduled_seq
      and t.family = 'waiting' and t.outcome is null and t.namespace = ${namespace}
    returning t.workflow_id as execution_id, t.scheduled_seq`);
  return new Set(settled.map((row) => taskIdOf(row.executionId, row.scheduledSeq)));
};

/** A share lock: a pass that would close the attempt, or an outcome for it, waits for this transaction. */
export const holdAttempt = async (session: Session, namespace: Namespace, taskId: TaskId): Promise<boolean> => {
  const key = taskKey(taskId);
  const row = await session.row(hold`
    select t.scheduled_seq from task_queue t
    where t.workflow_id = ${key.workflow_id} and t.scheduled_seq = ${key.scheduled_seq}::bigint
      and t.namespace = ${namespace} and t.outcome is null
    for share`);
  return row !== undefined;
};
