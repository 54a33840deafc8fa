import type { ScriptProblem } from '../execution/script.ts';
import type { JsonValue } from '../kernel/json.ts';
import type { Result } from '../kernel/result.ts';
import { childPath } from '../kernel/value-path.ts';
import type { DefinitionProblem, DefinitionProblemCode } from './definition-problem.ts';
import type { NodePlace } from './node-children.ts';
import type { TaskDefinition } from './task-definition.ts';
import type { WorkflowDefinition } from './workflow-definition.ts';

/**
 * Parses a script without running it. `program`: it steers (SWITCH, DECISION, DO_WHILE, JOIN). `function`: it is a system
 * task's, and may be the body of a function.
 */
export type CheckScript = (source: string, wrap: 'program' | 'function') => Result<void, ScriptProblem>;

/** What every check looks at: the definition, each of its nodes with its place, and the places by ref. */
export type CheckContext = Readonly<{
  workflow: WorkflowDefinition;
  taskDefinitions: Readonly<Record<string, TaskDefinition>>;
  places: readonly NodePlace[];
  byRef: ReadonlyMap<string, NodePlace>;
  checkScript: CheckScript;
}>;

export const problem = (code: DefinitionProblemCode, message: string, path: string): DefinitionProblem => ({
  code,
  message,
  path,
});

export const inputPath = (place: NodePlace, name: string): string =>
  childPath(childPath(place.path, 'inputParameters'), name);

/** A value that is known at registration: not text that an expression will fill. */
export const isLiteral = (value: JsonValue | undefined): boolean =>
  !(typeof value === 'string' && value.includes('${'));
