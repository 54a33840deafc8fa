import type { PlanNode, Sequence } from '../definition/plan.ts';
import type { Instant } from '../kernel/brand.ts';
import { invariant } from '../kernel/invariant.ts';
import { semanticsOf } from '../tasks/registry.ts';
import type { DecisionEnvironment, Review } from '../tasks/task-semantics.ts';
import { endOf, nextOfCompensation } from './compensate.ts';
import { contextOf, type Due, type DueOrHeld, enterIfRoom, type Look, takeWhatIsAtHand } from './entering.ts';
import type { CompensationStarted, ExecutionClosed, WorkflowEvent } from './events.ts';
import { isCompensating } from './fold-compensation.ts';
import { holdKey, takeKey } from './in-flight.ts';
import { executionOutput } from './output.ts';
import { violationText } from './schema-check.ts';
import { mayEnter } from './settle.ts';
import {
  type ExecutionState,
  type ForkPhase,
  lookAgainAt,
  nextNode,
  type PendingEnd,
  ROOT_KEY,
  type TaskEntry,
} from './state.ts';
import { keyAt, slotAt, type TaskKey } from './task-key.ts';

/** Takes one key off the due ones after the other until a fact follows; undefined: nothing is due. */
export const nextEvent = (state: ExecutionState, environment: DecisionEnvironment, now: Instant): Due | undefined => {
  if (state.pendingEnd !== undefined) {
    return close(state, fittingEnd(state.pendingEnd, state, environment), now);
  }
  const look: Look = { state, environment, now };
  if (isCompensating(state)) return nextOfCompensation(look);
  for (let key = takeKey(state); key !== undefined; key = takeKey(state)) {
    const event = key === ROOT_KEY ? lookAtRoot(look) : lookAt(look, key);
    if (event === undefined) continue;
    if (event.type === 'held') {
      holdKey(state, key);
      continue;
    }
    // Looked at again until nothing follows: several facts may hang on one key, as branches on a fork.
    lookAgainAt(state, key);
    return event;
  }
  return unblock(look);
};

const close = (state: ExecutionState, end: PendingEnd, now: Instant): CompensationStarted | ExecutionClosed =>
  endOf(state, end, now, () => declaredOutput(state));

const failure = (reason: string): PendingEnd => ({ status: 'FAILED', reason, failedTask: undefined, output: {} });

/** A run whose output does not fit its schema has not done what it promised: it failed, and shows what it has. */
const fittingEnd = (end: PendingEnd, { plan }: ExecutionState, { findViolation }: DecisionEnvironment): PendingEnd => {
  const schema = plan.schemas?.output;
  const { output = {} } = end;
  const violation = schema === undefined || end.status !== 'COMPLETED' ? undefined : findViolation(schema, output);
  if (violation === undefined) return end;
  const reason = `The output of the execution does not fit its schema: ${violationText('output', violation)}`;
  return { ...end, status: 'FAILED', reason };
};

/** A failed run shows what it declared to show, as far as it came. */
const declaredOutput = (state: ExecutionState): ExecutionClosed['output'] => {
  if (state.plan.outputParameters === undefined) return {};
  const output = executionOutput(state);
  return output.ok ? output.value : {};
};

const lookAtRoot = (look: Look): DueOrHeld | undefined => {
  const { state } = look;
  return enterFirst(look, state.plan.root, []) ?? (state.liveSequences === 0 ? complete(look) : undefined);
};

const complete = ({ state, environment, now }: Look): CompensationStarted | ExecutionClosed => {
  if (state.permissiveFailure !== undefined) return close(state, state.permissiveFailure, now);
  const output = executionOutput(state);
  if (!output.ok) return close(state, failure(output.error), now);
  const end = { status: 'COMPLETED', reason: undefined, failedTask: undefined, output: output.value } as const;
  return close(state, fittingEnd(end, state, environment), now);
};

const lookAt = (look: Look, key: TaskKey): DueOrHeld | undefined => {
  const entry = look.state.tasks.get(key);
  if (entry === undefined) return undefined;
  const { phase, node, path } = entry;
  switch (phase.kind) {
    case 'attempt':
      return takeWhatIsAtHand(look, entry);
    case 'awaitingRetry':
      return enterIfRoom(look, node, path, entry);
    case 'choice':
      return enterFirst(look, phase.chosen, path) ?? enterNext(look, entry);
    case 'fork':
      return lookAtFork(look, entry);
    case 'join':
      return review(look, entry);
    case 'loop':
      return lookAtLoop(look, entry);
    case 'closed':
      return enterNext(look, entry);
    default:
      return phase satisfies never;
  }
};

/** A branch that is held back keeps nothing from what follows the fork: a join waits for it all the same. */
const lookAtFork = (look: Look, fork: TaskEntry): DueOrHeld | undefined => {
  const branch = enterBranch(look, fork);
  return branch?.type === 'held' ? (enterNext(look, fork) ?? branch) : (branch ?? enterNext(look, fork));
};

const enterNext = (look: Look, entry: TaskEntry): DueOrHeld | undefined => {
  const next = nextNode(entry.node);
  if (entry.ending !== 'ok' || next === undefined || look.state.tasks.has(keyAt(next.ref, entry.path))) {
    return undefined;
  }
  return enterInTurn(look, next, entry.path);
};

/** After an action, what is entered next may stand behind something, or read something, that has yet to run again. */
const enterInTurn = (look: Look, node: PlanNode, path: readonly number[]): DueOrHeld | undefined => {
  const { state } = look;
  if (state.waits.size > 0 && state.waits.has(node.ref)) return undefined;
  return state.patched && !mayEnter(state, node, path) ? undefined : enterIfRoom(look, node, path);
};

const enterFirst = (look: Look, sequence: Sequence, path: readonly number[]): DueOrHeld | undefined => {
  const first = sequence.nodes[0];
  if (first === undefined || look.state.tasks.has(keyAt(first.ref, path))) return undefined;
  return enterInTurn(look, first, path);
};

const enterBranch = (look: Look, fork: TaskEntry): DueOrHeld | undefined => {
  if (fork.phase.kind !== 'fork') return undefined;
  const { branches, entered } = fork.phase;
  for (let index = entered; index < branches.length; index += 1) {
    const branch = branches[index];
    const event = branch === undefined ? undefined : enterFirst(look, branch, fork.path);
    if (event?.type === 'held') return enterUncounted(look, fork, fork.phase, index + 1) ?? event;
    if (event !== undefined) return event;
  }
  return undefined;
};

/** The next branch that begins with a task which is not counted, and so need not wait for the others. */
const enterUncounted = (look: Look, fork: TaskEntry, phase: ForkPhase, from: number): Due | undefined => {
  for (let index = Math.max(from, phase.uncountedFrom ?? 0); index < phase.branches.length; index += 1) {
    phase.uncountedFrom = index;
    const branch = phase.branches[index];
    const event = branch === undefined ? undefined : enterFirst(look, branch, fork.path);
    if (event !== undefined && event.type !== 'held') return event;
  }
  return undefined;
};

const lookAtLoop = (look: Look, loop: TaskEntry): DueOrHeld | undefined => {
  invariant(loop.phase.kind === 'loop' && loop.node.type === 'DO_WHILE', `${loop.key} is no open loop`);
  if (loop.phase.live === 0) return review(look, loop);
  return enterFirst(look, loop.node.body, [...loop.path, loop.phase.iteration]);
};

const review = (look: Look, entry: TaskEntry): WorkflowEvent | undefined => {
  const context = { ...contextOf(look, entry.node, entry.path, undefined), entry };
  const answer = semanticsOf(entry.node.type).review?.(context) ?? { kind: 'wait' as const };
  return reviewed(entry, answer, look.now);
};

const reviewed = (entry: TaskEntry, answer: Review, now: Instant): WorkflowEvent | undefined => {
  const slot = slotAt(entry.node.ref, entry.path);
  switch (answer.kind) {
    case 'wait':
      return undefined;
    case 'iterate':
      invariant(entry.phase.kind === 'loop', `${entry.key} is no loop`);
      return { type: 'LoopIterated', at: now, ...slot, next: entry.phase.iteration + 1 };
    case 'close': {
      const { status, output } = answer;
      const reason = answer.reason === undefined ? {} : { reason: answer.reason };
      return { type: 'OperatorClosed', at: now, ...slot, status, output, ...reason };
    }
    default:
      return answer satisfies never;
  }
};

/**
 * Nothing is due and no attempt is open: only joins that wait for tasks which can never run keep such a run. They close
 * with what there is, since a skipped task counts as done; a run is never left with nothing to wake it.
 */
const unblock = (look: Look): WorkflowEvent | undefined => {
  if (look.state.openAttempts > 0) return undefined;
  for (const entry of look.state.tasks.values()) {
    if (entry.phase.kind !== 'join') continue;
    const waitless: TaskEntry = { ...entry, phase: { ...entry.phase, pending: new Set() } };
    const event = review(look, waitless);
    if (event !== undefined) return event;
  }
  return close(look.state, failure('Nothing is left to run, and the execution has not come to its end.'), look.now);
};
