import { z } from 'zod';
import type { WorkflowDefinition } from '../../domain/definition/workflow-definition.ts';
import type { Namespace } from '../../domain/kernel/brand.ts';
import type {
  DefinitionQuotaExceeded,
  DefinitionStore,
  PutDefinitionOutcome,
  WorkflowDefinitionRow,
} from '../../ports/definition-store.ts';
import { quotaLockName } from './admissions.ts';
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
const findQuota = prepared('workflow_definitions_quota', z.object({ limit: count }));
const lockQuota = preparedCommand('workflow_definitions_lock_quota');
const countNames = prepared('workflow_definitions_count', z.object({ current: count, isNew: z.boolean() }));
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

/** Two callers would both count the last free place, so they take turns where there is a quota (promise 9). */
const exceededQuota = async (
  session: Session,
  namespace: Namespace,
  name: string,
): Promise<DefinitionQuotaExceeded | undefined> => {
  const quota = await session.row(findQuota`
    select max_workflow_definitions as limit from namespace_quotas
    where namespace = ${namespace} and max_workflow_definitions is not null`);
  if (quota === undefined) return undefined;
  await session.run(lockQuota`
    select pg_advisory_xact_lock(hashtextextended(${quotaLockName(namespace)}, 0))`);
  const { current, isNew } = await session.one(countNames`
    select count(distinct name) as current, coalesce(bool_and(name <> ${name}), true) as is_new
    from workflow_definitions where namespace = ${namespace}`);
  return isNew && current >= quota.limit ? { quota: 'maxWorkflowDefinitions', limit: quota.limit, current } : undefined;
};

const putVersion = async (
  session: Session,
  namespace: Namespace,
  definition: WorkflowDefinition,
  hash: string,
  overwrite: boolean,
): Promise<PutDefinitionOutcome | DefinitionQuotaExceeded> => {
  const { name, version } = definition;
  const exceeded = await exceededQuota(session, namespace, name);
  if (exceeded !== undefined) return exceeded;
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
): Promise<number | DefinitionQuotaExceeded> => {
  const exceeded = await exceededQuota(session, namespace, name);
  if (exceeded !== undefined) return exceeded;
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
