import { z } from 'zod';
import type { ExecutionStatus } from '../../domain/execution/statuses.ts';
import { isClosedExecution } from '../../domain/execution/statuses.ts';
import type { ExecutionId, Instant, Namespace } from '../../domain/kernel/brand.ts';
import type {
  ExecutionHead,
  LockedExecutions,
  NewExecution,
  Owed,
  ProjectExecution,
  ReviseExecution,
} from '../../ports/engine-store.ts';
import type { Session } from './database.ts';
import { offloadedRows } from './offload.ts';
import {
  executionId,
  given,
  instant,
  namespaceName,
  prepared,
  preparedCommand,
  sql,
  text,
  timestamp,
  timestampOrNull,
  word,
} from './statement.ts';

const lockedRow = z.object({
  now: instant,
  executionId: executionId.exactOptional(),
  namespace: namespaceName.exactOptional(),
  status: word<ExecutionStatus>().exactOptional(),
  definitionHash: text.exactOptional(),
});
const lock = prepared('executions_lock', lockedRow);
const lookUp = prepared('executions_look_up', lockedRow.extend({ isLimited: z.boolean() }));
const create = preparedCommand('executions_create');
const project = preparedCommand('executions_project');
const revise = preparedCommand('executions_revise');

const headOf = ({
  executionId,
  namespace,
  status,
  definitionHash,
}: z.output<typeof lockedRow>): readonly ExecutionHead[] =>
  executionId === undefined || namespace === undefined || status === undefined || definitionHash === undefined
    ? []
    : [{ executionId, namespace, status, definitionHash }];

/**
 * One decider per run (promise 4). The lock leaves foreign keys alone, hence NO KEY. The clock is read when the last row
 * is locked; the join runs row by row, so that each id looks into its own partition only.
 */
export const lockExecutions = async (session: Session, ids: readonly ExecutionId[]): Promise<LockedExecutions> => {
  const rows = await session.rows(lock`
    with locked as (
      select l.workflow_id, l.namespace, l.status, l.definition_hash
      from (
        select unnested.workflow_id
        from ${given(sql.fragment`${sql.array(ids, 'uuid')} as ids`)}
        cross join lateral unnest(given.ids) as unnested (workflow_id)
        order by workflow_id
      ) as wanted
      cross join lateral (
        select w.workflow_id, w.namespace, w.status, w.definition_hash
        from workflow_executions w where w.workflow_id = wanted.workflow_id
        for no key update
      ) as l
    )
    select clock_timestamp() as now, l.workflow_id as execution_id, l.namespace, l.status, l.definition_hash
    from (select 1) as always left join locked l on true
    order by l.workflow_id`);
  return { now: Math.max(...rows.map(({ now }) => now)) as Instant, heads: rows.flatMap(headOf) };
};

/** A glance without locks: what a start by a derived id is decided from. */
export const lookUpRun = async (
  session: Session,
  id: ExecutionId,
  startsIn: Namespace | undefined,
): Promise<Readonly<{ now: Instant; head?: ExecutionHead; isLimited: boolean }>> => {
  const row = await session.one(lookUp`
    select clock_timestamp() as now, w.workflow_id as execution_id, w.namespace, w.status, w.definition_hash,
      exists (
        select from namespace_quotas q
        where q.namespace = ${startsIn ?? null}
          and (q.max_concurrent_executions is not null or q.max_executions_per_minute is not null)
      ) as is_limited
    from (select 1) as always
    left join lateral (
      select workflow_id, namespace, status, definition_hash from workflow_executions where workflow_id = ${id} offset 0
    ) as w on true`);
  const [head] = headOf(row);
  const { now, isLimited } = row;
  return head === undefined ? { now, isLimited } : { now, head, isLimited };
};

/** A new run as its row. */
export const newExecutionRow = (execution: NewExecution) => ({
  workflow_id: execution.executionId,
  namespace: execution.namespace,
  name: execution.name,
  version: execution.version,
  definition_hash: execution.definitionHash,
  priority: execution.priority,
  correlation_id: execution.correlationId,
  idempotency_key: execution.idempotencyKey,
  parent_id: execution.parentExecutionId,
  input: execution.input,
  started_at: timestamp(execution.startedAt),
});

export const createExecutions = async (session: Session, executions: readonly NewExecution[]): Promise<void> => {
  if (executions.length === 0) return;
  const rows = executions.map(newExecutionRow);
  const texts = await offloadedRows(session, rows, 'input');
  await session.run(create`
    insert into workflow_executions (
      workflow_id, namespace, name, version, status, definition_hash, priority,
      correlation_id, idempotency_key, parent_id, input, started_at, updated_at
    )
    select
      workflow_id, namespace, name, version, 'RUNNING', definition_hash, priority,
      correlation_id, idempotency_key, parent_id, input, started_at, started_at
    from json_to_recordset(${texts}::json) as r (
      workflow_id uuid, namespace text, name text, version integer, definition_hash text, priority integer,
      correlation_id text, idempotency_key text, parent_id uuid, input json, started_at timestamptz
    )
    order by workflow_id`);
};

/** What a fact changed of a run's row. */
export const projectionRow = ({ executionId, namespace, item }: Owed<ProjectExecution>) => ({
  workflow_id: executionId,
  namespace,
  status: item.status,
  output: item.output,
  reason: item.reason,
  failed_task: item.failedTask,
  updated_at: timestamp(item.at),
  ended_at: timestampOrNull(isClosedExecution(item.status) ? item.at : undefined),
});

/** The last projection of a run says it all. */
export const projectExecutions = async (
  session: Session,
  projections: readonly Owed<ProjectExecution>[],
): Promise<void> => {
  if (projections.length === 0) return;
  const last = new Map(projections.map((projection) => [projection.executionId, projection]));
  const texts = await offloadedRows(session, [...last.values()].map(projectionRow), 'output');
  // The rows are locked already, so the order of the update makes no difference.
  await session.run(project`
    update workflow_executions w
    set status = r.status, output = r.output, reason = r.reason, failed_task = r.failed_task,
      updated_at = r.updated_at, ended_at = r.ended_at
    from json_to_recordset(${texts}::json) as r (
      workflow_id uuid, namespace text, status text, output json, reason text, failed_task text,
      updated_at timestamptz, ended_at timestamptz
    )
    where w.workflow_id = any(array[r.workflow_id]) and (w.namespace = r.namespace) is true`);
};

/** The last revision of a run says it all. */
export const reviseExecutions = async (
  session: Session,
  revisions: readonly Owed<ReviseExecution>[],
): Promise<void> => {
  if (revisions.length === 0) return;
  const last = new Map(revisions.map((revision) => [revision.executionId, revision]));
  const rows = [...last.values()].map(({ executionId, namespace, item }) => ({
    workflow_id: executionId,
    namespace,
    definition_hash: item.definitionHash,
    version: item.version,
    input: item.input,
    correlation_id: item.correlationId,
  }));
  const texts = await offloadedRows(session, rows, 'input');
  // The rows are locked already, so the order of the update makes no difference.
  await session.run(revise`
    update workflow_executions w
    set definition_hash = r.definition_hash, version = r.version, input = r.input, correlation_id = r.correlation_id
    from json_to_recordset(${texts}::json) as r (
      workflow_id uuid, namespace text, definition_hash text, version integer, input json, correlation_id text
    )
    where w.workflow_id = any(array[r.workflow_id]) and (w.namespace = r.namespace) is true`);
};
