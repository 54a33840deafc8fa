import type { ApplicationError } from '../../../application/application-error.ts';
import { err, ok, type Result } from '../../../domain/kernel/result.ts';
import type { PutDefinitionOutcome } from '../../../ports/definition-store.ts';
import { json, NO_CONTENT, namespaceRoute, type Route } from '../route.ts';
import { pageQuery } from '../schemas/common.ts';
import {
  type DefinitionDetailBody,
  type DefinitionPageBody,
  type DefinitionVersionsBody,
  definitionDetail,
  definitionDocument,
  definitionPage,
  definitionQuery,
  definitionVersions,
  type RegisteredTaskBody,
  type RegisteredWorkflowBody,
  registeredTask,
  registeredWorkflow,
  type TaskDefinitionDetailBody,
  type TaskDefinitionPageBody,
  taskDefinitionDetail,
  taskDefinitionPage,
  type ValidationAnswerBody,
  validationAnswer,
} from '../schemas/definitions.ts';
import {
  definitionDetailOf,
  definitionSummaryOf,
  taskDefinitionOf,
  taskDocumentOf,
  workflowDocumentOf,
} from '../wire/definition-wire.ts';
import { cursorOf } from './cursor-of.ts';
import { versionOf } from './version-of.ts';

type Stored = Exclude<PutDefinitionOutcome, 'conflict'>;

/** A version never changes on /v1: other content under the same one is refused. */
const storedOutcome = (outcome: PutDefinitionOutcome): Result<Stored, ApplicationError> =>
  outcome === 'conflict'
    ? err({ code: 'ALREADY_EXISTS', message: 'This version exists with other content; register the next version.' })
    : ok(outcome);

const statusOfOutcome = (outcome: Stored): number => (outcome === 'created' ? 201 : 200);

const registerWorkflow = namespaceRoute({
  method: 'POST',
  path: '/definitions/workflows',
  summary: 'Register a workflow definition; the same content again changes nothing.',
  scope: 'definitions:write',
  body: definitionDocument,
  bodyKind: 'definition',
  replies: { 200: registeredWorkflow, 201: registeredWorkflow },
  handle: async ({ useCases, namespace, body }) => {
    const registered = await useCases.definitions.registerWorkflow(namespace, body, 'v1', false);
    if (!registered.ok) return registered;
    const { definition } = registered.value;
    const outcome = storedOutcome(registered.value.outcome);
    if (!outcome.ok) return outcome;
    const { name, version } = definition;
    const answer = { outcome: outcome.value, name, version, definition: workflowDocumentOf(definition) };
    return ok(json<RegisteredWorkflowBody>(statusOfOutcome(outcome.value), answer));
  },
});

const validateWorkflow = namespaceRoute({
  method: 'POST',
  path: '/definitions/workflows/validate',
  summary: 'List every problem of a workflow definition without storing it.',
  scope: 'definitions:read',
  body: definitionDocument,
  bodyKind: 'definition',
  replies: { 200: validationAnswer },
  handle: async ({ useCases, namespace, body }) => {
    const problems = await useCases.definitions.validateWorkflow(namespace, body, 'v1');
    return ok(json<ValidationAnswerBody>(200, { valid: problems.length === 0, problems: [...problems] }));
  },
});

const listWorkflows = namespaceRoute({
  method: 'GET',
  path: '/definitions/workflows',
  summary: 'List workflow definitions.',
  scope: 'definitions:read',
  query: pageQuery,
  replies: { 200: definitionPage },
  handle: async ({ useCases, namespace, query }) => {
    const page = await useCases.definitions.listWorkflows(namespace, query.limit, query.cursor);
    if (!page.ok) return page;
    const definitions = page.value.items.map(definitionSummaryOf);
    return ok(json<DefinitionPageBody>(200, { definitions, ...cursorOf(page.value) }));
  },
});

const getWorkflow = namespaceRoute({
  method: 'GET',
  path: '/definitions/workflows/:name',
  summary: 'Read one version of a workflow definition, the highest when none is named.',
  scope: 'definitions:read',
  query: definitionQuery,
  replies: { 200: definitionDetail },
  handle: async ({ useCases, namespace, params, query }) => {
    const row = await useCases.definitions.getWorkflow(namespace, params.name, query.version);
    return row.ok ? ok(json<DefinitionDetailBody>(200, definitionDetailOf(row.value))) : row;
  },
});

const listVersions = namespaceRoute({
  method: 'GET',
  path: '/definitions/workflows/:name/versions',
  summary: 'List the versions of a workflow definition.',
  scope: 'definitions:read',
  replies: { 200: definitionVersions },
  handle: async ({ useCases, namespace, params }) => {
    const rows = await useCases.definitions.listWorkflowVersions(namespace, params.name);
    return rows.ok ? ok(json<DefinitionVersionsBody>(200, { versions: rows.value.map(definitionSummaryOf) })) : rows;
  },
});

const deleteWorkflow = namespaceRoute({
  method: 'DELETE',
  path: '/definitions/workflows/:name/:version',
  summary: 'Delete one version of a workflow definition; runs of it go on.',
  scope: 'definitions:delete',
  replies: { 204: null },
  handle: async ({ useCases, namespace, params }) => {
    const version = versionOf(params.version);
    if (!version.ok) return version;
    const deleted = await useCases.definitions.deleteWorkflow(namespace, params.name, version.value);
    return deleted.ok ? ok(NO_CONTENT) : deleted;
  },
});

const registerTask = namespaceRoute({
  method: 'POST',
  path: '/definitions/tasks',
  summary: 'Register or replace a task definition.',
  scope: 'definitions:write',
  body: definitionDocument,
  bodyKind: 'definition',
  replies: { 200: registeredTask, 201: registeredTask },
  handle: async ({ useCases, namespace, body }) => {
    const registered = await useCases.definitions.registerTask(namespace, body, 'v1');
    if (!registered.ok) return registered;
    const { definition } = registered.value;
    const outcome = storedOutcome(registered.value.outcome);
    if (!outcome.ok) return outcome;
    const answer = { outcome: outcome.value, name: definition.name, definition: taskDocumentOf(definition) };
    return ok(json<RegisteredTaskBody>(statusOfOutcome(outcome.value), answer));
  },
});

const listTasks = namespaceRoute({
  method: 'GET',
  path: '/definitions/tasks',
  summary: 'List task definitions.',
  scope: 'definitions:read',
  query: pageQuery,
  replies: { 200: taskDefinitionPage },
  handle: async ({ useCases, namespace, query }) => {
    const page = await useCases.definitions.listTasks(namespace, query.limit, query.cursor);
    if (!page.ok) return page;
    const definitions = page.value.items.map(taskDefinitionOf);
    return ok(json<TaskDefinitionPageBody>(200, { definitions, ...cursorOf(page.value) }));
  },
});

const getTask = namespaceRoute({
  method: 'GET',
  path: '/definitions/tasks/:name',
  summary: 'Read a task definition.',
  scope: 'definitions:read',
  replies: { 200: taskDefinitionDetail },
  handle: async ({ useCases, namespace, params }) => {
    const row = await useCases.definitions.getTask(namespace, params.name);
    return row.ok ? ok(json<TaskDefinitionDetailBody>(200, taskDefinitionOf(row.value))) : row;
  },
});

const deleteTask = namespaceRoute({
  method: 'DELETE',
  path: '/definitions/tasks/:name',
  summary: 'Delete a task definition; runs that pinned it go on.',
  scope: 'definitions:delete',
  replies: { 204: null },
  handle: async ({ useCases, namespace, params }) => {
    const deleted = await useCases.definitions.deleteTask(namespace, params.name);
    return deleted.ok ? ok(NO_CONTENT) : deleted;
  },
});

export const definitionRoutes: readonly Route[] = [
  registerWorkflow,
  validateWorkflow,
  listWorkflows,
  getWorkflow,
  listVersions,
  deleteWorkflow,
  registerTask,
  listTasks,
  getTask,
  deleteTask,
];
