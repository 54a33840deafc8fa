import { err, ok } from '../../../domain/kernel/result.ts';
import type { SchemaRow } from '../../../ports/definition-store.ts';
import { json, NO_CONTENT, namespaceRoute, type Route } from '../route.ts';
import { pageQuery } from '../schemas/common.ts';
import { definitionQuery } from '../schemas/definitions.ts';
import {
  type RegisteredSchemaBody,
  registeredSchema,
  type SchemaDetailBody,
  type SchemaPageBody,
  schemaDetail,
  schemaDocument,
  schemaPage,
} from '../schemas/schemas.ts';
import { isoText } from '../wire/instant-wire.ts';
import { cursorOf } from './cursor-of.ts';
import { versionOf } from './version-of.ts';

const schemaOf = ({ name, version, data, createdAt }: SchemaRow): SchemaDetailBody => ({
  name,
  version,
  type: 'JSON',
  data,
  createdAt: isoText(createdAt),
});

const register = namespaceRoute({
  method: 'POST',
  path: '/schemas',
  summary: 'Register a JSON Schema that definitions can name; the same content again changes nothing.',
  scope: 'definitions:write',
  body: schemaDocument,
  bodyKind: 'definition',
  replies: { 200: registeredSchema, 201: registeredSchema },
  handle: async ({ useCases, namespace, body }) => {
    const { version, ...rest } = body;
    const document = { ...rest, ...(version === undefined ? {} : { version }) };
    const registered = await useCases.definitions.registerSchema(namespace, document);
    if (!registered.ok) return registered;
    const { outcome, name } = registered.value;
    if (outcome === 'conflict') {
      const message = 'This version exists with other content; register the next version.';
      return err({ code: 'ALREADY_EXISTS' as const, message, path: 'version' });
    }
    // Nothing was to be overwritten.
    const stored = outcome === 'created' ? outcome : 'unchanged';
    const answer: RegisteredSchemaBody = { outcome: stored, name, version: registered.value.version };
    return ok(json<RegisteredSchemaBody>(outcome === 'created' ? 201 : 200, answer));
  },
});

const list = namespaceRoute({
  method: 'GET',
  path: '/schemas',
  summary: 'List registered schemas, every version.',
  scope: 'definitions:read',
  query: pageQuery,
  replies: { 200: schemaPage },
  handle: async ({ useCases, namespace, query }) => {
    const page = await useCases.definitions.listSchemas(namespace, query.limit, query.cursor);
    if (!page.ok) return page;
    return ok(json<SchemaPageBody>(200, { schemas: page.value.items.map(schemaOf), ...cursorOf(page.value) }));
  },
});

const get = namespaceRoute({
  method: 'GET',
  path: '/schemas/:name',
  summary: 'Read one version of a schema, the highest when none is named.',
  scope: 'definitions:read',
  query: definitionQuery,
  replies: { 200: schemaDetail },
  handle: async ({ useCases, namespace, params, query }) => {
    const row = await useCases.definitions.getSchema(namespace, params.name, query.version);
    return row.ok ? ok(json<SchemaDetailBody>(200, schemaOf(row.value))) : row;
  },
});

const remove = namespaceRoute({
  method: 'DELETE',
  path: '/schemas/:name/:version',
  summary: 'Delete one version of a schema; definitions that were registered with it keep it.',
  scope: 'definitions:delete',
  replies: { 204: null },
  handle: async ({ useCases, namespace, params }) => {
    const version = versionOf(params.version);
    if (!version.ok) return version;
    const deleted = await useCases.definitions.deleteSchema(namespace, params.name, version.value);
    return deleted.ok ? ok(NO_CONTENT) : deleted;
  },
});

export const schemaRoutes: readonly Route[] = [register, list, get, remove];
