import { taskIdOf } from '../kernel/brand.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../kernel/json.ts';
import type { Command, OutboxTopic } from './commands.ts';
import type { ExecutionState, TaskEntry } from './state.ts';

type PublishMessage = Extract<Command, { type: 'PublishMessage' }>;

/** Sinks that deliver, or will, by what stands before the colon; any other one is kept as a dead letter and seen. */
const TOPICS: Readonly<Record<string, OutboxTopic>> = {
  conductor: 'event/internal',
  internal: 'event/internal',
  kafka: 'event/kafka',
  nats: 'event/nats',
  nats_stream: 'event/nats',
  jsm: 'event/nats',
  amqp: 'event/amqp',
  amqp_queue: 'event/amqp',
  amqp_exchange: 'event/amqp',
  sqs: 'event/sqs',
  redis: 'event/redis',
  webhook: 'event/webhook',
};

export const topicOf = (sink: string): OutboxTopic => {
  const scheme = sink.slice(0, Math.max(sink.indexOf(':'), 0)).toLowerCase();
  return (Object.hasOwn(TOPICS, scheme) ? TOPICS[scheme] : undefined) ?? 'event/unknown';
};

/** What an EVENT sends, and shows as its output: its input, and which run sent it. A KAFKA_PUBLISH sends its request. */
export const eventPayload = (state: ExecutionState, type: string, input: JsonObject): JsonObject => {
  if (type === 'KAFKA_PUBLISH') return isJsonObject(input.kafka_request) ? input.kafka_request : {};
  return {
    ...input,
    workflowInstanceId: state.executionId,
    workflowType: state.plan.definition.name,
    workflowVersion: state.plan.definition.version,
    correlationId: state.started?.correlationId ?? null,
    taskToDomain: state.started?.taskToDomain ?? {},
  };
};

export type EventMessage = Readonly<{
  /** The same at each delivery, and of no other message. */
  messageId: string;
  sink: string;
  payload: JsonObject;
}>;

/**
 * The message as it is owed. In order per run and kind of sink: one broker that is down holds up neither the other sinks nor
 * what the engine owes itself.
 */
export const publishing = (state: ExecutionState, { messageId, sink, payload }: EventMessage): PublishMessage => {
  const topic = topicOf(sink);
  const depth = state.started?.eventDepth;
  return {
    type: 'PublishMessage',
    topic,
    dedupKey: `event/${messageId}`,
    orderingKey: `${state.executionId}/${topic}`,
    payload: { messageId, sink, payload, ...(depth === undefined ? {} : { depth }) },
  };
};

/** The message of an EVENT that was entered just now. */
export const eventOf = (
  state: ExecutionState,
  entry: TaskEntry,
  sink: string,
  input: JsonValue,
): readonly PublishMessage[] => {
  const payload = eventPayload(state, entry.node.type, isJsonObject(input) ? input : {});
  return [publishing(state, { messageId: taskIdOf(state.executionId, entry.seq), sink, payload })];
};
