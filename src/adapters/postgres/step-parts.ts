import { z } from 'zod';
import type { ExecutionId, Instant } from '../../domain/kernel/brand.ts';
import type { LeasedTask, OpenedTask, Owed, RunStep, SteppedRuns, TaskReport } from '../../ports/engine-store.ts';
import type { Database } from './database.ts';
import { isLarge } from './offload.ts';
import { classifyFailure } from './sqlstate.ts';
import { arrayText, instant, jsonOf, lines, sql, timestampOrNull } from './statement.ts';
import { closedRow, queueRow } from './task-queue.ts';
import { timerRow, timerSlotRow } from './timers.ts';
import type { QueueTurns } from './turns.ts';

// What a step writes, as parts of one statement: each reads the table `good`, which has a row for each step to be written.

type LeasedRow = Readonly<{ id: string; token: string; expires: number; started: number }>;

export const steppedRow = z.object({
  now: instant,
  stepped: jsonOf<readonly ExecutionId[]>(),
  leased: jsonOf<readonly LeasedRow[]>(),
  /** Fails the statement unless everything was opened. */
  isWhole: z.number(),
});

export const NO_STEPS: SteppedRuns = { stepped: new Set(), leased: [] };

/** Between the values of two runs where one run has several, each on a line; JSON text holds neither. */
export const RUN_SEPARATOR = '\u001e';

const openedRow = (step: RunStep, { task, lease }: OpenedTask, turn: number) => ({
  ...queueRow({ namespace: step.namespace, executionId: step.executionId, item: task }, turn),
  lease_token: lease?.leaseToken,
  lease_worker: lease?.workerId,
  lease_ms: lease?.leaseMs,
});

/** The closed attempt and, where a lease holder reported it, the report that its row is fenced and known again by. */
const closedRows = ({ executionId, namespace, closed, reports }: RunStep) => {
  const reported = new Map(reports.map((report) => [report.taskId, report]));
  return closed.map((item) => ({
    ...closedRow({ namespace, executionId, item }),
    ...reportOf(reported.get(item.taskId)),
  }));
};

const reportOf = (report: TaskReport | undefined) =>
  report === undefined
    ? {}
    : {
        report_token: report.leaseToken,
        report_status: report.status,
        report_reason: report.reason,
        report_output: report.output,
      };

/** Whether a step touches what few steps do: timers, messages, the timers of a run that ends. */
export const isTimed = ({ armed, disarmed, messages, endsWork }: RunStep): boolean =>
  armed.length > 0 || disarmed.length > 0 || messages.length > 0 || endsWork;

const extrasOf = (step: RunStep) => {
  const owed = <T>(item: T): Owed<T> => ({ executionId: step.executionId, namespace: step.namespace, item });
  return JSON.stringify({
    armed: step.armed.map((item) => timerRow(owed(item))),
    disarmed: step.disarmed.map((item) => timerSlotRow(owed(item))),
    messages: step.messages.map(({ topic, dedupKey, orderingKey, payload, visibleAt }) => ({
      topic,
      dedup_key: dedupKey,
      ordering_key: orderingKey,
      payload,
      visible_at: timestampOrNull(visibleAt),
    })),
  });
};

/** The turns of all that the steps open. */
export const turnsOf = async (
  database: Database,
  turns: QueueTurns,
  steps: readonly RunStep[],
): Promise<(opened: OpenedTask) => number> => {
  const opened = steps.flatMap(({ executionId, namespace, opened }) =>
    opened.map((one) => ({ one, owed: { executionId, namespace, item: one.task } })),
  );
  const order = await turns.of(
    database,
    opened.map(({ owed }) => owed),
  );
  const byTask = new Map(opened.map(({ one }, index) => [one, order[index] ?? 0]));
  return (one) => byTask.get(one) ?? 0;
};

/** A step with its events as they are written. */
export type StepText = Readonly<{ step: RunStep; events: readonly string[] }>;

/** The events of a step as they are written; undefined: one is large, and the longer road puts its value elsewhere first. */
export const eventTexts = ({ events }: RunStep): readonly string[] | undefined => {
  const texts = events.map(({ event }) => JSON.stringify(event));
  return texts.some(isLarge) ? undefined : texts;
};

/** The columns of `given` that are of the steps themselves. */
export const stepColumns = (texts: readonly StepText[], turnOf: (opened: OpenedTask) => number) => {
  const steps = texts.map(({ step }) => step);
  return sql.fragment`
  ${arrayText(steps.map(({ executionId }) => executionId))}::text as ids,
  ${lines(steps.map(({ namespace }) => namespace))}::text as namespaces,
  ${arrayText(steps.map(({ events }) => events[0]?.seq ?? 0))}::text as first_seqs,
  ${texts.map(({ events }) => lines(events)).join(RUN_SEPARATOR)}::text as events,
  ${lines(steps.map((step) => JSON.stringify(closedRows(step))))}::text as closed,
  ${lines(steps.map((step) => JSON.stringify(step.opened.map((one) => openedRow(step, one, turnOf(one))))))}::text as opened,
  ${steps.some(isTimed) ? lines(steps.map(extrasOf)) : null}::text as extras`;
};

/** The events of the steps. */
export const appendedEvents = sql.fragment`appended as (
      insert into workflow_events (workflow_id, seq, namespace, data)
      select good.workflow_id, good.first_seq + e.place - 1, good.namespace, e.data::json
      from good cross join lateral unnest(string_to_array(good.events, E'\\n')) with ordinality as e (data, place)
  )`;

/** The closed attempts, on record. */
export const closedAttempts = sql.fragment`closed as (
      insert into task_executions (
        workflow_id, ref, iteration, attempt, namespace, scheduled_seq, task_type, task_name, status, reason, worker_id,
        scheduled_at, started_at, ended_at, report_hash
      )
      select
        good.workflow_id, r.ref, r.iteration, r.attempt, good.namespace, r.scheduled_seq, r.task_type, r.task_name,
        r.status, r.reason, r.worker_id, r.scheduled_at, r.started_at, r.ended_at,
        case when r.report_token is not null then hash_record_extended(
          row(r.report_token, r.report_status, r.report_reason, r.report_output::text), 0
        ) end
      from good cross join lateral json_to_recordset(good.closed) as r (
        scheduled_seq bigint, ref text, iteration integer, attempt integer, task_type text, task_name text, status text,
        reason text, worker_id text, scheduled_at timestamptz, started_at timestamptz, ended_at timestamptz,
        report_token uuid, report_status text, report_reason text, report_output json
      )
  )`;

/** The opened attempts, with a lease where a poll waits for one: a task of a name that something holds back gets none. */
export const openedAttempts = sql.fragment`opened as (
      insert into task_queue (
        workflow_id, scheduled_seq, namespace, ref, iteration, attempt, family, task_type, task_name, queue, priority,
        input, visible_at, scheduled_at, heartbeat_ms, start_to_close_ms, alert_only, turn,
        lease_token, worker_id, lease_expires_at, started_at
      )
      select
        good.workflow_id, r.scheduled_seq, good.namespace, r.ref, r.iteration, r.attempt, r.family, r.task_type,
        r.task_name, r.queue, r.priority, r.input, r.visible_at, r.scheduled_at, r.heartbeat_ms, r.start_to_close_ms,
        r.alert_only, r.turn, lease.token, case when lease.token is not null then r.lease_worker end,
        case when lease.token is not null
          then clock_timestamp() + coalesce(r.lease_ms, r.heartbeat_ms) * interval '1 millisecond'
        end,
        case when lease.token is not null then clock_timestamp() end
      from good cross join lateral json_to_recordset(good.opened) as r (
        scheduled_seq bigint, ref text, iteration integer, attempt integer, family text, task_type text, task_name text,
        queue text, priority integer, input json, visible_at timestamptz, scheduled_at timestamptz, heartbeat_ms bigint,
        start_to_close_ms bigint, alert_only boolean, turn bigint, lease_token uuid, lease_worker text, lease_ms bigint
      )
      cross join lateral (
        select case when r.lease_token is not null and not exists (
          select from task_definitions d
          where d.namespace = good.namespace and d.name = r.task_name and d.gated
        ) then r.lease_token end as token
      ) as lease
      where not exists (
        select from task_executions closed
        where closed.workflow_id = good.workflow_id and closed.ref = r.ref
          and closed.iteration = r.iteration and closed.attempt = r.attempt
        offset 0
      )
      returning workflow_id, scheduled_seq, lease_token, lease_expires_at, started_at
  )`;

/** What few steps do: timers, messages. */
export const timedWrites = sql.fragment`, disarmed as (
      delete from timers t using (
        select good.workflow_id, r.ref, r.iteration, r.attempt
        from good cross join lateral json_to_recordset(good.extras -> 'disarmed') as r (
          ref text, iteration integer, attempt integer
        )
        where not good.ends_work
        order by good.workflow_id, r.ref collate "C", r.iteration, r.attempt
      ) as r
      where t.workflow_id = any(array[r.workflow_id])
        and t.ref = r.ref and t.iteration = r.iteration and t.attempt = r.attempt
    ), cleared as (
      delete from timers t using (select workflow_id from good where ends_work order by workflow_id) as ended
      where t.workflow_id = any(array[ended.workflow_id])
    ), armed as (
      insert into timers (workflow_id, ref, iteration, attempt, purpose, namespace, fire_at, under_lock)
      select good.workflow_id, r.ref, r.iteration, r.attempt, r.purpose, good.namespace, r.fire_at, r.under_lock
      from good cross join lateral json_to_recordset(good.extras -> 'armed') as r (
        ref text, iteration integer, attempt integer, purpose text, fire_at timestamptz, under_lock boolean
      )
    ), sent as (
      insert into outbox_events (workflow_id, namespace, topic, dedup_key, ordering_key, payload, available_at)
      select
        good.workflow_id, good.namespace, r.topic, r.dedup_key, r.ordering_key, r.payload,
        greatest(r.visible_at, clock_timestamp())
      from good cross join lateral rows from (
        json_to_recordset(good.extras -> 'messages')
          as (topic text, dedup_key text, ordering_key text, payload json, visible_at timestamptz)
      ) with ordinality as r (topic, dedup_key, ordering_key, payload, visible_at, position)
      order by good.workflow_id, r.position
      on conflict do nothing
    )`;

/** The clock, the steps that were written, and what was leased on the way. */
export const stepAnswer = sql.fragment`
    select
      clock_timestamp() as now,
      (select coalesce(json_agg(workflow_id), '[]') from good) as stepped,
      (
        select coalesce(json_agg(json_build_object(
          'id', workflow_id || '.' || scheduled_seq, 'token', lease_token,
          'expires', (extract(epoch from lease_expires_at) * 1000)::bigint,
          'started', (extract(epoch from started_at) * 1000)::bigint
        )), '[]')
        from opened where lease_token is not null
      ) as leased,
      -- An identity that was taken is no error of an insert that skips it: the division is.
      1 / (case when (select count(*) from opened) = (select coalesce(sum(json_array_length(opened)), 0) from good)
        then 1 else 0 end) as is_whole`;

const leasedTasks = (steps: readonly RunStep[], rows: readonly LeasedRow[]): readonly LeasedTask[] => {
  if (rows.length === 0) return [];
  const opened = new Map(
    steps.flatMap((step) => step.opened.map((one) => [one.task.taskId as string, { step, ...one }] as const)),
  );
  return rows.flatMap((row) => {
    const one = opened.get(row.id);
    if (one?.lease === undefined) return [];
    const { step, task, lease } = one;
    return {
      taskId: task.taskId,
      executionId: step.executionId,
      namespace: step.namespace,
      ref: task.ref,
      iteration: task.iteration,
      attempt: task.attempt,
      taskType: task.taskType,
      taskName: task.taskName,
      queue: task.queue,
      priority: task.priority,
      input: task.input,
      leaseToken: lease.leaseToken,
      leaseExpiresAt: row.expires as Instant,
      scheduledAt: task.scheduledAt,
      startedAt: row.started as Instant,
      workerId: lease.workerId,
      heartbeatMs: task.heartbeatMs,
    };
  });
};

/** What the statement answered, as the port says it. */
export const steppedRuns = (steps: readonly RunStep[], row: z.output<typeof steppedRow>): SteppedRuns => ({
  now: row.now,
  stepped: new Set(row.stepped),
  leased: leasedTasks(steps, row.leased),
});

const isContention = (error: unknown): boolean =>
  error instanceof Error && error.cause !== undefined && classifyFailure(error.cause) === 'contention';

/** What lost a race, or met what its fold did not know of, takes the longer road; a database that is away is the caller's to know. */
export const writtenOrNothing = async (write: () => Promise<SteppedRuns>): Promise<SteppedRuns> => {
  try {
    return await write();
  } catch (error) {
    if (classifyFailure(error) === 'defect' || isContention(error)) return NO_STEPS;
    throw error;
  }
};
