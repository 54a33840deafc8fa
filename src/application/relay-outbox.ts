import type { DeliveryFailure, EngineStore, OutboxMessage } from '../ports/engine-store.ts';

/** Delivers one message, or says why it cannot. It may be asked twice: messages are delivered at least once. */
export type MessageHandler = (message: OutboxMessage) => Promise<void>;

const RELAY_BATCH_MAX = 50;
/** How long a claimed message is in hand: above what a whole batch takes to deliver. */
const RELAY_HOLD_MS = 60_000;
/** Deliveries tried before a message is a dead letter: generous, since the usual cause is a part that still starts. */
export const DELIVERY_ATTEMPTS_MAX = 10;
const BACKOFF_BASE_MS = 500;
const BACKOFF_MAX_MS = 300_000;

/**
 * Sends what transactions owed to the outside. A message without a handler is a failure like any other: it backs off and
 * becomes a dead letter, kept and visible; it is never dropped (promise 5).
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
   * Claims a batch, delivers it outside of any transaction, so that a slow receiver holds no snapshot, and marks it. A
   * crash in between delivers again once the hold is over; handlers are idempotent by the message's dedup key.
   */
  async runOnce(): Promise<number> {
    const messages = await this.engine.transaction((tx) => tx.claimMessages(RELAY_BATCH_MAX, RELAY_HOLD_MS));
    if (messages.length === 0) return 0;
    const delivered: string[] = [];
    const failures: DeliveryFailure[] = [];
    for (const message of messages) {
      const failure = await this.deliver(message);
      if (failure === undefined) delivered.push(message.id);
      else failures.push(failure);
    }
    await this.engine.transaction(async (tx) => {
      if (delivered.length > 0) await tx.markDelivered(delivered);
      if (failures.length > 0) await tx.markFailed(failures);
    });
    for (const { id, reason, dead } of failures) this.onFailure(id, reason, dead);
    return messages.length;
  }

  private async deliver(message: OutboxMessage): Promise<DeliveryFailure | undefined> {
    try {
      const handler = this.handlers.get(message.topic);
      if (handler === undefined) throw new Error(`no handler is registered for the topic ${message.topic}`);
      await handler(message);
      return undefined;
    } catch (error) {
      const attempts = message.attempts + 1;
      return {
        id: message.id,
        reason: (error instanceof Error ? error.message : 'unknown error').slice(0, 1_000),
        retryAfterMs: Math.min(BACKOFF_BASE_MS * 2 ** (attempts - 1), BACKOFF_MAX_MS),
        dead: attempts >= DELIVERY_ATTEMPTS_MAX,
      };
    }
  }
}
