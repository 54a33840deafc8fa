import type { LoopNode, Sequence } from '../definition/plan.ts';
import { openJoin } from './join-state.ts';
import { loopOf } from './loop-state.ts';
import type { Ending, ExecutionState, TaskEntry } from './state.ts';
import { keyAt } from './task-key.ts';

/**
 * Counts again, from the entries alone, what the fold otherwise counts as it goes: what lives in each loop, fork and in the
 * run, and what joins wait for. For facts that take back or bring in entries anywhere (test/support/kernel-checks.ts says
 * that the two ways agree).
 */
export const recount = (state: ExecutionState): void => {
  state.liveSequences = 0;
  for (const { phase } of state.tasks.values()) if (phase.kind === 'loop') phase.live = 0;
  if (endingOf(state, state.plan.root, []) === 'live') state.liveSequences += 1;
  for (const entry of state.tasks.values()) {
    if (entry.phase.kind === 'loop') countBody(state, entry);
    if (entry.phase.kind === 'fork') countBranches(state, entry);
  }
  // What a join waits for is known only when everything that it could wait for stands.
  for (const entry of state.tasks.values()) if (entry.phase.kind === 'join') openJoin(state, entry);
};

/** How a sequence stands. One of which a part is missing in the middle lives on. */
const endingOf = (state: ExecutionState, sequence: Sequence, path: readonly number[]): Ending => {
  let ending: Ending = 'ok';
  for (const node of sequence.nodes) {
    const entry = state.tasks.get(keyAt(node.ref, path));
    if (entry?.ending === 'failed') return 'failed';
    if (entry?.ending !== 'ok') ending = 'live';
  }
  return ending;
};

const countBody = (state: ExecutionState, loop: TaskEntry): void => {
  if (loop.phase.kind !== 'loop') return;
  const body = endingOf(state, (loop.node as LoopNode).body, [...loop.path, loop.phase.iteration]);
  loop.phase.body = body;
  if (body === 'live') loop.phase.live += 1;
};

const countBranches = (state: ExecutionState, fork: TaskEntry): void => {
  if (fork.phase.kind !== 'fork') return;
  const { branches, ended } = fork.phase;
  ended.clear();
  let firstMissing = branches.length;
  for (const [index, branch] of branches.entries()) {
    const ending = endingOf(state, branch, fork.path);
    if (ending === 'live') addLive(state, fork);
    else ended.set(index, ending);
    const first = branch.nodes[0];
    if (first !== undefined && !state.tasks.has(keyAt(first.ref, fork.path))) {
      firstMissing = Math.min(firstMissing, index);
    }
  }
  fork.phase.entered = firstMissing;
  delete fork.phase.uncountedFrom;
};

/** A branch lives in the loop around its fork, or in the run; in a loop that is over nothing lives. */
const addLive = (state: ExecutionState, fork: TaskEntry): void => {
  const ref = fork.node.loops.at(-1);
  const around = ref === undefined ? undefined : state.tasks.get(keyAt(ref, fork.path.slice(0, -1)));
  if (ref === undefined) state.liveSequences += 1;
  else if (around?.phase.kind === 'loop') around.phase.live += 1;
};

/** Whether the entries of this iteration of a loop are there. */
export const hasIteration = (state: ExecutionState, loop: TaskEntry, iteration: number): boolean => {
  const phase = loopOf(loop);
  const first = (loop.node as LoopNode).body.nodes[0];
  if (phase === undefined || phase.iteration !== iteration || first === undefined) return false;
  return loop.phase.kind === 'loop' || state.tasks.has(keyAt(first.ref, [...loop.path, iteration]));
};
