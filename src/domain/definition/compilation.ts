import type { CompiledTemplate } from '../expression/parse-template.ts';
import type { Listeners } from './compile-listeners.ts';
import type { DefinitionProblem, DefinitionProblemCode } from './definition-problem.ts';
import type { CachePlan, PlanNode, Sequence, SequenceOwner } from './plan.ts';
import type { EnforcedSchemas } from './schemas.ts';
import type { TaskDefinition } from './task-definition.ts';
import type { Dialect, TaskNodeDefinition } from './workflow-definition.ts';

/** What compiling carries along: where compiled nodes go, and what is wrong so far. */
export type Compilation = Readonly<{
  dialect: Dialect;
  taskDefinitions: Readonly<Record<string, TaskDefinition>>;
  problems: DefinitionProblem[];
  nodes: Map<string, PlanNode>;
  /** Refs met so far, also those of nodes that could not be compiled. */
  refs: Set<string>;
  /** Compiles the nodes below a node; undefined for an empty list. */
  compileNested(
    nodes: readonly TaskNodeDefinition[],
    path: string,
    owner: SequenceOwner,
    loops: readonly string[],
  ): Sequence | undefined;
}>;

/** A node about to be compiled: what all types have in common, and where it stands. */
export type Draft = Readonly<{
  definition: TaskNodeDefinition;
  path: string;
  siblings: readonly TaskNodeDefinition[];
  base: NodeBase;
}>;

export type NodeBase = Readonly<{
  ref: string;
  name: string;
  input: CompiledTemplate;
  optional: boolean;
  permissive: boolean;
  startDelayMs: number;
  sequence: Sequence;
  index: number;
  loops: readonly string[];
  schemas?: EnforcedSchemas;
  compensation: PlanNode | undefined;
  cache?: CachePlan;
  listeners?: Listeners;
  definition: TaskNodeDefinition;
}>;

/** The task definition that holds for a node: the one written in it, else the registered one of its name. */
export const taskDefinitionOf = (
  { name, taskDefinition }: TaskNodeDefinition,
  { taskDefinitions }: Pick<Compilation, 'taskDefinitions'>,
): TaskDefinition | undefined => {
  if (taskDefinition !== undefined) return taskDefinition;
  return Object.hasOwn(taskDefinitions, name) ? taskDefinitions[name] : undefined;
};

export const report = (
  compilation: Pick<Compilation, 'problems'>,
  code: DefinitionProblemCode,
  message: string,
  path: string,
): undefined => {
  compilation.problems.push({ code, message, path });
  return undefined;
};

export const isBlank = (text: string | undefined): text is undefined | '' => text === undefined || text.trim() === '';
