import { compileBranches } from '../definition/compile-branches.ts';
import type { Sequence } from '../definition/plan.ts';
import { invariant } from '../kernel/invariant.ts';
import { nextAttempt } from './attempts.ts';
import { closeEntry, enter, nodeAt } from './enter.ts';
import { environmentOfBranches } from './environment.ts';
import type { LoopIterated, OperatorClosed, OperatorOpened, OperatorResolved } from './events.ts';
import { closeJoin, openJoin, tellJoins } from './join-state.ts';
import { closeIteration, forgetIteration, keepsLastIteration, newLoop } from './loop-state.ts';
import { addLive, fail, goOn, isInFork, isPermissive, settle } from './settle.ts';
import { type ExecutionState, lookAgainAt, pathOf, ROOT_KEY, type TaskEntry } from './state.ts';
import { keyAt, keyOf } from './task-key.ts';

/** An operator has one attempt each time that it is entered: above those of what was taken back. */
const enterOperator = (state: ExecutionState, event: OperatorResolved | OperatorOpened): TaskEntry => {
  const node = nodeAt(state, event);
  return enter(state, event, {
    ...event,
    attempt: nextAttempt(state, node, pathOf(node, keyOf(event))),
    taskName: node.name,
  });
};

export const operatorResolved = (state: ExecutionState, event: OperatorResolved): void => {
  const entry = enterOperator(state, event);
  entry.status = event.status;
  entry.output = event.output;
  entry.reason = event.reason;
  entry.endedAt = event.at;
  if (event.variables !== undefined) state.variables = { ...state.variables, ...event.variables };
  if (event.status === 'FAILED' || event.status === 'FAILED_WITH_TERMINAL_ERROR') {
    return closeEntry(state, entry, false);
  }
  if (event.termination !== undefined) return terminated(state, entry, event.termination);
  if (event.branches !== undefined) return forked(state, entry, dynamicBranches(state, entry, event.branches));
  if (entry.node.type === 'FORK_JOIN') return forked(state, entry, entry.node.branches);
  if (event.chosenCase !== undefined) return chose(state, entry, event.chosenCase);
  closeEntry(state, entry, true);
};

const terminated = (
  state: ExecutionState,
  entry: TaskEntry,
  termination: NonNullable<OperatorResolved['termination']>,
): void => {
  entry.phase = { kind: 'closed', ok: termination.status === 'COMPLETED', by: 'outcome' };
  entry.ending = 'ok';
  state.pendingEnd = {
    status: termination.status,
    reason: termination.reason,
    failedTask: termination.status === 'COMPLETED' ? undefined : entry.key,
    output: termination.output ?? {},
  };
  lookAgainAt(state, ROOT_KEY);
};

const dynamicBranches = (
  state: ExecutionState,
  entry: TaskEntry,
  branches: NonNullable<OperatorResolved['branches']>,
): readonly Sequence[] => {
  invariant(entry.node.type === 'FORK_JOIN_DYNAMIC', `${entry.key} is no dynamic fork`);
  const compiled = compileBranches(entry.node, branches, state.plan);
  environmentOfBranches(state, branches);
  invariant(compiled.ok, `branches of ${entry.key} no longer compile`);
  for (const [ref, node] of compiled.value.nodes) state.dynamicNodes.set(keyAt(ref, entry.path), node);
  return compiled.value.sequences;
};

const forked = (state: ExecutionState, entry: TaskEntry, branches: readonly Sequence[]): void => {
  entry.phase = { kind: 'fork', branches, entered: 0, ended: new Map() };
  entry.ending = 'ok';
  entry.settledSeq = state.seq;
  addLive(state, entry, branches.length);
  tellJoins(state, entry.key);
  lookAgainAt(state, entry.key);
  // Else what comes after the fork has not begun.
  if (state.patched) goOn(state, entry);
};

const chose = (state: ExecutionState, entry: TaskEntry, label: string | null): void => {
  const { node } = entry;
  invariant(node.type === 'SWITCH' || node.type === 'DECISION', `${entry.key} has no cases`);
  const chosen = label === null ? node.fallback : node.cases.get(label);
  if (chosen === undefined) return closeEntry(state, entry, true);
  entry.phase = { kind: 'choice', chosen };
  tellJoins(state, entry.key);
  lookAgainAt(state, entry.key);
};

export const operatorOpened = (state: ExecutionState, event: OperatorOpened): void => {
  const entry = enterOperator(state, event);
  entry.status = 'IN_PROGRESS';
  lookAgainAt(state, entry.key);
  if (entry.node.type === 'DO_WHILE') entry.phase = newLoop(event.items);
  else openJoin(state, entry);
};

export const loopIterated = (state: ExecutionState, event: LoopIterated): void => {
  const entry = state.tasks.get(keyOf(event));
  invariant(entry?.phase.kind === 'loop', `LoopIterated of ${keyOf(event)}, which is no open loop`);
  closeIteration(state, entry, entry.phase);
  forgetIteration(state, entry, entry.phase.iteration);
  entry.phase.iteration = event.next;
  entry.phase.body = 'live';
  entry.phase.live = 1;
  lookAgainAt(state, entry.key);
};

export const operatorClosed = (state: ExecutionState, event: OperatorClosed): void => {
  const entry = state.tasks.get(keyOf(event));
  invariant(
    entry?.phase.kind === 'loop' || entry?.phase.kind === 'join',
    `OperatorClosed of ${keyOf(event)}, which is not open`,
  );
  entry.status = event.status;
  entry.output = event.output;
  entry.reason = event.reason;
  entry.endedAt = event.at;
  closeJoin(state, entry);
  const loop = entry.phase.kind === 'loop' ? entry.phase : undefined;
  const ok = event.status === 'COMPLETED' || event.status === 'COMPLETED_WITH_ERRORS';
  if (ok && loop !== undefined && !keepsLastIteration(entry)) forgetIteration(state, entry, loop.iteration);
  entry.phase = { kind: 'closed', ok, by: 'outcome', ...(loop === undefined ? {} : { loop }) };
  if (ok) return settle(state, entry);
  // What failed in the loop was permissive, so the loop ends as permissively as that: its own branch and no more.
  if (loop?.failed === true) return failedInside(state, entry);
  fail(state, entry, isPermissive(state, entry));
};

/** Outside of a fork nobody is left to wait for; the run ends for the reason that the loop failed for. */
const failedInside = (state: ExecutionState, loop: TaskEntry): void => {
  const isBranch = isInFork(state, loop);
  if (!isBranch) state.pendingEnd = state.permissiveFailure;
  fail(state, loop, isBranch);
};
