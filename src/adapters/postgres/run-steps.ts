import type { RunStep, SteppedRuns } from '../../ports/engine-store.ts';
import type { Database } from './database.ts';
import { projectionRow } from './executions.ts';
import { arrayText, given, lines, prepared, sql } from './statement.ts';
import {
  appendedEvents,
  closedAttempts,
  eventTexts,
  isTimed,
  NO_STEPS,
  openedAttempts,
  RUN_SEPARATOR,
  type StepText,
  stepAnswer,
  stepColumns,
  steppedRow,
  steppedRuns,
  timedWrites,
  turnsOf,
  writtenOrNothing,
} from './step-parts.ts';
import type { QueueTurns } from './turns.ts';

const plainSteps = prepared('runs_step', steppedRow);
const timedSteps = prepared('runs_step_timed', steppedRow);

const projectionText = ({ executionId, namespace, projection }: RunStep): string =>
  projection === undefined ? '{}' : JSON.stringify(projectionRow({ executionId, namespace, item: projection }));

const write = async (database: Database, turns: QueueTurns, texts: readonly StepText[]): Promise<SteppedRuns> => {
  const steps = texts.map(({ step }) => step);
  const timed = steps.some(isTimed);
  const turnOf = await turnsOf(database, turns, steps);
  const row = await database.one((timed ? timedSteps : plainSteps)`
    with run as materialized (
      select r.* from ${given(sql.fragment`
          ${stepColumns(texts, turnOf)},
          ${arrayText(steps.map(({ reports }) => reports.length))}::text as reported,
          ${arrayText(steps.map(({ endsWork }) => String(endsWork)))}::text as ends_work,
          ${lines(steps.map(projectionText))}::text as projections`)}
      cross join lateral unnest(
        given.ids::uuid[], string_to_array(given.namespaces, E'\\n'), given.reported::bigint[],
        given.ends_work::boolean[], given.first_seqs::bigint[], string_to_array(given.events, ${RUN_SEPARATOR}),
        string_to_array(given.closed, E'\\n')::json[], string_to_array(given.opened, E'\\n')::json[],
        string_to_array(given.projections, E'\\n')::json[], string_to_array(given.extras, E'\\n')::json[]
      ) as r (workflow_id, namespace, reported, ends_work, first_seq, events, closed, opened, projection, extras)
      order by workflow_id
    ), locked as materialized (
      select run.* from run cross join lateral (
        select from workflow_executions w
        where w.workflow_id = run.workflow_id and w.namespace = run.namespace and w.status = 'RUNNING'
        for no key update skip locked
      ) as w
    ), good as materialized (
      select locked.* from locked cross join lateral (
        select count(*) as held from (
          select from json_to_recordset(locked.closed) as r (scheduled_seq bigint, report_token uuid)
          cross join lateral (
            select from task_queue t
            where t.workflow_id = locked.workflow_id and t.scheduled_seq = r.scheduled_seq
              and t.lease_token = r.report_token and t.outcome is null
            for update skip locked
          ) as t
        ) as held
      ) as held
      where held.held = locked.reported
        and (not locked.ends_work or locked.reported = (
          select count(*) from task_queue t where t.workflow_id = locked.workflow_id
        ))
    ), ${appendedEvents}, projected as (
      update workflow_executions w
      set status = p.status, output = p.output, reason = p.reason, failed_task = p.failed_task,
        updated_at = p.updated_at, ended_at = p.ended_at
      from good cross join lateral json_to_record(good.projection) as p (
        status text, output json, reason text, failed_task text, updated_at timestamptz, ended_at timestamptz
      )
      where p.status is not null and w.workflow_id = any(array[good.workflow_id])
    ), removed as (
      delete from task_queue t using (
        select good.workflow_id, r.scheduled_seq, r.report_token
        from good cross join lateral json_to_recordset(good.closed) as r (scheduled_seq bigint, report_token uuid)
        -- Else a run of 10,000 open attempts is walked through, and this list read anew for each of them.
        offset 0
      ) as r
      where t.workflow_id = any(array[r.workflow_id]) and t.scheduled_seq = r.scheduled_seq
        and t.lease_token = r.report_token and t.outcome is null
    ), ${closedAttempts}, ${openedAttempts}${timed ? timedWrites : sql.fragment``}${stepAnswer}`);
  return steppedRuns(steps, row);
};

/**
 * Takes runs one step further in one statement. It waits for nobody: runs and attempts that others hold are skipped, so no
 * order of locks is needed. The fold may be old, and the snapshot older than the locks: an event at the same seq, or an
 * attempt of the same identity, fails the whole statement (promises 6 and 11), and so nothing is ever written twice or in
 * between. What fails for such a reason takes the longer road; a database that is away is the caller's to know.
 */
export const stepRuns = async (
  database: Database,
  turns: QueueTurns,
  steps: readonly RunStep[],
): Promise<SteppedRuns> => {
  const small = steps.flatMap((step) => {
    const events = eventTexts(step);
    return events === undefined ? [] : { step, events };
  });
  if (small.length === 0) return NO_STEPS;
  return writtenOrNothing(() => write(database, turns, small));
};
