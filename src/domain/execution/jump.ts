import type { PlanNode } from '../definition/plan.ts';
import type { Instant } from '../kernel/brand.ts';
import { ok, type Result } from '../kernel/result.ts';
import { type Answer, askedBy, type RequestOf, reject } from './answer.ts';
import type { ExecutionJumped } from './events.ts';
import { lookAtAll } from './look-at-all.ts';
import { loopOf } from './loop-state.ts';
import { hasIteration } from './recount.ts';
import type { Rejection } from './requests.ts';
import { skipping } from './skip-task.ts';
import { type ExecutionState, nodeOf, ownerEntry, pathOf, type TaskEntry } from './state.ts';
import { takeBack } from './take-back.ts';
import { allBelow, takingBack, withdrawals } from './taking-back.ts';
import { keyAt } from './task-key.ts';
import { laterInSequence, withWhatFollows } from './what-follows.ts';

type Place = Readonly<{ node: PlanNode; path: readonly number[] }>;

/**
 * An open run goes on at a task. What has not ended of the tasks before it in its sequence is skipped; where it ran already,
 * it and what ran behind it run again. Other branches go on as they were.
 */
export const acceptJump = (state: ExecutionState, request: RequestOf<'Jump'>, at: Instant): Answer => {
  if (state.compensation !== undefined) return reject('INVALID_STATE', 'The execution is being compensated.');
  const place = placeOf(state, request.to);
  if (!place.ok) return place;
  const { node, path } = place.value;
  const before = node.sequence.nodes.slice(0, node.index);
  const unfinished = before.filter((one) => !isOver(state, state.tasks.get(keyAt(one.ref, path))));
  const roots = new Set([
    ...unfinished.map((one) => state.tasks.get(keyAt(one.ref, path))).filter((entry) => entry !== undefined),
    ...ranFrom(state, place.value),
  ]);
  const skip = { output: {}, by: request.by, reason: `The execution jumped to ${request.to}.` };
  const skipped = unfinished.map((one) => skipping(one, path, skip, at));
  return ok([
    ...withdrawals(state, roots, at),
    {
      type: 'ExecutionJumped',
      at,
      ...askedBy(request),
      to: keyAt(node.ref, path),
      ...takingBack(state, roots),
      ...(request.input === undefined ? {} : { input: request.input }),
    },
    ...skipped,
  ]);
};

/** Well over with all its branches. */
const isOver = (state: ExecutionState, entry: TaskEntry | undefined): boolean =>
  entry?.ending === 'ok' &&
  (entry.phase.kind !== 'fork' || allBelow(state, entry).every(({ ending }) => ending !== 'live'));

/** The task where it ran, and what ran behind it and behind what it is part of. */
const ranFrom = (state: ExecutionState, { node, path }: Place): readonly TaskEntry[] => {
  const entry = state.tasks.get(keyAt(node.ref, path));
  if (entry !== undefined) return [...withWhatFollows(state, [entry], 'control').roots];
  const later = node.sequence.nodes
    .slice(node.index)
    .map((one) => state.tasks.get(keyAt(one.ref, path)))
    .filter((one) => one !== undefined);
  const owner = ownerEntry(state, node, path);
  const behind = owner === undefined ? [] : laterInSequence(state, owner);
  return [...withWhatFollows(state, [...later, ...behind], 'control').roots];
};

/** Where a task is or would be, in the iterations that run; what it is part of must have gone its way. */
const placeOf = (state: ExecutionState, ref: string): Result<Place, Rejection> => {
  const node = nodeOf(state, ref);
  if (node === undefined) return reject('NOT_FOUND', `This execution has no task ${ref}.`);
  const named = pathOf(node, ref);
  const path: number[] = [];
  for (const [depth, name] of node.loops.entries()) {
    const loop = state.tasks.get(keyAt(name, path));
    const iteration = named[depth] ?? (loop === undefined ? undefined : loopOf(loop)?.iteration);
    if (loop === undefined || iteration === undefined || !hasIteration(state, loop, iteration)) {
      return reject(
        'INVALID_STATE',
        `Task ${ref} is in loop ${name}, which is not in that iteration; jump to the loop.`,
      );
    }
    path.push(iteration);
  }
  if (ref !== node.ref && keyAt(node.ref, path) !== ref)
    return reject('NOT_FOUND', `This execution has no task ${ref}.`);
  const closed = notRunning(state, node, path);
  return closed === undefined ? ok({ node, path }) : reject('INVALID_STATE', closed);
};

const notRunning = (state: ExecutionState, node: PlanNode, path: readonly number[]): string | undefined => {
  const { owner } = node.sequence;
  if (owner.kind === 'root') return undefined;
  const holder = ownerEntry(state, node, path);
  const what = `Task ${node.ref} is part of ${owner.node}`;
  if (holder === undefined) return `${what}, which has not begun; jump to ${owner.node}.`;
  const { phase } = holder;
  if (owner.kind === 'case' && (phase.kind !== 'choice' || phase.chosen !== node.sequence)) {
    return `${what}, which chose another case; jump to ${owner.node}.`;
  }
  if (owner.kind === 'branch' && phase.kind !== 'fork') return `${what}, which has not begun; jump to ${owner.node}.`;
  return notRunning(state, holder.node, holder.path);
};

export const executionJumped = (state: ExecutionState, event: ExecutionJumped): void => {
  takeBack(state, event);
  if (event.input !== undefined) state.givenInputs.set(event.to, event.input);
  lookAtAll(state);
};
