import { z } from 'zod';
import type { UseCases } from '../../../../application/use-cases.ts';
import type { Namespace } from '../../../../domain/kernel/brand.ts';
import type { JsonObject } from '../../../../domain/kernel/json.ts';
import { err, ok, type Result } from '../../../../domain/kernel/result.ts';
import type { WorkflowDefinitionRow } from '../../../../ports/definition-store.ts';
import type { ApiError } from '../../api-error.ts';
import { conductorRoute, json, NOTHING, type Route } from '../../route.ts';
import { versionOf } from '../../routes/version-of.ts';
import { INTEGER_MAX } from '../../schemas/common.ts';
import { everyPage } from '../every-page.ts';
import { object, query } from '../schemas/fields.ts';
import { documents, tagsIn } from '../schemas/metadata.ts';
import { workflowDefOf } from '../wire/definitions.ts';
import { tagBodyOf } from '../wire/tags.ts';

type Registering = Readonly<{ overwrite: boolean; overwriteTags: boolean }>;

/** Registers one definition and the tags that it brings along. */
const register = async (
  { definitions, tags }: UseCases,
  namespace: Namespace,
  document: JsonObject,
  { overwrite, overwriteTags }: Registering,
): Promise<Result<string, ApiError>> => {
  const registered = await definitions.registerWorkflow(namespace, document, 'conductor', overwrite);
  if (!registered.ok) return registered;
  const { name } = registered.value.definition;
  const given = tagsIn(document);
  if (given === undefined) return ok(name);
  const thing = { kind: 'WORKFLOW', name } as const;
  const put = overwriteTags || document.overwriteTags === true ? tags.replace : tags.add;
  const tagged = await put(namespace, thing, given);
  return tagged.ok ? ok(name) : tagged;
};

const create = conductorRoute({
  method: 'POST',
  path: '/metadata/workflow',
  summary:
    'Register workflow definitions, one or a list; a version that exists is refused unless it may be overwritten.',
  scope: 'definitions:write',
  query: z.object({ overwrite: query.flag(false), overwriteTags: query.flag(false), newVersion: query.flag(false) }),
  body: documents,
  bodyKind: 'definition',
  handle: async ({ useCases, namespace, query: { overwrite, overwriteTags, newVersion }, body }) => {
    for (const document of body) {
      const numbered = newVersion ? await atNextVersion(useCases, namespace, document) : document;
      const registered = await register(useCases, namespace, numbered, { overwrite, overwriteTags });
      if (!registered.ok) return registered;
    }
    return ok(NOTHING);
  },
});

/** Orkes' clients may ask for the next version instead of naming one. */
const atNextVersion = async (
  { definitions }: UseCases,
  namespace: Namespace,
  document: JsonObject,
): Promise<JsonObject> => {
  if (typeof document.name !== 'string') return document;
  const latest = await definitions.getWorkflow(namespace, document.name);
  return { ...document, version: latest.ok ? latest.value.version + 1 : 1 };
};

const nameOf = (document: JsonObject): string => (typeof document.name === 'string' ? document.name : '');

const update = conductorRoute({
  method: 'PUT',
  path: '/metadata/workflow',
  summary: 'Create or replace workflow definitions; one answer for each name.',
  scope: 'definitions:write',
  query: z.object({ overwrite: query.flag(true), overwriteTags: query.flag(false), newVersion: query.flag(false) }),
  body: documents,
  bodyKind: 'definition',
  handle: async ({ useCases, namespace, query: { overwriteTags }, body }) => {
    const errors: (readonly [string, string])[] = [];
    const bulkSuccessfulResults: string[] = [];
    for (const document of body) {
      const registered = await register(useCases, namespace, document, { overwrite: true, overwriteTags });
      if (registered.ok) bulkSuccessfulResults.push(registered.value);
      else errors.push([nameOf(document), registered.error.message]);
    }
    const bulkErrorResults = Object.fromEntries(errors);
    return ok(json(200, { bulkErrorResults, bulkSuccessfulResults, message: 'Bulk Request has been processed.' }));
  },
});

const validate = conductorRoute({
  method: 'POST',
  path: '/metadata/workflow/validate',
  summary: 'Say what is wrong with a workflow definition, without storing it.',
  scope: 'definitions:read',
  body: object,
  bodyKind: 'definition',
  handle: async ({ useCases, namespace, body }) => {
    const problems = await useCases.definitions.validateWorkflow(namespace, body, 'conductor');
    if (problems.length === 0) return ok(NOTHING);
    return err<ApiError>({
      code: 'VALIDATION_FAILED',
      message: 'Validation failed, check below errors for detail.',
      details: { problems: problems.map(({ code, message, path }) => ({ code, message, path })) },
    });
  },
});

const allOf = ({ definitions }: UseCases, namespace: Namespace) =>
  everyPage((limit, cursor) => definitions.listWorkflows(namespace, limit, cursor));

const bodyOf = (row: WorkflowDefinitionRow): JsonObject => {
  const { tags: _, ...body } = workflowDefOf(row.definition, row);
  return body;
};

/** What a definition is called a workflow by; there is nothing else here. */
const CLASSIFIER = 'workflow';

const list = conductorRoute({
  method: 'GET',
  path: '/metadata/workflow',
  summary: 'Every version of every workflow definition.',
  scope: 'definitions:read',
  query: z.object({ classifier: query.text }),
  handle: async ({ useCases, namespace, query: { classifier } }) => {
    if (classifier !== undefined && classifier !== CLASSIFIER) return ok(json(200, []));
    const rows = await allOf(useCases, namespace);
    return rows.ok ? ok(json(200, rows.value.map(bodyOf))) : rows;
  },
});

const names = conductorRoute({
  method: 'GET',
  path: '/metadata/workflow/names',
  summary: 'The names of all workflow definitions.',
  scope: 'definitions:read',
  handle: async ({ useCases, namespace }) => {
    const rows = await allOf(useCases, namespace);
    return rows.ok ? ok(json(200, [...new Set(rows.value.map(({ name }) => name))])) : rows;
  },
});

const versionBody = ({ name, version, createdAt, updatedAt }: WorkflowDefinitionRow) => ({
  name,
  version,
  createTime: createdAt,
  updateTime: updatedAt,
});

const namesAndVersions = conductorRoute({
  method: 'GET',
  path: '/metadata/workflow/names-and-versions',
  summary: 'The versions of all workflow definitions, by name.',
  scope: 'definitions:read',
  handle: async ({ useCases, namespace }) => {
    const rows = await allOf(useCases, namespace);
    if (!rows.ok) return rows;
    const grouped = Map.groupBy(rows.value, ({ name }) => name);
    return ok(json(200, Object.fromEntries([...grouped].map(([name, of]) => [name, of.map(versionBody)]))));
  },
});

const latestVersions = conductorRoute({
  method: 'GET',
  path: '/metadata/workflow/latest-versions',
  summary: 'The highest version of every workflow definition.',
  scope: 'definitions:read',
  handle: async ({ useCases, namespace }) => {
    const rows = await allOf(useCases, namespace);
    if (!rows.ok) return rows;
    // In the order of their versions, so the last of a name is its highest.
    const latest = new Map(rows.value.map((row) => [row.name, row]));
    return ok(json(200, [...latest.values()].map(bodyOf)));
  },
});

const get = conductorRoute({
  method: 'GET',
  path: '/metadata/workflow/:name',
  summary:
    'One version of a workflow definition, the highest when none is named; with its tags when they are asked for.',
  scope: 'definitions:read',
  query: z.object({ version: query.integer(0, INTEGER_MAX), metadata: query.flag(false) }),
  handle: async ({ useCases, namespace, params: { name }, query: { version, metadata } }) => {
    const row = await useCases.definitions.getWorkflow(namespace, name, version === 0 ? undefined : version);
    if (!row.ok) return row;
    if (!metadata) return ok(json(200, bodyOf(row.value)));
    const found = await useCases.tags.of(namespace, 'WORKFLOW', [name]);
    return ok(json(200, { ...bodyOf(row.value), tags: (found.get(name) ?? []).map(tagBodyOf) }));
  },
});

const versions = conductorRoute({
  method: 'GET',
  path: '/metadata/workflow/:name/versions',
  summary: 'The versions of a workflow definition.',
  scope: 'definitions:read',
  handle: async ({ useCases, namespace, params }) => {
    const rows = await useCases.definitions.listWorkflowVersions(namespace, params.name);
    return rows.ok ? ok(json(200, rows.value.map(versionBody))) : rows;
  },
});

const remove = conductorRoute({
  method: 'DELETE',
  path: '/metadata/workflow/:name/:version',
  summary: 'Delete one version of a workflow definition; runs of it go on.',
  scope: 'definitions:delete',
  handle: async ({ useCases, namespace, params }) => {
    const version = versionOf(params.version);
    if (!version.ok) return version;
    const deleted = await useCases.definitions.deleteWorkflow(namespace, params.name, version.value);
    return deleted.ok ? ok(NOTHING) : deleted;
  },
});

/** Literal paths before the names that would take them. */
export const workflowDefRoutes: readonly Route[] = [
  create,
  update,
  validate,
  list,
  names,
  namesAndVersions,
  latestVersions,
  get,
  versions,
  remove,
];
