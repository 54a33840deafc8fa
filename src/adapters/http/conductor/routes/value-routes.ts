import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import type { UseCases } from '../../../../application/use-cases.ts';
import type { Namespace } from '../../../../domain/kernel/brand.ts';
import { err, ok, type Result } from '../../../../domain/kernel/result.ts';
import type { ApiError } from '../../api-error.ts';
import { conductorRoute, json, NOTHING, type Route, text } from '../../route.ts';
import { everyPage } from '../every-page.ts';
import { tagBodyOf } from '../wire/tags.ts';
import { tagRoutesOf } from './tag-routes.ts';

/** Conductor gives secrets back to whoever may read them. Here nobody can: who needs one names it in the input of a task. */
const NEVER_READ: ApiError = {
  code: 'FORBIDDEN',
  message: 'Secrets are never read back: name it in the input of a task, as ${workflow.secrets.name}.',
};

/** The value is the body: as JSON text, which Conductor's JavaScript client sends, or as it is. */
const valueIn = (request: IncomingMessage, body: string): Result<string, ApiError> => {
  if (request.headers['content-type']?.includes('json') !== true || !body.startsWith('"')) return ok(body);
  try {
    return ok(String(JSON.parse(body)));
  } catch {
    return err({ code: 'VALIDATION_FAILED', message: 'The body is no JSON text.' });
  }
};

const namesOf = async (useCases: UseCases, namespace: Namespace) => {
  const all = await everyPage((limit, cursor) => useCases.secrets.list(namespace, limit, cursor));
  return all.ok ? ok(all.value.map(({ name }) => name)) : all;
};

const listRoute = (method: 'GET' | 'POST', summary: string): Route =>
  conductorRoute({
    method,
    path: '/secrets',
    summary,
    scope: 'secrets:read',
    handle: async ({ useCases, namespace }) => {
      const names = await namesOf(useCases, namespace);
      return names.ok ? ok(json(200, names.value)) : names;
    },
  });

const withTags = (path: '/secrets/v2' | '/secrets-v2'): Route =>
  conductorRoute({
    method: 'GET',
    path,
    summary: 'The names of the secrets, with their tags.',
    scope: 'secrets:read',
    handle: async ({ useCases, namespace }) => {
      const names = await namesOf(useCases, namespace);
      if (!names.ok) return names;
      const tags = await useCases.tags.of(namespace, 'SECRET', names.value);
      return ok(
        json(
          200,
          names.value.map((name) => ({ name, tags: (tags.get(name) ?? []).map(tagBodyOf) })),
        ),
      );
    },
  });

const clearCache = (path: '/secrets/clearLocalCache' | '/secrets/clearRedisCache'): Route =>
  conductorRoute({
    method: 'GET',
    path,
    summary: 'Nothing is kept that would have to be cleared.',
    scope: 'secrets:write',
    handle: async () => ok(json(200, {})),
  });

const getSecret = conductorRoute({
  method: 'GET',
  path: '/secrets/:key',
  summary: 'Refused: a secret is never read back.',
  scope: 'secrets:read',
  handle: async ({ useCases, namespace, params: { key } }) => {
    const found = await useCases.secrets.get(namespace, key);
    return found.ok ? err(NEVER_READ) : found;
  },
});

const putSecret = conductorRoute({
  method: 'PUT',
  path: '/secrets/:key',
  summary: 'Seal a secret.',
  scope: 'secrets:write',
  body: z.string(),
  bodyKind: 'text',
  handle: async ({ useCases, namespace, params: { key }, request, body }) => {
    const value = valueIn(request, body);
    const put = value.ok ? await useCases.secrets.put(namespace, key, value.value) : value;
    return put.ok ? ok(NOTHING) : put;
  },
});

const deleteSecret = conductorRoute({
  method: 'DELETE',
  path: '/secrets/:key',
  summary: 'Delete a secret.',
  scope: 'secrets:write',
  handle: async ({ useCases, namespace, params: { key } }) => {
    const deleted = await useCases.secrets.delete(namespace, key);
    return deleted.ok ? ok(NOTHING) : deleted;
  },
});

const secretExists = conductorRoute({
  method: 'GET',
  path: '/secrets/:key/exists',
  summary: 'Whether there is such a secret.',
  scope: 'secrets:read',
  handle: async ({ useCases, namespace, params: { key } }) => {
    const found = await useCases.secrets.get(namespace, key);
    if (!found.ok && found.error.code !== 'NOT_FOUND') return found;
    return ok(json(200, found.ok));
  },
});

const listEnvironment = conductorRoute({
  method: 'GET',
  path: '/environment',
  summary: 'The environment values, with their tags.',
  scope: 'environment:read',
  handle: async ({ useCases, namespace }) => {
    const all = await everyPage((limit, cursor) => useCases.environment.list(namespace, limit, cursor));
    if (!all.ok) return all;
    const tags = await useCases.tags.of(
      namespace,
      'ENVIRONMENT',
      all.value.map(({ name }) => name),
    );
    const shown = all.value.map(({ name, value }) => ({ name, value, tags: (tags.get(name) ?? []).map(tagBodyOf) }));
    return ok(json(200, shown));
  },
});

const getEnvironment = conductorRoute({
  method: 'GET',
  path: '/environment/:key',
  summary: 'An environment value.',
  scope: 'environment:read',
  handle: async ({ useCases, namespace, params: { key } }) => {
    const found = await useCases.environment.get(namespace, key);
    return found.ok ? ok(text(found.value.value)) : found;
  },
});

const putEnvironment = conductorRoute({
  method: 'PUT',
  path: '/environment/:key',
  summary: 'Set an environment value.',
  scope: 'environment:write',
  body: z.string(),
  bodyKind: 'text',
  handle: async ({ useCases, namespace, params: { key }, request, body }) => {
    const value = valueIn(request, body);
    const put = value.ok ? await useCases.environment.put(namespace, key, value.value) : value;
    return put.ok ? ok(NOTHING) : put;
  },
});

const deleteEnvironment = conductorRoute({
  method: 'DELETE',
  path: '/environment/:key',
  summary: 'Delete an environment value; the answer is what it was.',
  scope: 'environment:write',
  handle: async ({ useCases, namespace, params: { key } }) => {
    const found = await useCases.environment.get(namespace, key);
    if (!found.ok) return found;
    const deleted = await useCases.environment.delete(namespace, key);
    return deleted.ok ? ok(text(found.value.value)) : deleted;
  },
});

export const valueRoutes: readonly Route[] = [
  listRoute('GET', 'The names of the secrets that a task can be given.'),
  listRoute('POST', 'The names of the secrets.'),
  withTags('/secrets/v2'),
  withTags('/secrets-v2'),
  clearCache('/secrets/clearLocalCache'),
  clearCache('/secrets/clearRedisCache'),
  ...tagRoutesOf({
    path: '/secrets/:name/tags',
    kind: 'SECRET',
    scopes: { read: 'secrets:read', write: 'secrets:write' },
    find: ({ secrets }, namespace, name) => secrets.get(namespace, name),
    putAdds: true,
  }),
  getSecret,
  putSecret,
  deleteSecret,
  secretExists,
  listEnvironment,
  ...tagRoutesOf({
    path: '/environment/:name/tags',
    kind: 'ENVIRONMENT',
    scopes: { read: 'environment:read', write: 'environment:write' },
    find: ({ environment }, namespace, name) => environment.get(namespace, name),
    putAdds: true,
  }),
  getEnvironment,
  putEnvironment,
  deleteEnvironment,
];
