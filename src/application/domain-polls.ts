import { hasDomain } from '../domain/execution/routing.ts';
import type { Namespace } from '../domain/kernel/brand.ts';
import type { Clock } from '../ports/clock.ts';
import type { EngineStore, NamedQueue } from '../ports/engine-store.ts';
import type { ParkedPolls } from './parked-polls.ts';

/** A queue that is polled all the time is noted this often: well within the time for which a poll counts. */
export const POLL_NOTED_EVERY_MS = 3_000;
/** Queues remembered as noted; forgetting one costs a note too many. */
const NOTED_MAX = 10_000;

/**
 * Tells all processes which queues with a domain have workers, for runs that name several domains. Polls of queues without
 * one cost nothing here.
 */
export class DomainPolls {
  private readonly engine: EngineStore;
  private readonly clock: Clock;
  private readonly polls: ParkedPolls;
  private readonly notedAt = new Map<string, number>();

  constructor(engine: EngineStore, clock: Clock, polls: ParkedPolls) {
    this.engine = engine;
    this.clock = clock;
    this.polls = polls;
  }

  /** A poll is about to look: what it polls is on record before it finds nothing and waits. */
  async note(namespace: Namespace, queues: readonly string[]): Promise<void> {
    if (queues.some(hasDomain)) await this.noteDue(queues.map((queue) => ({ namespace, queue })));
  }

  /** Keeps the parked polls on record. Always answers 0: there is never more to do at once. */
  async runOnce(): Promise<number> {
    await this.noteDue(this.polls.waitedFor());
    return 0;
  }

  private async noteDue(queues: readonly NamedQueue[]): Promise<void> {
    const now = this.clock.now();
    const due = queues.filter(
      (one) => hasDomain(one.queue) && now - (this.notedAt.get(keyOf(one)) ?? 0) >= POLL_NOTED_EVERY_MS,
    );
    if (due.length === 0) return;
    await this.engine.transaction((tx) => tx.notePolls(due));
    if (this.notedAt.size > NOTED_MAX) this.notedAt.clear();
    for (const one of due) this.notedAt.set(keyOf(one), now);
  }
}

const keyOf = ({ namespace, queue }: NamedQueue): string => `${namespace}/${queue}`;
