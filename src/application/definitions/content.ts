import type { TaskDefinition } from '../../domain/definition/task-definition.ts';
import type { WorkflowDefinition } from '../../domain/definition/workflow-definition.ts';
import { canonicalJson } from '../../domain/kernel/canonical-json.ts';
import type { JsonValue } from '../../domain/kernel/json.ts';
import type { ContentHasher } from '../../ports/content-hasher.ts';

/** Definitions come from the parser, which leaves absent fields out: they are JSON, which their types cannot say. */
const asJson = (definition: WorkflowDefinition | Readonly<Record<string, TaskDefinition>>): JsonValue =>
  definition as unknown as JsonValue;

/** The address of a definition, its name, version and door included. */
export const workflowHash = (hash: ContentHasher, definition: WorkflowDefinition): string =>
  hash(canonicalJson(asJson(definition)));

/**
 * The address of a bundle. The workflow's own hash stands for its content, so that a start does not write out the whole
 * definition again.
 */
export const bundleHash = (
  hash: ContentHasher,
  workflowContentHash: string,
  taskDefinitions: Readonly<Record<string, TaskDefinition>>,
): string => hash(`${workflowContentHash}\n${canonicalJson(asJson(taskDefinitions))}`);
