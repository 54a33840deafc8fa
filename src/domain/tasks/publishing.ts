import { eventPayload } from '../execution/publish.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../kernel/json.ts';
import { type EnterContext, evaluated, resolvedInput, type Step, type TaskSemantics } from './task-semantics.ts';

type Context = EnterContext<'EVENT' | 'KAFKA_PUBLISH'>;

const SINK_CHARS_MAX = 1_024;
const CONDUCTOR = 'conductor';

const refuse = (input: JsonValue, reason: string): Step => ({ kind: 'refuse', input, reason });

/** Conductor's own sink is a queue of the definition: named, or after the task. */
const expanded = ({ node, state }: Context, sink: string): string => {
  const { name } = state.plan.definition;
  if (sink === CONDUCTOR) return `${CONDUCTOR}:${name}:${node.ref}`;
  return sink.startsWith(`${CONDUCTOR}:`) ? `${CONDUCTOR}:${name}:${sink.slice(CONDUCTOR.length + 1)}` : sink;
};

const published = (context: Context, input: JsonObject, sink: JsonValue | undefined): Step => {
  if (typeof sink !== 'string' || sink.trim() === '' || sink.length > SINK_CHARS_MAX) {
    const given = JSON.stringify(sink ?? null).slice(0, 200);
    return refuse(input, `${context.node.type} needs a sink of 1 to ${SINK_CHARS_MAX} characters; it is ${given}.`);
  }
  const target = expanded(context, sink);
  if (context.node.asyncComplete || input.asyncComplete === true) {
    return { kind: 'dispatch', input, taskName: context.node.name, sink: target };
  }
  const output = { ...eventPayload(context.state, context.node.type, input), event_produced: target };
  return { kind: 'resolve', input, output, effect: { sink: target } };
};

/** Owes a message with its own completion: both are in history, or neither is. */
export const event: TaskSemantics<'EVENT'> = {
  family: 'waiting',
  enter: (context) => {
    const resolved = resolvedInput(context);
    if (!resolved.ok) return resolved.step;
    if (context.node.sink === undefined) return refuse(resolved.input, 'EVENT needs a sink.');
    const sink = evaluated(context, context.node.sink, 'sink');
    return sink.ok ? published(context, resolved.input, sink.value) : sink.step;
  },
};

/** An EVENT whose sink is a topic of Kafka. */
export const kafkaPublish: TaskSemantics<'KAFKA_PUBLISH'> = {
  family: 'waiting',
  enter: (context) => {
    const resolved = resolvedInput(context);
    if (!resolved.ok) return resolved.step;
    const { input } = resolved;
    const topic = isJsonObject(input.kafka_request) ? input.kafka_request.topic : undefined;
    if (typeof topic !== 'string' || topic === '')
      return refuse(input, 'KAFKA_PUBLISH needs a kafka_request with a topic.');
    return published(context, input, `kafka:${topic}`);
  },
};
