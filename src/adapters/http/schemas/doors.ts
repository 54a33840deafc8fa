import { z } from 'zod';
import { instantText, jsonObject, jsonValue, reasonText, uuidText } from './common.ts';
import { reportStatus } from './executions.ts';

export const completeTaskRequest = z.strictObject({
  status: reportStatus.default('COMPLETED'),
  output: jsonObject.default({}),
  reason: reasonText.optional(),
});
export type CompleteTaskBody = z.input<typeof completeTaskRequest>;

export const messageAnswer = z.strictObject({ messageId: z.string() });
export type MessageAnswerBody = z.output<typeof messageAnswer>;

export const callbackAnswer = z.strictObject({ status: z.literal('accepted') });
export type CallbackAnswerBody = z.output<typeof callbackAnswer>;

export const webhookAnswer = z.strictObject({
  /** Waiting tasks that the payload ended. */
  matched: z.int(),
});
export type WebhookAnswerBody = z.output<typeof webhookAnswer>;

export const messagePayload = jsonObject;
export const webhookPayload = jsonValue;

export const deadLetter = z.strictObject({
  id: z.string(),
  workflowId: uuidText,
  topic: z.string(),
  orderingKey: z.string(),
  payload: jsonObject,
  attempts: z.int(),
  createdAt: instantText,
  deadAt: instantText,
  /** Why the last delivery failed. */
  reason: z.string(),
});
export type DeadLetterBody = z.output<typeof deadLetter>;

export const deadLetterPage = z.strictObject({
  deadLetters: z.array(deadLetter),
  nextCursor: z.string().optional(),
});
export type DeadLetterPageBody = z.output<typeof deadLetterPage>;

export const internalEvent = z.strictObject({
  id: z.string(),
  sink: z.string(),
  /** Absent: it was published from outside. */
  workflowId: uuidText.optional(),
  messageId: z.string(),
  payload: jsonObject,
  recordedAt: instantText,
});
export type InternalEventBody = z.output<typeof internalEvent>;

export const internalEventPage = z.strictObject({
  events: z.array(internalEvent),
  nextCursor: z.string().optional(),
});
export type InternalEventPageBody = z.output<typeof internalEventPage>;
