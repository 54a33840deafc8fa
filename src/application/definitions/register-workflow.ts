import type { CheckScript } from '../../domain/definition/check-context.ts';
import { checkDefinition } from '../../domain/definition/check-definition.ts';
import type { DefinitionProblem } from '../../domain/definition/definition-problem.ts';
import { PROBLEMS_MAX } from '../../domain/definition/limits.ts';
import { parseWorkflowDefinition } from '../../domain/definition/parse-definition.ts';
import type { Dialect, WorkflowDefinition } from '../../domain/definition/workflow-definition.ts';
import type { Namespace } from '../../domain/kernel/brand.ts';
import { isJsonObject, type JsonValue } from '../../domain/kernel/json.ts';
import { err, ok, type Result } from '../../domain/kernel/result.ts';
import type { ContentHasher } from '../../ports/content-hasher.ts';
import type { DefinitionQuotaExceeded, DefinitionStore, PutDefinitionOutcome } from '../../ports/definition-store.ts';
import type { SchemaValidator } from '../../ports/schema-validator.ts';
import type { TagStore } from '../../ports/tag-store.ts';
import type { ApplicationError } from '../application-error.ts';
import { exceededError } from '../exceeded-limit.ts';
import type { UseCases } from '../use-cases.ts';
import { cycleProblems } from './check-cycles.ts';
import { workflowHash } from './content.ts';
import { refusedDefinition } from './definition-error.ts';
import { findTaskDefinitions } from './load-bundle.ts';
import { resolveWorkflowSchemas } from './resolve-schemas.ts';
import { taskNamesOf } from './task-names.ts';

export type DefinitionCollaborators = Readonly<{
  definitions: DefinitionStore;
  checkScript: CheckScript;
  schemas: SchemaValidator;
  hash: ContentHasher;
  /** What is deleted keeps none. */
  tags: Pick<TagStore, 'clearTags'>;
}>;

type Registered = Readonly<{ outcome: PutDefinitionOutcome; definition: WorkflowDefinition }>;

const givesVersion = (document: JsonValue): boolean => isJsonObject(document) && document.version !== undefined;

/** Reads a document and judges it in full, beside the task definitions it names. */
export const readWorkflow = async (
  namespace: Namespace,
  document: JsonValue,
  door: Dialect,
  collaborators: DefinitionCollaborators,
): Promise<Result<WorkflowDefinition, readonly DefinitionProblem[]>> => {
  const parsed = parseWorkflowDefinition(document, door);
  if (!parsed.ok) return parsed;
  const workflow = parsed.value;
  const { definitions, checkScript } = collaborators;
  const taskDefinitions = await findTaskDefinitions(definitions, namespace, taskNamesOf(workflow));
  const resolved = await resolveWorkflowSchemas(namespace, workflow, collaborators);
  const problems = [
    ...checkDefinition({ workflow, taskDefinitions }, checkScript),
    ...(resolved.ok ? [] : resolved.error),
    ...(await cycleProblems(namespace, workflow, givesVersion(document) ? workflow.version : undefined, definitions)),
  ].slice(0, PROBLEMS_MAX);
  return problems.length > 0 ? err(problems) : resolved;
};

const alreadyExists = ({ name, version, dialect }: WorkflowDefinition) =>
  err<ApplicationError>({
    code: 'ALREADY_EXISTS',
    message:
      dialect === 'v1'
        ? `version ${version} of "${name}" has other content and cannot be changed: register it as another version`
        : `Workflow with ${name}.${version} already exists!`,
    path: 'version',
  });

const tooMany = (exceeded: DefinitionQuotaExceeded, name: string) =>
  err(exceededError({ scope: 'namespace', ...exceeded }, name));

/** The next version, unless the highest one says the same already: a repeated registration must not pile up versions. */
const registerNextVersion = async (
  namespace: Namespace,
  workflow: WorkflowDefinition,
  { definitions, hash }: DefinitionCollaborators,
): Promise<Result<Registered, ApplicationError>> => {
  const at = (version: number) => {
    const definition = { ...workflow, version };
    return { definition, hash: workflowHash(hash, definition) };
  };
  const latest = await definitions.findWorkflow(namespace, workflow.name);
  if (latest !== undefined && at(latest.version).hash === latest.hash) {
    return ok({ outcome: 'unchanged', definition: latest.definition });
  }
  const version = await definitions.putNextWorkflowVersion(namespace, workflow.name, at);
  if (typeof version !== 'number') return tooMany(version, workflow.name);
  return ok({ outcome: 'created', definition: at(version).definition });
};

const registerVersion = async (
  namespace: Namespace,
  definition: WorkflowDefinition,
  overwrite: boolean,
  { definitions, hash }: DefinitionCollaborators,
): Promise<Result<Registered, ApplicationError>> => {
  const outcome = await definitions.putWorkflow(namespace, definition, workflowHash(hash, definition), overwrite);
  if (typeof outcome !== 'string') return tooMany(outcome, definition.name);
  // Conductor refuses a version that is there, whatever it holds; /v1 takes the same content again for done.
  const isRefused =
    outcome === 'conflict' || (outcome === 'unchanged' && definition.dialect === 'conductor' && !overwrite);
  return isRefused ? alreadyExists(definition) : ok({ outcome, definition });
};

/**
 * Registers a workflow definition. On /v1 a version is immutable whatever `overwrite` says, and a document without one gets
 * the next; on /api the version is 1 unless given, and `overwrite` replaces what is there.
 * Errors: the code of the first problem of the document, ALREADY_EXISTS, LIMIT_EXCEEDED (the quota of the namespace).
 */
export const createRegisterWorkflow =
  (collaborators: DefinitionCollaborators): UseCases['definitions']['registerWorkflow'] =>
  async (namespace, document, door, overwrite) => {
    const read = await readWorkflow(namespace, document, door, collaborators);
    if (!read.ok) return refusedDefinition(read.error);
    if (door === 'conductor') return registerVersion(namespace, read.value, overwrite, collaborators);
    if (givesVersion(document)) return registerVersion(namespace, read.value, false, collaborators);
    return registerNextVersion(namespace, read.value, collaborators);
  };
