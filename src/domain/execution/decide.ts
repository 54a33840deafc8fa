import type { Instant } from '../kernel/brand.ts';
import type { DecisionEnvironment } from '../tasks/task-semantics.ts';
import type { Command } from './commands.ts';
import { commandsFor } from './commands-for.ts';
import { environmentNews } from './environment.ts';
import type { SequencedEvent, WorkflowEvent } from './events.ts';
import { applyEvent } from './evolve.ts';
import type { Need } from './needs.ts';
import { nextEvent } from './next-event.ts';
import { copyState, type ExecutionState } from './state.ts';

/** Facts that one decision may chain; at the bound the pass commits and asks for another. */
export const DECISION_EVENTS_MAX = 10_000;

export type Decision = Readonly<{
  events: readonly SequencedEvent[];
  commands: readonly Command[];
  /** The bound was reached: another pass is needed. */
  more: boolean;
  /** What to load before the decision can go on; decide again with it. */
  needs: readonly Need[];
}>;

/** Folds facts that were accepted into a state the caller owns, and names their effects. */
export const applyAccepted = (state: ExecutionState, accepted: readonly WorkflowEvent[]): Decision => {
  const events: SequencedEvent[] = [];
  const commands: Command[] = [];
  for (const event of accepted) {
    applyEvent(state, event);
    events.push({ seq: state.seq, event });
    commands.push(...commandsFor(state, event));
  }
  return { events, commands, more: false, needs: [] };
};

/**
 * Derives what follows by the engine's own rules into a state that the caller owns: one fact, folded, and a look again,
 * until nothing is due. Deciding the decided yields nothing. A run that is paused or awaits its admission decides nothing.
 */
export const decideOwned = (
  state: ExecutionState,
  environment: DecisionEnvironment,
  now: Instant,
  eventsMax: number = DECISION_EVENTS_MAX,
): Decision => {
  const events: SequencedEvent[] = [];
  const commands: Command[] = [];
  while (state.lifecycle.status === 'RUNNING' && !state.awaitingAdmission) {
    if (events.length >= eventsMax) return { events, commands, more: true, needs: [] };
    const due = nextEvent(state, environment, now);
    if (due === undefined) break;
    // Only where something is due at all: a pass that finds nothing reads nothing.
    const fact = environmentNews(state, environment, now) ?? due;
    if (!('at' in fact)) return { events, commands, more: false, needs: [fact] };
    applyEvent(state, fact);
    events.push({ seq: state.seq, event: fact });
    commands.push(...commandsFor(state, fact));
  }
  return { events, commands, more: false, needs: [] };
};

/** The pure form, for callers that keep the old state: tests, replay, previews. */
export const decide = (
  state: ExecutionState,
  environment: DecisionEnvironment,
  now: Instant,
  eventsMax: number = DECISION_EVENTS_MAX,
): Decision => decideOwned(copyState(state), environment, now, eventsMax);
