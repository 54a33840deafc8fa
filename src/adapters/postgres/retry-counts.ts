import { z } from 'zod';
import { RETRY_BUDGET_WINDOW_SECONDS } from '../../domain/execution/retry-budget.ts';
import type { Namespace } from '../../domain/kernel/brand.ts';
import type { RetryCount } from '../../ports/limits.ts';
import type { Session } from './database.ts';
import { count, jsonRows, prepared, preparedCommand, sql, text } from './statement.ts';

const read = prepared('retry_counts_read', z.object({ taskName: text, attempts: count, retries: count }));
const add = preparedCommand('retry_counts_add');
const forgetCounts = preparedCommand('retry_counts_forget');
const forgetWindows = preparedCommand('rate_windows_forget');

const BUCKET_SECONDS = 10;
/** Rate windows that closed so long ago tell nothing any more; as many as this are deleted at a time. */
const FORGOTTEN_AFTER_SECONDS = 3_600;
const FORGOTTEN_MAX = 1_000;

/** Attempts and retries of the last minutes, by task name; names without any are absent. */
export const retryCounts = async (
  session: Session,
  namespace: Namespace,
  taskNames: readonly string[],
): Promise<ReadonlyMap<string, RetryCount>> => {
  if (taskNames.length === 0) return new Map();
  const rows = await session.rows(read`
    select s.task_name, sum(s.attempts)::bigint as attempts, sum(s.retries)::bigint as retries
    from retry_statistics s
    where s.namespace = ${namespace} and s.task_name = any(${sql.array(taskNames, 'text')})
      and s.bucket_at > clock_timestamp() - ${RETRY_BUDGET_WINDOW_SECONDS}::bigint * interval '1 second'
    group by s.task_name`);
  return new Map(rows.map((row) => [row.taskName, { namespace, ...row }]));
};

/** Adds to the bucket of now: one row a task, however many attempts it stands for. */
export const addRetryCounts = async (session: Session, counts: readonly RetryCount[]): Promise<void> => {
  if (counts.length === 0) return;
  const rows = counts.map(({ namespace, taskName, attempts, retries }) => ({
    namespace,
    task_name: taskName,
    attempts,
    retries,
  }));
  await session.run(add`
    insert into retry_statistics as present (namespace, task_name, bucket_at, attempts, retries)
    select r.namespace, r.task_name, this.bucket_at, sum(r.attempts), sum(r.retries)
    from json_to_recordset(${jsonRows(rows)}::json) as r (
      namespace text, task_name text, attempts integer, retries integer
    )
    cross join (
      select to_timestamp(floor(extract(epoch from clock_timestamp()) / ${BUCKET_SECONDS}::bigint)
        * ${BUCKET_SECONDS}::bigint) as bucket_at
    ) as this
    group by r.namespace, r.task_name, this.bucket_at
    order by r.namespace collate "C", r.task_name collate "C"
    on conflict (namespace, task_name, bucket_at) do update
    set attempts = present.attempts + excluded.attempts, retries = present.retries + excluded.retries`);
};

/** Deletes what no decision reads any more. */
export const forgetPastLimits = async (session: Session): Promise<number> => {
  const counts = await session.run(forgetCounts`
    delete from retry_statistics where (namespace, task_name, bucket_at) in (
      select namespace, task_name, bucket_at from retry_statistics
      where bucket_at <= clock_timestamp() - 2 * ${RETRY_BUDGET_WINDOW_SECONDS}::bigint * interval '1 second'
      order by namespace, task_name, bucket_at
      limit ${FORGOTTEN_MAX}::bigint
      for update skip locked
    )`);
  const windows = await session.run(forgetWindows`
    delete from rate_windows where (namespace, task_name) in (
      select namespace, task_name from rate_windows
      where closes_at <= clock_timestamp() - ${FORGOTTEN_AFTER_SECONDS}::bigint * interval '1 second'
      order by namespace, task_name
      limit ${FORGOTTEN_MAX}::bigint
      for update skip locked
    )`);
  return counts + windows;
};
