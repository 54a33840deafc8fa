import { z } from 'zod';
import type { Namespace } from '../../domain/kernel/brand.ts';
import type { AccessStore, ApiKeyRow, NamespaceQuotas } from '../../ports/access-store.ts';
import type { Session } from './database.ts';
import {
  count,
  instant,
  namespaceName,
  prepared,
  preparedCommand,
  sql,
  text,
  timestamp,
  timestampOrNull,
} from './statement.ts';

const apiKey = z.object({
  id: text,
  namespace: namespaceName,
  name: text,
  prefix: text,
  digest: text,
  scopes: z.array(text),
  createdAt: instant,
  expiresAt: instant.exactOptional(),
  lastUsedAt: instant.exactOptional(),
  revokedAt: instant.exactOptional(),
});
const findNamespaceQuotas = prepared(
  'quotas_find',
  z.object({
    maxConcurrentExecutions: count.exactOptional(),
    maxExecutionsPerMinute: count.exactOptional(),
    maxWorkflowDefinitions: count.exactOptional(),
    maxSchedules: count.exactOptional(),
  }),
);
const putNamespaceQuotas = preparedCommand('quotas_put');
const create = preparedCommand('namespaces_create');
const exists = prepared('namespaces_exists', z.object({ namespace: namespaceName }));
const list = prepared('namespaces_list', z.object({ namespace: namespaceName }));
const put = preparedCommand('api_keys_put');
const find = prepared('api_keys_find', apiKey);
const listKeys = prepared('api_keys_list', apiKey);
const revoke = preparedCommand('api_keys_revoke');
const keep = preparedCommand('server_keys_keep');
const readKey = prepared('server_keys_read', z.object({ secret: text }));
const touch = preparedCommand('api_keys_touch');

const putApiKey = async (session: Session, key: ApiKeyRow): Promise<void> => {
  await session.run(put`
    insert into api_keys (
      id, namespace, name, prefix, digest, scopes, created_at, expires_at, last_used_at, revoked_at
    )
    values (
      ${key.id}, ${key.namespace}, ${key.name}, ${key.prefix}, ${key.digest}, ${sql.array(key.scopes, 'text')},
      ${timestamp(key.createdAt)}, ${timestampOrNull(key.expiresAt)}, ${timestampOrNull(key.lastUsedAt)},
      ${timestampOrNull(key.revokedAt)}
    )
    on conflict (id) do update
    set name = excluded.name, prefix = excluded.prefix, digest = excluded.digest, scopes = excluded.scopes,
      expires_at = excluded.expires_at, last_used_at = excluded.last_used_at, revoked_at = excluded.revoked_at
    where api_keys.namespace = excluded.namespace`);
};

const findQuotas = async (session: Session, namespace: Namespace): Promise<NamespaceQuotas> =>
  (await session.row(findNamespaceQuotas`
    select max_concurrent_executions, max_executions_per_minute, max_workflow_definitions, max_schedules
    from namespace_quotas where namespace = ${namespace}`)) ?? {};

const putQuotas = async (session: Session, namespace: Namespace, quotas: NamespaceQuotas): Promise<void> => {
  await session.run(putNamespaceQuotas`
    insert into namespace_quotas as present (
      namespace, max_concurrent_executions, max_executions_per_minute, max_workflow_definitions, max_schedules
    )
    values (
      ${namespace}, ${quotas.maxConcurrentExecutions ?? null}, ${quotas.maxExecutionsPerMinute ?? null},
      ${quotas.maxWorkflowDefinitions ?? null}, ${quotas.maxSchedules ?? null}
    )
    on conflict (namespace) do update
    set max_concurrent_executions = excluded.max_concurrent_executions,
      max_executions_per_minute = excluded.max_executions_per_minute,
      max_workflow_definitions = excluded.max_workflow_definitions, max_schedules = excluded.max_schedules,
      updated_at = clock_timestamp()`);
};

/** Namespaces and API keys on PostgreSQL. */
export const createAccessStore = (session: Session): AccessStore => ({
  findQuotas: (namespace) => findQuotas(session, namespace),
  putQuotas: (namespace, quotas) => putQuotas(session, namespace, quotas),
  createNamespace: async (namespace) =>
    (await session.run(create`
      insert into namespaces (namespace) values (${namespace}) on conflict (namespace) do nothing`)) > 0,
  namespaceExists: async (namespace) =>
    (await session.row(exists`select namespace from namespaces where namespace = ${namespace}`)) !== undefined,
  listNamespaces: async () => {
    const rows = await session.rows(list`select namespace from namespaces order by namespace`);
    return rows.map((row) => row.namespace);
  },
  putApiKey: (key) => putApiKey(session, key),
  findApiKeyByPrefix: (prefix) =>
    session.row(find`
      select id, namespace, name, prefix, digest, scopes, created_at, expires_at, last_used_at, revoked_at
      from api_keys where prefix = ${prefix}`),
  listApiKeys: (namespace) =>
    session.rows(listKeys`
      select id, namespace, name, prefix, digest, scopes, created_at, expires_at, last_used_at, revoked_at
      from api_keys where namespace = ${namespace} order by created_at, id`),
  revokeApiKey: async (namespace, id) =>
    (await session.run(revoke`
      update api_keys set revoked_at = coalesce(revoked_at, clock_timestamp())
      where id = ${id} and namespace = ${namespace}`)) > 0,
  touchApiKey: async (id) => {
    await session.run(touch`update api_keys set last_used_at = clock_timestamp() where id = ${id}`);
  },
  keepServerKey: async (purpose, fresh) => {
    await session.run(keep`
      insert into server_keys (purpose, secret) values (${purpose}, ${fresh}) on conflict (purpose) do nothing`);
    const { secret } = await session.one(readKey`select secret from server_keys where purpose = ${purpose}`);
    return secret;
  },
});
