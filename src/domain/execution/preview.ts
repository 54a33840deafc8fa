import type { Instant } from '../kernel/brand.ts';
import type { DecisionEnvironment } from '../tasks/task-semantics.ts';
import { accept } from './accept.ts';
import { applyAccepted, type Decision, decideOwned } from './decide.ts';
import type { EnvironmentRead, ExecutionStarted, SequencedEvent, WorkflowEvent } from './events.ts';
import { EVENT_ORIGINS, outcomesOf, type Replay, type ReplayDifference, type ReplayEnvironment } from './replay.ts';
import type { ExecutionRequest } from './requests.ts';
import type { ExecutionState } from './state.ts';
import { keyOf } from './task-key.ts';

export type Preview = Readonly<{
  kind: 'preview';
  events: readonly SequencedEvent[];
  /** Where it first goes another way than the record; absent: it does not. */
  difference?: ReplayDifference;
  /** What outsiders said and this version has no place for: seqs of the record. */
  unused: readonly number[];
}>;

/** Facts that one preview may make, over all: a loop that another version never leaves must end somewhere. */
export const PREVIEW_EVENTS_MAX = 100_000;

/**
 * What another version would have decided, had it been told what this run was told: outcomes go to the attempts of the same
 * task, iteration and number once they are open, in the order of the record. Nothing is carried out.
 */
export const previewLog = (
  state: ExecutionState,
  log: readonly SequencedEvent[],
  environment: ReplayEnvironment,
): Preview | Extract<Replay, { kind: 'needs' }> => {
  const polled = new Set(log.map(({ event }) => (event.type === 'TaskScheduled' ? event.queue : '')));
  // What a cache gave is told like an outcome, to whichever attempt it was for.
  const recorded = { cachedOutput: () => null, isPolled: (queue: string) => polled.has(queue) };
  const known = new KnownValues(log);
  const environmentValues = () => known.current();
  const told = new Told(state, { ...environment, ...recorded, environmentValues });
  for (const entry of log) {
    known.comeTo(entry.event.at);
    const names = told.tell(entry);
    if (names.length > 0) return { kind: 'needs', names };
    if (told.events.length >= PREVIEW_EVENTS_MAX) break;
  }
  const difference = firstDifference(log, told.events);
  const preview = { kind: 'preview', events: told.events, unused: told.unused() } as const;
  return difference === undefined ? preview : { ...preview, difference };
};

/** Environment values as the record has them at a time: what follows from a fact was read at the same instant. */
class KnownValues {
  private readonly reads: readonly EnvironmentRead[];
  private readonly values = new Map<string, string>();
  private taken = 0;

  constructor(log: readonly SequencedEvent[]) {
    this.reads = log.flatMap(({ event }) => (event.type === 'EnvironmentRead' ? [event] : []));
  }

  comeTo(at: Instant): void {
    for (let next = this.reads[this.taken]; next !== undefined && next.at <= at; next = this.reads[this.taken]) {
      for (const [name, value] of Object.entries(next.values)) {
        if (value === null) this.values.delete(name);
        else this.values.set(name, value);
      }
      this.taken += 1;
    }
  }

  current(): Readonly<Record<string, string>> {
    return Object.fromEntries(this.values);
  }
}

/** One run that is told, one after the other, what another was told. */
class Told {
  readonly events: SequencedEvent[] = [];
  private readonly state: ExecutionState;
  private readonly environment: DecisionEnvironment;
  /** Outcomes whose attempt is not open yet, by its key. */
  private readonly kept = new Map<string, SequencedEvent>();
  private readonly refused: number[] = [];
  /** Attempts that this version closed by itself: with a signal that was kept for them, say. */
  private readonly derived = new Set<string>();

  constructor(state: ExecutionState, environment: DecisionEnvironment) {
    this.state = state;
    this.environment = environment;
  }

  unused(): readonly number[] {
    return [...this.refused, ...[...this.kept.values()].map(({ seq }) => seq)].sort((a, b) => a - b);
  }

  /** Returns task definitions that are needed to go on. */
  tell(entry: SequencedEvent): readonly string[] {
    const { event, seq } = entry;
    if (event.type === 'ExecutionStarted') return this.add(applyAccepted(this.state, [this.startOf(event)]), event);
    const requests = requestsOf(event);
    if (requests === undefined || (isOutcome(event) && this.derived.has(attemptKey(event)))) return [];
    const answer = this.put(entry, requests);
    if (answer !== undefined) return answer;
    if (isOutcome(event)) this.kept.set(attemptKey(event), entry);
    else if (!isDeadline(event)) this.refused.push(seq);
    return [];
  }

  private startOf({ gated: _gated, ...recorded }: ExecutionStarted): ExecutionStarted {
    const { hash, definition } = this.state.plan;
    return { ...recorded, definitionHash: hash, version: definition.version, variables: definition.variables };
  }

  /** Undefined: refused. */
  private put({ event }: SequencedEvent, requests: readonly ExecutionRequest[]): readonly string[] | undefined {
    for (const request of requests) {
      const accepted = accept(this.state, request, event.at, this.environment.findViolation);
      if (accepted.ok) return this.add(applyAccepted(this.state, accepted.value), event);
    }
    return undefined;
  }

  /** What follows, and then what was told before its attempt was open. */
  private add(accepted: Decision, { at }: WorkflowEvent): readonly string[] {
    this.events.push(...accepted.events);
    const room = PREVIEW_EVENTS_MAX - this.events.length;
    const decision = decideOwned(this.state, this.environment, at, Math.max(0, room));
    this.events.push(...decision.events);
    const names = decision.needs.flatMap((need) => (need.type === 'needsTaskDefinition' ? [need.name] : []));
    if (names.length > 0) return names;
    for (const { event } of decision.events) {
      if (isOutcome(event)) this.derived.add(attemptKey(event));
      const waiting = event.type === 'TaskScheduled' ? this.take(attemptKey(event)) : undefined;
      if (waiting === undefined) continue;
      const needed = this.tell({ seq: waiting.seq, event: { ...waiting.event, at } });
      if (needed.length > 0) return needed;
    }
    return [];
  }

  private take(key: string): SequencedEvent | undefined {
    const entry = this.kept.get(key);
    this.kept.delete(key);
    return entry;
  }
}

type OutcomeEvent = Extract<WorkflowEvent, { type: 'TaskClosed' | 'TaskDeadlineMissed' | 'TaskTakenFromCache' }>;

const isOutcome = (event: WorkflowEvent): event is OutcomeEvent =>
  event.type === 'TaskClosed' || event.type === 'TaskDeadlineMissed' || event.type === 'TaskTakenFromCache';

const attemptKey = (slot: Readonly<{ ref: string; iteration: number; attempt: number }>): string =>
  `${keyOf(slot)}/${slot.attempt}`;

/** How an outsider would have asked for this fact, in the forms it may have had; undefined: nobody asked for it. */
const requestsOf = (event: WorkflowEvent): readonly ExecutionRequest[] | undefined => {
  switch (event.type) {
    case 'TaskClosed':
    case 'TaskDeadlineMissed':
      return outcomesOf(event).map((outcome) => ({ type: 'SettleTask', outcome }));
    case 'TaskTakenFromCache': {
      const { ref, iteration, attempt, output } = event;
      return [{ type: 'SettleTask', outcome: { ref, iteration, attempt, status: 'COMPLETED', output } }];
    }
    case 'SignalBuffered': {
      const { ref, status, output } = event;
      return [{ type: 'Signal', ref, status, output, by: '' }];
    }
    case 'MessageReceived': {
      const { id, payload, by } = event;
      return [{ type: 'ReceiveMessage', id, payload, by }];
    }
    case 'ExecutionPaused':
      return [{ type: 'Pause', by: event.by, ...reasonOf(event) }];
    case 'ExecutionResumed':
      return [{ type: 'Resume', by: event.by, ...reasonOf(event) }];
    case 'ExecutionRetried':
      return [{ type: 'Retry', by: event.by, ...reasonOf(event) }];
    case 'ExecutionDeadlineMissed':
      return [{ type: 'PassExecutionDeadline' }];
    case 'EnvironmentRead':
      return undefined;
    case 'CompensationStarted':
      return isDeadline(event) ? [{ type: 'PassExecutionDeadline' }] : undefined;
    case 'ExecutionClosed':
      if (isDeadline(event)) return [{ type: 'PassExecutionDeadline' }];
      return event.by === undefined ? undefined : [{ type: 'Terminate', by: event.by, ...reasonOf(event) }];
    default:
      return EVENT_ORIGINS[event.type] === 'asked' && !isAdmission(event) ? [] : undefined;
  }
};

/** The clock said it, no outsider: the deadline of a run ends it without the name of a task or of a person. */
const isDeadline = (event: WorkflowEvent): boolean =>
  event.type === 'ExecutionDeadlineMissed' ||
  ((event.type === 'ExecutionClosed' || event.type === 'CompensationStarted') &&
    event.status === 'TIMED_OUT' &&
    event.failedTask === undefined);

/** Places under limits are no matter of a version. */
const isAdmission = ({ type }: WorkflowEvent): boolean => type === 'ExecutionQueued' || type === 'ExecutionAdmitted';

const reasonOf = ({ reason }: Readonly<{ reason?: string }>): { reason?: string } =>
  reason === undefined ? {} : { reason };

/** What differs between any two versions, and between any two times. */
const VOLATILE = ['at', 'visibleAt', 'firstScheduledAt', 'startedAt', 'fireAt', 'definitionHash', 'version', 'gated'];

const shapeOf = (event: WorkflowEvent): string =>
  JSON.stringify(event, (name, value: unknown) => (VOLATILE.includes(name) ? undefined : value));

const firstDifference = (
  log: readonly SequencedEvent[],
  events: readonly SequencedEvent[],
): ReplayDifference | undefined => {
  const recorded = log.filter(({ event }) => !isAdmission(event));
  for (let index = 0; index < Math.max(recorded.length, events.length); index += 1) {
    const [left, right] = [recorded[index], events[index]];
    if (left !== undefined && right !== undefined && shapeOf(left.event) === shapeOf(right.event)) continue;
    return {
      seq: left?.seq ?? right?.seq ?? 0,
      ...(left === undefined ? {} : { recorded: left.event }),
      ...(right === undefined ? {} : { derived: right.event }),
    };
  }
  return undefined;
};
