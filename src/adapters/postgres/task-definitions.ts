import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import type { TaskDefinition } from '../../domain/definition/task-definition.ts';
import type { Namespace } from '../../domain/kernel/brand.ts';
import type { DefinitionStore, PutDefinitionOutcome, TaskDefinitionRow } from '../../ports/definition-store.ts';
import type { Database, Session } from './database.ts';
import { instant, jsonOf, prepared, preparedCommand, sql, text } from './statement.ts';

const row = z.object({
  createdAt: instant,
  updatedAt: instant,
  definition: jsonOf<TaskDefinition>(),
  contentHash: text,
});
/** As `row` has it; a start asks whether it is still the same. */
export const contentHash = sql.fragment`md5(content::text)`;
const insert = preparedCommand('task_definitions_insert');
const lockRow = prepared('task_definitions_lock', z.object({ definition: jsonOf<TaskDefinition>() }));
const replace = preparedCommand('task_definitions_replace');
const find = prepared('task_definitions_find', row.extend({ name: text }));
const list = prepared('task_definitions_list', row);
const remove = preparedCommand('task_definitions_delete');

const putDefinition = async (
  session: Session,
  namespace: Namespace,
  definition: TaskDefinition,
): Promise<PutDefinitionOutcome> => {
  const { name, concurrentExecLimit, rateLimit } = definition;
  const semaphores = sql.array([...(definition.semaphores ?? [])], 'text');
  const content = JSON.stringify(definition);
  const inserted = await session.run(insert`
    insert into task_definitions (
      namespace, name, content, concurrent_exec_limit, rate_leases, rate_window_seconds, semaphores
    )
    values (
      ${namespace}, ${name}, ${content}::json, ${concurrentExecLimit}, ${rateLimit?.leases ?? 0},
      ${rateLimit?.windowSeconds ?? 1}, ${semaphores}
    )
    on conflict (namespace, name) do nothing`);
  if (inserted > 0) return 'created';
  const present = await session.row(lockRow`
    select content as definition from task_definitions where namespace = ${namespace} and name = ${name} for update`);
  if (isDeepStrictEqual(present?.definition, JSON.parse(content))) return 'unchanged';
  await session.run(replace`
    update task_definitions
    set content = ${content}::json, concurrent_exec_limit = ${concurrentExecLimit},
      rate_leases = ${rateLimit?.leases ?? 0}, rate_window_seconds = ${rateLimit?.windowSeconds ?? 1},
      semaphores = ${semaphores}, updated_at = clock_timestamp()
    where namespace = ${namespace} and name = ${name}`);
  return 'replaced';
};

export const findTasks = async (
  session: Session,
  namespace: Namespace,
  names: readonly string[],
): Promise<ReadonlyMap<string, TaskDefinitionRow>> => {
  if (names.length === 0) return new Map();
  const rows = await session.rows(find`
    select name, created_at, updated_at, content as definition, ${contentHash} as content_hash
    from task_definitions
    where namespace = ${namespace} and name = any(${sql.array(names, 'text')})`);
  return new Map(rows.map(({ name, ...found }) => [name, found]));
};

/** Task definitions, one a name. */
export const taskDefinitionMethods = (
  database: Database,
): Pick<DefinitionStore, 'putTask' | 'findTasks' | 'listTasks' | 'deleteTask'> => ({
  putTask: (namespace, definition) => database.transaction((session) => putDefinition(session, namespace, definition)),
  findTasks: (namespace, names) => findTasks(database, namespace, names),
  listTasks: (namespace, { limit, after }) =>
    database.rows(list`
      select created_at, updated_at, content as definition, ${contentHash} as content_hash from task_definitions
      where namespace = ${namespace} and name > ${after ?? ''}
      order by name
      limit ${limit}::bigint`),
  deleteTask: async (namespace, name) =>
    (await database.run(remove`delete from task_definitions where namespace = ${namespace} and name = ${name}`)) > 0,
});
