import { parseTaskDefinition } from '../../domain/definition/parse-task-definition.ts';
import { ok } from '../../domain/kernel/result.ts';
import type { UseCases } from '../use-cases.ts';
import { definitionNotFound, refusedDefinition } from './definition-error.ts';
import { listTasks, listWorkflows } from './list-definitions.ts';
import { createPutRateLimit } from './put-rate-limit.ts';
import { createRegisterWorkflow, type DefinitionCollaborators, readWorkflow } from './register-workflow.ts';
import { resolveTaskSchemas } from './resolve-schemas.ts';
import { createSchemaUseCases } from './schema-use-cases.ts';

type DefinitionUseCases = UseCases['definitions'];

const noWorkflow = (name: string, version?: number) =>
  definitionNotFound(`No such workflow found by name: ${name}, version: ${version ?? 'latest'}`);

const noTask = (name: string) => definitionNotFound(`No such taskType found by name: ${name}`);

const workflowQueries = (collaborators: DefinitionCollaborators) => {
  const { definitions } = collaborators;
  return {
    validateWorkflow: async (namespace, document, door) => {
      const read = await readWorkflow(namespace, document, door, collaborators);
      return read.ok ? [] : read.error;
    },
    getWorkflow: async (namespace, name, version) => {
      const row = await definitions.findWorkflow(namespace, name, version);
      return row === undefined ? noWorkflow(name, version) : ok(row);
    },
    listWorkflows: (namespace, limit, cursor) => listWorkflows(definitions, namespace, limit, cursor),
    listWorkflowVersions: async (namespace, name) => {
      const rows = await definitions.listWorkflowVersions(namespace, name);
      return rows.length === 0 ? noWorkflow(name) : ok(rows);
    },
    deleteWorkflow: async (namespace, name, version) => {
      if (!(await definitions.deleteWorkflow(namespace, name, version))) return noWorkflow(name, version);
      const left = await definitions.findWorkflow(namespace, name);
      if (left === undefined) await collaborators.tags.clearTags(namespace, { kind: 'WORKFLOW', name });
      return ok(null);
    },
    putRateLimit: createPutRateLimit(collaborators),
  } satisfies Partial<DefinitionUseCases>;
};

const taskUseCases = (collaborators: DefinitionCollaborators) => {
  const { definitions } = collaborators;
  return {
    registerTask: async (namespace, document, door) => {
      const parsed = parseTaskDefinition(document, door);
      if (!parsed.ok) return refusedDefinition(parsed.error);
      const resolved = await resolveTaskSchemas(namespace, parsed.value, door, collaborators);
      if (!resolved.ok) return refusedDefinition(resolved.error);
      return ok({ outcome: await definitions.putTask(namespace, resolved.value), definition: resolved.value });
    },
    getTask: async (namespace, name) => {
      const row = (await definitions.findTasks(namespace, [name])).get(name);
      return row === undefined ? noTask(name) : ok(row);
    },
    listTasks: (namespace, limit, cursor) => listTasks(definitions, namespace, limit, cursor),
    deleteTask: async (namespace, name) => {
      if (!(await definitions.deleteTask(namespace, name))) return noTask(name);
      await collaborators.tags.clearTags(namespace, { kind: 'TASK', name });
      return ok(null);
    },
  } satisfies Partial<DefinitionUseCases>;
};

/**
 * Registering, reading and deleting definitions. A deleted or replaced definition stays with the runs that pinned it.
 * Errors: NOT_FOUND, INVALID_CURSOR, and those of registering.
 */
export const createDefinitionUseCases = (collaborators: DefinitionCollaborators): DefinitionUseCases => ({
  registerWorkflow: createRegisterWorkflow(collaborators),
  ...workflowQueries(collaborators),
  ...taskUseCases(collaborators),
  ...createSchemaUseCases(collaborators),
});
