import type { EngineTx, OutboxMessage } from '../ports/engine-store.ts';

/** What is left to do once a transaction has committed: wake who waits, remember the state. It must not throw. */
export type AfterCommit = () => void;

export const nothingMore: AfterCommit = () => undefined;

/**
 * Effects in this very database: they and the delivery commit together, so they happen once however often the relay dies.
 * A throw rolls both back, and the message is tried again later. It takes its locks in the order of `EngineTx`; the message
 * itself is marked last. The transaction may run several times before it commits.
 */
export type InternalHandler = Readonly<{
  kind: 'internal';
  handle: (tx: EngineTx, message: OutboxMessage) => Promise<AfterCommit>;
  /** Beside the mark of a delivery that failed: what else is to be known of it. */
  failed?: (tx: EngineTx, message: OutboxMessage, reason: string) => Promise<void>;
}>;

/** Why a message would fail in the same way each time: it is a dead letter at once. */
export class Undeliverable extends Error {
  override readonly name = 'Undeliverable';
}

/** Effects elsewhere, outside of any transaction. It may be asked twice: messages are delivered at least once. */
export type ExternalHandler = Readonly<{ kind: 'external'; deliver: (message: OutboxMessage) => Promise<void> }>;

/** Deals with one message, or throws to say why it cannot. */
export type MessageHandler = InternalHandler | ExternalHandler;
