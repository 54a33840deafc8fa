import { z } from 'zod';
import type { TimerPurpose } from '../../domain/execution/commands.ts';
import type { ExecutionId } from '../../domain/kernel/brand.ts';
import type { DueTimer, FiredTimers } from '../../ports/engine-store.ts';
import type { Session } from './database.ts';
import { requestOutcomeReads } from './decide-queue.ts';
import { count, executionId, jsonRows, prepared, preparedCommand, text, word } from './statement.ts';

const peekLeases = prepared('leases_peek_expired', z.object({ executionId, scheduledSeq: count }));
const expire = prepared('leases_expire', z.object({ executionId }));
const timerRow = z.object({ executionId, ref: text, iteration: count, attempt: count, purpose: word<TimerPurpose>() });
const peekTimers = prepared('timers_peek_due', timerRow.extend({ scheduledSeq: count.exactOptional() }));
const peekTimersUnderLock = prepared('timers_peek_under_lock', timerRow.extend({ isVoid: z.boolean() }));
const fire = prepared('timers_fire', z.object({ executionId }));
const postpone = preparedCommand('timers_postpone');
const dropFired = preparedCommand('timers_drop_fired');

const distinct = (rows: readonly Readonly<{ executionId: ExecutionId }>[]): readonly ExecutionId[] => [
  ...new Set(rows.map((row) => row.executionId)),
];

/**
 * Peeks without locks, takes the decide rows, and only then the task rows, checking the expiry again: a heartbeat that
 * came in between keeps its lease. That the lease has ended is worded so that the index of all leases does not offer
 * itself: the rows are to be found by their key.
 */
export const expireLeases = async (session: Session, limit: number): Promise<readonly ExecutionId[]> => {
  const seen = await session.rows(peekLeases`
    select workflow_id as execution_id, scheduled_seq from task_queue
    where outcome is null and lease_expires_at <= (select clock_timestamp())
    order by lease_expires_at
    limit ${limit}::bigint`);
  if (seen.length === 0) return [];
  await requestOutcomeReads(session, seen);
  const keys = seen.map(({ executionId, scheduledSeq }) => ({ workflow_id: executionId, scheduled_seq: scheduledSeq }));
  const expired = await session.rows(expire`
    with seen as materialized (
      select * from json_to_recordset(${jsonRows(keys)}::json) as r (workflow_id uuid, scheduled_seq bigint)
      order by workflow_id, scheduled_seq
    )
    update task_queue t
    set outcome = 'TIMED_OUT', outcome_deadline = 'HEARTBEAT', outcome_output = '{}', outcome_at = clock_timestamp(),
      outcome_reason = 'no heartbeat from worker ' || t.worker_id || ' before its lease ended'
    from seen
    where t.workflow_id = any(array[seen.workflow_id]) and t.scheduled_seq = seen.scheduled_seq
      and t.outcome is null and coalesce(t.lease_expires_at, 'infinity') <= clock_timestamp()
    returning t.workflow_id as execution_id`);
  return distinct(expired);
};

const timerKeys = (due: readonly DueTimer[]): string =>
  jsonRows(
    due.map(({ executionId, ref, iteration, attempt, purpose }) => ({
      workflow_id: executionId,
      ref,
      iteration,
      attempt,
      purpose,
    })),
  );

/** A task that a worker has leased once is past its wait for one, whatever its timer says. */
const setTimerOutcomes = (session: Session, due: readonly DueTimer[]) =>
  session.rows(fire`
    with due as materialized (
      select t.workflow_id, t.scheduled_seq, m.purpose
      from json_to_recordset(${timerKeys(due)}::json) as r (
        workflow_id uuid, ref text, iteration integer, attempt integer, purpose text
      )
      cross join lateral (
        select purpose from timers
        where workflow_id = r.workflow_id and ref = r.ref and iteration = r.iteration and attempt = r.attempt
          and purpose = r.purpose and fire_at <= (select clock_timestamp())
        offset 0
      ) as m
      cross join lateral (
        select workflow_id, scheduled_seq from task_queue
        where workflow_id = r.workflow_id and ref = r.ref and iteration = r.iteration and attempt = r.attempt
        offset 0
      ) as t
      order by t.workflow_id, t.scheduled_seq
    )
    update task_queue t
    set outcome = case due.purpose when 'WAIT' then 'COMPLETED' else 'TIMED_OUT' end,
      outcome_deadline = case due.purpose when 'WAIT' then null else due.purpose end,
      outcome_reason = case due.purpose when 'WAIT' then null else 'the ' || due.purpose || ' deadline passed' end,
      outcome_output = '{}', outcome_at = clock_timestamp()
    from due
    where t.workflow_id = any(array[due.workflow_id]) and t.scheduled_seq = due.scheduled_seq and t.outcome is null
      and (due.purpose <> 'SCHEDULE_TO_START' or t.started_at is null)
    returning t.workflow_id as execution_id`);

/** Removes timers that have had their effect; one that was armed anew meanwhile stays. */
export const dropTimers = async (session: Session, due: readonly DueTimer[]): Promise<number> => {
  if (due.length === 0) return 0;
  return session.run(dropFired`
    with fired as materialized (
      select * from json_to_recordset(${timerKeys(due)}::json) as r (
        workflow_id uuid, ref text, iteration integer, attempt integer, purpose text
      )
      order by workflow_id, ref collate "C", iteration, attempt, purpose collate "C"
    )
    delete from timers using fired
    where timers.workflow_id = any(array[fired.workflow_id]) and timers.ref = fired.ref
      and timers.iteration = fired.iteration and timers.attempt = fired.attempt and timers.purpose = fired.purpose
      and timers.fire_at <= clock_timestamp()`);
};

export const postponeTimers = async (session: Session, due: readonly DueTimer[], delayMs: number): Promise<void> => {
  if (due.length === 0) return;
  await session.run(postpone`
    with failed as materialized (
      select * from json_to_recordset(${timerKeys(due)}::json) as r (
        workflow_id uuid, ref text, iteration integer, attempt integer, purpose text
      )
      order by workflow_id, ref collate "C", iteration, attempt, purpose collate "C"
    )
    update timers set fire_at = clock_timestamp() + ${delayMs}::bigint * interval '1 millisecond'
    from failed
    where timers.workflow_id = any(array[failed.workflow_id]) and timers.ref = failed.ref
      and timers.iteration = failed.iteration and timers.attempt = failed.attempt and timers.purpose = failed.purpose
      and timers.fire_at <= clock_timestamp()`);
};

const fireTaskTimers = async (session: Session, limit: number): Promise<readonly ExecutionId[]> => {
  const due = await session.rows(peekTimers`
    select m.workflow_id as execution_id, m.ref, m.iteration, m.attempt, m.purpose, t.scheduled_seq
    from timers m
    left join task_queue t on t.workflow_id = m.workflow_id and t.ref = m.ref
      and t.iteration = m.iteration and t.attempt = m.attempt
    where not m.under_lock and m.fire_at <= (select clock_timestamp())
    order by m.fire_at
    limit ${limit}::bigint`);
  if (due.length === 0) return [];
  const ending = due.flatMap(({ executionId, scheduledSeq }) =>
    scheduledSeq === undefined ? [] : [{ executionId, scheduledSeq }],
  );
  await requestOutcomeReads(session, ending);
  const fired = ending.length === 0 ? [] : await setTimerOutcomes(session, due);
  await dropTimers(session, due);
  return distinct(fired);
};

/** Timers that end nothing by themselves. A task that was leased once is past its wait for a worker: that timer only goes. */
const timersUnderLock = async (session: Session, limit: number): Promise<readonly DueTimer[]> => {
  const due = await session.rows(peekTimersUnderLock`
    select m.workflow_id as execution_id, m.ref, m.iteration, m.attempt, m.purpose,
      m.purpose = 'SCHEDULE_TO_START' and t.started_at is not null as is_void
    from timers m
    left join task_queue t on t.workflow_id = m.workflow_id and t.ref = m.ref
      and t.iteration = m.iteration and t.attempt = m.attempt
    where m.under_lock and m.fire_at <= (select clock_timestamp())
    order by m.fire_at
    limit ${limit}::bigint`);
  const toDrop = due.filter(({ isVoid }) => isVoid);
  if (toDrop.length > 0) await dropTimers(session, toDrop);
  return due.filter(({ isVoid }) => !isVoid).map(({ isVoid: _isVoid, ...timer }) => timer);
};

/** Peeks without locks, then decide rows, task rows, timers. Deadlines that need the execution lock are only told. */
export const fireTimers = async (session: Session, limit: number): Promise<FiredTimers> => ({
  evaluated: await fireTaskTimers(session, limit),
  underLock: await timersUnderLock(session, limit),
});
