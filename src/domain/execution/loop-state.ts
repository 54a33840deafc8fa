import type { LoopNode, Sequence } from '../definition/plan.ts';
import type { JsonObject, JsonValue } from '../kernel/json.ts';
import { jsonBytes } from '../kernel/json-depth.ts';
import { dropDueKey } from './due-keys.ts';
import { eachNode, sequencesOf } from './plan-walk.ts';
import type { ExecutionState, LoopPhase, TaskEntry } from './state.ts';
import { keyAt } from './task-key.ts';

export const newLoop = (items: readonly JsonValue[] | undefined): LoopPhase => ({
  kind: 'loop',
  iteration: 1,
  body: 'live',
  live: 1,
  failed: false,
  items,
  kept: new Map(),
  keptBytes: 0,
});

/** Sequences below an entry that run in the same iteration as it does. */
const sequencesWithin = (entry: TaskEntry): readonly Sequence[] => {
  if (entry.node.type === 'DO_WHILE') return [];
  return entry.phase.kind === 'fork' ? entry.phase.branches : sequencesOf(entry.node);
};

/** Visits what ran of a sequence in the given iterations, branches and cases included, inner loops as one. */
const visit = (
  state: ExecutionState,
  sequence: Sequence,
  path: readonly number[],
  see: (entry: TaskEntry) => void,
): void => {
  for (const node of sequence.nodes) {
    const entry = state.tasks.get(keyAt(node.ref, path));
    if (entry === undefined) continue;
    for (const inner of sequencesWithin(entry)) visit(state, inner, path, see);
    see(entry);
  }
};

/** Outputs of the running iteration of a loop by ref. */
export const iterationOutputs = (state: ExecutionState, loop: TaskEntry, iteration: number): JsonObject => {
  const outputs: Record<string, JsonValue> = {};
  visit(state, (loop.node as LoopNode).body, [...loop.path, iteration], (entry) => {
    outputs[entry.node.ref] = entry.output;
  });
  return outputs;
};

/** What of an iteration the output of its loop tells: runs of the first rules leave tasks without output out. */
const toldOutputs = (state: ExecutionState, loop: TaskEntry, iteration: number): JsonObject => {
  const outputs = iterationOutputs(state, loop, iteration);
  if ((state.started?.semantics ?? 1) >= 2) return outputs;
  return Object.fromEntries(
    Object.entries(outputs).filter(([, output]) => Object.keys(output as JsonObject).length > 0),
  );
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
  const outputs = toldOutputs(state, loop, phase.iteration);
  phase.kept.set(phase.iteration, outputs);
  phase.keptBytes += jsonBytes(outputs);
  const keep = keepLastN(loop);
  if (keep === undefined) return;
  const dropped = phase.kept.get(phase.iteration - keep);
  if (dropped === undefined) return;
  phase.kept.delete(phase.iteration - keep);
  phase.keptBytes -= jsonBytes(dropped);
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

/** The same with the last `count` iterations at most: costs what these cost, however many there were. */
export const recentLoopOutput = (phase: LoopPhase, count: number): JsonObject => {
  if (phase.kept.size <= count) return loopOutput(phase);
  const recent = new Map<number, JsonObject>();
  for (let iteration = phase.iteration - count; iteration <= phase.iteration; iteration += 1) {
    const outputs = phase.kept.get(iteration);
    if (outputs !== undefined) recent.set(iteration, outputs);
  }
  return loopOutput({ ...phase, kept: recent });
};

/** The phase as it will be once the running iteration is kept; the loop itself stays as it is. */
export const withLastIteration = (state: ExecutionState, loop: TaskEntry, phase: LoopPhase): LoopPhase => {
  const last = { ...phase, kept: new Map(phase.kept) };
  closeIteration(state, loop, last);
  return last;
};

/**
 * Drops the entries of an iteration that is over, so that the state follows the definition and not the history: a loop's
 * pass costs the same at its ten thousandth iteration (test/unit/execution/cost.test.ts). What expressions can still read
 * stays in `latest`, one entry a ref.
 */
export const forgetIteration = (state: ExecutionState, loop: TaskEntry, iteration: number): void =>
  visit(state, (loop.node as LoopNode).body, [...loop.path, iteration], (entry) => {
    const inner = loopOf(entry);
    if (inner !== undefined) forgetIteration(state, entry, inner.iteration);
    if (entry.node.type === 'FORK_JOIN_DYNAMIC' && entry.phase.kind === 'fork') forgetBranches(state, entry);
    state.tasks.delete(entry.key);
    dropDueKey(state.due, entry.key);
  });

/** The loop phase of an entry, open or closed. */
export const loopOf = ({ phase }: TaskEntry): LoopPhase | undefined => {
  if (phase.kind === 'loop') return phase;
  return phase.kind === 'closed' ? phase.loop : undefined;
};

/**
 * A loop that is over keeps the entries of its last iteration, so that a task there can run again by itself. One with a
 * dynamic fork in it does not: other loops may bring in the same refs.
 */
export const keepsLastIteration = (loop: TaskEntry): boolean => {
  let isStatic = true;
  eachNode((loop.node as LoopNode).body, (node) => {
    if (node.type === 'FORK_JOIN_DYNAMIC') isStatic = false;
  });
  return isStatic;
};

/** Refs that data brought in go whole: other data brings others, and their number would follow the history. */
const forgetBranches = (state: ExecutionState, fork: TaskEntry): void => {
  if (fork.phase.kind !== 'fork') return;
  for (const branch of fork.phase.branches) {
    eachNode(branch, (node) => {
      state.dynamicNodes.delete(keyAt(node.ref, fork.path));
      state.latest.delete(node.ref);
      if (node.compensation !== undefined) state.dynamicNodes.delete(keyAt(node.compensation.ref, fork.path));
    });
  }
};
