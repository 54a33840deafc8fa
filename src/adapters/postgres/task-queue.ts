import { z } from 'zod';
import type { ExecutionId, Instant, TaskId } from '../../domain/kernel/brand.ts';
import { parseTaskId, taskIdOf } from '../../domain/kernel/brand.ts';
import { invariant } from '../../domain/kernel/invariant.ts';
import type { CloseTask, EnqueueTask, Owed } from '../../ports/engine-store.ts';
import type { Session } from './database.ts';
import type { PassMemory } from './decide-queue.ts';
import {
  count,
  executionId,
  jsonRows,
  prepared,
  preparedCommand,
  sql,
  timestamp,
  timestampOrNull,
} from './statement.ts';
import type { QueueTurns } from './turns.ts';

const enqueue = prepared('tasks_enqueue', z.object({ executionId }));
const listOpen = prepared('tasks_list_open', z.object({ scheduledSeq: count }));
const close = preparedCommand('tasks_close');
const cancel = preparedCommand('tasks_cancel');
const disarm = preparedCommand('timers_disarm');

/** The primary key of an open attempt, out of its id. */
export const taskKey = (taskId: TaskId): Readonly<{ workflow_id: ExecutionId; scheduled_seq: number }> => {
  const parts = parseTaskId(taskId);
  invariant(parts !== undefined, `not a task id: ${taskId}`);
  return { workflow_id: parts.executionId, scheduled_seq: parts.scheduledSeq };
};

/** An attempt as a row of the queue, at its turn. */
export const queueRow = ({ namespace, item }: Owed<EnqueueTask>, turn: number) => ({
  ...taskKey(item.taskId),
  namespace,
  ref: item.ref,
  iteration: item.iteration,
  attempt: item.attempt,
  family: item.family,
  task_type: item.taskType,
  task_name: item.taskName,
  queue: item.queue,
  priority: item.priority,
  input: item.input,
  visible_at: timestamp(item.visibleAt),
  scheduled_at: timestamp(item.scheduledAt),
  heartbeat_ms: item.heartbeatMs,
  start_to_close_ms: item.startToCloseMs,
  alert_only: item.alertOnly,
  turn,
});

const countByRun = (ids: readonly ExecutionId[]): ReadonlyMap<ExecutionId, number> => {
  const counts = new Map<ExecutionId, number>();
  for (const id of ids) counts.set(id, (counts.get(id) ?? 0) + 1);
  return counts;
};

/**
 * The identity (run, ref, iteration, attempt) makes deciding again safe: what was ever opened is absorbed (promise 6).
 * Only the holder of the execution lock opens and closes attempts, so looking is enough among the closed ones.
 */
export const enqueueTasks = async (
  session: Session,
  turns: QueueTurns,
  tasks: readonly Owed<EnqueueTask>[],
): Promise<ReadonlySet<ExecutionId>> => {
  if (tasks.length === 0) return new Set();
  const order = await turns.of(session, tasks);
  const rows = tasks.map((task, index) => queueRow(task, order[index] ?? 0));
  const opened = await session.rows(enqueue`
    insert into task_queue (
      workflow_id, scheduled_seq, namespace, ref, iteration, attempt, family, task_type, task_name, queue, priority,
      input, visible_at, scheduled_at, heartbeat_ms, start_to_close_ms, alert_only, turn
    )
    select
      workflow_id, scheduled_seq, namespace, ref, iteration, attempt, family, task_type, task_name, queue, priority,
      input, visible_at, scheduled_at, heartbeat_ms, start_to_close_ms, alert_only, turn
    from json_to_recordset(${jsonRows(rows)}::json) as r (
      workflow_id uuid, scheduled_seq bigint, namespace text, ref text, iteration integer, attempt integer,
      family text, task_type text, task_name text, queue text, priority integer, input json,
      visible_at timestamptz, scheduled_at timestamptz, heartbeat_ms bigint, start_to_close_ms bigint,
      alert_only boolean, turn bigint
    )
    where not exists (
      select from task_executions closed
      where closed.workflow_id = r.workflow_id and closed.ref = r.ref
        and closed.iteration = r.iteration and closed.attempt = r.attempt
      offset 0
    )
    order by workflow_id, scheduled_seq
    on conflict (iteration, workflow_id, ref, attempt) do nothing
    returning workflow_id as execution_id`);
  if (opened.length === tasks.length) return new Set();
  const wanted = countByRun(tasks.map((task) => task.executionId));
  const done = countByRun(opened.map((row) => row.executionId));
  return new Set([...wanted].filter(([id, tasks]) => (done.get(id) ?? 0) < tasks).map(([id]) => id));
};

export const openTaskIds = async (session: Session, id: ExecutionId): Promise<readonly TaskId[]> => {
  const rows = await session.rows(listOpen`
    select scheduled_seq from task_queue where workflow_id = ${id} order by scheduled_seq`);
  return rows.map((row) => taskIdOf(id, row.scheduledSeq));
};

/** A closed attempt as its row on record. */
export const closedRow = ({ namespace, item }: Owed<CloseTask>) => ({
  ...taskKey(item.taskId),
  namespace,
  ref: item.ref,
  iteration: item.iteration,
  attempt: item.attempt,
  task_type: item.taskType,
  task_name: item.taskName,
  status: item.status,
  reason: item.reason,
  worker_id: item.workerId,
  scheduled_at: timestamp(item.scheduledAt),
  started_at: timestampOrNull(item.startedAt),
  ended_at: timestamp(item.endedAt),
});

/**
 * Heartbeats lock the same rows without a decide row, so the rows go in id order. An attempt that is on record as closed
 * stays as it is: looking is enough, as above, and cheaper than ON CONFLICT.
 */
export const closeTasks = async (
  session: Session,
  memory: PassMemory,
  tasks: readonly Owed<CloseTask>[],
): Promise<void> => {
  if (tasks.length === 0) return;
  const rows = tasks.map((task) => ({
    ...closedRow(task),
    report_hash: memory.reportHashes.get(task.item.taskId),
  }));
  await session.run(close`
    with ended as materialized (
      select * from json_to_recordset(${jsonRows(rows)}::json) as r (
        workflow_id uuid, scheduled_seq bigint, namespace text, ref text, iteration integer, attempt integer,
        task_type text, task_name text, status text, reason text, worker_id text,
        scheduled_at timestamptz, started_at timestamptz, ended_at timestamptz, report_hash bigint
      )
      order by workflow_id, scheduled_seq
    ), removed as (
      delete from task_queue t using ended
      where t.workflow_id = any(array[ended.workflow_id]) and t.scheduled_seq = ended.scheduled_seq
    )
    insert into task_executions (
      workflow_id, ref, iteration, attempt, namespace, scheduled_seq, task_type, task_name, status, reason, worker_id,
      scheduled_at, started_at, ended_at, report_hash
    )
    select
      workflow_id, ref, iteration, attempt, namespace, scheduled_seq, task_type, task_name, status, reason, worker_id,
      scheduled_at, started_at, ended_at, report_hash
    from ended
    where not exists (
      select from task_executions closed
      where closed.workflow_id = ended.workflow_id and closed.ref = ended.ref
        and closed.iteration = ended.iteration and closed.attempt = ended.attempt
      offset 0
    )`);
};

export const cancelOpenWork = async (
  session: Session,
  ended: readonly Readonly<{ executionId: ExecutionId; at: Instant }>[],
): Promise<void> => {
  if (ended.length === 0) return;
  const rows = ended.map(({ executionId, at }) => ({ workflow_id: executionId, ended_at: timestamp(at) }));
  await session.run(cancel`
    with ended as materialized (
      select * from json_to_recordset(${jsonRows(rows)}::json) as r (workflow_id uuid, ended_at timestamptz)
      order by workflow_id
    ), removed as (
      delete from task_queue t using ended
      where t.workflow_id = any(array[ended.workflow_id])
      returning t.*, ended.ended_at
    )
    insert into task_executions (
      workflow_id, ref, iteration, attempt, namespace, scheduled_seq, task_type, task_name, status, worker_id,
      scheduled_at, started_at, ended_at
    )
    select
      workflow_id, ref, iteration, attempt, namespace, scheduled_seq, task_type, task_name, 'CANCELED', worker_id,
      scheduled_at, started_at, ended_at
    from removed
    on conflict do nothing`);
  // A statement of its own: a lease that the one before waited for has armed a timer which that cannot see.
  await session.run(disarm`
    with locked as (
      select timers.workflow_id, timers.ref, timers.iteration, timers.attempt, timers.purpose
      from timers where timers.workflow_id = any(${sql.array(
        ended.map(({ executionId }) => executionId),
        'uuid',
      )})
      order by 1, 2, 3, 4, 5
      for update
    )
    delete from timers using locked
    where timers.workflow_id = locked.workflow_id and timers.ref = locked.ref and timers.iteration = locked.iteration
      and timers.attempt = locked.attempt and timers.purpose = locked.purpose`);
};
