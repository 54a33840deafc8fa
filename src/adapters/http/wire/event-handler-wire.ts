import { withoutUndefined } from '../../../domain/definition/without-undefined.ts';
import type { EventAction, EventHandler } from '../../../domain/event-handler/event-handler.ts';
import type { Judgement } from '../../../domain/event-handler/judge-message.ts';
import type { JsonObject } from '../../../domain/kernel/json.ts';
import type { Result } from '../../../domain/kernel/result.ts';
import type { EventHandlerRow, EventHandlerRun } from '../../../ports/event-handler-store.ts';
import type {
  EventHandlerBody,
  EventHandlerRequest,
  EventHandlerRunBody,
  EventHandlerTestBody,
} from '../schemas/event-handlers.ts';
import { isoText } from './instant-wire.ts';

export const eventHandlerOf = (name: string, body: EventHandlerRequest): EventHandler => {
  const { evaluatorType: evaluator, actions, ...rest } = body;
  return {
    name,
    ...withoutUndefined({ ...rest, evaluator }),
    actions: actions.map(({ action, input, expandInlineJSON }) => ({
      type: action,
      input,
      expandInlineJson: expandInlineJSON,
    })),
    dialect: 'v1',
  };
};

export const eventHandlerBody = ({ handler, ...row }: EventHandlerRow): EventHandlerBody => {
  const { evaluator: evaluatorType, actions, dialect: _, ...rest } = handler;
  return {
    ...rest,
    ...withoutUndefined({ evaluatorType }),
    actions: actions.map(({ type, input, expandInlineJson }) => ({
      action: type,
      input,
      expandInlineJSON: expandInlineJson,
    })),
    createdAt: isoText(row.createdAt),
    updatedAt: isoText(row.updatedAt),
    createdBy: row.createdBy,
    updatedBy: row.updatedBy,
  };
};

export const judgementBody = (judged: Result<Judgement, string>): EventHandlerTestBody => {
  if (!judged.ok) return { holds: false, actions: [], problem: judged.error };
  const { holds, dedupeId, actions } = judged.value;
  const shown = actions.map(({ type, ...action }): JsonObject => ({ action: type, ...action }));
  return { holds, ...(dedupeId === undefined ? {} : { dedupeId }), actions: shown };
};

export const eventHandlerRunBody = ({
  handler,
  actions,
  recordedAt,
  ...run
}: EventHandlerRun): EventHandlerRunBody => ({
  eventHandler: handler,
  event: run.event,
  messageId: run.messageId,
  state: run.state,
  ...(run.reason === undefined ? {} : { reason: run.reason }),
  actions: [...actions],
  recordedAt: isoText(recordedAt),
});

/** What the author of an action must be granted: a handler does for everybody what its author may do. */
export const scopeOfAction = ({ type, input }: Pick<EventAction, 'type' | 'input'>): string => {
  switch (type) {
    case 'START_WORKFLOW':
      // A name that a message gives may be any.
      return typeof input.name === 'string' && !input.name.includes('${')
        ? `executions:start:${input.name}`
        : 'executions:start:*';
    case 'COMPLETE_TASK':
    case 'FAIL_TASK':
      return 'tasks:complete';
    case 'TERMINATE_WORKFLOW':
    case 'UPDATE_VARIABLES':
      return 'executions:control';
    case 'SIGNAL':
      return 'executions:signal';
  }
};
