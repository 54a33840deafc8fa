import { z } from 'zod';
import {
  EVENT_ACTION_TYPES,
  EVENT_ACTIONS_MAX,
  EVENT_CONDITION_CHARS_MAX,
  EVENT_EVALUATORS,
  EVENT_NAME_CHARS_MAX,
} from '../../../domain/event-handler/event-handler.ts';
import { EVENT_HANDLER_RUN_STATES } from '../../../ports/event-handler-store.ts';
import { count, instantText, jsonObject, nameText, pageQuery } from './common.ts';

const DESCRIPTION_CHARS_MAX = 4_096;
const DEDUPE_CHARS_MAX = 1_024;

const eventText = z.string().min(1).max(EVENT_NAME_CHARS_MAX);
const action = z.strictObject({
  action: z.enum(EVENT_ACTION_TYPES),
  input: jsonObject,
  expandInlineJSON: z.boolean().default(false),
});

export const eventHandlerRequest = z.strictObject({
  event: eventText,
  description: z.string().max(DESCRIPTION_CHARS_MAX).optional(),
  active: z.boolean().default(true),
  condition: z.string().max(EVENT_CONDITION_CHARS_MAX).optional(),
  evaluatorType: z.enum(EVENT_EVALUATORS).optional(),
  dedupeId: z.string().min(1).max(DEDUPE_CHARS_MAX).optional(),
  actions: z.array(action).min(1).max(EVENT_ACTIONS_MAX),
});
export type EventHandlerRequest = z.output<typeof eventHandlerRequest>;

export const eventHandler = z.strictObject({
  name: z.string(),
  event: z.string(),
  description: z.string().optional(),
  active: z.boolean(),
  condition: z.string().optional(),
  evaluatorType: z.enum(EVENT_EVALUATORS).optional(),
  dedupeId: z.string().optional(),
  actions: z.array(
    z.strictObject({ action: z.enum(EVENT_ACTION_TYPES), input: jsonObject, expandInlineJSON: z.boolean() }),
  ),
  createdAt: instantText,
  updatedAt: instantText,
  createdBy: z.string(),
  updatedBy: z.string(),
});
export type EventHandlerBody = z.output<typeof eventHandler>;

export const eventHandlerPut = eventHandler.extend({ outcome: z.enum(['created', 'replaced']) });
export type EventHandlerPutBody = z.output<typeof eventHandlerPut>;

export const eventHandlerPage = z.strictObject({
  eventHandlers: z.array(eventHandler),
  nextCursor: z.string().optional(),
});
export type EventHandlerPageBody = z.output<typeof eventHandlerPage>;

export const eventHandlerQuery = pageQuery.extend({
  event: eventText.optional(),
  active: z
    .enum(['true', 'false'])
    .transform((text) => text === 'true')
    .optional(),
});

export const eventHandlerTestRequest = z.strictObject({ payload: jsonObject });

/** What would be done: nothing was. */
export const eventHandlerTest = z.strictObject({
  /** The condition holds. */
  holds: z.boolean(),
  dedupeId: z.string().optional(),
  actions: z.array(jsonObject),
  /** Why it would fail. */
  problem: z.string().optional(),
});
export type EventHandlerTestBody = z.output<typeof eventHandlerTest>;

export const eventHandlerRun = z.strictObject({
  eventHandler: z.string(),
  event: z.string(),
  messageId: z.string(),
  state: z.enum(EVENT_HANDLER_RUN_STATES),
  reason: z.string().optional(),
  actions: z.array(jsonObject),
  recordedAt: instantText,
});
export type EventHandlerRunBody = z.output<typeof eventHandlerRun>;

export const eventHandlerRunPage = z.strictObject({
  runs: z.array(eventHandlerRun),
  nextCursor: z.string().optional(),
});
export type EventHandlerRunPageBody = z.output<typeof eventHandlerRunPage>;

export const publishRequest = z.strictObject({
  event: eventText,
  id: nameText.optional(),
  payload: jsonObject.default({}),
});

export const published = z.strictObject({ messageId: z.string(), duplicate: z.boolean(), handlers: count });
export type PublishedBody = z.output<typeof published>;
