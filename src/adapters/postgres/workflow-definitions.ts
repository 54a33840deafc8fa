import { z } from 'zod';
import type { WorkflowDefinition } from '../../domain/definition/workflow-definition.ts';
import type { Namespace } from '../../domain/kernel/brand.ts';
import type { DefinitionStore, PutDefinitionOutcome, WorkflowDefinitionRow } from '../../ports/definition-store.ts';
import type { Database, Session } from './database.ts';
import { count, instant, jsonOf, prepared, preparedCommand, text } from './statement.ts';

const row = z.object({
  name: text,
  version: count,
  hash: text,
  createdAt: instant,
  updatedAt: instant,
  definition: jsonOf<WorkflowDefinition>(),
});
const insert = preparedCommand('workflow_definitions_insert');
const replace = preparedCommand('workflow_definitions_replace');
const lockRow = prepared('workflow_definitions_lock', z.object({ hash: text }));
const lockName = preparedCommand('workflow_definitions_lock_name');
const highest = prepared('workflow_definitions_highest', z.object({ version: count.exactOptional() }));
const find = prepared('workflow_definitions_find', row);
const list = prepared('workflow_definitions_list', row);
const versions = prepared('workflow_definitions_versions', row);
const remove = preparedCommand('workflow_definitions_delete');

const insertVersion = (session: Session, namespace: Namespace, definition: WorkflowDefinition, hash: string) =>
  session.run(insert`
    insert into workflow_definitions (namespace, name, version, hash, content)
    values (${namespace}, ${definition.name}, ${definition.version}, ${hash}, ${JSON.stringify(definition)}::json)
    on conflict (namespace, name, version) do nothing`);

const putVersion = async (
  session: Session,
  namespace: Namespace,
  definition: WorkflowDefinition,
  hash: string,
  overwrite: boolean,
): Promise<PutDefinitionOutcome> => {
  const { name, version } = definition;
  if ((await insertVersion(session, namespace, definition, hash)) > 0) return 'created';
  const present = await session.row(lockRow`
    select hash from workflow_definitions
    where namespace = ${namespace} and name = ${name} and version = ${version}
    for update`);
  if (present?.hash === hash) return 'unchanged';
  if (!overwrite) return 'conflict';
  await session.run(replace`
    update workflow_definitions
    set hash = ${hash}, content = ${JSON.stringify(definition)}::json, updated_at = clock_timestamp()
    where namespace = ${namespace} and name = ${name} and version = ${version}`);
  return 'replaced';
};

/** Two callers would read the same highest version, so they take turns on the name (promise 9). */
const putNextVersion = async (
  session: Session,
  namespace: Namespace,
  name: string,
  at: (version: number) => Readonly<{ definition: WorkflowDefinition; hash: string }>,
): Promise<number> => {
  await session.run(lockName`select pg_advisory_xact_lock(hashtextextended(${`${namespace}:workflow:${name}`}, 0))`);
  const present = await session.row(highest`
    select max(version) as version from workflow_definitions where namespace = ${namespace} and name = ${name}`);
  const version = (present?.version ?? 0) + 1;
  const { definition, hash } = at(version);
  await insertVersion(session, namespace, definition, hash);
  return version;
};

export const findWorkflowVersion = (
  session: Session,
  namespace: Namespace,
  name: string,
  version: number | undefined,
): Promise<WorkflowDefinitionRow | undefined> =>
  session.row(find`
    select name, version, hash, created_at, updated_at, content as definition from workflow_definitions
    where namespace = ${namespace} and name = ${name}
      and (${version ?? null}::integer is null or version = ${version ?? null}::integer)
    order by version desc
    limit 1`);

type Methods = Pick<
  DefinitionStore,
  | 'putWorkflow'
  | 'putNextWorkflowVersion'
  | 'findWorkflow'
  | 'listWorkflows'
  | 'listWorkflowVersions'
  | 'deleteWorkflow'
>;

/** Versions of workflow definitions. */
export const workflowDefinitionMethods = (database: Database): Methods => ({
  putWorkflow: (namespace, definition, hash, overwrite) =>
    database.transaction((session) => putVersion(session, namespace, definition, hash, overwrite)),
  putNextWorkflowVersion: (namespace, name, at) =>
    database.transaction((session) => putNextVersion(session, namespace, name, at)),
  findWorkflow: (namespace, name, version) => findWorkflowVersion(database, namespace, name, version),
  listWorkflows: (namespace, { limit, after }) =>
    database.rows(list`
      select name, version, hash, created_at, updated_at, content as definition from workflow_definitions
      where namespace = ${namespace} and (name, version) > (${after?.name ?? ''}, ${after?.version ?? 0}::integer)
      order by name, version
      limit ${limit}::bigint`),
  listWorkflowVersions: (namespace, name) =>
    database.rows(versions`
      select name, version, hash, created_at, updated_at, content as definition from workflow_definitions
      where namespace = ${namespace} and name = ${name}
      order by version`),
  deleteWorkflow: async (namespace, name, version) =>
    (await database.run(remove`
      delete from workflow_definitions
      where namespace = ${namespace} and name = ${name} and version = ${version}`)) > 0,
});
