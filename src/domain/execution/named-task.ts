import type { PlanNode } from '../definition/plan.ts';
import { err, ok, type Result } from '../kernel/result.ts';
import { reject } from './answer.ts';
import { loopOf } from './loop-state.ts';
import { hasIteration } from './recount.ts';
import type { Rejection } from './requests.ts';
import { type ExecutionState, nodeOf, pathOf, type TaskEntry } from './state.ts';
import { keyAt } from './task-key.ts';

/** Where an operator's name of a task leads: to what ran of it, or to an iteration of a loop that is over. */
export type NamedTask =
  | Readonly<{ kind: 'entry'; entry: TaskEntry }>
  /** It ran in an iteration whose tasks are no longer there one by one. */
  | Readonly<{ kind: 'iteration'; loop: TaskEntry; iteration: number; key: string }>;

const notRun = (ref: string): Readonly<{ ok: false; error: Rejection }> =>
  reject('NOT_FOUND', `No task ${ref} of this execution has run.`);

/** Finds what ran by its wire ref, or, for a task in a loop, by its plain ref: then where it ran last. */
export const taskNamed = (state: ExecutionState, ref: string): Result<NamedTask, Rejection> => {
  const exact = state.tasks.get(ref);
  if (exact !== undefined) return ok({ kind: 'entry', entry: exact });
  const node = nodeOf(state, ref);
  if (node === undefined) return reject('NOT_FOUND', `This execution has no task ${ref}.`);
  const path = pathOf(node, ref);
  if (path.length === node.loops.length && path.length > 0) return inIteration(state, node, path, ref);
  if (ref !== node.ref) return notRun(ref);
  const latest = state.latest.get(ref);
  if (latest === undefined) return notRun(ref);
  const entry = state.tasks.get(latest.key);
  return entry === undefined ? inIteration(state, node, latest.path, latest.key) : ok({ kind: 'entry', entry });
};

/** The outermost loop around it that is no longer where the task ran. */
const inIteration = (
  state: ExecutionState,
  node: PlanNode,
  path: readonly number[],
  key: string,
): Result<NamedTask, Rejection> => {
  for (const [depth, ref] of node.loops.entries()) {
    const loop = state.tasks.get(keyAt(ref, path.slice(0, depth)));
    const phase = loop === undefined ? undefined : loopOf(loop);
    const iteration = path[depth] ?? 0;
    if (loop === undefined || phase === undefined || iteration < 1 || iteration > phase.iteration) return notRun(key);
    if (hasIteration(state, loop, iteration)) continue;
    if (iteration > 1 && !phase.kept.has(iteration - 1)) {
      const message = `Loop ${loop.key} no longer keeps what iteration ${iteration - 1} gave, so it cannot go back to ${key}.`;
      return reject('INVALID_STATE', message);
    }
    return ok({ kind: 'iteration', loop, iteration, key });
  }
  return notRun(key);
};

/** What ran by its name and is still there by itself. */
export const entryNamed = (state: ExecutionState, ref: string): Result<TaskEntry, Rejection> => {
  const named = taskNamed(state, ref);
  if (!named.ok) return named;
  if (named.value.kind === 'entry') return ok(named.value.entry);
  return err({
    code: 'INVALID_STATE',
    message: `Task ${ref} ran in an iteration that is over; rerun from it instead.`,
  });
};
