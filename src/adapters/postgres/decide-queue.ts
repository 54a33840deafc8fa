import { z } from 'zod';
import type { ExecutionId } from '../../domain/kernel/brand.ts';
import type { LockedExecutions, ParkedEvaluation } from '../../ports/engine-store.ts';
import type { Session } from './database.ts';
import { lockExecutions } from './executions.ts';
import { executionId, instant, prepared, preparedCommand, sql } from './statement.ts';

const claim = prepared('decide_queue_claim', z.object({ now: instant, claimed: z.array(executionId) }));
const claimOf = preparedCommand('decide_queue_claim_of');
const request = preparedCommand('decide_queue_request');
const park = preparedCommand('decide_queue_park');

/** Ids in the order in which everyone locks, each once. */
export const inLockOrder = (ids: Iterable<ExecutionId>): readonly ExecutionId[] => [...new Set(ids)].sort();

/**
 * The DELETE comes before any read of a run, in the transaction of the pass: what is completed after it finds no row and
 * earns another pass, and a rollback puts the row back (promise 1). The inner select is an array and so is computed once.
 */
export const claimEvaluations = async (session: Session, limit: number): Promise<LockedExecutions> => {
  const { now, claimed } = await session.one(claim`
    with claimed as (
      delete from decide_queue where workflow_id = any(array(
        select workflow_id from decide_queue
        where due_at <= (select clock_timestamp())
        order by due_at
        limit ${limit}
        for update skip locked
      ))
      returning workflow_id
    )
    select clock_timestamp() as now, array(select workflow_id from claimed) as claimed`);
  return claimed.length === 0 ? { now, heads: [] } : lockExecutions(session, claimed);
};

export const claimEvaluationsOf = async (
  session: Session,
  executionIds: readonly ExecutionId[],
): Promise<LockedExecutions> => {
  const ids = inLockOrder(executionIds);
  await session.run(claimOf`
    delete from decide_queue where workflow_id = any(array(
      select workflow_id from decide_queue
      where workflow_id = any(${sql.array(ids, 'uuid')})
      order by workflow_id
      for update
    ))`);
  return lockExecutions(session, ids);
};

/**
 * DO UPDATE locks the row that is there until this transaction ends, so a claim waits and then sees what justified the
 * request. DO NOTHING would take no lock, and the claim would read past us: a lost wakeup (promise 2).
 */
export const requestEvaluations = async (session: Session, executionIds: Iterable<ExecutionId>): Promise<void> => {
  const ids = inLockOrder(executionIds);
  if (ids.length === 0) return;
  await session.run(request`
    insert into decide_queue as present (workflow_id, due_at)
    select workflow_id, clock_timestamp() from unnest(${sql.array(ids, 'uuid')}) as wanted (workflow_id)
    order by workflow_id
    on conflict (workflow_id) do update
    set due_at = least(present.due_at, excluded.due_at), attempts = 0, reason = null`);
};

export const parkEvaluation = async (session: Session, parked: ParkedEvaluation): Promise<void> => {
  await session.run(park`
    insert into decide_queue (workflow_id, due_at, attempts, reason)
    values (
      ${parked.executionId}, clock_timestamp() + ${parked.retryAfterMs}::bigint * interval '1 millisecond',
      ${parked.attempts}, ${parked.reason}
    )
    on conflict (workflow_id) do update
    set due_at = excluded.due_at, attempts = excluded.attempts, reason = excluded.reason`);
};
