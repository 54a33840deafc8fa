import type { RateLimitConfig, WorkflowDefinition } from '../../domain/definition/workflow-definition.ts';
import { ok } from '../../domain/kernel/result.ts';
import type { UseCases } from '../use-cases.ts';
import { workflowHash } from './content.ts';
import { definitionNotFound } from './definition-error.ts';
import type { DefinitionCollaborators } from './register-workflow.ts';

const limited = (definition: WorkflowDefinition, limit: RateLimitConfig | undefined): WorkflowDefinition => {
  const { rateLimitConfig: _, ...rest } = definition;
  return limit === undefined ? rest : { ...rest, rateLimitConfig: limit };
};

/**
 * Changes the limit on runs of a workflow without registering it again. Every version takes it, since runs of all of them
 * share the key; a run keeps what it started with. Errors: NOT_FOUND.
 */
export const createPutRateLimit =
  ({
    definitions,
    hash,
  }: Pick<DefinitionCollaborators, 'definitions' | 'hash'>): UseCases['definitions']['putRateLimit'] =>
  async (namespace, name, limit) => {
    const rows = await definitions.listWorkflowVersions(namespace, name);
    if (rows.length === 0) return definitionNotFound(`No such workflow found by name: ${name}`);
    for (const row of rows) {
      const definition = limited(row.definition, limit);
      await definitions.putWorkflow(namespace, definition, workflowHash(hash, definition), true);
    }
    return ok(null);
  };
