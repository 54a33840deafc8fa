import type { ApiKeySummary } from '../../../application/use-cases.ts';
import { withoutUndefined } from '../../../domain/definition/without-undefined.ts';
import { parseNamespace } from '../../../domain/kernel/brand.ts';
import { err, ok } from '../../../domain/kernel/result.ts';
import { NOT_FOUND } from '../api-error.ts';
import { json, NO_CONTENT, namespaceRoute, platformRoute, type Route } from '../route.ts';
import {
  type CreatedKeyBody,
  type CreatedNamespaceBody,
  createdKey,
  createdNamespace,
  createKeyRequest,
  createNamespaceRequest,
  type KeyListBody,
  type KeySummaryBody,
  keyList,
  type NamespaceListBody,
  namespaceList,
} from '../schemas/access.ts';
import { uuidText } from '../schemas/common.ts';
import { isoFields, isoText } from '../wire/instant-wire.ts';

const keySummaryOf = ({ id, name, prefix, scopes, revoked, ...times }: ApiKeySummary): KeySummaryBody => ({
  id,
  name,
  prefix,
  scopes: [...scopes],
  createdAt: isoText(times.createdAt),
  ...isoFields(times, ['expiresAt', 'lastUsedAt']),
  revoked,
});

const createKey = namespaceRoute({
  method: 'POST',
  path: '/keys',
  summary: 'Make an API key. It is shown once, and can do no more than its maker.',
  scope: 'keys:write',
  body: createKeyRequest,
  // Else a key that may make keys could make itself an administrator.
  bodyScopes: ({ scopes }) => scopes,
  replies: { 201: createdKey },
  handle: async ({ useCases, namespace, body }) => {
    const created = await useCases.access.createApiKey(namespace, withoutUndefined(body));
    if (!created.ok) return created;
    const { id, key, scopes } = created.value;
    return ok(json<CreatedKeyBody>(201, { id, key, scopes: [...scopes] }));
  },
});

const listKeys = namespaceRoute({
  method: 'GET',
  path: '/keys',
  summary: 'List the API keys of a namespace, never the keys themselves.',
  scope: 'keys:read',
  replies: { 200: keyList },
  handle: async ({ useCases, namespace }) => {
    const keys = await useCases.access.listApiKeys(namespace);
    return keys.ok ? ok(json<KeyListBody>(200, { keys: keys.value.map(keySummaryOf) })) : keys;
  },
});

const revokeKey = namespaceRoute({
  method: 'DELETE',
  path: '/keys/:id',
  summary: 'Revoke an API key: it is refused from now on.',
  scope: 'keys:write',
  replies: { 204: null },
  handle: async ({ useCases, namespace, params }) => {
    if (!uuidText.safeParse(params.id).success) return err(NOT_FOUND);
    const revoked = await useCases.access.revokeApiKey(namespace, params.id);
    return revoked.ok ? ok(NO_CONTENT) : revoked;
  },
});

const listNamespaces = platformRoute({
  method: 'GET',
  path: '/v1/namespaces',
  summary: 'List the namespaces.',
  scope: 'platform:admin',
  replies: { 200: namespaceList },
  handle: async ({ useCases }) => {
    const namespaces = await useCases.access.listNamespaces();
    return namespaces.ok ? ok(json<NamespaceListBody>(200, { namespaces: [...namespaces.value] })) : namespaces;
  },
});

const createNamespace = platformRoute({
  method: 'POST',
  path: '/v1/namespaces',
  summary: 'Create a namespace.',
  scope: 'platform:admin',
  body: createNamespaceRequest,
  replies: { 201: createdNamespace },
  handle: async ({ useCases, body }) => {
    const namespace = parseNamespace(body.name);
    if (namespace === undefined) {
      const message = 'A namespace is 1 to 63 of a-z, 0-9 and -, and neither begins nor ends with -.';
      return err({ code: 'INVALID_NAME', message, path: 'name' });
    }
    const created = await useCases.access.createNamespace(namespace);
    return created.ok ? ok(json<CreatedNamespaceBody>(201, { name: namespace })) : created;
  },
});

export const accessRoutes: readonly Route[] = [createKey, listKeys, revokeKey, listNamespaces, createNamespace];
