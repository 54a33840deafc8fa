import type { PlanNode, Sequence } from '../definition/plan.ts';
import { addMs, type Instant } from '../kernel/brand.ts';
import { invariant } from '../kernel/invariant.ts';
import { semanticsOf } from '../tasks/registry.ts';
import type { DecisionEnvironment, EnterContext, Review, Step } from '../tasks/task-semantics.ts';
import type { ExecutionClosed, TaskSlot, WorkflowEvent } from './events.ts';
import { closing } from './outcome.ts';
import { executionOutput } from './output.ts';
import { queueOf } from './routing.ts';
import { scopeAt } from './scope.ts';
import { type ExecutionState, nextNode, type PendingEnd, ROOT_KEY, type TaskEntry } from './state.ts';
import { keyAt, slotAt } from './task-key.ts';

/** The next due fact, or a task definition that has to be loaded before it can be told. */
export type Due = WorkflowEvent | Readonly<{ type: 'needsTaskDefinition'; name: string }>;

/** Takes one key off the due ones after the other until a fact follows; undefined: nothing is due. */
export const nextEvent = (state: ExecutionState, environment: DecisionEnvironment, now: Instant): Due | undefined => {
  if (state.pendingEnd !== undefined) return close(state, state.pendingEnd, now);
  for (const key of state.due) {
    state.due.delete(key);
    const event = key === ROOT_KEY ? lookAtRoot(state, environment, now) : lookAt(state, key, environment, now);
    if (event !== undefined) {
      // Looked at again until nothing follows: several facts may hang on one key, as branches on a fork.
      state.due.add(key);
      return event;
    }
  }
  return unblock(state, environment, now);
};

const close = (state: ExecutionState, end: PendingEnd, now: Instant): ExecutionClosed => {
  const output = end.output === undefined ? declaredOutput(state) : end.output;
  return {
    type: 'ExecutionClosed',
    at: now,
    status: end.status,
    output,
    ...(end.reason === undefined ? {} : { reason: end.reason }),
    ...(end.failedTask === undefined ? {} : { failedTask: end.failedTask }),
  };
};

/** A failed run shows what it declared to show, as far as it came. */
const declaredOutput = (state: ExecutionState): ExecutionClosed['output'] => {
  if (state.plan.outputParameters === undefined) return {};
  const output = executionOutput(state);
  return output.ok ? output.value : {};
};

const lookAtRoot = (state: ExecutionState, environment: DecisionEnvironment, now: Instant): Due | undefined => {
  const first = state.plan.root.nodes[0];
  if (first !== undefined && !state.tasks.has(first.ref)) return enter(state, first, [], environment, now);
  return state.liveSequences === 0 ? complete(state, now) : undefined;
};

const complete = (state: ExecutionState, now: Instant): ExecutionClosed => {
  if (state.permissiveFailure !== undefined) return close(state, state.permissiveFailure, now);
  const output = executionOutput(state);
  if (output.ok) return { type: 'ExecutionClosed', at: now, status: 'COMPLETED', output: output.value };
  return { type: 'ExecutionClosed', at: now, status: 'FAILED', output: {}, reason: output.error };
};

const lookAt = (
  state: ExecutionState,
  key: string,
  environment: DecisionEnvironment,
  now: Instant,
): Due | undefined => {
  const entry = state.tasks.get(key);
  if (entry === undefined) return undefined;
  const { phase, node, path } = entry;
  switch (phase.kind) {
    case 'attempt':
      return takeBufferedSignal(state, entry, now);
    case 'awaitingRetry':
      return enter(state, node, path, environment, now, entry);
    case 'choice':
      return enterFirst(state, phase.chosen, path, environment, now) ?? enterNext(state, entry, environment, now);
    case 'fork':
      return enterBranch(state, entry, environment, now) ?? enterNext(state, entry, environment, now);
    case 'join':
      return review(state, entry, environment, now);
    case 'loop':
      return lookAtLoop(state, entry, environment, now);
    case 'closed':
      return enterNext(state, entry, environment, now);
    default:
      return phase satisfies never;
  }
};

const enterNext = (
  state: ExecutionState,
  entry: TaskEntry,
  environment: DecisionEnvironment,
  now: Instant,
): Due | undefined => {
  const next = nextNode(entry.node);
  if (entry.ending !== 'ok' || next === undefined || state.tasks.has(keyAt(next.ref, entry.path))) return undefined;
  return enter(state, next, entry.path, environment, now);
};

const enterFirst = (
  state: ExecutionState,
  sequence: Sequence,
  path: readonly number[],
  environment: DecisionEnvironment,
  now: Instant,
): Due | undefined => {
  const first = sequence.nodes[0];
  if (first === undefined || state.tasks.has(keyAt(first.ref, path))) return undefined;
  return enter(state, first, path, environment, now);
};

const enterBranch = (
  state: ExecutionState,
  fork: TaskEntry,
  environment: DecisionEnvironment,
  now: Instant,
): Due | undefined => {
  if (fork.phase.kind !== 'fork') return undefined;
  const { branches, entered } = fork.phase;
  for (let index = entered; index < branches.length; index += 1) {
    const branch = branches[index];
    const event = branch === undefined ? undefined : enterFirst(state, branch, fork.path, environment, now);
    if (event !== undefined) return event;
  }
  return undefined;
};

const lookAtLoop = (
  state: ExecutionState,
  loop: TaskEntry,
  environment: DecisionEnvironment,
  now: Instant,
): Due | undefined => {
  invariant(loop.phase.kind === 'loop' && loop.node.type === 'DO_WHILE', `${loop.key} is no open loop`);
  if (loop.phase.body !== 'live') return review(state, loop, environment, now);
  return enterFirst(state, loop.node.body, [...loop.path, loop.phase.iteration], environment, now);
};

const contextOf = (
  state: ExecutionState,
  node: PlanNode,
  path: readonly number[],
  environment: DecisionEnvironment,
  now: Instant,
): EnterContext => ({ state, node, path, environment, now, scope: scopeAt(state, { loops: node.loops, path }) });

const review = (
  state: ExecutionState,
  entry: TaskEntry,
  environment: DecisionEnvironment,
  now: Instant,
): WorkflowEvent | undefined => {
  const context = { ...contextOf(state, entry.node, entry.path, environment, now), entry };
  const answer = semanticsOf(entry.node.type).review?.(context) ?? { kind: 'wait' as const };
  return reviewed(entry, answer, now);
};

const reviewed = (entry: TaskEntry, answer: Review, now: Instant): WorkflowEvent | undefined => {
  const slot = slotAt(entry.node.ref, entry.path);
  switch (answer.kind) {
    case 'wait':
      return undefined;
    case 'iterate':
      invariant(entry.phase.kind === 'loop', `${entry.key} is no loop`);
      return { type: 'LoopIterated', at: now, ...slot, next: entry.phase.iteration + 1 };
    case 'close':
      return {
        type: 'OperatorClosed',
        at: now,
        ...slot,
        status: answer.status,
        output: answer.output,
        ...(answer.reason === undefined ? {} : { reason: answer.reason }),
      };
    default:
      return answer satisfies never;
  }
};

const enter = (
  state: ExecutionState,
  node: PlanNode,
  path: readonly number[],
  environment: DecisionEnvironment,
  now: Instant,
  previous?: TaskEntry,
): Due => {
  const step = semanticsOf(node.type).enter(contextOf(state, node, path, environment, now));
  return entered(state, node, slotAt(node.ref, path), step, now, previous);
};

const entered = (
  state: ExecutionState,
  node: PlanNode,
  slot: TaskSlot,
  step: Step,
  now: Instant,
  previous: TaskEntry | undefined,
): Due => {
  const attempt = (previous?.attempt ?? 0) + 1;
  switch (step.kind) {
    case 'dispatch':
      return dispatched(state, node, slot, step, now, previous);
    case 'resolve':
      return {
        type: 'OperatorResolved',
        at: now,
        ...slot,
        operator: node.definition.type,
        status: 'COMPLETED',
        input: step.input,
        output: step.output,
        ...step.effect,
      };
    case 'open':
      return {
        type: 'OperatorOpened',
        at: now,
        ...slot,
        operator: node.definition.type,
        input: step.input,
        ...(step.items === undefined ? {} : { items: step.items }),
      };
    case 'refuse':
      return {
        type: 'TaskRefused',
        at: now,
        ...slot,
        attempt,
        taskType: node.definition.type,
        taskName: node.name,
        input: step.input,
        status: node.optional ? 'COMPLETED_WITH_ERRORS' : 'FAILED_WITH_TERMINAL_ERROR',
        reason: step.reason,
      };
    case 'needsTaskDefinition':
      return { type: 'needsTaskDefinition', name: step.name };
    default:
      return step satisfies never;
  }
};

const dispatched = (
  state: ExecutionState,
  node: PlanNode,
  slot: TaskSlot,
  step: Extract<Step, { kind: 'dispatch' }>,
  now: Instant,
  previous: TaskEntry | undefined,
): WorkflowEvent => {
  const visibleAt = previous?.phase.kind === 'awaitingRetry' ? previous.phase.visibleAt : addMs(now, node.startDelayMs);
  return {
    type: 'TaskScheduled',
    at: now,
    ...slot,
    attempt: (previous?.attempt ?? 0) + 1,
    taskType: node.definition.type,
    taskName: step.taskName,
    queue: queueOf(state, node, step.taskName),
    input: step.input,
    visibleAt: visibleAt > now ? visibleAt : now,
    firstScheduledAt: previous?.firstScheduledAt ?? now,
    ...(step.policy === undefined ? {} : { policy: step.policy }),
    ...(step.fireAt === undefined ? {} : { fireAt: addMs(step.fireAt, node.startDelayMs) }),
  };
};

const takeBufferedSignal = (state: ExecutionState, entry: TaskEntry, now: Instant): WorkflowEvent | undefined => {
  if (entry.phase.kind !== 'attempt' || (entry.node.type !== 'WAIT' && entry.node.type !== 'YIELD')) return undefined;
  const signal = state.signals.find((buffered) => buffered.ref === entry.node.ref);
  if (signal === undefined || signal.status === 'TIMED_OUT') return undefined;
  const { ref, iteration } = entry.phase.scheduled;
  const status =
    signal.status === 'FAILED' || signal.status === 'FAILED_WITH_TERMINAL_ERROR' ? signal.status : 'COMPLETED';
  return closing(state, entry, { ref, iteration, attempt: entry.attempt, status, output: signal.output }, now);
};

/**
 * Nothing is due and no attempt is open: only joins that wait for tasks which can never run keep such a run. They close
 * with what there is, since a skipped task counts as done; a run is never left with nothing to wake it.
 */
const unblock = (state: ExecutionState, environment: DecisionEnvironment, now: Instant): WorkflowEvent | undefined => {
  if (state.openAttempts > 0) return undefined;
  for (const entry of state.tasks.values()) {
    if (entry.phase.kind !== 'join') continue;
    return review(state, { ...entry, phase: { kind: 'join', pending: new Set() } }, environment, now);
  }
  return {
    type: 'ExecutionClosed',
    at: now,
    status: 'FAILED',
    output: {},
    reason: 'Nothing is left to run, and the execution has not come to its end.',
  };
};
