import type { PlanNode } from '../definition/plan.ts';
import type { ExecutionId, Instant } from '../kernel/brand.ts';
import { derivedExecutionId } from '../kernel/derived-id.ts';
import { addDuration } from '../kernel/time.ts';
import { semanticsOf } from '../tasks/registry.ts';
import type { DecisionEnvironment, EnterContext, Step } from '../tasks/task-semantics.ts';
import { attemptFloor, nextAttempt } from './attempts.ts';
import type { ChildStart, TaskSlot, WorkflowEvent } from './events.ts';
import { undoneBy } from './fold-compensation.ts';
import { isHeldBack } from './in-flight.ts';
import type { Need } from './needs.ts';
import { closingAtHand } from './outcome.ts';
import { outputKeyOf } from './output-cache.ts';
import { queueOf } from './routing.ts';
import { violationText } from './schema-check.ts';
import { scopeAt } from './scope.ts';
import { requestedSkip, skipping } from './skip-task.ts';
import type { ExecutionState, TaskEntry } from './state.ts';
import { keyAt, slotAt } from './task-key.ts';

/** The next due fact, or what has to be loaded before it can be told. */
export type Due = WorkflowEvent | Need;

/** A task is due and has to wait until the run may have another one in flight. */
export const HELD = { type: 'held' } as const;
export type DueOrHeld = Due | typeof HELD;

/** What one decision looks with. */
export type Look = Readonly<{ state: ExecutionState; environment: DecisionEnvironment; now: Instant }>;

export const contextOf = (
  look: Look,
  node: PlanNode,
  path: readonly number[],
  previous: TaskEntry | undefined,
): EnterContext => {
  const context = { ...look, node, path, scope: scopeAt(look.state, previous, node) };
  const given = look.state.givenInputs.size === 0 ? undefined : look.state.givenInputs.get(keyAt(node.ref, path));
  return given === undefined ? context : { ...context, givenInput: given };
};

/** The fact that entering a node makes; `previous` is its last attempt, when this is another one. */
export const enter = (look: Look, node: PlanNode, path: readonly number[], previous?: TaskEntry): Due => {
  const skip = requestedSkip(look.state, node, path);
  if (skip !== undefined) return skipping(node, path, skip, look.now);
  const step = semanticsOf(node.type).enter(contextOf(look, node, path, previous));
  return entered(look, node, path, step, previous);
};

/** The same, if the run may have another task in flight. Undoing is not held back: it is one task at a time anyway. */
export const enterIfRoom = (look: Look, node: PlanNode, path: readonly number[], previous?: TaskEntry): DueOrHeld =>
  isHeldBack(look.state, node) ? HELD : enter(look, node, path, previous);

const entered = (
  look: Look,
  node: PlanNode,
  path: readonly number[],
  step: Step,
  previous: TaskEntry | undefined,
): Due => {
  const slot = slotAt(node.ref, path);
  const at = look.now;
  const operator = node.definition.type;
  switch (step.kind) {
    case 'dispatch': {
      const reason = misfit(look, node, step);
      if (reason !== undefined) return refused(look, node, path, { input: step.input, reason }, previous);
      const due = fromCache(look, node, path, step, previous) ?? dispatched(look, node, path, step, previous);
      return due.type === 'TaskScheduled' ? { ...due, ...compensatesOf(node, path) } : due;
    }
    case 'resolve': {
      const { input, output } = step;
      return { type: 'OperatorResolved', at, ...slot, operator, status: 'COMPLETED', input, output, ...step.effect };
    }
    case 'open': {
      const items = step.items === undefined ? {} : { items: step.items };
      return { type: 'OperatorOpened', at, ...slot, operator, input: step.input, ...items };
    }
    case 'refuse':
      return refused(look, node, path, step, previous);
    case 'needsTaskDefinition':
      return { type: 'needsTaskDefinition', name: step.name };
    default:
      return step satisfies never;
  }
};

const refused = (
  { now, state }: Look,
  node: PlanNode,
  path: readonly number[],
  { input, reason }: Pick<Extract<Step, { kind: 'refuse' }>, 'input' | 'reason'>,
  previous: TaskEntry | undefined,
): WorkflowEvent => ({
  type: 'TaskRefused',
  at: now,
  ...slotAt(node.ref, path),
  attempt: nextAttempt(state, node, path, previous),
  taskType: node.definition.type,
  taskName: node.name,
  input,
  status: node.optional ? 'COMPLETED_WITH_ERRORS' : 'FAILED_WITH_TERMINAL_ERROR',
  reason,
  ...compensatesOf(node, path),
});

/** Why the input must not go to whoever runs the task; undefined when it may. */
const misfit = (
  { environment }: Look,
  node: PlanNode,
  { input, schemas }: Extract<Step, { kind: 'dispatch' }>,
): string | undefined => {
  const schema = (schemas ?? node.schemas)?.input;
  const violation = schema === undefined ? undefined : environment.findViolation(schema, input);
  return violation && `The input does not fit its schema: ${violationText('input', violation)}`;
};
const childOf = (
  state: ExecutionState,
  node: PlanNode,
  at: Instant,
  path: readonly number[],
  child: NonNullable<Extract<Step, { kind: 'dispatch' }>['child']>,
  previous: TaskEntry | undefined,
): ChildStart =>
  previous?.child !== undefined && previous.phase.kind === 'awaitingRetry' && previous.phase.resumes === true
    ? { ...child, executionId: previous.child.executionId, resumed: true }
    : { ...child, executionId: childId(state, at, slotAt(node.ref, path), nextAttempt(state, node, path, previous)) };

/** Whoever carries the start of an attempt's child out again names the same run. */
const childId = (state: ExecutionState, at: Instant, slot: TaskSlot, attempt: number): ExecutionId =>
  derivedExecutionId(at, `${state.executionId}/${slot.ref}/${slot.iteration}/${attempt}`);

const compensatesOf = (node: PlanNode, path: readonly number[]): { compensates?: string } => {
  const undone = undoneBy({ node, path });
  return undone === undefined ? {} : { compensates: undone };
};

/** What another task of the name gave for the same key, where it still holds and fits what is asked of it now. */
const fromCache = (
  { state, environment, now }: Look,
  node: PlanNode,
  path: readonly number[],
  { taskName, input, schemas }: Extract<Step, { kind: 'dispatch' }>,
  previous: TaskEntry | undefined,
): Due | undefined => {
  const wanted = outputKeyOf(state, node, taskName, input);
  // That another run has undone something undoes nothing here.
  if (wanted === undefined || undoneBy({ node, path }) !== undefined) return undefined;
  // Whoever lets a task run again wants it to run.
  if (attemptFloor(state, node) > 0) return undefined;
  const output = environment.cachedOutput(wanted);
  if (output === undefined) return { type: 'needsCachedOutput', wanted };
  const schema = (schemas ?? node.schemas)?.output;
  if (output === null || (schema !== undefined && environment.findViolation(schema, output) !== undefined)) {
    return undefined;
  }
  const attempt = nextAttempt(state, node, path, previous);
  const taskType = node.definition.type;
  return { type: 'TaskTakenFromCache', at: now, ...slotAt(node.ref, path), attempt, taskType, taskName, input, output };
};

const dispatched = (
  { state, environment, now }: Look,
  node: PlanNode,
  path: readonly number[],
  step: Extract<Step, { kind: 'dispatch' }>,
  previous: TaskEntry | undefined,
): Due => {
  const queue = queueOf(state, node, step.taskName, environment);
  if (typeof queue !== 'string') return queue;
  const slot = slotAt(node.ref, path);
  const visibleAt =
    previous?.phase.kind === 'awaitingRetry' ? previous.phase.visibleAt : addDuration(now, node.startDelayMs);
  return {
    type: 'TaskScheduled',
    at: now,
    ...slot,
    attempt: nextAttempt(state, node, path, previous),
    taskType: node.definition.type,
    taskName: step.taskName,
    queue,
    input: step.input,
    visibleAt: visibleAt > now ? visibleAt : now,
    firstScheduledAt: previous?.firstScheduledAt ?? now,
    ...(step.deferred === undefined || step.deferred.length === 0 ? {} : { deferred: step.deferred }),
    ...(step.policy === undefined ? {} : { policy: step.policy }),
    ...(step.schemas?.output === undefined ? {} : { outputSchema: step.schemas.output }),
    ...(step.sink === undefined ? {} : { sink: step.sink }),
    ...(step.child === undefined ? {} : { child: childOf(state, node, now, path, step.child, previous) }),
    ...(step.fireAt === undefined ? {} : { fireAt: addDuration(step.fireAt, node.startDelayMs) }),
  };
};

/** A signal that came before its wait ends it. */
export const takeWhatIsAtHand = ({ state, environment, now }: Look, entry: TaskEntry): WorkflowEvent | undefined =>
  closingAtHand(state, entry, { now, findViolation: environment.findViolation });
