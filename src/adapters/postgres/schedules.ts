import { z } from 'zod';
import type { ExecutionId, Namespace } from '../../domain/kernel/brand.ts';
import type { Schedule } from '../../domain/schedule/schedule.ts';
import type {
  NewScheduleRun,
  ScheduleFilter,
  ScheduleQuotaExceeded,
  ScheduleRow,
  ScheduleRun,
  ScheduleRunState,
  ScheduleStore,
  ScheduleTx,
} from '../../ports/schedule-store.ts';
import { quotaLockName } from './admissions.ts';
import type { Session } from './database.ts';
import {
  arrayText,
  count,
  executionId,
  instant,
  jsonOf,
  namespaceName,
  prepared,
  preparedCommand,
  sql,
  text,
  timestamp,
  timestampOrNull,
  word,
} from './statement.ts';

const scheduleRow = z.object({
  id: text,
  namespace: namespaceName,
  schedule: jsonOf<Schedule>(),
  paused: z.boolean(),
  pausedReason: text.exactOptional(),
  nextAt: instant.exactOptional(),
  fireAt: instant.exactOptional(),
  catchUpUntil: instant.exactOptional(),
  running: z.array(executionId),
  attempts: count,
  createdAt: instant,
  updatedAt: instant,
  createdBy: text,
  updatedBy: text,
});
const scheduleRun = z.object({
  id: text,
  scheduleId: text,
  namespace: namespaceName,
  name: text,
  workflowName: text,
  state: word<ScheduleRunState>(),
  manual: z.boolean(),
  scheduledAt: instant,
  executionId,
  reason: text.exactOptional(),
  recordedAt: instant,
});

const lock = prepared('schedules_lock', scheduleRow);
const claim = prepared('schedules_claim', scheduleRow.extend({ now: instant }));
const findQuota = prepared('schedules_quota', z.object({ limit: count }));
const lockQuota = preparedCommand('schedules_lock_quota');
const countAll = prepared('schedules_count', z.object({ current: count }));
const insert = preparedCommand('schedules_insert');
const update = preparedCommand('schedules_update');
const remove = preparedCommand('schedules_delete');
const open = prepared('schedules_open_runs', z.object({ executionId }));
const record = preparedCommand('schedule_runs_record');
const trim = preparedCommand('schedule_runs_trim');
const find = prepared('schedules_find', scheduleRow);
const list = prepared('schedules_list', scheduleRow);
const runsOf = prepared('schedule_runs_list', scheduleRun);
const runsOfAll = prepared('schedule_runs_list_all', scheduleRun);
const nextDue = prepared('schedules_next_due', z.object({ ms: count.exactOptional() }));

const COLUMNS = sql.fragment`
  id, namespace, schedule, paused, paused_reason, next_at, fire_at, catch_up_until, running, attempts, created_at,
  updated_at, created_by, updated_by`;
const RUN_COLUMNS = sql.fragment`
  id::text, schedule_id, namespace, name, workflow_name, state, manual, scheduled_at, workflow_id as execution_id, reason,
  recorded_at`;
const LAST_ID = '9223372036854775807';

const claimSchedule = async (session: Session): ReturnType<ScheduleTx['claimSchedule']> => {
  const claimed = await session.row(claim`
    select ${COLUMNS}, clock_timestamp() as now from schedules
    where fire_at <= clock_timestamp() and not paused
    order by fire_at, id
    limit 1
    for update skip locked`);
  if (claimed === undefined) return undefined;
  const { now, ...row } = claimed;
  return { now, row };
};

/** Two callers would both count the last free place, so they take turns where there is a quota (promise 9). */
const exceededQuota = async (session: Session, namespace: Namespace): Promise<ScheduleQuotaExceeded | undefined> => {
  const quota = await session.row(findQuota`
    select max_schedules as limit from namespace_quotas
    where namespace = ${namespace} and max_schedules is not null`);
  if (quota === undefined) return undefined;
  await session.run(lockQuota`
    select pg_advisory_xact_lock(hashtextextended(${quotaLockName(namespace)}, 0))`);
  const { current } = await session.one(countAll`
    select count(*) as current from schedules where namespace = ${namespace}`);
  return current >= quota.limit ? { quota: 'maxSchedules', limit: quota.limit, current } : undefined;
};

const insertSchedule = async (session: Session, row: ScheduleRow): ReturnType<ScheduleTx['insertSchedule']> => {
  const exceeded = await exceededQuota(session, row.namespace);
  if (exceeded !== undefined) return exceeded;
  const inserted = await session.run(insert`
    insert into schedules (
      id, namespace, name, workflow_name, schedule, paused, paused_reason, next_at, fire_at, catch_up_until, running,
      attempts, created_at, updated_at, created_by, updated_by
    )
    values (
      ${row.id}, ${row.namespace}, ${row.schedule.name}, ${row.schedule.start.name}, ${JSON.stringify(row.schedule)}::json,
      ${row.paused}, ${row.pausedReason ?? null}, ${timestampOrNull(row.nextAt)}, ${timestampOrNull(row.fireAt)},
      ${timestampOrNull(row.catchUpUntil)}, ${arrayText(row.running)}::uuid[], ${row.attempts}::integer,
      ${timestamp(row.createdAt)}, ${timestamp(row.updatedAt)}, ${row.createdBy}, ${row.updatedBy}
    )
    on conflict (namespace, name) do nothing`);
  return inserted > 0 ? 'created' : 'exists';
};

const updateSchedule = async (session: Session, row: ScheduleRow): Promise<void> => {
  await session.run(update`
    update schedules
    set workflow_name = ${row.schedule.start.name}, schedule = ${JSON.stringify(row.schedule)}::json,
      paused = ${row.paused}, paused_reason = ${row.pausedReason ?? null}, next_at = ${timestampOrNull(row.nextAt)},
      fire_at = ${timestampOrNull(row.fireAt)}, catch_up_until = ${timestampOrNull(row.catchUpUntil)},
      running = ${arrayText(row.running)}::uuid[], attempts = ${row.attempts}::integer,
      updated_at = ${timestamp(row.updatedAt)}, updated_by = ${row.updatedBy}
    where id = ${row.id} and namespace = ${row.namespace}`);
};

const recordScheduleRun = async (session: Session, run: NewScheduleRun, keepMax: number): Promise<void> => {
  await session.run(record`
    insert into schedule_runs (
      namespace, name, schedule_id, workflow_name, state, manual, scheduled_at, workflow_id, reason
    )
    values (
      ${run.namespace}, ${run.name}, ${run.scheduleId}, ${run.workflowName}, ${run.state}, ${run.manual},
      ${timestamp(run.scheduledAt)}, ${run.executionId}, ${run.reason ?? null}
    )
    on conflict (schedule_id, workflow_id, state) do nothing`);
  await session.run(trim`
    delete from schedule_runs where schedule_id = ${run.scheduleId} and id <= (
      select id from schedule_runs where schedule_id = ${run.scheduleId}
      order by id desc offset ${keepMax}::bigint limit 1
    )`);
};

const openRuns = async (session: Session, ids: readonly ExecutionId[]): Promise<readonly ExecutionId[]> => {
  const rows = await session.rows(open`
    select workflow_id as execution_id from workflow_executions
    where workflow_id = any(${arrayText(ids)}::uuid[]) and status in ('RUNNING', 'PAUSED')
    order by workflow_id`);
  return rows.map(({ executionId }) => executionId);
};

export const scheduleWrites = (session: Session): ScheduleTx => ({
  lockSchedule: (namespace, name) =>
    session.row(lock`
      select ${COLUMNS} from schedules where namespace = ${namespace} and name = ${name} for update`),
  claimSchedule: () => claimSchedule(session),
  insertSchedule: (row) => insertSchedule(session, row),
  updateSchedule: (row) => updateSchedule(session, row),
  deleteSchedule: async (namespace, name) =>
    (await session.run(remove`delete from schedules where namespace = ${namespace} and name = ${name}`)) > 0,
  openRuns: (ids) => openRuns(session, ids),
  recordScheduleRun: (run, keepMax) => recordScheduleRun(session, run, keepMax),
});

const listSchedules = (
  session: Session,
  namespace: Namespace,
  { workflowName, paused, text: part }: ScheduleFilter,
  { limit, after = '' }: Readonly<{ limit: number; after?: string }>,
): Promise<readonly ScheduleRow[]> =>
  session.rows(list`
    select ${COLUMNS} from schedules
    where namespace = ${namespace} and name > ${after}
      and (${workflowName ?? null}::text is null or workflow_name = ${workflowName ?? null}::text)
      and (${paused ?? null}::boolean is null or paused = ${paused ?? null}::boolean)
      and (
        ${part ?? null}::text is null or strpos(lower(name), lower(${part ?? null}::text)) > 0
        or strpos(lower(coalesce(schedule ->> 'description', '')), lower(${part ?? null}::text)) > 0
      )
    order by name
    limit ${limit}::bigint`);

const listScheduleRuns = (
  session: Session,
  namespace: Namespace,
  name: string | undefined,
  { limit, before = LAST_ID }: Readonly<{ limit: number; before?: string }>,
): Promise<readonly ScheduleRun[]> =>
  name === undefined
    ? session.rows(runsOfAll`
        select ${RUN_COLUMNS} from schedule_runs
        where namespace = ${namespace} and id < ${before}::bigint
        order by schedule_runs.id desc
        limit ${limit}::bigint`)
    : session.rows(runsOf`
        select ${RUN_COLUMNS} from schedule_runs
        where namespace = ${namespace} and id < ${before}::bigint
          and schedule_id = (select id from schedules where namespace = ${namespace} and name = ${name})
        order by schedule_runs.id desc
        limit ${limit}::bigint`);

/** Schedules of every namespace; one query tells a server when to look again. */
export const createScheduleStore = (session: Session): ScheduleStore => ({
  findSchedule: (namespace, name) =>
    session.row(find`select ${COLUMNS} from schedules where namespace = ${namespace} and name = ${name}`),
  listSchedules: (namespace, filter, page) => listSchedules(session, namespace, filter, page),
  listScheduleRuns: (namespace, name, page) => listScheduleRuns(session, namespace, name, page),
  nextScheduleInMs: async () => {
    const { ms } = await session.one(nextDue`
      select case when due is not null
        then ceil(1000 * extract(epoch from greatest(due - clock_timestamp(), '0')))::bigint
      end as ms
      from (select min(fire_at) as due from schedules where fire_at is not null and not paused) as next`);
    return ms;
  },
});
