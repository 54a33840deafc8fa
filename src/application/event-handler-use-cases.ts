import { z } from 'zod';
import type { CheckScript } from '../domain/definition/check-context.ts';
import { nameProblem } from '../domain/definition/names.ts';
import { type EventHandler, eventHandlerProblem, eventProblem } from '../domain/event-handler/event-handler.ts';
import { dedupeKey, type Judgement, judgeMessage } from '../domain/event-handler/judge-message.ts';
import type { EvaluateScript } from '../domain/execution/script.ts';
import type { Namespace } from '../domain/kernel/brand.ts';
import type { JsonObject } from '../domain/kernel/json.ts';
import { err, ok, type Result } from '../domain/kernel/result.ts';
import type { EngineStore } from '../ports/engine-store.ts';
import type {
  EventHandlerFilter,
  EventHandlerRow,
  EventHandlerRun,
  EventHandlerStore,
} from '../ports/event-handler-store.ts';
import type { Ids } from '../ports/ids.ts';
import type { TagStore } from '../ports/tag-store.ts';
import type { WakeSignal } from '../ports/wake-signal.ts';
import type { ApplicationError } from './application-error.ts';
import { decodeCursor, encodeCursor } from './cursor.ts';
import { EVENT_DEDUPE_KEPT_MS, handOut } from './handle-events.ts';
import type { Outcome, Page } from './use-cases.ts';

export type EventHandlerDeps = Readonly<{
  engine: EngineStore;
  handlers: EventHandlerStore;
  evaluateScript: EvaluateScript;
  checkScript: CheckScript;
  tags: Pick<TagStore, 'clearTags'>;
  ids: Ids;
  wake: WakeSignal;
}>;

export type Publication = Readonly<{ event: string; id?: string; payload: JsonObject }>;

export type Published = Readonly<{
  messageId: string;
  /** One of this id was published before, within a day. */
  duplicate: boolean;
  /** Active handlers that it is owed to. */
  handlers: number;
}>;

export interface EventHandlerUseCases {
  /** Errors: INVALID_NAME, VALIDATION_FAILED, EXPRESSION_INVALID. */
  put(
    namespace: Namespace,
    handler: EventHandler,
    by: string,
  ): Outcome<Readonly<{ outcome: 'created' | 'replaced'; row: EventHandlerRow }>>;
  get(namespace: Namespace, name: string): Outcome<EventHandlerRow>;
  list(
    namespace: Namespace,
    filter: EventHandlerFilter,
    limit: number,
    cursor?: string,
  ): Outcome<Page<EventHandlerRow>>;
  delete(namespace: Namespace, name: string): Outcome<null>;
  /** What a handler would do with a message; nothing is done. A text says why it would fail. */
  test(namespace: Namespace, name: string, payload: JsonObject): Outcome<Result<Judgement, string>>;
  runs(
    namespace: Namespace,
    handler: string | undefined,
    limit: number,
    cursor?: string,
  ): Outcome<Page<EventHandlerRun>>;
  /** An event from outside. Errors: VALIDATION_FAILED. */
  publish(namespace: Namespace, publication: Publication): Outcome<Published>;
}

const noHandler = (name: string) =>
  err<ApplicationError>({ code: 'NOT_FOUND', message: `There is no event handler ${name}.` });

/** What people and programs do with event handlers, and the door for events from outside. */
export class ManageEventHandlers implements EventHandlerUseCases {
  private readonly deps: EventHandlerDeps;

  constructor(deps: EventHandlerDeps) {
    this.deps = deps;
  }

  async put(
    namespace: Namespace,
    handler: EventHandler,
    by: string,
  ): Outcome<Readonly<{ outcome: 'created' | 'replaced'; row: EventHandlerRow }>> {
    const problem = nameProblem(handler.name, 'name', handler.dialect) ?? this.problemOf(handler);
    if (problem !== undefined) return err(problem);
    const now = await this.deps.engine.now();
    const times = { createdAt: now, updatedAt: now, createdBy: by, updatedBy: by };
    return ok(await this.deps.handlers.putHandler({ namespace, handler, ...times }));
  }

  private problemOf(handler: EventHandler): ApplicationError | undefined {
    return eventHandlerProblem(handler, (source) => {
      const checked = this.deps.checkScript(source, 'program');
      return checked.ok ? undefined : checked.error.message;
    });
  }

  async get(namespace: Namespace, name: string): Outcome<EventHandlerRow> {
    const row = await this.deps.handlers.findHandlerRow(namespace, name);
    return row === undefined ? noHandler(name) : ok(row);
  }

  async list(
    namespace: Namespace,
    filter: EventHandlerFilter,
    limit: number,
    cursor?: string,
  ): Outcome<Page<EventHandlerRow>> {
    const scope = `${namespace}/event-handlers/${JSON.stringify(filter)}`;
    const after = cursor === undefined ? undefined : decodeCursor(scope, cursor, z.string());
    if (after?.ok === false) return after;
    const page = { limit: limit + 1, ...(after && { after: after.value }) };
    const found = await this.deps.handlers.listHandlers(namespace, filter, page);
    const items = found.slice(0, limit);
    const last = items.at(-1);
    if (found.length <= limit || last === undefined) return ok({ items });
    return ok({ items, nextCursor: encodeCursor(scope, last.handler.name) });
  }

  async delete(namespace: Namespace, name: string): Outcome<null> {
    if (!(await this.deps.handlers.deleteHandler(namespace, name))) return noHandler(name);
    await this.deps.tags.clearTags(namespace, { kind: 'EVENT_HANDLER', name });
    return ok(null);
  }

  async test(namespace: Namespace, name: string, payload: JsonObject): Outcome<Result<Judgement, string>> {
    const found = await this.get(namespace, name);
    if (!found.ok) return found;
    const { handler } = found.value;
    const message = { event: handler.event, messageId: 'test', payload };
    return ok(judgeMessage(handler, message, this.deps.evaluateScript));
  }

  async runs(
    namespace: Namespace,
    handler: string | undefined,
    limit: number,
    cursor?: string,
  ): Outcome<Page<EventHandlerRun>> {
    if (handler !== undefined) {
      const found = await this.get(namespace, handler);
      if (!found.ok) return found;
    }
    const scope = `${namespace}/event-handler-runs/${JSON.stringify(handler ?? null)}`;
    const before = cursor === undefined ? undefined : decodeCursor(scope, cursor, z.string().regex(/^\d{1,18}$/));
    if (before?.ok === false) return before;
    const page = { limit: limit + 1, ...(before && { before: before.value }) };
    const found = await this.deps.handlers.listHandlerRuns(namespace, handler, page);
    const items = found.slice(0, limit);
    const last = items.at(-1);
    if (found.length <= limit || last === undefined) return ok({ items });
    return ok({ items, nextCursor: encodeCursor(scope, last.id) });
  }

  async publish(namespace: Namespace, { event, id, payload }: Publication): Outcome<Published> {
    const problem = eventProblem(event);
    if (problem !== undefined) return err(problem);
    // It has no run; its messages stand in a line of their own.
    const line = this.deps.ids.executionId();
    const messageId = id ?? line;
    const published = await this.deps.engine.transaction(async (tx): Promise<Published> => {
      const dedupe = { namespace, handler: '', dedupeId: dedupeKey(`${event}\n${messageId}`) };
      const isNew = id === undefined || (await tx.claimEventDedupe(dedupe, EVENT_DEDUPE_KEPT_MS));
      if (!isNew) return { messageId, duplicate: true, handlers: 0 };
      const handlers = await handOut(tx, { namespace, line, event, messageId, payload, depth: 0 });
      return { messageId, duplicate: false, handlers };
    });
    if (published.handlers > 0) this.deps.wake.publish(['outbox']);
    return ok(published);
  }
}
