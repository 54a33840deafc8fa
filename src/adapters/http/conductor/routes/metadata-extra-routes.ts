import { err, ok } from '../../../../domain/kernel/result.ts';
import type { ApiError } from '../../api-error.ts';
import { conductorRoute, json, NOTHING, type Route } from '../../route.ts';
import { object } from '../schemas/fields.ts';
import { rateLimit } from '../schemas/metadata.ts';

const PATH = '/metadata/workflow/:name/rate-limit';

const getLimit = conductorRoute({
  method: 'GET',
  path: PATH,
  summary: 'The limit on the runs of a workflow.',
  scope: 'definitions:read',
  handle: async ({ useCases, namespace, params: { name } }) => {
    const row = await useCases.definitions.getWorkflow(namespace, name);
    if (!row.ok) return row;
    const { rateLimitConfig } = row.value.definition;
    if (rateLimitConfig !== undefined) return ok(json(200, rateLimitConfig));
    return err<ApiError>({ code: 'NOT_FOUND', message: `No rate limit found for workflow: ${name}` });
  },
});

const putLimit = conductorRoute({
  method: 'PUT',
  path: PATH,
  summary: 'Set the limit on the runs of a workflow, in all its versions; runs that are going keep theirs.',
  scope: 'definitions:write',
  body: rateLimit,
  handle: async ({ useCases, namespace, params, body }) => {
    const put = await useCases.definitions.putRateLimit(namespace, params.name, body);
    return put.ok ? ok(NOTHING) : put;
  },
});

const removeLimit = conductorRoute({
  method: 'DELETE',
  path: PATH,
  summary: 'Take the limit on the runs of a workflow away.',
  scope: 'definitions:write',
  handle: async ({ useCases, namespace, params }) => {
    const removed = await useCases.definitions.putRateLimit(namespace, params.name, undefined);
    return removed.ok ? ok(NOTHING) : removed;
  },
});

const importBpm = conductorRoute({
  method: 'POST',
  path: '/metadata/workflow-importer/import-bpm',
  summary: 'Always refused: BPMN files are not imported.',
  scope: 'definitions:write',
  body: object,
  bodyKind: 'payload',
  handle: async () =>
    err<ApiError>({
      code: 'VALIDATION_FAILED',
      message:
        'BPMN files cannot be imported here: what a process means in BPMN has no faithful form in a workflow definition. ' +
        'Register the definition itself with POST /api/metadata/workflow.',
    }),
});

const upload = conductorRoute({
  method: 'POST',
  path: '/metadata/workflow-task-defs/upload',
  summary: 'Always refused: this server keeps definitions in its database and is given no object storage.',
  scope: 'definitions:write',
  handle: async () =>
    err<ApiError>({
      code: 'INVALID_STATE',
      message:
        'Definitions cannot be uploaded: no object storage is configured. Read them with GET /api/metadata/workflow and ' +
        'GET /api/metadata/taskdefs.',
    }),
});

export const metadataExtraRoutes: readonly Route[] = [getLimit, putLimit, removeLimit, importBpm, upload];
