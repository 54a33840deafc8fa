import type { TaskDefinition } from '../domain/definition/task-definition.ts';
import type { WorkflowDefinition } from '../domain/definition/workflow-definition.ts';
import type { Instant, Namespace } from '../domain/kernel/brand.ts';
import type { JsonValue } from '../domain/kernel/json.ts';

/**
 * What a run pins: the definition and the task definitions it names, frozen together. Content-addressed, so a run never
 * changes under an edit and a plan compiled from it is valid for ever.
 */
export type DefinitionBundle = Readonly<{
  workflow: WorkflowDefinition;
  taskDefinitions: Readonly<Record<string, TaskDefinition>>;
}>;

export type WorkflowDefinitionRow = Readonly<{
  name: string;
  version: number;
  hash: string;
  createdAt: Instant;
  updatedAt: Instant;
  definition: WorkflowDefinition;
}>;

export type TaskDefinitionRow = Readonly<{
  createdAt: Instant;
  updatedAt: Instant;
  definition: TaskDefinition;
  /** Another one for other content; of no meaning outside of this store. */
  contentHash: string;
}>;

/** A registered JSON Schema. `data` is the schema itself. */
export type SchemaRow = Readonly<{ name: string; version: number; data: JsonValue; createdAt: Instant }>;

/** `created`, `unchanged` (the same content was there), `replaced`, or `conflict` (other content under that version). */
export type PutDefinitionOutcome = 'created' | 'unchanged' | 'replaced' | 'conflict';

/** A name too many for the namespace: nothing was stored. */
export type DefinitionQuotaExceeded = Readonly<{ quota: 'maxWorkflowDefinitions'; limit: number; current: number }>;

export interface DefinitionStore {
  /**
   * Stores a version under its name; with `overwrite` other content replaces it, else it is a conflict. `hash` is the
   * content's. A name that is new counts against the quota of the namespace, exactly, under the lock `quota:namespace`.
   */
  putWorkflow(
    namespace: Namespace,
    definition: WorkflowDefinition,
    hash: string,
    overwrite: boolean,
  ): Promise<PutDefinitionOutcome | DefinitionQuotaExceeded>;
  /** Stores under the next free version, allocated under the advisory lock `namespace:workflow:name` (promise 9). */
  putNextWorkflowVersion(
    namespace: Namespace,
    name: string,
    at: (version: number) => Readonly<{ definition: WorkflowDefinition; hash: string }>,
  ): Promise<number | DefinitionQuotaExceeded>;
  /** The named version, or the highest. */
  findWorkflow(namespace: Namespace, name: string, version?: number): Promise<WorkflowDefinitionRow | undefined>;
  listWorkflows(
    namespace: Namespace,
    page: Readonly<{ limit: number; after?: Readonly<{ name: string; version: number }> }>,
  ): Promise<readonly WorkflowDefinitionRow[]>;
  listWorkflowVersions(namespace: Namespace, name: string): Promise<readonly WorkflowDefinitionRow[]>;
  deleteWorkflow(namespace: Namespace, name: string, version: number): Promise<boolean>;

  putTask(namespace: Namespace, definition: TaskDefinition): Promise<PutDefinitionOutcome>;
  findTasks(namespace: Namespace, names: readonly string[]): Promise<ReadonlyMap<string, TaskDefinitionRow>>;
  listTasks(
    namespace: Namespace,
    page: Readonly<{ limit: number; after?: string }>,
  ): Promise<readonly TaskDefinitionRow[]>;
  deleteTask(namespace: Namespace, name: string): Promise<boolean>;

  /**
   * Stores a version of a schema; other content under a version that exists is a conflict. Without a version the next free
   * one is taken, allocated under the advisory lock `namespace:schema:name` (promise 9), unless the highest has this content.
   * With `overwrites` other content replaces that of a version that exists; what carries it already keeps what it has.
   */
  putSchema(
    namespace: Namespace,
    schema: Readonly<{ name: string; version?: number; data: JsonValue; overwrites?: boolean }>,
  ): Promise<Readonly<{ outcome: PutDefinitionOutcome; version: number }>>;
  /** The named version, or the highest. */
  findSchema(namespace: Namespace, name: string, version?: number): Promise<SchemaRow | undefined>;
  /** By name and version. */
  listSchemas(
    namespace: Namespace,
    page: Readonly<{ limit: number; after?: Readonly<{ name: string; version: number }> }>,
  ): Promise<readonly SchemaRow[]>;
  deleteSchema(namespace: Namespace, name: string, version: number): Promise<boolean>;

  /** Stores a bundle under the hash of its content; a bundle that exists is left as it is. */
  putBundle(hash: string, bundle: DefinitionBundle): Promise<void>;
  findBundles(hashes: readonly string[]): Promise<ReadonlyMap<string, DefinitionBundle>>;
}
