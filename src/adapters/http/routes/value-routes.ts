import type { SecretSummary } from '../../../application/use-cases.ts';
import { ok } from '../../../domain/kernel/result.ts';
import type { NamedValue } from '../../../ports/named-values.ts';
import { json, NO_CONTENT, namespaceRoute, type Route } from '../route.ts';
import { pageQuery } from '../schemas/common.ts';
import {
  type EnvironmentPageBody,
  type EnvironmentValueBody,
  environmentPage,
  environmentValue,
  type RotationBody,
  rotation,
  type SecretPageBody,
  type SecretSummaryBody,
  secretPage,
  secretSummary,
  type ValuePutBody,
  valuePut,
  valueRequest,
} from '../schemas/values.ts';
import { isoText } from '../wire/instant-wire.ts';
import { cursorOf } from './cursor-of.ts';

const environmentOf = ({ name, value, createdAt, updatedAt }: NamedValue): EnvironmentValueBody => ({
  name,
  value,
  createdAt: isoText(createdAt),
  updatedAt: isoText(updatedAt),
});

const secretOf = ({ name, keyId, createdAt, updatedAt }: SecretSummary): SecretSummaryBody => ({
  name,
  keyId,
  createdAt: isoText(createdAt),
  updatedAt: isoText(updatedAt),
});

const listEnvironment = namespaceRoute({
  method: 'GET',
  path: '/environment',
  summary: 'List the environment values.',
  scope: 'environment:read',
  query: pageQuery,
  replies: { 200: environmentPage },
  handle: async ({ useCases, namespace, query }) => {
    const page = await useCases.environment.list(namespace, query.limit, query.cursor);
    if (!page.ok) return page;
    const environment = page.value.items.map(environmentOf);
    return ok(json<EnvironmentPageBody>(200, { environment, ...cursorOf(page.value) }));
  },
});

const getEnvironment = namespaceRoute({
  method: 'GET',
  path: '/environment/:name',
  summary: 'Read an environment value.',
  scope: 'environment:read',
  replies: { 200: environmentValue },
  handle: async ({ useCases, namespace, params }) => {
    const found = await useCases.environment.get(namespace, params.name);
    return found.ok ? ok(json<EnvironmentValueBody>(200, environmentOf(found.value))) : found;
  },
});

const putEnvironment = namespaceRoute({
  method: 'PUT',
  path: '/environment/:name',
  summary: 'Set an environment value: runs read it when they schedule the next task.',
  scope: 'environment:write',
  body: valueRequest,
  replies: { 200: valuePut, 201: valuePut },
  handle: async ({ useCases, namespace, params, body }) => {
    const outcome = await useCases.environment.put(namespace, params.name, body.value);
    if (!outcome.ok) return outcome;
    const answer = { name: params.name, outcome: outcome.value };
    return ok(json<ValuePutBody>(outcome.value === 'created' ? 201 : 200, answer));
  },
});

const deleteEnvironment = namespaceRoute({
  method: 'DELETE',
  path: '/environment/:name',
  summary: 'Delete an environment value: expressions find null from then on.',
  scope: 'environment:write',
  replies: { 204: null },
  handle: async ({ useCases, namespace, params }) => {
    const deleted = await useCases.environment.delete(namespace, params.name);
    return deleted.ok ? ok(NO_CONTENT) : deleted;
  },
});

const listSecrets = namespaceRoute({
  method: 'GET',
  path: '/secrets',
  summary: 'List the secrets, by name; what they are is never told.',
  scope: 'secrets:read',
  query: pageQuery,
  replies: { 200: secretPage },
  handle: async ({ useCases, namespace, query }) => {
    const page = await useCases.secrets.list(namespace, query.limit, query.cursor);
    if (!page.ok) return page;
    return ok(json<SecretPageBody>(200, { secrets: page.value.items.map(secretOf), ...cursorOf(page.value) }));
  },
});

const getSecret = namespaceRoute({
  method: 'GET',
  path: '/secrets/:name',
  summary: 'Whether there is a secret, and since when; what it is is never told.',
  scope: 'secrets:read',
  replies: { 200: secretSummary },
  handle: async ({ useCases, namespace, params }) => {
    const found = await useCases.secrets.get(namespace, params.name);
    return found.ok ? ok(json<SecretSummaryBody>(200, secretOf(found.value))) : found;
  },
});

const putSecret = namespaceRoute({
  method: 'PUT',
  path: '/secrets/:name',
  summary: 'Seal a secret: tasks that name it get it from their next lease on.',
  scope: 'secrets:write',
  body: valueRequest,
  replies: { 200: valuePut, 201: valuePut },
  handle: async ({ useCases, namespace, params, body }) => {
    const outcome = await useCases.secrets.put(namespace, params.name, body.value);
    if (!outcome.ok) return outcome;
    const answer = { name: params.name, outcome: outcome.value };
    return ok(json<ValuePutBody>(outcome.value === 'created' ? 201 : 200, answer));
  },
});

const deleteSecret = namespaceRoute({
  method: 'DELETE',
  path: '/secrets/:name',
  summary: 'Delete a secret: tasks that name it fail.',
  scope: 'secrets:write',
  replies: { 204: null },
  handle: async ({ useCases, namespace, params }) => {
    const deleted = await useCases.secrets.delete(namespace, params.name);
    return deleted.ok ? ok(NO_CONTENT) : deleted;
  },
});

const rotate = namespaceRoute({
  method: 'POST',
  path: '/secrets/rotate',
  summary: 'Seal with the first key of the ring what another key has sealed.',
  scope: 'secrets:write',
  replies: { 200: rotation },
  handle: async ({ useCases, namespace }) => {
    const rotated = await useCases.secrets.rotate(namespace);
    if (!rotated.ok) return rotated;
    const { keyId, resealed, unreadable } = rotated.value;
    return ok(json<RotationBody>(200, { keyId, resealed, unreadable: [...unreadable] }));
  },
});

export const valueRoutes: readonly Route[] = [
  listEnvironment,
  getEnvironment,
  putEnvironment,
  deleteEnvironment,
  listSecrets,
  rotate,
  getSecret,
  putSecret,
  deleteSecret,
];
