import type { LoopNode, PlanNode, Sequence } from '../definition/plan.ts';
import type { JsonObject, JsonValue } from '../kernel/json.ts';
import type { ExecutionState, TaskEntry, TaskPhase } from './state.ts';
import { keyAt } from './task-key.ts';

export type LoopPhase = Extract<TaskPhase, { kind: 'loop' }>;

/** Sequences below a node that run in the same iterations as the node itself. */
const sequencesWithin = (node: PlanNode, entry: TaskEntry | undefined): readonly (Sequence | undefined)[] => {
  switch (node.type) {
    case 'SWITCH':
    case 'DECISION':
      return [...node.cases.values(), node.fallback];
    case 'FORK_JOIN':
      return node.branches;
    case 'FORK_JOIN_DYNAMIC':
      return entry?.phase.kind === 'fork' ? entry.phase.branches : [];
    default:
      return [];
  }
};

/** Visits what ran of a sequence in the given iterations, branches and cases included, inner loops as one. */
const visit = (
  state: ExecutionState,
  sequence: Sequence | undefined,
  path: readonly number[],
  see: (entry: TaskEntry) => void,
): void => {
  for (const node of sequence?.nodes ?? []) {
    const entry = state.tasks.get(keyAt(node.ref, path));
    if (entry === undefined) continue;
    for (const inner of sequencesWithin(node, entry)) visit(state, inner, path, see);
    see(entry);
  }
};

/** Outputs of one iteration of a loop by ref; tasks without output are left out. */
export const iterationOutputs = (state: ExecutionState, loop: TaskEntry, iteration: number): JsonObject => {
  const outputs: Record<string, JsonValue> = {};
  visit(state, (loop.node as LoopNode).body, [...loop.path, iteration], (entry) => {
    if (Object.keys(entry.output).length > 0) outputs[entry.node.ref] = entry.output;
  });
  return outputs;
};

/** Iterations that the output keeps; undefined: all. */
const keepLastN = (loop: TaskEntry): number | undefined => {
  const fixed = (loop.node as LoopNode).keepLastN;
  const input = loop.input;
  const given =
    typeof input === 'object' && input !== null && !Array.isArray(input) ? (input as JsonObject).keepLastN : undefined;
  return fixed ?? (typeof given === 'number' && given >= 1 ? Math.floor(given) : undefined);
};

/** Keeps what the finished iteration gave, and lets go of those beyond keepLastN. */
export const closeIteration = (state: ExecutionState, loop: TaskEntry, phase: LoopPhase): void => {
  phase.kept.set(phase.iteration, iterationOutputs(state, loop, phase.iteration));
  const keep = keepLastN(loop);
  if (keep !== undefined) phase.kept.delete(phase.iteration - keep);
};

/** Over a list: where it is in it. */
const itemOf = (phase: LoopPhase): Record<string, JsonValue> =>
  phase.items === undefined
    ? {}
    : { loopIndex: phase.iteration - 1, loopItem: phase.items[phase.iteration - 1] ?? null };

/** `{iteration, "1": {ref: output}, …}`, and `loopIndex` and `loopItem` over a list. */
export const loopOutput = (phase: LoopPhase): JsonObject => {
  const output: Record<string, JsonValue> = { iteration: phase.iteration, ...itemOf(phase) };
  for (const [iteration, outputs] of phase.kept) output[String(iteration)] = outputs;
  return output;
};

/** The output with the last iteration in it; the phase itself stays as it is. */
export const finalOutput = (state: ExecutionState, loop: TaskEntry, phase: LoopPhase): JsonObject => {
  const last = { ...phase, kept: new Map(phase.kept) };
  closeIteration(state, loop, last);
  return loopOutput(last);
};

/**
 * Drops the entries of an iteration that nothing can read any more, so that the state follows the definition and not the
 * history: a loop's pass costs the same at its ten thousandth iteration (test/unit/execution/loops.test.ts).
 */
export const forgetIteration = (state: ExecutionState, loop: TaskEntry, iteration: number): void => {
  if (iteration < 1) return;
  const path = [...loop.path, iteration];
  visit(state, (loop.node as LoopNode).body, path, (entry) => forget(state, entry));
};

const forget = (state: ExecutionState, entry: TaskEntry): void => {
  if (entry.node.type === 'DO_WHILE') forgetInner(state, entry);
  if (entry.phase.kind === 'fork') forgetBranches(state, entry, entry.phase.branches);
  state.tasks.delete(entry.key);
  state.watchers.delete(entry.key);
  state.due.delete(entry.key);
};

/** A closed inner loop keeps its last iteration until the outer one goes. */
const forgetInner = (state: ExecutionState, inner: TaskEntry): void => {
  const last = inner.phase.kind === 'loop' ? inner.phase.iteration : Number(inner.output.iteration ?? 0);
  forgetIteration(state, inner, last);
  forgetIteration(state, inner, last - 1);
};

const forgetBranches = (state: ExecutionState, fork: TaskEntry, branches: readonly Sequence[]): void => {
  if (fork.node.type !== 'FORK_JOIN_DYNAMIC') return;
  for (const branch of branches) {
    for (const node of branch.nodes) state.dynamicNodes.delete(keyAt(node.ref, fork.path));
  }
};
