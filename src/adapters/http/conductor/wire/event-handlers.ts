import type { JsonObject } from '../../../../domain/kernel/json.ts';
import type { EventHandlerRow, EventHandlerRun, EventHandlerRunState } from '../../../../ports/event-handler-store.ts';
import type { InternalEvent } from '../../../../ports/outbox-index.ts';
import type { Tag } from '../../../../ports/tag-store.ts';
import { actionBodyOf, wireNameOf } from '../schemas/event-handlers.ts';
import { tagBodyOf } from './tags.ts';

export const handlerBodyOf = ({ handler, ...row }: EventHandlerRow, tags: readonly Tag[] = []): JsonObject => ({
  name: handler.name,
  event: handler.event,
  ...(handler.description === undefined ? {} : { description: handler.description }),
  ...(handler.condition === undefined ? {} : { condition: handler.condition }),
  ...(handler.evaluator === undefined ? {} : { evaluatorType: handler.evaluator }),
  actions: handler.actions.map(actionBodyOf),
  active: handler.active,
  createdBy: row.createdBy,
  tags: tags.map(tagBodyOf),
});

const STATUSES: Readonly<Record<EventHandlerRunState, 'COMPLETED' | 'FAILED' | 'SKIPPED'>> = {
  ACTED: 'COMPLETED',
  PASSED_OVER: 'SKIPPED',
  DUPLICATE: 'SKIPPED',
  FAILED: 'FAILED',
};

/** What a message did through a handler, one entry an action; one at least, so that what did nothing is seen too. */
export const executionBodiesOf = (run: EventHandlerRun): readonly JsonObject[] => {
  const base = {
    messageId: run.messageId,
    name: run.handler,
    event: run.event,
    created: run.recordedAt,
    status: STATUSES[run.state],
    ...(run.reason === undefined ? {} : { statusDescription: run.reason }),
  };
  if (run.actions.length === 0) return [{ id: `${run.messageId}_0`, ...base }];
  return run.actions.map(({ action, ...output }, index) => ({
    id: `${run.messageId}_${index}`,
    ...base,
    ...(typeof action === 'string' ? { action: wireNameOf(action) } : {}),
    output,
  }));
};

const statusOf = (runs: readonly EventHandlerRun[]): string => {
  if (runs.length === 0) return 'RECEIVED';
  return runs.some(({ state }) => state === 'FAILED') ? 'REJECTED' : 'HANDLED';
};

export const messageBodyOf = (event: InternalEvent, runs: readonly EventHandlerRun[]): JsonObject => ({
  id: event.messageId,
  createdAt: event.recordedAt,
  eventTarget: event.sink,
  eventType: 'MESSAGE',
  payload: JSON.stringify(event.payload),
  fullPayload: event.payload,
  status: statusOf(runs),
  eventExecutions: runs.flatMap(executionBodiesOf),
});
