import { z } from 'zod';
import type { UseCases } from '../../../../application/use-cases.ts';
import type { Namespace } from '../../../../domain/kernel/brand.ts';
import type { JsonObject } from '../../../../domain/kernel/json.ts';
import { ok, type Result } from '../../../../domain/kernel/result.ts';
import type { TaskDefinitionRow } from '../../../../ports/definition-store.ts';
import type { ApiError } from '../../api-error.ts';
import { conductorRoute, json, NOTHING, type Route } from '../../route.ts';
import { everyPage } from '../every-page.ts';
import { query } from '../schemas/fields.ts';
import { documents, tagsIn } from '../schemas/metadata.ts';
import { taskDefOf } from '../wire/definitions.ts';
import { tagBodyOf } from '../wire/tags.ts';

const register = async (
  { definitions, tags }: UseCases,
  namespace: Namespace,
  document: JsonObject,
): Promise<Result<null, ApiError>> => {
  const registered = await definitions.registerTask(namespace, document, 'conductor');
  if (!registered.ok) return registered;
  const given = tagsIn(document);
  if (given === undefined) return ok(null);
  const thing = { kind: 'TASK', name: registered.value.definition.name } as const;
  return document.overwriteTags === true ? tags.replace(namespace, thing, given) : tags.add(namespace, thing, given);
};

/** Both verbs create what is not there and replace what is: workers of Conductor's clients register at their start. */
const put = (method: 'POST' | 'PUT', summary: string): Route =>
  conductorRoute({
    method,
    path: '/metadata/taskdefs',
    summary,
    scope: 'definitions:write',
    body: documents,
    bodyKind: 'definition',
    handle: async ({ useCases, namespace, body }) => {
      for (const document of body) {
        const registered = await register(useCases, namespace, document);
        if (!registered.ok) return registered;
      }
      return ok(NOTHING);
    },
  });

const bodyOf = (row: TaskDefinitionRow): JsonObject => {
  const { tags: _, ...body } = taskDefOf(row.definition, row);
  return body;
};

const list = conductorRoute({
  method: 'GET',
  path: '/metadata/taskdefs',
  summary: 'All task definitions.',
  scope: 'definitions:read',
  query: z.object({ access: query.text, metadata: query.flag(false), tagKey: query.text, tagValue: query.text }),
  handle: async ({ useCases, namespace, query: { metadata, tagKey, tagValue } }) => {
    const rows = await everyPage((limit, cursor) => useCases.definitions.listTasks(namespace, limit, cursor));
    if (!rows.ok) return rows;
    const names = rows.value.map(({ definition }) => definition.name);
    const tags = metadata || tagKey !== undefined ? await useCases.tags.of(namespace, 'TASK', names) : undefined;
    const isWanted = ({ definition }: TaskDefinitionRow): boolean =>
      tagKey === undefined ||
      (tags?.get(definition.name) ?? []).some(
        ({ key, value }) => key === tagKey && (tagValue === undefined || value === tagValue),
      );
    const shown = rows.value.filter(isWanted).map((row) => ({
      ...bodyOf(row),
      ...(metadata && { tags: (tags?.get(row.definition.name) ?? []).map(tagBodyOf) }),
    }));
    return ok(json(200, shown));
  },
});

const get = conductorRoute({
  method: 'GET',
  path: '/metadata/taskdefs/:taskType',
  summary: 'A task definition.',
  scope: 'definitions:read',
  query: z.object({ metadata: query.flag(false) }),
  handle: async ({ useCases, namespace, params: { taskType }, query: { metadata } }) => {
    const row = await useCases.definitions.getTask(namespace, taskType);
    if (!row.ok) return row;
    if (!metadata) return ok(json(200, bodyOf(row.value)));
    const tags = await useCases.tags.of(namespace, 'TASK', [taskType]);
    return ok(json(200, { ...bodyOf(row.value), tags: (tags.get(taskType) ?? []).map(tagBodyOf) }));
  },
});

const remove = conductorRoute({
  method: 'DELETE',
  path: '/metadata/taskdefs/:taskType',
  summary: 'Delete a task definition; runs that pinned it go on.',
  scope: 'definitions:delete',
  handle: async ({ useCases, namespace, params }) => {
    const deleted = await useCases.definitions.deleteTask(namespace, params.taskType);
    return deleted.ok ? ok(NOTHING) : deleted;
  },
});

export const taskDefRoutes: readonly Route[] = [
  put('POST', 'Create or replace task definitions, one or a list.'),
  put('PUT', 'Create or replace a task definition.'),
  list,
  get,
  remove,
];
