import { z } from 'zod';
import type { ExecutionStatus } from '../../domain/execution/statuses.ts';
import { type Instant, type Namespace, parseExecutionId, parseTaskId } from '../../domain/kernel/brand.ts';
import type { FoundRuns } from '../../ports/execution-index.ts';
import {
  type FieldTest,
  type PayloadField,
  RUN_FIELDS,
  type RunCondition,
  type RunField,
  type RunQuery,
  type RunSort,
  type TaskField,
} from '../../ports/run-query.ts';
import type { Session } from './database.ts';
import {
  composed,
  count,
  executionId,
  instant,
  jsonObject,
  namespaceName,
  sql,
  text,
  timestamp,
  word,
} from './statement.ts';

type Fragment = ReturnType<typeof sql.fragment>;

const found = z.object({
  executionId,
  namespace: namespaceName,
  name: text,
  version: count,
  status: word<ExecutionStatus>(),
  definitionHash: text,
  correlationId: text.exactOptional(),
  idempotencyKey: text.exactOptional(),
  priority: count,
  parentExecutionId: executionId.exactOptional(),
  input: jsonObject,
  output: jsonObject.exactOptional(),
  startedAt: instant,
  updatedAt: instant,
  endedAt: instant.exactOptional(),
  reason: text.exactOptional(),
  failedTask: text.exactOptional(),
});
const counted = z.object({ total: count });

const COLUMN: Readonly<Record<RunField, Fragment>> = {
  executionId: sql.fragment`w.workflow_id::text`,
  name: sql.fragment`w.name`,
  version: sql.fragment`w.version`,
  status: sql.fragment`w.status`,
  correlationId: sql.fragment`w.correlation_id`,
  idempotencyKey: sql.fragment`w.idempotency_key`,
  parentExecutionId: sql.fragment`w.parent_id::text`,
  priority: sql.fragment`w.priority`,
  reason: sql.fragment`w.reason`,
  failedTask: sql.fragment`w.failed_task`,
  startedAt: sql.fragment`w.started_at`,
  updatedAt: sql.fragment`w.updated_at`,
  endedAt: sql.fragment`w.ended_at`,
};

const SIGN: Readonly<Record<'=' | '<' | '<=' | '>' | '>=', Fragment>> = {
  '=': sql.fragment`=`,
  '<': sql.fragment`<`,
  '<=': sql.fragment`<=`,
  '>': sql.fragment`>`,
  '>=': sql.fragment`>=`,
};

const NEVER = sql.fragment`false`;
const ALWAYS = sql.fragment`true`;

/** What `*` stands for in a pattern, with whatever has a meaning to LIKE taken by its word. */
const likePattern = (pattern: string): string => pattern.replace(/[\\%_]/g, '\\$&').replaceAll('*', '%');

const textsOf = (values: readonly (string | number)[]): Fragment =>
  sql.fragment`${sql.array(values.map(String), 'text')}`;

const oneOf = (values: readonly Fragment[]): Fragment =>
  values.length === 0 ? NEVER : sql.fragment`(${sql.join(values, sql.fragment` or `)})`;

/** A test of something that is text, or can be read as text. */
const textTest = (column: Fragment, test: FieldTest): Fragment => {
  switch (test.operator) {
    case 'absent':
      return sql.fragment`${column} is null`;
    case 'in':
      return sql.fragment`${column} = any(${textsOf(test.values)})`;
    case 'like':
      return sql.fragment`${column} like ${likePattern(test.pattern)}`;
    default:
      return sql.fragment`${column} ${SIGN[test.operator]} ${String(test.value)}`;
  }
};

const numberTest = (column: Fragment, test: FieldTest): Fragment => {
  switch (test.operator) {
    case 'absent':
    case 'like':
      return textTest(sql.fragment`${column}::text`, test);
    case 'in':
      return oneOf(test.values.map((value) => sql.fragment`${column} = ${Number(value)}::float8`));
    default:
      return sql.fragment`${column} ${SIGN[test.operator]} ${Number(test.value)}::float8`;
  }
};

const at = (value: string | number): Fragment => sql.fragment`${timestamp(Number(value) as Instant)}::timestamptz`;

const instantTest = (column: Fragment, test: FieldTest): Fragment => {
  const kept = sql.fragment`date_trunc('milliseconds', ${column})`;
  switch (test.operator) {
    case 'absent':
      return textTest(column, test);
    case 'like':
      return NEVER;
    case 'in':
      return oneOf(test.values.map((value) => sql.fragment`${kept} = ${at(value)}`));
    case '=':
      return sql.fragment`${kept} = ${at(test.value)}`;
    case '<':
    case '>=':
      return sql.fragment`${column} ${SIGN[test.operator]} ${at(test.value)}`;
    default:
      // Up to and with a millisecond is before the next one begins.
      return sql.fragment`${kept} ${SIGN[test.operator]} ${at(test.value)}`;
  }
};

/** The values of a test for equality. */
const wantedOf = (test: FieldTest): readonly (string | number)[] | undefined => {
  if (test.operator === 'in') return test.values;
  return test.operator === '=' ? [test.value] : undefined;
};

/** Ids are looked up as what they are, so that their index serves; what is no id is nobody's. */
const idTest = (field: 'executionId' | 'parentExecutionId', test: FieldTest): Fragment => {
  const column = field === 'executionId' ? sql.fragment`w.workflow_id` : sql.fragment`w.parent_id`;
  const values = wantedOf(test);
  if (values === undefined) return textTest(COLUMN[field], test);
  const ids = values.map((value) => parseExecutionId(String(value))).filter((id) => id !== undefined);
  return sql.fragment`${column} = any(${sql.array(ids, 'uuid')})`;
};

const STATUSES: readonly string[] = ['RUNNING', 'PAUSED', 'COMPLETED', 'FAILED', 'TIMED_OUT', 'TERMINATED'];

/** Literals let the planner prove that a partial index holds all that is asked for. */
const statusTest = (test: FieldTest): Fragment => {
  const values = wantedOf(test);
  if (values === undefined) return textTest(COLUMN.status, test);
  const known = values
    .map(String)
    .filter((value) => STATUSES.includes(value))
    .map((value) => sql.literalValue(value));
  return known.length === 0 ? NEVER : sql.fragment`w.status in (${sql.join(known, sql.fragment`, `)})`;
};

const runTest = (field: RunField, test: FieldTest): Fragment => {
  if (field === 'executionId' || field === 'parentExecutionId') return idTest(field, test);
  if (field === 'status') return statusTest(test);
  const kind = RUN_FIELDS[field];
  if (kind === 'number') return numberTest(COLUMN[field], test);
  return kind === 'instant' ? instantTest(COLUMN[field], test) : textTest(COLUMN[field], test);
};

const payloadTest = ({ payload, path }: PayloadField, test: FieldTest): Fragment => {
  const document = payload === 'input' ? sql.fragment`w.input` : sql.fragment`w.output`;
  return textTest(sql.fragment`(${document} #>> ${sql.array([...path], 'text')})`, test);
};

const factWhere = (condition: Fragment): Fragment => sql.fragment`exists (
  select from workflow_events e
  where e.workflow_id = w.workflow_id and e.namespace = w.namespace and ${condition}
)`;

const taskIdTest = (test: FieldTest): Fragment => {
  const tasks = (wantedOf(test) ?? []).map((value) => parseTaskId(String(value))).filter((task) => task !== undefined);
  return oneOf(
    tasks.map(
      (task) => sql.fragment`(w.workflow_id = ${task.executionId}
        and ${factWhere(sql.fragment`e.seq = ${task.scheduledSeq}::bigint`)})`,
    ),
  );
};

/** What is open is told by its row, what has ended by its fact. */
const taskStatusTest = (test: FieldTest): Fragment => {
  const open = sql.fragment`case when q.lease_token is not null or q.family = 'waiting' then 'IN_PROGRESS'
    else 'SCHEDULED' end`;
  return sql.fragment`(${factWhere(
    sql.fragment`e.data ->> 'type' in ('TaskClosed', 'OperatorResolved', 'OperatorClosed', 'TaskRefused')
      and ${textTest(sql.fragment`(e.data ->> 'status')`, test)}`,
  )} or exists (
    select from task_queue q
    where q.workflow_id = w.workflow_id and q.namespace = w.namespace and ${textTest(open, test)}
  ))`;
};

const taskTest = ({ task }: TaskField, test: FieldTest): Fragment => {
  switch (task) {
    case 'taskId':
      return taskIdTest(test);
    case 'status':
      return taskStatusTest(test);
    case 'taskType':
      // Conductor's type of a worker's task is its name.
      return factWhere(
        oneOf([
          textTest(sql.fragment`coalesce(e.data ->> 'taskType', e.data ->> 'operator')`, test),
          sql.fragment`(e.data ->> 'taskType' in ('SIMPLE', 'DYNAMIC')
            and ${textTest(sql.fragment`(e.data ->> 'taskName')`, test)})`,
        ]),
      );
    default:
      return factWhere(
        task === 'ref'
          ? textTest(sql.fragment`(e.data ->> 'ref')`, test)
          : textTest(sql.fragment`(e.data ->> 'taskName')`, test),
      );
  }
};

const TEXTS = [
  COLUMN.executionId,
  COLUMN.name,
  COLUMN.correlationId,
  COLUMN.reason,
  sql.fragment`w.input::text`,
  sql.fragment`w.output::text`,
];

const conditionOf = (condition: RunCondition): Fragment => {
  switch (condition.kind) {
    case 'all':
      return condition.of.length === 0
        ? ALWAYS
        : sql.fragment`(${sql.join(condition.of.map(conditionOf), sql.fragment` and `)})`;
    case 'any':
      return oneOf(condition.of.map(conditionOf));
    case 'not':
      return sql.fragment`(${conditionOf(condition.of)}) is not true`;
    case 'words':
      return oneOf(TEXTS.map((column) => sql.fragment`${column} ilike ${`%${likePattern(condition.text)}%`}`));
    case 'holds': {
      const document = JSON.stringify(condition.document);
      return sql.fragment`(w.input::jsonb @> ${document}::jsonb or w.output::jsonb @> ${document}::jsonb)`;
    }
    case 'field': {
      const { field, test } = condition;
      if (typeof field === 'string') return runTest(field, test);
      return 'payload' in field ? payloadTest(field, test) : taskTest(field, test);
    }
    default:
      return condition satisfies never;
  }
};

const sortOf = ({ field, descending }: RunSort): Fragment =>
  descending ? sql.fragment`${COLUMN[field]} desc nulls last` : sql.fragment`${COLUMN[field]} asc nulls last`;

const NEWEST_FIRST = [sql.fragment`w.started_at desc`, sql.fragment`w.workflow_id desc`];

/** All of it is parameters but names of columns, and statuses of ours. */
export const searchRuns = async (session: Session, namespace: Namespace, query: RunQuery): Promise<FoundRuns> => {
  const where = sql.fragment`w.namespace = ${namespace} and ${conditionOf(query.condition)}`;
  const order = sql.join([...query.sort.map(sortOf), ...NEWEST_FIRST], sql.fragment`, `);
  const rows = await session.rows(composed(found)`
    select w.workflow_id as execution_id, w.namespace, w.name, w.version, w.status, w.definition_hash, w.correlation_id,
      w.idempotency_key, w.priority, w.parent_id as parent_execution_id, w.input, w.output, w.started_at, w.updated_at,
      w.ended_at, w.reason, w.failed_task
    from workflow_executions w
    where ${where}
    order by ${order}
    limit ${query.limit}::bigint offset ${query.offset}::bigint`);
  // A page that is not full tells the number by itself.
  if (rows.length < query.limit && (rows.length > 0 || query.offset === 0)) {
    return { rows, total: Math.min(query.offset + rows.length, query.countMax) };
  }
  const total = await session.row(composed(counted)`
    select count(*) as total
    from (select from workflow_executions w where ${where} limit ${query.countMax}::bigint) as hit`);
  return { rows, total: total?.total ?? 0 };
};
