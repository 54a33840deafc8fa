import { z } from 'zod';
import { type Namespace, parseTaskId, taskIdOf } from '../../domain/kernel/brand.ts';
import type { LeaseRef, ReportOutcome, TaskReport } from '../../ports/engine-store.ts';
import type { Database, Session } from './database.ts';
import { onRequestedBefore } from './decide-queue.ts';
import { classifyFailure } from './sqlstate.ts';
import { count, executionId, jsonRows, leaseToken, prepared } from './statement.ts';

const reportKey = z.object({ executionId, scheduledSeq: count, leaseToken });
const settle = prepared('reports_settle', reportKey);
const findRepeated = prepared('reports_find_repeated', z.object({ place: count }));

const keyOf = (report: LeaseRef): string => `${report.taskId}/${report.leaseToken}`;
const keyOfRow = ({ executionId, scheduledSeq, leaseToken }: z.output<typeof reportKey>): string =>
  keyOf({ taskId: taskIdOf(executionId, scheduledSeq), leaseToken });

const reportRows = (reports: readonly TaskReport[]) =>
  reports.flatMap(({ taskId, leaseToken, status, output, reason }, position) => {
    const task = parseTaskId(taskId);
    if (task === undefined) return [];
    const key = { workflow_id: task.executionId, scheduled_seq: task.scheduledSeq, lease_token: leaseToken };
    return { ...key, status, output, reason, position };
  });

type ReportRows = ReturnType<typeof reportRows>;

/**
 * Takes the decide rows of the runs whose attempts these reports would end, all of them and in id order, and only then
 * touches the tasks: the count is computed before the first update. If a pass holds one of the rows, the report waits
 * there, holding nothing of the tasks. A report of a stranger wakes nobody.
 *
 * The fence stands in the outer WHERE, which is checked again on the row as it is once the lock is ours: a token that
 * changed while we waited, or an attempt that ended, takes no report (promise 7).
 */
const setOutcomes = async (
  session: Session,
  namespace: Namespace | null,
  reports: ReportRows,
): Promise<ReadonlySet<string>> => {
  if (reports.length === 0) return new Set();
  // Reports of one statement get instants a microsecond apart, which keeps their order for the pass.
  const rows = await session.rows(settle`
    with report as materialized (
      select * from json_to_recordset(${jsonRows(reports)}::json) as r (
        workflow_id uuid, scheduled_seq bigint, lease_token uuid, status text, output json, reason text, position integer
      )
      order by workflow_id, scheduled_seq
    ), requested as (
      insert into decide_queue as present (workflow_id, due_at, reported)
      select r.workflow_id, clock_timestamp(), array_agg(r.scheduled_seq)
      from report r
      cross join lateral (
        select from task_queue t
        where t.workflow_id = r.workflow_id and t.scheduled_seq = r.scheduled_seq and t.lease_token = r.lease_token
          and t.outcome is null and (${namespace}::text is null or t.namespace = ${namespace}::text)
        offset 0
      ) as held
      group by r.workflow_id
      order by r.workflow_id
      ${onRequestedBefore}
      returning workflow_id
    )
    update task_queue t
    set outcome = report.status, outcome_output = report.output, outcome_reason = report.reason,
      outcome_at = (select clock_timestamp()) + report.position * interval '1 microsecond'
    from report
    where (select count(*) from requested) > 0
      and t.workflow_id = any(array[report.workflow_id]) and t.scheduled_seq = report.scheduled_seq
      and t.lease_token = report.lease_token and t.outcome is null
      and (${namespace}::text is null or t.namespace = ${namespace}::text)
    returning t.workflow_id as execution_id, t.scheduled_seq, t.lease_token`);
  return new Set(rows.map(keyOfRow));
};

/**
 * Places of those reports that say what was settled before under the same token: on an attempt that is still open, or on
 * one that a pass has closed since. The log leads from the id of a task to the identity of the closed attempt.
 */
const placesOfRepeated = async (
  session: Session,
  namespace: Namespace | null,
  reports: ReportRows,
): Promise<ReadonlySet<number>> => {
  if (reports.length === 0) return new Set();
  const rows = await session.rows(findRepeated`
    with report as (
      select *, hash_record_extended(row(lease_token, status, reason, output::text), 0) as hash
      from json_to_recordset(${jsonRows(reports)}::json) as r (
        workflow_id uuid, scheduled_seq bigint, lease_token uuid, status text, output json, reason text, position integer
      )
    )
    select report.position as place from report
    where exists (
      select from task_queue t
      where t.workflow_id = report.workflow_id and t.scheduled_seq = report.scheduled_seq
        and t.lease_token = report.lease_token and t.outcome is not null
        and report.hash = hash_record_extended(
          row(t.lease_token, t.outcome, t.outcome_reason, t.outcome_output::text), 0
        )
        and (${namespace}::text is null or t.namespace = ${namespace}::text)
      offset 0
    ) or exists (
      select from workflow_events e
      cross join lateral (
        select from task_executions c
        where c.workflow_id = report.workflow_id and c.ref = e.data ->> 'ref'
          and c.iteration = (e.data ->> 'iteration')::integer and c.attempt = (e.data ->> 'attempt')::integer
          and c.scheduled_seq = report.scheduled_seq and c.report_hash = report.hash
        offset 0
      ) as closed
      where e.workflow_id = report.workflow_id and e.seq = report.scheduled_seq
        and (${namespace}::text is null or e.namespace = ${namespace}::text)
      offset 0
    )`);
  return new Set(rows.map((row) => row.place));
};

/** One answer per report, in order; of equal keys in one call the first is tried and the others are compared with it. */
export const settleTasks = async (
  session: Session,
  namespace: Namespace | undefined,
  reports: readonly TaskReport[],
): Promise<readonly ReportOutcome[]> => {
  const scope = namespace ?? null;
  const places = new Map<string, number>();
  for (const [place, report] of reports.entries()) if (!places.has(keyOf(report))) places.set(keyOf(report), place);
  const isFirst = (report: TaskReport, place: number) => places.get(keyOf(report)) === place;
  const rows = reportRows(reports.filter(isFirst));
  const settled = await setOutcomes(session, scope, rows);
  const isSettled = (report: TaskReport, place: number) => isFirst(report, place) && settled.has(keyOf(report));
  const others = reportRows(reports).filter(({ position }) => {
    const report = reports[position];
    return report !== undefined && !isSettled(report, position);
  });
  const repeated = await placesOfRepeated(session, scope, others);
  return reports.map((report, place) => {
    if (isSettled(report, place)) return 'settled';
    return repeated.has(place) ? 'repeated' : 'leaseLost';
  });
};

/** Without a transaction of the caller's. Contention is the business of the transaction helper, so it is tried again there. */
export const settleTasksAlone = async (
  database: Database,
  namespace: Namespace | undefined,
  reports: readonly TaskReport[],
): Promise<readonly ReportOutcome[]> => {
  try {
    return await settleTasks(database, namespace, reports);
  } catch (error) {
    const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
    if (classifyFailure(cause) !== 'contention') throw error;
    return database.transaction((session) => settleTasks(session, namespace, reports));
  }
};
