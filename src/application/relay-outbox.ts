import type { DeliveryFailure, EngineStore, OutboxMessage } from '../ports/engine-store.ts';
import { type InternalHandler, type MessageHandler, Undeliverable } from './message-handler.ts';

const RELAY_BATCH_MAX = 50;
/** Messages of one batch that are dealt with at a time: each is of another ordering key. */
const RELAY_FLIGHTS_MAX = 4;
/** How long a claimed message is in hand: above what a whole batch takes to deliver. */
const RELAY_HOLD_MS = 60_000;
/** Deliveries tried before a message is a dead letter: generous, since the usual cause is a part that still starts. */
export const DELIVERY_ATTEMPTS_MAX = 10;
const BACKOFF_BASE_MS = 500;
const BACKOFF_MAX_MS = 300_000;

type FailedDelivery = DeliveryFailure & Readonly<{ message: OutboxMessage }>;

type Delivery = Readonly<{ kind: 'committed' } | { kind: 'delivered' } | { kind: 'failed'; failure: FailedDelivery }>;

/** Another relay was faster, after the hold was over: what it did stands, and ours is rolled back. */
class DeliveredByAnother extends Error {}

/**
 * Carries out what transactions owed. A message without a handler is a failure like any other: it backs off and becomes a
 * dead letter, kept and visible; it is never dropped (promise 5).
 */
export class RelayOutbox {
  private readonly engine: EngineStore;
  private readonly handlers: ReadonlyMap<string, MessageHandler>;
  private readonly onFailure: (id: string, reason: string, dead: boolean) => void;

  constructor(
    engine: EngineStore,
    handlers: ReadonlyMap<string, MessageHandler>,
    onFailure: (id: string, reason: string, dead: boolean) => void,
  ) {
    this.engine = engine;
    this.handlers = handlers;
    this.onFailure = onFailure;
  }

  /**
   * Claims a batch, the oldest message of each ordering key, in a short transaction of its own. What leaves the database is
   * delivered outside of any transaction, so that a slow receiver holds no snapshot, and marked afterwards: a crash in
   * between delivers again once the hold is over. What stays in it is done and marked in one transaction a message.
   */
  async runOnce(): Promise<number> {
    const messages = await this.engine.transaction((tx) => tx.claimMessages(RELAY_BATCH_MAX, RELAY_HOLD_MS));
    if (messages.length === 0) return 0;
    const delivered: string[] = [];
    const failures: FailedDelivery[] = [];
    const queue = messages.values();
    const flights = Array.from({ length: Math.min(RELAY_FLIGHTS_MAX, messages.length) }, async () => {
      for (const message of queue) {
        const delivery = await this.deliver(message);
        if (delivery.kind === 'delivered') delivered.push(message.id);
        if (delivery.kind === 'failed') failures.push(delivery.failure);
      }
    });
    await Promise.all(flights);
    await this.mark(delivered, failures);
    return messages.length;
  }

  private async mark(delivered: readonly string[], failures: readonly FailedDelivery[]): Promise<void> {
    if (delivered.length === 0 && failures.length === 0) return;
    await this.engine.transaction(async (tx) => {
      if (delivered.length > 0) await tx.markDelivered(delivered);
      for (const { message, reason } of failures) {
        const handler = this.handlers.get(message.topic);
        if (handler?.kind === 'internal') await handler.failed?.(tx, message, reason);
      }
      if (failures.length > 0) await tx.markFailed(failures);
    });
    for (const { id, reason, dead } of failures) this.onFailure(id, reason, dead);
  }

  private async deliver(message: OutboxMessage): Promise<Delivery> {
    try {
      const handler = this.handlers.get(message.topic);
      if (handler === undefined) throw new Error(`no handler is registered for the topic ${message.topic}`);
      if (handler.kind === 'internal') return await this.handle(handler, message);
      await handler.deliver(message);
      return { kind: 'delivered' };
    } catch (error) {
      return { kind: 'failed', failure: failureOf(message, error) };
    }
  }

  /** The effects and the mark in one transaction; whoever finds the message gone has done nothing. */
  private async handle(handler: InternalHandler, message: OutboxMessage): Promise<Delivery> {
    try {
      const afterCommit = await this.engine.transaction(async (tx) => {
        const after = await handler.handle(tx, message);
        if ((await tx.markDelivered([message.id])) === 0) throw new DeliveredByAnother();
        return after;
      });
      afterCommit();
    } catch (error) {
      if (!(error instanceof DeliveredByAnother)) throw error;
    }
    return { kind: 'committed' };
  }
}

const failureOf = (message: OutboxMessage, error: unknown): FailedDelivery => {
  const attempts = message.attempts + 1;
  return {
    message,
    id: message.id,
    reason: (error instanceof Error ? error.message : 'unknown error').slice(0, 1_000),
    retryAfterMs: Math.min(BACKOFF_BASE_MS * 2 ** (attempts - 1), BACKOFF_MAX_MS),
    dead: attempts >= DELIVERY_ATTEMPTS_MAX || error instanceof Undeliverable,
  };
};
