import { z } from 'zod';
import type { SchemaDocument, UseCases } from '../../../../application/use-cases.ts';
import type { Namespace } from '../../../../domain/kernel/brand.ts';
import { err, ok } from '../../../../domain/kernel/result.ts';
import type { ApiError } from '../../api-error.ts';
import { conductorRoute, json, NOTHING, type Route } from '../../route.ts';
import { versionOf } from '../../routes/version-of.ts';
import { everyPage } from '../every-page.ts';
import { query } from '../schemas/fields.ts';
import { schemaDefs } from '../schemas/metadata.ts';
import { schemaDefOf } from '../wire/schemas.ts';

const FIRST_VERSION = 1;

const documentOf = (
  { name, version, type, data }: z.output<typeof schemaDefs>[number],
  newVersion: boolean,
): SchemaDocument => ({
  name,
  type,
  data: data ?? {},
  ...(!newVersion && { version: version ?? FIRST_VERSION }),
});

const save = conductorRoute({
  method: 'POST',
  path: '/schema',
  summary: 'Create or replace JSON schemas, one or a list; or register each as the next version of its name.',
  scope: 'definitions:write',
  query: z.object({ newVersion: query.flag(false) }),
  body: schemaDefs,
  bodyKind: 'definition',
  handle: async ({ useCases, namespace, query: { newVersion }, body }) => {
    for (const schema of body) {
      const saved = await useCases.definitions.registerSchema(namespace, documentOf(schema, newVersion), true);
      if (!saved.ok) return saved;
    }
    return ok(NOTHING);
  },
});

const allOf = ({ definitions }: UseCases, namespace: Namespace) =>
  everyPage((limit, cursor) => definitions.listSchemas(namespace, limit, cursor));

const list = conductorRoute({
  method: 'GET',
  path: '/schema',
  summary: 'Every version of every schema.',
  scope: 'definitions:read',
  query: z.object({ short: query.flag(false) }),
  handle: async ({ useCases, namespace, query: { short } }) => {
    const rows = await allOf(useCases, namespace);
    if (!rows.ok) return rows;
    const bodies = rows.value.map(schemaDefOf);
    return ok(json(200, short ? bodies.map(({ data: _, ...body }) => body) : bodies));
  },
});

const latest = conductorRoute({
  method: 'GET',
  path: '/schema/:name',
  summary: 'The highest version of a schema.',
  scope: 'definitions:read',
  handle: async ({ useCases, namespace, params }) => {
    const row = await useCases.definitions.getSchema(namespace, params.name);
    return row.ok ? ok(json(200, schemaDefOf(row.value))) : row;
  },
});

const get = conductorRoute({
  method: 'GET',
  path: '/schema/:name/:version',
  summary: 'One version of a schema.',
  scope: 'definitions:read',
  handle: async ({ useCases, namespace, params }) => {
    const version = versionOf(params.version);
    if (!version.ok) return version;
    const row = await useCases.definitions.getSchema(namespace, params.name, version.value);
    return row.ok ? ok(json(200, schemaDefOf(row.value))) : row;
  },
});

const removeAll = conductorRoute({
  method: 'DELETE',
  path: '/schema/:name',
  summary: 'Delete every version of a schema.',
  scope: 'definitions:delete',
  handle: async ({ useCases, namespace, params: { name } }) => {
    const rows = await allOf(useCases, namespace);
    if (!rows.ok) return rows;
    const versions = rows.value.filter((row) => row.name === name);
    if (versions.length === 0) return err<ApiError>({ code: 'NOT_FOUND', message: `There is no schema ${name}.` });
    for (const { version } of versions) await useCases.definitions.deleteSchema(namespace, name, version);
    return ok(NOTHING);
  },
});

const remove = conductorRoute({
  method: 'DELETE',
  path: '/schema/:name/:version',
  summary: 'Delete one version of a schema.',
  scope: 'definitions:delete',
  handle: async ({ useCases, namespace, params }) => {
    const version = versionOf(params.version);
    if (!version.ok) return version;
    const deleted = await useCases.definitions.deleteSchema(namespace, params.name, version.value);
    return deleted.ok ? ok(NOTHING) : deleted;
  },
});

export const schemaRoutes: readonly Route[] = [save, list, latest, get, removeAll, remove];
