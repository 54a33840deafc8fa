import type { DefinitionProblem } from '../../domain/definition/definition-problem.ts';
import { nodePlaces } from '../../domain/definition/node-children.ts';
import { JSON_SCHEMA_TYPE, type NamedSchema, namedSchemaOf } from '../../domain/definition/schemas.ts';
import type { TaskDefinition } from '../../domain/definition/task-definition.ts';
import type { Dialect, TaskNodeDefinition, WorkflowDefinition } from '../../domain/definition/workflow-definition.ts';
import type { Namespace } from '../../domain/kernel/brand.ts';
import type { JsonValue } from '../../domain/kernel/json.ts';
import { err, ok, type Result } from '../../domain/kernel/result.ts';
import { childPath } from '../../domain/kernel/value-path.ts';
import type { DefinitionStore } from '../../ports/definition-store.ts';
import type { SchemaValidator } from '../../ports/schema-validator.ts';

export type SchemaCollaborators = Readonly<{ definitions: DefinitionStore; schemas: SchemaValidator }>;

type WithSchemas = Readonly<{ inputSchema?: JsonValue; outputSchema?: JsonValue }>;
type Answer<T> = Result<T, readonly DefinitionProblem[]>;

const FIELDS = ['inputSchema', 'outputSchema'] as const;

const invalid = (message: string, path: string): DefinitionProblem => ({ code: 'VALIDATION_FAILED', message, path });

/** Looks schemas up and judges them, with the problems found so far. */
class Resolution {
  readonly problems: DefinitionProblem[] = [];
  private readonly namespace: Namespace;
  private readonly door: Dialect;
  private readonly collaborators: SchemaCollaborators;

  constructor(namespace: Namespace, door: Dialect, collaborators: SchemaCollaborators) {
    this.namespace = namespace;
    this.door = door;
    this.collaborators = collaborators;
  }

  /** The holder with the data of every schema that it names. */
  async resolved<T extends WithSchemas>(holder: T, path: string): Promise<T> {
    let result = holder;
    for (const field of FIELDS) {
      const schema = holder[field];
      if (schema !== undefined) result = { ...result, [field]: await this.one(schema, childPath(path, field)) };
    }
    return result;
  }

  private async one(schema: JsonValue, path: string): Promise<JsonValue> {
    const named = namedSchemaOf(schema);
    const found = named === undefined || named.data !== undefined ? schema : await this.lookUp(named, schema, path);
    const problem = this.collaborators.schemas.problem(found);
    if (problem !== undefined) this.problems.push(invalid(problem, path));
    return found;
  }

  /** Conductor takes any name and, where it knows none, checks nothing; on /v1 a schema that is named is meant. */
  private async lookUp(named: NamedSchema, schema: JsonValue, path: string): Promise<JsonValue> {
    const isJson = named.type === JSON_SCHEMA_TYPE;
    const row = isJson
      ? await this.collaborators.definitions.findSchema(this.namespace, named.name, named.version)
      : undefined;
    if (row !== undefined) return { name: row.name, version: row.version, type: JSON_SCHEMA_TYPE, data: row.data };
    if (this.door === 'conductor') return schema;
    const version = named.version === undefined ? '' : ` version ${named.version}`;
    const message = isJson
      ? `there is no registered schema "${named.name}"${version}`
      : `a schema is of type ${JSON_SCHEMA_TYPE}; values are not checked against ${named.type}`;
    this.problems.push(invalid(message, path));
    return schema;
  }
}

const namesAny = (holder: WithSchemas | undefined): boolean =>
  holder?.inputSchema !== undefined || holder?.outputSchema !== undefined;

/** The nodes, with what `change` makes of each task definition that stands in one. */
const withTaskDefinitions = (
  nodes: readonly TaskNodeDefinition[],
  changed: ReadonlyMap<TaskDefinition, TaskDefinition>,
): readonly TaskNodeDefinition[] => {
  const inner = (list: readonly TaskNodeDefinition[]) => withTaskDefinitions(list, changed);
  return nodes.map((node) => {
    const { taskDefinition, decisionCases, defaultCase, forkTasks, loopOver } = node;
    const cases = Object.entries(decisionCases ?? {}).map(([label, list]) => [label, inner(list)] as const);
    return {
      ...node,
      ...(taskDefinition && { taskDefinition: changed.get(taskDefinition) ?? taskDefinition }),
      ...(decisionCases && { decisionCases: Object.fromEntries(cases) }),
      ...(defaultCase && { defaultCase: inner(defaultCase) }),
      ...(forkTasks && { forkTasks: forkTasks.map(inner) }),
      ...(loopOver && { loopOver: inner(loopOver) }),
    };
  });
};

/**
 * A workflow definition whose schemas are all there: registered ones with their data, so that what is stored means the same
 * for ever, whatever becomes of the schema. Problems: VALIDATION_FAILED for a schema that is not known or cannot be used.
 */
export const resolveWorkflowSchemas = async (
  namespace: Namespace,
  workflow: WorkflowDefinition,
  collaborators: SchemaCollaborators,
): Promise<Answer<WorkflowDefinition>> => {
  const places = nodePlaces(workflow.tasks).filter(({ node }) => namesAny(node.taskDefinition));
  if (places.length === 0 && !namesAny(workflow)) return ok(workflow);
  const resolution = new Resolution(namespace, workflow.dialect, collaborators);
  const resolved = await resolution.resolved(workflow, '');
  const changed = new Map<TaskDefinition, TaskDefinition>();
  for (const { node, path } of places) {
    if (node.taskDefinition === undefined) continue;
    const at = childPath(path, 'taskDefinition');
    changed.set(node.taskDefinition, await resolution.resolved(node.taskDefinition, at));
  }
  if (resolution.problems.length > 0) return err(resolution.problems);
  return ok(changed.size === 0 ? resolved : { ...resolved, tasks: withTaskDefinitions(resolved.tasks, changed) });
};

/** The same for a task definition. */
export const resolveTaskSchemas = async (
  namespace: Namespace,
  definition: TaskDefinition,
  door: Dialect,
  collaborators: SchemaCollaborators,
): Promise<Answer<TaskDefinition>> => {
  const resolution = new Resolution(namespace, door, collaborators);
  const resolved = await resolution.resolved(definition, '');
  return resolution.problems.length > 0 ? err(resolution.problems) : ok(resolved);
};
