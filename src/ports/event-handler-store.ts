import type { EventHandler } from '../domain/event-handler/event-handler.ts';
import type { Instant, Namespace } from '../domain/kernel/brand.ts';
import type { JsonObject } from '../domain/kernel/json.ts';

export type EventHandlerRow = Readonly<{
  namespace: Namespace;
  handler: EventHandler;
  createdAt: Instant;
  updatedAt: Instant;
  createdBy: string;
  updatedBy: string;
}>;

/** ACTED; PASSED_OVER: its condition does not hold; DUPLICATE of one that was acted upon; FAILED, and may be tried again. */
export const EVENT_HANDLER_RUN_STATES = ['ACTED', 'PASSED_OVER', 'DUPLICATE', 'FAILED'] as const;
export type EventHandlerRunState = (typeof EVENT_HANDLER_RUN_STATES)[number];

/** What one message did through one handler. */
export type NewEventHandlerRun = Readonly<{
  namespace: Namespace;
  handler: string;
  event: string;
  messageId: string;
  state: EventHandlerRunState;
  reason?: string;
  /** What was done, one entry an action. */
  actions: readonly JsonObject[];
}>;

export type EventHandlerRun = NewEventHandlerRun & Readonly<{ id: string; recordedAt: Instant }>;

export type EventDedupe = Readonly<{ namespace: Namespace; handler: string; dedupeId: string }>;

export interface EventHandlerTx {
  /** The active handlers of an event, by name. */
  handlersOf(namespace: Namespace, event: string): Promise<readonly EventHandler[]>;
  findHandler(namespace: Namespace, name: string): Promise<EventHandler | undefined>;
  /** False: the id was there. It is remembered for `keptMs`. */
  claimEventDedupe(dedupe: EventDedupe, keptMs: number): Promise<boolean>;
  /** Records what a message did, in the place of what was recorded of it before; of each handler the newest `keepMax`. */
  recordEventHandlerRun(run: NewEventHandlerRun, keepMax: number): Promise<void>;
}

export type EventHandlerFilter = Readonly<{ event?: string; active?: boolean }>;

export interface EventHandlerStore {
  putHandler(row: EventHandlerRow): Promise<Readonly<{ outcome: 'created' | 'replaced'; row: EventHandlerRow }>>;
  findHandlerRow(namespace: Namespace, name: string): Promise<EventHandlerRow | undefined>;
  /** By name. */
  listHandlers(
    namespace: Namespace,
    filter: EventHandlerFilter,
    page: Readonly<{ limit: number; after?: string }>,
  ): Promise<readonly EventHandlerRow[]>;
  /** Removes a handler and its log. */
  deleteHandler(namespace: Namespace, name: string): Promise<boolean>;
  /** The log of one handler, or of all of a namespace, newest first. */
  listHandlerRuns(
    namespace: Namespace,
    handler: string | undefined,
    page: Readonly<{ limit: number; before?: string }>,
  ): Promise<readonly EventHandlerRun[]>;
}
