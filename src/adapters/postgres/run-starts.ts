import type { SteppedRuns } from '../../ports/engine-store.ts';
import type { RunStart } from '../../ports/run-start.ts';
import type { Database } from './database.ts';
import { newExecutionRow } from './executions.ts';
import { given, lines, prepared, sql } from './statement.ts';
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
import { contentHash } from './task-definitions.ts';
import type { QueueTurns } from './turns.ts';

const plainStarts = prepared('runs_start', steppedRow);
const timedStarts = prepared('runs_start_timed', steppedRow);

/** What the start rests on: its definitions as they were found, and its idempotency key. */
const termsText = ({ pinned, claim }: RunStart): string =>
  JSON.stringify({
    name: pinned.name,
    version: pinned.version,
    found_version: pinned.found.version,
    found_hash: pinned.found.hash,
    tasks: pinned.tasks.map((task) => ({ name: task.name, content_hash: task.contentHash })),
    claim_key: claim?.key,
    claim_fingerprint: claim?.fingerprint,
  });

type StartText = StepText & Readonly<{ start: RunStart }>;

const write = async (database: Database, turns: QueueTurns, texts: readonly StartText[]): Promise<SteppedRuns> => {
  const starts = texts.map(({ start }) => start);
  const steps = texts.map(({ step }) => step);
  const timed = steps.some(isTimed);
  const turnOf = await turnsOf(database, turns, steps);
  const row = await database.one((timed ? timedStarts : plainStarts)`
    with run as materialized (
      select r.*, false as ends_work, t.*
      from ${given(sql.fragment`
          ${stepColumns(texts, turnOf)},
          ${lines(starts.map(termsText))}::text as terms,
          ${lines(starts.map(({ execution }) => JSON.stringify(newExecutionRow(execution))))}::text as executions`)}
      cross join lateral unnest(
        given.ids::uuid[], string_to_array(given.namespaces, E'\\n'), given.first_seqs::bigint[],
        string_to_array(given.events, ${RUN_SEPARATOR}), string_to_array(given.closed, E'\\n')::json[],
        string_to_array(given.opened, E'\\n')::json[], string_to_array(given.extras, E'\\n')::json[],
        string_to_array(given.terms, E'\\n')::json[], string_to_array(given.executions, E'\\n')::json[]
      ) as r (workflow_id, namespace, first_seq, events, closed, opened, extras, terms, execution)
      cross join lateral json_to_record(r.terms) as t (
        name text, version integer, found_version integer, found_hash text, tasks json, claim_key text,
        claim_fingerprint text
      )
    ), unchanged as materialized (
      select run.* from run
      cross join lateral (
        select d.version, d.hash from workflow_definitions d
        where d.namespace = run.namespace and d.name = run.name and (run.version is null or d.version = run.version)
        order by d.version desc limit 1
      ) as d
      where d.version = run.found_version and d.hash = run.found_hash
        and not exists (
          select from json_to_recordset(run.tasks) as named (name text, content_hash text)
          left join lateral (
            select ${contentHash} as hash from task_definitions
            where task_definitions.namespace = run.namespace and task_definitions.name = named.name
            offset 0
          ) as d on true
          where d.hash is distinct from named.content_hash
        )
        and not exists (
          select from namespace_quotas q
          where q.namespace = run.namespace
            and (q.max_concurrent_executions is not null or q.max_executions_per_minute is not null)
        )
    ), claimed as (
      insert into idempotency_keys (namespace, key, workflow_id, fingerprint)
      select namespace, claim_key, workflow_id, claim_fingerprint from unchanged where claim_key is not null
      order by namespace collate "C", claim_key collate "C"
      on conflict (namespace, key) do nothing
      returning workflow_id
    ), good as materialized (
      select unchanged.* from unchanged
      where claim_key is null or exists (select from claimed where claimed.workflow_id = unchanged.workflow_id)
    ), created as (
      insert into workflow_executions (
        workflow_id, namespace, name, version, status, definition_hash, priority,
        correlation_id, idempotency_key, parent_id, input, started_at, updated_at
      )
      select
        e.workflow_id, e.namespace, e.name, e.version, 'RUNNING', e.definition_hash, e.priority,
        e.correlation_id, e.idempotency_key, e.parent_id, e.input, e.started_at, e.started_at
      from good cross join lateral json_to_record(good.execution) as e (
        workflow_id uuid, namespace text, name text, version integer, definition_hash text, priority integer,
        correlation_id text, idempotency_key text, parent_id uuid, input json, started_at timestamptz
      )
    ), ${appendedEvents}, ${closedAttempts}, ${openedAttempts}${timed ? timedWrites : sql.fragment``}${stepAnswer}`);
  return steppedRuns(steps, row);
};

/**
 * Puts runs on record in one statement. The definitions are compared as the statement finds them: a registration that was
 * answered before the start came is seen. It locks nothing but the idempotency keys, in their order, and waits for a rival
 * that has not committed its claim yet.
 */
export const startRuns = async (
  database: Database,
  turns: QueueTurns,
  starts: readonly RunStart[],
): Promise<SteppedRuns> => {
  const small = starts.flatMap((start) => {
    const events = eventTexts(start.step);
    return events === undefined ? [] : { start, step: start.step, events };
  });
  if (small.length === 0) return NO_STEPS;
  return writtenOrNothing(() => write(database, turns, small));
};
