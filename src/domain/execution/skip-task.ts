import type { PlanNode } from '../definition/plan.ts';
import type { Instant } from '../kernel/brand.ts';
import type { JsonObject } from '../kernel/json.ts';
import { ok } from '../kernel/result.ts';
import { type Answer, askedBy, type RequestOf, reject } from './answer.ts';
import type { SkipRequested, TaskSkipped } from './events.ts';
import { fateOf } from './join-state.ts';
import { loopOf } from './loop-state.ts';
import { payloadProblem } from './payload-limit.ts';
import { type ExecutionState, nodeOf, pathOf, type TaskEntry } from './state.ts';
import { keyAt, slotAt } from './task-key.ts';

/** Skips asked for and not yet come to, in one run. */
export const SKIPS_MAX = 1_000;

/** Skips the open task at once, or one that has not begun when it is reached. */
export const acceptSkip = (state: ExecutionState, request: RequestOf<'SkipTask'>, at: Instant): Answer => {
  const node = nodeOf(state, request.ref);
  if (node === undefined) return reject('NOT_FOUND', `This execution has no task ${request.ref}.`);
  const problem = payloadProblem({ input: request.input ?? {}, output: request.output ?? {} });
  if (problem !== undefined) return reject('PAYLOAD_TOO_LARGE', `Input and output of the skipped task are ${problem}.`);
  const open = openEntry(state, node, request.ref);
  if (open !== undefined) return skipOpen(open, request, at);
  if (state.compensation !== undefined) return reject('INVALID_STATE', 'The execution is being compensated.');
  return skipLater(state, node, request, at);
};

/** The task by its wire ref; by the plain ref of a task in a loop, the one that is open. */
const openEntry = (state: ExecutionState, node: PlanNode, ref: string): TaskEntry | undefined => {
  const entry = state.tasks.get(ref) ?? (ref === node.ref ? state.latest.get(ref) : undefined);
  if (entry === undefined || state.tasks.get(entry.key) !== entry) return undefined;
  return entry.key === ref || entry.ending === 'live' ? entry : undefined;
};

const skipOpen = (entry: TaskEntry, request: RequestOf<'SkipTask'>, at: Instant): Answer => {
  const { phase, node } = entry;
  const isJoin = phase.kind === 'join';
  if (phase.kind !== 'attempt' && phase.kind !== 'awaitingRetry' && !isJoin) {
    return entry.ending === 'live'
      ? reject('INVALID_STATE', `Task ${entry.key} has begun; skip the tasks in it, or jump behind it.`)
      : reject('INVALID_STATE', `Task ${entry.key} has ended with status ${entry.status}.`);
  }
  return ok([
    {
      type: 'TaskSkipped',
      at,
      ...slotAt(node.ref, entry.path),
      taskType: node.definition.type,
      taskName: entry.taskName,
      input: request.input ?? entry.input,
      output: request.output ?? {},
      ...askedBy(request),
      ...(phase.kind === 'attempt' ? { attempt: entry.attempt } : {}),
    },
  ]);
};

const skipLater = (state: ExecutionState, node: PlanNode, request: RequestOf<'SkipTask'>, at: Instant): Answer => {
  const { ref, input, output = {} } = request;
  const never = reasonNeverReached(state, node, ref);
  if (never !== undefined) return reject('INVALID_STATE', never);
  if (state.skips.has(ref)) return reject('INVALID_STATE', `Task ${ref} is to be skipped already.`);
  if (state.skips.size >= SKIPS_MAX) return reject('LIMIT_EXCEEDED', `${SKIPS_MAX} tasks are to be skipped already.`);
  const given = input === undefined ? {} : { input };
  return ok([{ type: 'SkipRequested', at, ref, output, ...given, ...askedBy(request) }]);
};

/** Why a task that is not there never will be; undefined when it still may. */
const reasonNeverReached = (state: ExecutionState, node: PlanNode, ref: string): string | undefined => {
  const path = pathOf(node, ref);
  // By its plain ref a task in a loop may always come again.
  if (path.length < node.loops.length) {
    return ref === node.ref
      ? undefined
      : `Task ${ref} is in ${node.loops.length} loops; its ref names fewer iterations.`;
  }
  if (keyAt(node.ref, path) !== ref)
    return `Task ${ref} is in ${node.loops.length} loops; its ref names more iterations.`;
  for (const [depth, name] of node.loops.entries()) {
    const loop = state.tasks.get(keyAt(name, path.slice(0, depth)));
    const phase = loop === undefined ? undefined : loopOf(loop);
    const iteration = path[depth] ?? 0;
    if (iteration < 1) return `Iterations count from 1; there is no ${ref}.`;
    const isOver = phase !== undefined && (iteration < phase.iteration || loop?.phase.kind === 'closed');
    if (isOver) return `The iteration of ${ref} is over.`;
  }
  return fateOf(state, { key: ref, node, path }) === 'live' ? undefined : `Task ${ref} will not be reached any more.`;
};

export const skipRequested = (state: ExecutionState, event: SkipRequested): void => {
  state.skips.set(event.ref, event);
};

/** The skip that was asked for a task about to be entered: for this very iteration, else for the next to come. */
export const requestedSkip = (
  state: ExecutionState,
  node: PlanNode,
  path: readonly number[],
): SkipRequested | undefined =>
  state.skips.size === 0 ? undefined : (state.skips.get(keyAt(node.ref, path)) ?? state.skips.get(node.ref));

/** What is told of a skip, whoever wanted it. */
type Skip = Pick<SkipRequested, 'input' | 'output' | 'by' | 'reason'>;

/** The fact that a task is passed by: when a skip of it is reached, or a jump or an upgrade leaves it behind. */
export const skipping = (node: PlanNode, path: readonly number[], skip: Skip, at: Instant): TaskSkipped => {
  const input: JsonObject = skip.input ?? {};
  return {
    type: 'TaskSkipped',
    at,
    ...slotAt(node.ref, path),
    taskType: node.definition.type,
    taskName: node.name,
    input,
    output: skip.output,
    by: skip.by,
    ...(skip.reason === undefined ? {} : { reason: skip.reason }),
  };
};
