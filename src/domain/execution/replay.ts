import type { DecisionEnvironment } from '../tasks/task-semantics.ts';
import { accept } from './accept.ts';
import type { Due } from './entering.ts';
import type { SequencedEvent, TaskClosed, TaskDeadlineMissed, WorkflowEvent, WorkflowEventType } from './events.ts';
import { applyEvent } from './evolve.ts';
import type { Need } from './needs.ts';
import { nextEvent } from './next-event.ts';
import type { TaskOutcome } from './requests.ts';
import { type ExecutionState, isOpen } from './state.ts';

/**
 * Where a fact comes from. `asked`: an outsider said so, and it is taken as it is. `settled`: an outcome of an attempt, from
 * which its fact follows. `derived`: the engine's own rules. `ending`: either an outsider or those rules end the run.
 */
export type EventOrigin = 'asked' | 'settled' | 'derived' | 'ending';

/** Total, so a new kind of fact does not compile without its origin. */
export const EVENT_ORIGINS: Readonly<Record<WorkflowEventType, EventOrigin>> = {
  ExecutionStarted: 'asked',
  SignalBuffered: 'asked',
  MessageReceived: 'asked',
  ExecutionQueued: 'asked',
  ExecutionAdmitted: 'asked',
  ExecutionPaused: 'asked',
  ExecutionResumed: 'asked',
  ExecutionRetried: 'asked',
  ExecutionDeadlineMissed: 'asked',
  ExecutionAdopted: 'asked',
  ExecutionRerun: 'asked',
  TasksRerun: 'asked',
  ExecutionRestarted: 'asked',
  ExecutionJumped: 'asked',
  ExecutionUpgraded: 'asked',
  EnvironmentRead: 'asked',
  VariablesSet: 'asked',
  SkipRequested: 'asked',
  TaskSkipped: 'asked',
  TaskCanceled: 'asked',
  TaskClosed: 'settled',
  TaskDeadlineMissed: 'settled',
  TaskScheduled: 'derived',
  TaskRefused: 'derived',
  TaskTakenFromCache: 'derived',
  OperatorResolved: 'derived',
  OperatorOpened: 'derived',
  LoopIterated: 'derived',
  OperatorClosed: 'derived',
  CompensationEnded: 'derived',
  CompensationStarted: 'ending',
  ExecutionClosed: 'ending',
};

/** What outlasts a run and is looked up while it is decided is taken from the record, too: caches, who polls, the environment. */
export type ReplayEnvironment = Omit<DecisionEnvironment, 'cachedOutput' | 'isPolled' | 'environmentValues'>;

/** The first place where what follows is not what is on record; one of the two is absent where the other goes on alone. */
export type ReplayDifference = Readonly<{ seq: number; recorded?: WorkflowEvent; derived?: WorkflowEvent }>;

export type Replay =
  | Readonly<{ kind: 'same' }>
  | Readonly<{ kind: 'differs'; difference: ReplayDifference }>
  /** Task definitions to load before it can go on; replay again with them. */
  | Readonly<{ kind: 'needs'; names: readonly string[] }>;

/** Statuses that an excused outcome may have had: an optional task that failed shows none of them. */
const EXCUSED = ['FAILED', 'TIMED_OUT', 'FAILED_WITH_TERMINAL_ERROR'] as const;

const isNeed = (due: Due): due is Need => !Object.hasOwn(EVENT_ORIGINS, due.type);

const textOf = (event: WorkflowEvent | undefined): string => JSON.stringify(event) ?? '';

/**
 * Derives the log of a run again, fact by fact, into an empty state with the plan it is pinned to: what outsiders said is
 * taken from the log, and everything else must follow, byte for byte. Nothing is carried out.
 */
export const replayLog = (
  state: ExecutionState,
  log: readonly SequencedEvent[],
  environment: ReplayEnvironment,
): Replay => {
  for (const { seq, event } of log) {
    const derived = derivedFact(state, event, environment);
    if (derived?.type === 'needsTaskDefinition') return { kind: 'needs', names: [derived.name] };
    if (!isSameFact(event, derived)) {
      const other = derived === undefined || isNeed(derived) ? {} : { derived };
      return { kind: 'differs', difference: { seq, recorded: event, ...other } };
    }
    applyEvent(state, event);
  }
  return { kind: 'same' };
};

type Derived = Due | undefined;

/** What follows where `event` is on record. */
const derivedFact = (state: ExecutionState, event: WorkflowEvent, environment: ReplayEnvironment): Derived => {
  const origin = EVENT_ORIGINS[event.type];
  switch (origin) {
    case 'asked':
      return event;
    case 'settled':
      return settledFact(state, event as TaskClosed | TaskDeadlineMissed, environment);
    case 'derived':
      return ownFact(state, event, environment);
    case 'ending':
      return endingFact(state, event, environment);
    default:
      return origin satisfies never;
  }
};

const mayDecide = (state: ExecutionState): boolean => state.lifecycle.status === 'RUNNING' && !state.awaitingAdmission;

const ownFact = (state: ExecutionState, event: WorkflowEvent, given: ReplayEnvironment): Derived => {
  const environment: DecisionEnvironment = {
    ...given,
    cachedOutput: () => (event.type === 'TaskTakenFromCache' ? event.output : null),
    isPolled: (queue) => event.type === 'TaskScheduled' && event.queue === queue,
    environmentValues: () => Object.fromEntries(state.environment),
  };
  return mayDecide(state) ? nextEvent(state, environment, event.at) : undefined;
};

/** Who ended it is on record when somebody did; its deadline ends it by asking too. */
const endingFact = (state: ExecutionState, event: WorkflowEvent, environment: ReplayEnvironment): Derived => {
  if (event.type === 'ExecutionClosed' && event.by !== undefined) return isOpen(state) ? event : undefined;
  const derived = ownFact(state, event, environment);
  if (derived !== undefined && isSameFact(event, derived)) return derived;
  const passed = accept(state, { type: 'PassExecutionDeadline' }, event.at, environment.findViolation);
  const [first] = passed.ok ? passed.value : [];
  return first !== undefined && isSameFact(event, first) ? first : derived;
};

/** The outcome that a closed attempt was closed with, as far as its fact tells. */
export const outcomesOf = (event: TaskClosed | TaskDeadlineMissed): readonly TaskOutcome[] => {
  if (event.type === 'TaskDeadlineMissed') {
    const { ref, iteration, attempt, deadline } = event;
    return [{ ref, iteration, attempt, deadline, status: 'TIMED_OUT', output: {} }];
  }
  const { type: _type, at: _at, disposition, status, ...outcome } = event;
  // An operator withdrew or skipped it: no outcome was reported.
  if (status === 'SKIPPED' || disposition.kind === 'withdraw') return [];
  if (status === 'COMPLETED_WITH_ERRORS') return EXCUSED.map((excused) => ({ ...outcome, status: excused }));
  return [{ ...outcome, status }];
};

const settledFact = (
  state: ExecutionState,
  event: TaskClosed | TaskDeadlineMissed,
  environment: ReplayEnvironment,
): Derived => {
  const outcomes = outcomesOf(event);
  if (outcomes.length === 0) return event;
  let first: WorkflowEvent | undefined;
  for (const outcome of outcomes) {
    const settled = accept(state, { type: 'SettleTask', outcome }, event.at, environment.findViolation);
    const fact = settled.ok ? settled.value[0] : undefined;
    if (isSameFact(event, fact)) return fact;
    first ??= fact;
  }
  return first;
};

/**
 * A task definition that only the running named is looked up as it is now; where it has changed since, the task that was
 * scheduled with the old one is no difference.
 */
const isSameFact = (recorded: WorkflowEvent, derived: Derived): boolean => {
  if (derived === undefined || isNeed(derived)) return false;
  if (textOf(recorded) === textOf(derived)) return true;
  if (recorded.type !== 'TaskScheduled' || recorded.policy === undefined || derived.type !== 'TaskScheduled')
    return false;
  return textOf(withoutSettings(recorded)) === textOf(withoutSettings(derived));
};

const SETTINGS = { policy: undefined, input: null, schemas: undefined } as const;

const withoutSettings = (event: WorkflowEvent): WorkflowEvent => ({ ...event, ...SETTINGS }) as WorkflowEvent;
