import { z } from 'zod';
import type { ExecutionId, TaskId } from '../../domain/kernel/brand.ts';
import type { LockedExecutions, ParkedEvaluation } from '../../ports/engine-store.ts';
import type { Session } from './database.ts';
import { lockExecutions } from './executions.ts';
import { executionId, instant, jsonOf, jsonRows, prepared, preparedCommand, sql } from './statement.ts';

type Seqs = readonly number[];

const claim = prepared(
  'decide_queue_claim',
  z.object({ now: instant, claimed: jsonOf<Readonly<Record<ExecutionId, Seqs>>>() }),
);
const claimOf = prepared('decide_queue_claim_of', z.object({ executionId, reported: jsonOf<Seqs>() }));
const request = preparedCommand('decide_queue_request');
const requestOutcomes = preparedCommand('decide_queue_request_outcomes');
const park = preparedCommand('decide_queue_park');

/** What one transaction knows of the runs that it has claimed. */
export type PassMemory = Readonly<{
  /**
   * Attempts that were reported since the last pass, by the seq that scheduled them. The decide row is the list of what a
   * pass has to read, so that a report changes no index of the task queue.
   */
  reported: Map<ExecutionId, ReadonlySet<number>>;
  /** Hashes of the reports that were read: what a repetition is told by once the attempt is closed. */
  reportHashes: Map<TaskId, string>;
}>;

export const newPassMemory = (): PassMemory => ({ reported: new Map(), reportHashes: new Map() });

export type AttemptKey = Readonly<{ executionId: ExecutionId; scheduledSeq: number }>;

/** Ids in the order in which everyone locks, each once. */
export const inLockOrder = (ids: Iterable<ExecutionId>): readonly ExecutionId[] => [...new Set(ids)].sort();

/**
 * DO UPDATE locks the row that is there until this transaction ends, so a claim waits and then sees what justified the
 * request. DO NOTHING would take no lock, and the claim would read past us: a lost wakeup (promise 2).
 */
export const onRequestedBefore = sql.fragment`
  on conflict (workflow_id) do update
  set due_at = least(present.due_at, excluded.due_at), attempts = 0, reason = null,
    reported = present.reported || excluded.reported`;

const remember = (memory: PassMemory, id: ExecutionId, seqs: Seqs): void => {
  memory.reported.set(id, new Set([...(memory.reported.get(id) ?? []), ...seqs]));
};

/**
 * The DELETE comes before any read of a run, in the transaction of the pass: what is completed after it finds no row and
 * earns another pass, and a rollback puts the row back (promise 1). The inner select is an array and so is computed once.
 */
export const claimEvaluations = async (
  session: Session,
  memory: PassMemory,
  limit: number,
): Promise<LockedExecutions> => {
  const { now, claimed } = await session.one(claim`
    with claimed as (
      delete from decide_queue where workflow_id = any(array(
        select workflow_id from decide_queue
        where due_at <= (select clock_timestamp())
        order by due_at
        limit ${limit}
        for update skip locked
      ))
      returning workflow_id, reported
    )
    select clock_timestamp() as now,
      (select coalesce(json_object_agg(workflow_id, reported), '{}') from claimed) as claimed`);
  const ids = Object.keys(claimed) as ExecutionId[];
  if (ids.length === 0) return { now, heads: [] };
  for (const id of ids) remember(memory, id, claimed[id] ?? []);
  return lockExecutions(session, ids);
};

export const claimEvaluationsOf = async (
  session: Session,
  memory: PassMemory,
  executionIds: readonly ExecutionId[],
): Promise<LockedExecutions> => {
  const ids = inLockOrder(executionIds);
  const rows = await session.rows(claimOf`
    delete from decide_queue where workflow_id = any(array(
      select workflow_id from decide_queue
      where workflow_id = any(${sql.array(ids, 'uuid')})
      order by workflow_id
      for update
    ))
    returning workflow_id as execution_id, to_json(reported) as reported`);
  for (const { executionId, reported } of rows) remember(memory, executionId, reported);
  return lockExecutions(session, ids);
};

export const requestEvaluations = async (session: Session, executionIds: Iterable<ExecutionId>): Promise<void> => {
  const ids = inLockOrder(executionIds);
  if (ids.length === 0) return;
  await session.run(request`
    insert into decide_queue as present (workflow_id, due_at)
    select workflow_id, clock_timestamp() from unnest(${sql.array(ids, 'uuid')}) as wanted (workflow_id)
    order by workflow_id
    ${onRequestedBefore}`);
};

/** The same for attempts that are about to get an outcome: the pass is told which they are. */
export const requestOutcomeReads = async (session: Session, attempts: readonly AttemptKey[]): Promise<void> => {
  if (attempts.length === 0) return;
  const rows = attempts.map((key) => ({ workflow_id: key.executionId, scheduled_seq: key.scheduledSeq }));
  await session.run(requestOutcomes`
    insert into decide_queue as present (workflow_id, due_at, reported)
    select workflow_id, clock_timestamp(), array_agg(scheduled_seq)
    from json_to_recordset(${jsonRows(rows)}::json) as r (workflow_id uuid, scheduled_seq bigint)
    group by workflow_id
    order by workflow_id
    ${onRequestedBefore}`);
};

/** What the claim took in hand and the pass could not deal with goes back with the row. */
export const parkEvaluation = async (session: Session, memory: PassMemory, parked: ParkedEvaluation): Promise<void> => {
  const reported = sql.array([...(memory.reported.get(parked.executionId) ?? [])], 'int8');
  await session.run(park`
    insert into decide_queue as present (workflow_id, due_at, attempts, reason, reported)
    values (
      ${parked.executionId}, clock_timestamp() + ${parked.retryAfterMs}::bigint * interval '1 millisecond',
      ${parked.attempts}, ${parked.reason}, ${reported}
    )
    on conflict (workflow_id) do update
    set due_at = excluded.due_at, attempts = excluded.attempts, reason = excluded.reason,
      reported = present.reported || excluded.reported`);
};
