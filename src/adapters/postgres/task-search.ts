import { z } from 'zod';
import { type Instant, type Namespace, parseTaskId, type TaskId, taskIdOf } from '../../domain/kernel/brand.ts';
import type { ExecutionIndex, FoundTasks, TaskFilter } from '../../ports/execution-index.ts';
import type { Session } from './database.ts';
import { composed, count, executionId, sql, timestamp } from './statement.ts';

const foundRow = z.object({ executionId, scheduledSeq: count });
const totalRow = z.object({ total: count });

type Fragment = ReturnType<typeof sql.fragment>;

const anyOf = (column: Fragment, values: readonly string[] | undefined): Fragment | undefined =>
  values && sql.fragment`${column} = any(${sql.array(values, 'text')})`;

const between = (column: Fragment, from: Instant | undefined, to: Instant | undefined): readonly Fragment[] => [
  ...(from === undefined ? [] : [sql.fragment`${column} >= ${timestamp(from)}::timestamptz`]),
  ...(to === undefined ? [] : [sql.fragment`${column} < ${timestamp(to)}::timestamptz`]),
];

const idsCondition = (taskIds: readonly TaskId[] | undefined): Fragment | undefined => {
  if (taskIds === undefined) return undefined;
  const keys = taskIds.map((id) => parseTaskId(id)).filter((key) => key !== undefined);
  const runs = sql.array(
    keys.map((key) => key.executionId),
    'uuid',
  );
  const seqs = sql.array(
    keys.map((key) => key.scheduledSeq),
    'int8',
  );
  return sql.fragment`t.workflow_id = any(${runs})
    and exists (
      select from unnest(${runs}, ${seqs}) as wanted (workflow_id, scheduled_seq)
      where wanted.workflow_id = t.workflow_id and wanted.scheduled_seq = t.scheduled_seq
    )`;
};

/** What tells of the run is asked of its row: the rows of attempts do not repeat it. */
const runCondition = ({ workflowNames, correlationIds }: TaskFilter): Fragment | undefined => {
  if (workflowNames === undefined && correlationIds === undefined) return undefined;
  const conditions = [
    anyOf(sql.fragment`w.name`, workflowNames),
    anyOf(sql.fragment`w.correlation_id`, correlationIds),
  ];
  return sql.fragment`exists (
    select from workflow_executions w
    where w.workflow_id = t.workflow_id and ${sql.and(conditions)}
  )`;
};

const conditionsOf = (namespace: Namespace, filter: TaskFilter, status: Fragment, endedAt: Fragment) =>
  sql.and([
    sql.fragment`t.namespace = ${namespace}`,
    filter.executionIds && sql.fragment`t.workflow_id = any(${sql.array(filter.executionIds, 'uuid')})`,
    idsCondition(filter.taskIds),
    anyOf(sql.fragment`t.task_name`, filter.taskNames),
    anyOf(
      sql.fragment`case when t.task_type in ('SIMPLE', 'DYNAMIC') then t.task_name else t.task_type end`,
      filter.types,
    ),
    anyOf(status, filter.statuses),
    ...between(sql.fragment`t.scheduled_at`, filter.scheduledAfter, filter.scheduledBefore),
    ...between(sql.fragment`t.started_at`, filter.startedAfter, filter.startedBefore),
    ...between(endedAt, filter.endedAfter, filter.endedBefore),
    runCondition(filter),
  ]);

const OPEN_STATUS = sql.fragment`
  (case when t.lease_token is not null or t.family = 'waiting' then 'IN_PROGRESS' else 'SCHEDULED' end)`;

/** Open attempts and closed ones stand in two tables; an attempt is in one of them. */
const attempts = (namespace: Namespace, filter: TaskFilter, limit: number): Fragment => sql.fragment`(
    select t.workflow_id, t.scheduled_seq from task_queue t
    where ${conditionsOf(namespace, filter, OPEN_STATUS, sql.fragment`null::timestamptz`)}
    order by t.workflow_id desc, t.scheduled_seq desc
    limit ${limit}::bigint
  ) union all (
    select t.workflow_id, t.scheduled_seq from task_executions t
    where ${conditionsOf(namespace, filter, sql.fragment`t.status`, sql.fragment`t.ended_at`)}
    order by t.workflow_id desc, t.scheduled_seq desc
    limit ${limit}::bigint
  )`;

/**
 * Attempts over all runs, those of the newest runs first: in that order the key of the tables leads from run to run, and a
 * page is found without a sort. The count stops at its bound.
 */
export const searchTasks = async (
  session: Session,
  namespace: Namespace,
  filter: TaskFilter,
  { offset, limit, countMax }: Parameters<ExecutionIndex['searchTasks']>[2],
): Promise<FoundTasks> => {
  const rows = await session.rows(composed(foundRow)`
    select found.workflow_id as execution_id, found.scheduled_seq
    from (${attempts(namespace, filter, offset + limit)}) as found
    order by found.workflow_id desc, found.scheduled_seq desc
    offset ${offset}::bigint limit ${limit}::bigint`);
  const { total } = await session.one(composed(totalRow)`
    select count(*) as total from (
      select from (${attempts(namespace, filter, countMax)}) as found limit ${countMax}::bigint
    ) as counted`);
  return { taskIds: rows.map((row) => taskIdOf(row.executionId, row.scheduledSeq)), total };
};
