import { z } from 'zod';
import type { LeaseToken } from '../../domain/kernel/brand.ts';
import type { LeasedTask, LeaseRequest } from '../../ports/engine-store.ts';
import type { Session } from './database.ts';
import { type GatedName, Gates, gatedNameRow } from './gates.ts';
import {
  leasedColumns,
  leasedRow,
  leasedTask,
  leaseNumbered,
  nextTasks,
  servedBy,
  ungated,
} from './lease-statement.ts';
import { count, executionId, jsonRows, namespaceName, prepared, sql, text } from './statement.ts';

const candidateRow = z.object({ executionId, scheduledSeq: count, namespace: namespaceName, taskName: text });
type Candidate = z.output<typeof candidateRow>;

/** Tasks for workers and those of the server are found by other conditions: other statements. */
const peekGated = {
  worker: prepared('tasks_peek_gated', gatedNameRow),
  system: prepared('tasks_peek_gated_system', gatedNameRow),
};
const takeCandidates = {
  worker: prepared('tasks_take_candidates', candidateRow),
  system: prepared('tasks_take_candidates_system', candidateRow),
};
const leaseGated = prepared('tasks_lease_gated', leasedRow);

const servedKind = ({ namespace }: LeaseRequest): 'worker' | 'system' =>
  namespace === undefined ? 'system' : 'worker';

/** Rounds of one lease: each leaves out what the ones before found held back. */
const GATE_ROUNDS_MAX = 10;

/** The names of the next tasks that something may hold back, without those that are known to be held back. */
const gatedAhead = async (session: Session, request: LeaseRequest, gates: Gates): Promise<readonly GatedName[]> => {
  const closed = sql.array(gates.closedKeys(), 'text');
  const rows = await session.rows(peekGated[servedKind(request)]`
    select distinct d.namespace, d.name, d.concurrent_exec_limit, d.rate_leases, d.rate_window_seconds,
      to_json(d.semaphores)::text as semaphores
    from unnest(${sql.array(request.queues, 'text')}) as wanted (queue)
    cross join lateral (
      select q.namespace, q.task_name from task_queue q
      where q.queue = wanted.queue and q.lease_token is null and q.outcome is null
        and q.visible_at <= (select clock_timestamp())
        and ${servedBy(request)} and not (q.namespace || '/' || q.task_name) = any(${closed})
      order by q.priority desc, q.turn, q.workflow_id, q.scheduled_seq
      limit ${request.count}::bigint
    ) next
    join task_definitions d on d.namespace = next.namespace and d.name = next.task_name and d.gated
    order by d.namespace, d.name`);
  return rows.filter((name) => !gates.knows(name));
};

/** Takes in hand the next tasks that no gate is known to hold back. */
const candidatesFor = (session: Session, request: LeaseRequest, gates: Gates, wanted: number) => {
  const open = sql.array(gates.openKeys(), 'text');
  const scope = sql.fragment`${servedBy(request)} and (
      (q.namespace || '/' || q.task_name) = any(${open}) or ${ungated}
    )`;
  return session.rows(takeCandidates[servedKind(request)]`
    with picked as (${nextTasks(request.queues, wanted, scope)}
    )
    select t.workflow_id as execution_id, t.scheduled_seq, t.namespace, t.task_name
    from picked join task_queue t on t.ctid = picked.place`);
};

/** Leases rows that this transaction has taken in hand, with their permits. */
const leaseChosen = async (
  session: Session,
  request: LeaseRequest,
  gates: Gates,
  chosen: readonly Candidate[],
  tokens: readonly LeaseToken[],
): Promise<readonly LeasedTask[]> => {
  const keys = chosen.map((candidate, index) => ({
    workflow_id: candidate.executionId,
    scheduled_seq: candidate.scheduledSeq,
    number: index + 1,
    permits: gates.permitsOf(candidate),
  }));
  const rows = await session.rows(leaseGated`
    with numbered as materialized (
      select t.ctid as place, t.is_first, r.number, r.permits
      from json_to_recordset(${jsonRows(keys)}::json) as r (
        workflow_id uuid, scheduled_seq bigint, number integer, permits text[]
      )
      cross join lateral (
        select ctid, started_at is null as is_first from task_queue
        where workflow_id = r.workflow_id and scheduled_seq = r.scheduled_seq and lease_token is null
        offset 0
      ) as t
    ), ${leaseNumbered(request, tokens, sql.fragment`, permits = numbered.permits`)}
    select ${leasedColumns} from leased order by leased.number`);
  return rows.map(leasedTask);
};

/**
 * Leases where something may hold tasks back. Each round locks what gates the tasks ahead and takes those that pass; what
 * does not pass is left out of the next round, so that it hides nothing behind it.
 */
export const leaseThroughGates = async (
  session: Session,
  request: LeaseRequest,
  leaseUngated: (session: Session, request: LeaseRequest) => Promise<readonly LeasedTask[]>,
): Promise<readonly LeasedTask[]> => {
  const { tokens, count } = request;
  const gates = new Gates(session);
  const leased: LeasedTask[] = [];
  for (let round = 0; round < GATE_ROUNDS_MAX && leased.length < count; round += 1) {
    const found = await gatedAhead(session, request, gates);
    if (found.length === 0 && round === 0) return leaseUngated(session, request);
    await gates.add(found);
    const candidates = await candidatesFor(session, request, gates, count - leased.length);
    const chosen = candidates.filter((candidate) => gates.admit(candidate));
    if (chosen.length === 0 && found.length === 0) break;
    if (chosen.length === 0) continue;
    leased.push(...(await leaseChosen(session, request, gates, chosen, tokens.slice(leased.length, count))));
  }
  await gates.countLeases();
  return leased;
};
