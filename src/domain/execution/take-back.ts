import type { LoopNode } from '../definition/plan.ts';
import { invariant } from '../kernel/invariant.ts';
import { jsonBytes } from '../kernel/json-depth.ts';
import { raiseFloors } from './attempts.ts';
import { dropDueKey } from './due-keys.ts';
import type { TakenBack } from './events.ts';
import { closeJoin } from './join-state.ts';
import { forgetIteration, loopOf } from './loop-state.ts';
import { eachNode, sequencesOf } from './plan-walk.ts';
import { recount } from './recount.ts';
import { seeAgain } from './see-again.ts';
import { type ExecutionState, nodeOf, ownerEntry, type TaskEntry } from './state.ts';
import { keyAt } from './task-key.ts';

/**
 * Takes entries back as if they had never been reached, so that the next decision enters them again: above every attempt
 * that they used. What they are part of lives again.
 */
export const takeBack = (state: ExecutionState, { resets, rewinds = [], waits = [] }: TakenBack): void => {
  const roots = new Set(resets);
  const entries = resets.map((key) => state.tasks.get(key)).filter((entry) => entry !== undefined);
  const taken = [...state.tasks.values()].filter((entry) => isUnder(state, entry, roots));
  raiseFloors(state, refsOf([...entries, ...taken]));
  const gone = new Map<string, TaskEntry>();
  for (const entry of entries) wakeAround(state, entry, roots);
  for (const { ref, iteration } of rewinds) rewind(state, ref, iteration, roots, gone);
  for (const entry of taken) drop(state, entry, gone);
  for (const entry of entries) noteLoops(state, entry, gone);
  for (const entry of gone.values()) seeAgain(state, entry);
  for (const { ref, on } of waits) state.waits.set(ref, on);
  recount(state);
};

/** It is one of the roots, or part of one. */
const isUnder = (state: ExecutionState, entry: TaskEntry, roots: ReadonlySet<string>): boolean => {
  for (let at: TaskEntry | undefined = entry; at !== undefined; at = ownerEntry(state, at.node, at.path)) {
    if (roots.has(at.key)) return true;
  }
  return false;
};

/** Every ref of the plan at or below these entries, whether it ran in the iteration that is there or in another. */
const refsOf = (entries: readonly TaskEntry[]): ReadonlySet<string> => {
  const refs = new Set<string>();
  for (const { node } of entries) {
    refs.add(node.ref);
    for (const sequence of sequencesOf(node)) eachNode(sequence, (inner) => refs.add(inner.ref));
  }
  return refs;
};

/** Switches and loops around an entry that is taken back are no longer over. */
const wakeAround = (state: ExecutionState, entry: TaskEntry, roots: ReadonlySet<string>): void => {
  for (let at = ownerEntry(state, entry.node, entry.path); at !== undefined; at = ownerEntry(state, at.node, at.path)) {
    if (isUnder(state, at, roots)) return;
    wake(at);
  }
};

const wake = (entry: TaskEntry): void => {
  // A fork is over as soon as its branches have begun.
  if (entry.phase.kind === 'fork') return;
  const loop = loopOf(entry);
  entry.ending = 'live';
  entry.settledSeq = undefined;
  if (loop === undefined || entry.phase.kind === 'loop') return;
  entry.phase = loop;
  entry.status = 'IN_PROGRESS';
  entry.output = {};
  entry.reason = undefined;
  entry.endedAt = undefined;
};

const drop = (state: ExecutionState, entry: TaskEntry, gone: Map<string, TaskEntry>): void => {
  invariant(entry.phase.kind !== 'attempt', `${entry.key} is taken back and still open`);
  closeJoin(state, entry);
  if (entry.phase.kind === 'fork' && entry.node.type === 'FORK_JOIN_DYNAMIC') dropDynamic(state, entry);
  state.tasks.delete(entry.key);
  state.givenInputs.delete(entry.key);
  dropDueKey(state.due, entry.key);
  if (state.latest.get(entry.node.ref) === entry) gone.set(entry.node.ref, entry);
};

/** Of what ran in loops below an entry, expressions see the last, whether its entry is there or not. */
const noteLoops = (state: ExecutionState, { node }: TaskEntry, gone: Map<string, TaskEntry>): void => {
  for (const sequence of sequencesOf(node)) {
    eachNode(sequence, ({ ref, loops }) => {
      const latest = loops.length > node.loops.length ? state.latest.get(ref) : undefined;
      if (latest !== undefined) gone.set(ref, latest);
    });
  }
};

const dropDynamic = (state: ExecutionState, fork: TaskEntry): void => {
  if (fork.phase.kind !== 'fork') return;
  for (const branch of fork.phase.branches) {
    eachNode(branch, (node) => {
      state.dynamicNodes.delete(keyAt(node.ref, fork.path));
      state.latest.delete(node.ref);
    });
  }
};

/** A loop goes back to the beginning of an iteration: what is kept of it and of those after it goes. */
const rewind = (
  state: ExecutionState,
  key: string,
  iteration: number,
  roots: ReadonlySet<string>,
  gone: Map<string, TaskEntry>,
): void => {
  const loop = state.tasks.get(key);
  const phase = loop === undefined ? undefined : loopOf(loop);
  invariant(loop !== undefined && phase !== undefined, `${key} is no loop that could go back`);
  raiseFloors(state, refsOf([loop]));
  wake(loop);
  wakeAround(state, loop, roots);
  forgetIteration(state, loop, phase.iteration);
  eachNode((loop.node as LoopNode).body, (node) => {
    const latest = state.latest.get(node.ref);
    if (latest !== undefined) gone.set(node.ref, latest);
    for (const given of state.givenInputs.keys()) if (nodeOf(state, given) === node) state.givenInputs.delete(given);
  });
  for (const kept of [...phase.kept.keys()]) if (kept >= iteration) phase.kept.delete(kept);
  phase.keptBytes = [...phase.kept.values()].reduce((sum, outputs) => sum + jsonBytes(outputs), 0);
  phase.iteration = iteration;
  phase.failed = false;
};
