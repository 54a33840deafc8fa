import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import type { DeadlineKind } from '../../domain/execution/events.ts';
import type { TaskOutcome } from '../../domain/execution/requests.ts';
import { type ExecutionId, type Namespace, parseTaskId, taskIdOf } from '../../domain/kernel/brand.ts';
import type { LeaseRef, ReportOutcome, TaskReport } from '../../ports/engine-store.ts';
import type { Session } from './database.ts';
import { type ClaimedReports, onRequestedBefore } from './decide-queue.ts';
import { groupByRun } from './event-log.ts';
import {
  count,
  executionId,
  instant,
  jsonObject,
  jsonRows,
  leaseToken,
  namespaceName,
  prepared,
  preparedCommand,
  sql,
  text,
  word,
} from './statement.ts';

const outcomeRow = z.object({
  executionId,
  ref: text,
  iteration: count,
  attempt: count,
  status: word<TaskOutcome['status']>(),
  output: jsonObject,
  reason: text.exactOptional(),
  deadline: word<DeadlineKind>().exactOptional(),
  workerId: text.exactOptional(),
  startedAt: instant.exactOptional(),
});
const read = prepared('outcomes_read', outcomeRow);
const readAll = prepared('outcomes_read_all', outcomeRow);
const reportKey = z.object({ executionId, scheduledSeq: count, leaseToken });
const storedReport = z.object({
  executionId,
  scheduledSeq: count,
  leaseToken,
  namespace: namespaceName,
  status: text,
  output: jsonObject,
  reason: text.exactOptional(),
});
const request = preparedCommand('outcomes_request_passes');
const settle = prepared('outcomes_settle', reportKey);
const inspect = prepared('outcomes_inspect', storedReport);

const keyOf = (report: LeaseRef): string => `${report.taskId}/${report.leaseToken}`;
const keyOfRow = ({ executionId, scheduledSeq, leaseToken }: z.output<typeof reportKey>): string =>
  keyOf({ taskId: taskIdOf(executionId, scheduledSeq), leaseToken });

const OUTCOME_COLUMNS = sql.fragment`
  t.workflow_id as execution_id, t.ref, t.iteration, t.attempt, t.outcome as status, t.outcome_output as output,
  t.outcome_reason as reason, t.outcome_deadline as deadline, t.worker_id, t.started_at`;

const outcomeOf = ({ executionId: _executionId, ...outcome }: z.output<typeof outcomeRow>): TaskOutcome => outcome;

/** Outcomes that the claimed decide rows told of, in the order in which they were reported. */
export const readOutcomes = async (
  session: Session,
  reports: ClaimedReports,
  executionIds: readonly ExecutionId[],
): Promise<ReadonlyMap<ExecutionId, readonly TaskOutcome[]>> => {
  const keys = executionIds.flatMap((id) => [...(reports.get(id) ?? [])].map((seq) => ({ id, seq })));
  if (keys.length === 0) return new Map();
  const ids = sql.array(
    keys.map(({ id }) => id),
    'uuid',
  );
  const seqs = sql.array(
    keys.map(({ seq }) => seq),
    'int8',
  );
  const rows = await session.rows(read`
    select ${OUTCOME_COLUMNS}
    from unnest(${ids}, ${seqs}) as reported (workflow_id, scheduled_seq)
    cross join lateral (
      select * from task_queue q
      where q.workflow_id = reported.workflow_id and q.scheduled_seq = reported.scheduled_seq and q.outcome is not null
      offset 0
    ) as t
    order by t.outcome_at, t.scheduled_seq`);
  return groupByRun(rows, outcomeOf);
};

/** Everything that waits in the mailboxes of a run, whether or not a decide row tells of it. */
export const readAllOutcomes = async (session: Session, id: ExecutionId): Promise<readonly TaskOutcome[]> => {
  const rows = await session.rows(readAll`
    select ${OUTCOME_COLUMNS} from task_queue t
    where t.workflow_id = ${id} and t.outcome is not null
    order by t.outcome_at, t.scheduled_seq`);
  return rows.map(outcomeOf);
};

const reportRows = (reports: readonly TaskReport[]) =>
  reports.flatMap(({ taskId, leaseToken, status, output, reason }, position) => {
    const task = parseTaskId(taskId);
    if (task === undefined) return [];
    const key = { workflow_id: task.executionId, scheduled_seq: task.scheduledSeq, lease_token: leaseToken };
    return { ...key, status, output, reason, position };
  });

type ReportRows = ReturnType<typeof reportRows>;

/**
 * Takes the decide rows of the runs whose attempts these reports would end; says whether there are any. If a pass holds
 * one, the report waits here, holding nothing of the tasks. A report of a stranger wakes nobody.
 */
const requestPasses = async (session: Session, namespace: Namespace | null, reports: ReportRows): Promise<boolean> => {
  const keys = reports.map(({ workflow_id, scheduled_seq, lease_token }) => ({
    workflow_id,
    scheduled_seq,
    lease_token,
  }));
  const requested = await session.run(request`
    insert into decide_queue as present (workflow_id, due_at, reported)
    select r.workflow_id, clock_timestamp(), array_agg(r.scheduled_seq)
    from json_to_recordset(${jsonRows(keys)}::json) as r (workflow_id uuid, scheduled_seq bigint, lease_token uuid)
    cross join lateral (
      select from task_queue t
      where t.workflow_id = r.workflow_id and t.scheduled_seq = r.scheduled_seq and t.lease_token = r.lease_token
        and t.outcome is null and (${namespace}::text is null or t.namespace = ${namespace}::text)
      offset 0
    ) as held
    group by r.workflow_id
    order by r.workflow_id
    ${onRequestedBefore}`);
  return requested > 0;
};

/**
 * The fence stands in the outer WHERE, which is checked again on the row as it is once the lock is ours: a token that
 * changed while we waited, or an attempt that ended, takes no report (promise 7).
 */
const setOutcomes = async (
  session: Session,
  namespace: Namespace | null,
  reports: ReportRows,
): Promise<ReadonlySet<string>> => {
  // Reports of one statement get instants a microsecond apart, which keeps their order for the pass.
  const rows = await session.rows(settle`
    with report as materialized (
      select * from json_to_recordset(${jsonRows(reports)}::json) as r (
        workflow_id uuid, scheduled_seq bigint, lease_token uuid, status text, output json, reason text, position integer
      )
      order by workflow_id, scheduled_seq
    )
    update task_queue t
    set outcome = report.status, outcome_output = report.output, outcome_reason = report.reason,
      outcome_at = (select clock_timestamp()) + report.position * interval '1 microsecond'
    from report
    where t.workflow_id = any(array[report.workflow_id]) and t.scheduled_seq = report.scheduled_seq
      and t.lease_token = report.lease_token and t.outcome is null
      and (${namespace}::text is null or t.namespace = ${namespace}::text)
    returning t.workflow_id as execution_id, t.scheduled_seq, t.lease_token`);
  return new Set(rows.map(keyOfRow));
};

type StoredReport = z.output<typeof storedReport>;

const storedReports = async (
  session: Session,
  reports: readonly TaskReport[],
): Promise<ReadonlyMap<string, StoredReport>> => {
  const keys = reportRows(reports).map(({ workflow_id, scheduled_seq }) => ({ workflow_id, scheduled_seq }));
  const rows = await session.rows(inspect`
    select t.workflow_id as execution_id, t.scheduled_seq, t.namespace, t.lease_token,
      t.outcome as status, t.outcome_output as output, t.outcome_reason as reason
    from json_to_recordset(${jsonRows(keys)}::json) as r (workflow_id uuid, scheduled_seq bigint)
    cross join lateral (
      select * from task_queue q
      where q.workflow_id = r.workflow_id and q.scheduled_seq = r.scheduled_seq
        and q.lease_token is not null and q.outcome is not null
      offset 0
    ) as t`);
  return new Map(rows.map((row) => [keyOfRow(row), row]));
};

const isRepetition = (report: TaskReport, stored: StoredReport | undefined, namespace: Namespace | null): boolean =>
  stored !== undefined &&
  (namespace === null || stored.namespace === namespace) &&
  stored.status === report.status &&
  stored.reason === report.reason &&
  isDeepStrictEqual(stored.output, report.output);

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
  const wanted = rows.length > 0 && (await requestPasses(session, scope, rows));
  const settled = wanted ? await setOutcomes(session, scope, rows) : new Set<string>();
  const isSettled = (report: TaskReport, place: number) => isFirst(report, place) && settled.has(keyOf(report));
  const others = reports.filter((report, place) => !isSettled(report, place));
  const stored = others.length === 0 ? new Map<string, StoredReport>() : await storedReports(session, others);
  return reports.map((report, place) => {
    if (isSettled(report, place)) return 'settled';
    return isRepetition(report, stored.get(keyOf(report)), scope) ? 'repeated' : 'leaseLost';
  });
};
