import { childPath } from '../kernel/value-path.ts';
import { compensationOf, inputOfUndone } from './compensation.ts';
import { type Compilation, type NodeBase, report, taskDefinitionOf } from './compilation.ts';
import { compileListeners } from './compile-listeners.ts';
import { compileNode } from './compile-node.ts';
import type { CachePlan, PlanNode, Sequence, SequenceOwner } from './plan.ts';
import { enforcedSchemasOf } from './schemas.ts';
import type { TaskDefinition } from './task-definition.ts';
import { executedTypeOf, familyOf } from './task-types.ts';
import { compiledOrProblems, withLiteral } from './templates.ts';
import type { Dialect, TaskNodeDefinition } from './workflow-definition.ts';

const MS_PER_SECOND = 1_000;

type Place = Readonly<{ path: string; owner: SequenceOwner; loops: readonly string[] }>;

export const newCompilation = (
  dialect: Dialect,
  taskDefinitions: Readonly<Record<string, TaskDefinition>>,
  refsTaken: Iterable<string>,
): Compilation => {
  const compilation: Compilation = {
    dialect,
    taskDefinitions,
    problems: [],
    nodes: new Map(),
    refs: new Set(refsTaken),
    compileNested: (nodes, path, owner, loops) =>
      nodes.length === 0 ? undefined : compileSequence(nodes, { path, owner, loops }, compilation),
  };
  return compilation;
};

/**
 * Compiles nodes that run one after the other. A node that cannot be built is left out, its problem added: who asked looks
 * at the problems before at the sequence.
 */
export const compileSequence = (
  definitions: readonly TaskNodeDefinition[],
  place: Place,
  compilation: Compilation,
): Sequence => {
  const nodes: PlanNode[] = [];
  const sequence: Sequence = { owner: place.owner, nodes };
  for (const [index, definition] of definitions.entries()) {
    const path = childPath(place.path, index);
    const isNew = claimRef(definition.taskReferenceName, path, compilation);
    const base = baseOf(definition, path, { sequence, index, loops: place.loops }, compilation);
    const node = compileNode({ definition, path, siblings: definitions, base }, compilation);
    if (node === undefined || !isNew) continue;
    nodes.push(node);
    compilation.nodes.set(node.ref, node);
  }
  return sequence;
};

/** Compiles what undoes a task: a step in a sequence of its own, in the loops of the task. */
const compileCompensation = (
  undone: TaskNodeDefinition,
  undonePath: string,
  loops: readonly string[],
  compilation: Compilation,
): PlanNode | undefined => {
  const definition = compensationOf(undone);
  if (definition === undefined) return undefined;
  const path = childPath(undonePath, 'compensateWith');
  const problem = compensationProblem(definition);
  if (problem !== undefined) return report(compilation, 'INVALID_GRAPH', problem, path);
  const isNew = claimRef(definition.taskReferenceName, path, compilation);
  const nodes: PlanNode[] = [];
  const sequence: Sequence = { owner: { kind: 'compensation', node: undone.taskReferenceName }, nodes };
  const base = baseOf(definition, path, { sequence, index: 0, loops }, compilation);
  const input = typeof undone.compensateWith === 'string' ? inputOfUndone(undone.taskReferenceName) : base.input;
  const node = compileNode({ definition, path, siblings: [definition], base: { ...base, input } }, compilation);
  if (node === undefined || !isNew) return undefined;
  nodes.push(node);
  compilation.nodes.set(node.ref, node);
  return node;
};

/** Why a step cannot undo another; undefined when it can. */
const compensationProblem = ({ type, compensateWith }: TaskNodeDefinition): string | undefined => {
  const executed = executedTypeOf(type);
  if (executed === 'UNSUPPORTED' || familyOf(executed) === 'operator') {
    return `a compensation is one task; a ${type} cannot be one`;
  }
  return compensateWith === undefined ? undefined : 'a compensation cannot be compensated itself';
};

const claimRef = (ref: string, path: string, compilation: Compilation): boolean => {
  const isNew = !compilation.refs.has(ref);
  compilation.refs.add(ref);
  if (!isNew) {
    const message = `the reference "${ref}" is used more than once in this definition`;
    report(compilation, 'DUPLICATE_REFERENCE', message, childPath(path, 'taskReferenceName'));
  }
  return isNew;
};

const baseOf = (
  definition: TaskNodeDefinition,
  path: string,
  at: Pick<NodeBase, 'sequence' | 'index' | 'loops'>,
  compilation: Compilation,
): NodeBase => {
  const inputPath = childPath(path, 'inputParameters');
  const input = compiledOrProblems(definition.inputParameters, inputPath, compilation.problems);
  const cache = cacheOf(definition, path, compilation);
  const schemas = enforcedSchemasOf(taskDefinitionOf(definition, compilation));
  const listeners = compileListeners(definition.extra.onStateChange);
  return {
    ref: definition.taskReferenceName,
    name: definition.name,
    // What does not parse has added its problem, and a compilation with problems gives no plan.
    input: withData(input ?? { kind: 'constant', value: {} }, definition),
    optional: definition.optional,
    permissive: definition.permissive,
    startDelayMs: definition.startDelaySeconds * MS_PER_SECOND,
    ...at,
    ...(schemas === undefined ? {} : { schemas }),
    ...(listeners === undefined ? {} : { listeners }),
    compensation: compileCompensation(definition, path, at.loops, compilation),
    ...(cache === undefined ? {} : { cache }),
    definition,
  };
};

/** Only what somebody runs has an output worth keeping: an operator costs nothing, and a wait is not for its output. */
const cacheOf = (
  { type, cacheConfig }: TaskNodeDefinition,
  path: string,
  compilation: Compilation,
): CachePlan | undefined => {
  const executed = executedTypeOf(type);
  const family = executed === 'UNSUPPORTED' ? 'operator' : familyOf(executed);
  if (cacheConfig === undefined || (family !== 'worker' && family !== 'system')) return undefined;
  const at = childPath(childPath(path, 'cacheConfig'), 'key');
  const key = compiledOrProblems(cacheConfig.key, at, compilation.problems);
  return key && { key, ttlMs: cacheConfig.ttlInSecond * MS_PER_SECOND };
};

const withData = (input: NodeBase['input'], { literalInput }: TaskNodeDefinition): NodeBase['input'] =>
  literalInput === undefined ? input : withLiteral(input, literalInput);
