import type { PlanNode } from '../definition/plan.ts';
import type { Instant } from '../kernel/brand.ts';
import { invariant } from '../kernel/invariant.ts';
import type { JsonValue } from '../kernel/json.ts';
import { attemptFloor, noteAttempt } from './attempts.ts';
import type { TaskSlot } from './events.ts';
import {
  beingUndone,
  compensationClosed,
  compensationEntered,
  isCompensating,
  isCompensation,
} from './fold-compensation.ts';
import { fail, isPermissive, settle } from './settle.ts';
import {
  type ExecutionState,
  type ForkPhase,
  lookAgainAt,
  nodeOf,
  ownerEntry,
  pathOf,
  type TaskEntry,
} from './state.ts';
import { keyAt, keyOf } from './task-key.ts';

export const nodeAt = (state: ExecutionState, slot: TaskSlot): PlanNode => {
  const node = undoingNode(state, keyOf(slot)) ?? nodeOf(state, keyOf(slot));
  invariant(node !== undefined, `no node for ${keyOf(slot)}`);
  return node;
};

/** The branches that data brought into an iteration are gone with it; what undoes them is known by what it undoes. */
const undoingNode = (state: ExecutionState, key: string): PlanNode | undefined => {
  const undone = isCompensating(state) ? beingUndone(state) : undefined;
  const node = undone?.node.compensation;
  return node !== undefined && undone !== undefined && keyAt(node.ref, undone.path) === key ? node : undefined;
};

type Opening = Readonly<{ at: Instant; input: JsonValue; attempt: number; taskName: string }>;

/** Makes or renews the entry of a slot and tells the fork whose branch begins with it. */
export const enter = (state: ExecutionState, slot: TaskSlot, opening: Opening): TaskEntry => {
  const key = keyOf(slot);
  const node = nodeAt(state, slot);
  const previous = state.tasks.get(key);
  const entry: TaskEntry = {
    key,
    node,
    path: pathOf(node, key),
    phase: { kind: 'closed', ok: true, by: 'outcome' },
    ending: 'live',
    settledSeq: undefined,
    status: 'SCHEDULED',
    input: opening.input,
    output: {},
    reason: undefined,
    attempt: opening.attempt,
    attemptsForgiven: previous?.attemptsForgiven ?? attemptFloor(state, node),
    seq: state.seq,
    scheduledAt: opening.at,
    firstScheduledAt: previous?.firstScheduledAt ?? opening.at,
    startedAt: undefined,
    endedAt: undefined,
    workerId: undefined,
    callbacks: 0,
    callbackSeconds: 0,
    taskName: opening.taskName,
    child: undefined,
    fromCache: false,
    timed: false,
    before: previous === undefined ? earlier(state, node) : previous.before,
  };
  noteAttempt(state, node, opening.attempt);
  state.tasks.set(key, entry);
  state.latest.set(node.ref, entry);
  if (isCompensation(entry)) compensationEntered(state, entry);
  else if (previous === undefined) enteredFirst(state, entry);
  return entry;
};

/** One iteration back and no further: a chain of all iterations would grow with them. */
const earlier = (state: ExecutionState, node: PlanNode): TaskEntry | undefined => {
  const latest = node.loops.length === 0 ? undefined : state.latest.get(node.ref);
  return latest === undefined ? undefined : { ...latest, before: undefined };
};

const enteredFirst = (state: ExecutionState, entry: TaskEntry): void => {
  const { owner } = entry.node.sequence;
  if (owner.kind !== 'branch' || entry.node.index !== 0) return;
  const fork = ownerEntry(state, entry.node, entry.path);
  invariant(fork?.phase.kind === 'fork', `${entry.key} begins a branch of no fork`);
  fork.phase.entered = firstLeft(state, fork, fork.phase);
  lookAgainAt(state, fork.key);
};

/** Branches are entered in order, but for those that need not wait where others are held back. */
const firstLeft = (state: ExecutionState, fork: TaskEntry, { branches, entered }: ForkPhase): number => {
  let index = entered;
  for (; index < branches.length; index += 1) {
    const first = branches[index]?.nodes[0];
    if (first !== undefined && !state.tasks.has(keyAt(first.ref, fork.path))) break;
  }
  return index;
};

export const closeEntry = (
  state: ExecutionState,
  entry: TaskEntry,
  ok: boolean,
  by: 'outcome' | 'refusal' = 'outcome',
): void => {
  entry.phase = { kind: 'closed', ok, by };
  if (isCompensation(entry)) return compensationClosed(state, entry, ok);
  if (ok) settle(state, entry);
  else fail(state, entry, isPermissive(state, entry));
};
