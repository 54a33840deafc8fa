import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/domain/kernel/json.ts';
import { eventStep, fork, join, loop, simple } from '../../support/builders.ts';
import { Run } from '../../support/drive.ts';

const messagesOf = (run: Run) =>
  run.published.flatMap((command) => (command.type === 'PublishMessage' ? [command] : []));
const kafka = (request: JsonObject, fields: JsonObject = {}) => ({
  name: 'k',
  taskReferenceName: 'k',
  type: 'KAFKA_PUBLISH',
  inputParameters: { kafka_request: request },
  ...fields,
});

describe('EVENT', () => {
  it('owes its message with the fact that completes it: its input, and which run sent it', () => {
    const run = new Run(
      { tasks: [eventStep('e', 'internal:orders', { inputParameters: { n: 1 } }), simple('b')] },
      { started: { correlationId: 'c-1', taskToDomain: { b: 'eu' } } },
    );
    const payload = {
      n: 1,
      workflowInstanceId: run.state.executionId,
      workflowType: 'flow',
      workflowVersion: 1,
      correlationId: 'c-1',
      taskToDomain: { b: 'eu' },
    };
    const { taskId } = run.seen('e');
    expect(messagesOf(run)).toEqual([
      {
        type: 'PublishMessage',
        topic: 'event/internal',
        dedupKey: `event/${taskId}`,
        orderingKey: `${run.state.executionId}/event/internal`,
        payload: { messageId: taskId, sink: 'internal:orders', payload },
      },
    ]);
    expect(run.seen('e')).toMatchObject({
      status: 'COMPLETED',
      output: { ...payload, event_produced: 'internal:orders' },
    });
    expect(run.open()).toEqual(['b']);
  });

  it.each([
    ['conductor', 'conductor:flow:e', 'event/internal'],
    ['conductor:done', 'conductor:flow:done', 'event/internal'],
    ['internal:x', 'internal:x', 'event/internal'],
    ['${workflow.input.sink}', 'kafka:orders', 'event/kafka'],
    ['nats_stream:s', 'nats_stream:s', 'event/nats'],
    ['amqp_queue:q', 'amqp_queue:q', 'event/amqp'],
    ['amqp_exchange:q', 'amqp_exchange:q', 'event/amqp'],
    ['SQS:q', 'SQS:q', 'event/sqs'],
    ['pigeon:home', 'pigeon:home', 'event/unknown'],
    ['nowhere', 'nowhere', 'event/unknown'],
    ['constructor:x', 'constructor:x', 'event/unknown'],
  ])('to %s sends to %s by the topic %s', (sink, target, topic) => {
    const run = new Run({ tasks: [eventStep('e', sink)] }, { input: { sink: 'kafka:orders' } });
    expect(messagesOf(run).map((message) => [message.payload.sink, message.topic])).toEqual([[target, topic]]);
    expect([run.status, run.seen('e').output?.event_produced]).toEqual(['COMPLETED', target]);
  });

  it.each(['${workflow.input.none}', '${workflow.input}', '  '])('to %j fails at once and sends nothing', (sink) => {
    const run = new Run({ tasks: [eventStep('e', sink)] });
    expect([run.status, messagesOf(run), run.seen('e').reason]).toEqual([
      'FAILED',
      [],
      expect.stringContaining('sink'),
    ]);
  });

  it('is tried again when a run that it failed is retried, and lets the run go on where it is optional', () => {
    const run = new Run({ tasks: [eventStep('e', '${workflow.input.none}'), simple('b')] });
    expect([run.status, run.retry().status]).toEqual(['FAILED', 'FAILED']);
    const optional = new Run({ tasks: [eventStep('e', '${workflow.input.none}', { optional: true }), simple('b')] });
    expect(optional.open()).toEqual(['b']);
  });

  it('with asyncComplete stays open after its message, until a signal to its ref or its door ends it', () => {
    const sent = () =>
      new Run({
        tasks: [
          fork('f', [[eventStep('e', 'conductor', { asyncComplete: true }), simple('b')], [simple('c')]]),
          join('j'),
        ],
      });
    const run = sent();
    expect([run.open(), messagesOf(run).length, run.seen('e').status]).toEqual([['c', 'e'], 1, 'IN_PROGRESS']);
    expect(run.signal(undefined)?.code).toBe('INVALID_STATE');
    expect(run.signal('e', { ok: true })).toBeUndefined();
    expect([run.seen('e').output, run.open()]).toEqual([{ event_produced: 'conductor:flow:e', ok: true }, ['b', 'c']]);
    expect(sent().completeTask('e')).toBeUndefined();
    expect(messagesOf(run)).toHaveLength(1);
  });

  it('with asyncComplete has a total deadline, is paused, terminated, and sends anew with each attempt', () => {
    const fields = { asyncComplete: true, totalTimeout: 60, retryCount: 1 };
    const timed = new Run({ tasks: [eventStep('e', 'conductor', fields)] }).pause().advance(60_000);
    expect([timed.resume().status, timed.seen('e').status]).toEqual(['TIMED_OUT', 'TIMED_OUT']);
    const run = new Run({ tasks: [eventStep('e', 'conductor', fields)] });
    run.signal('e', {}, 'FAILED');
    const ids = messagesOf(run).map(({ payload }) => payload.messageId);
    expect([ids.length, new Set(ids).size]).toEqual([2, 2]);
    expect(run.terminate().seen('e').status).toBe('CANCELED');
  });

  it('sends in each iteration of a loop, each message its own', () => {
    const run = new Run({ tasks: [loop('l', 2, [eventStep('e', 'internal:x'), simple('a')])] });
    run.complete('a__1').complete('a__2');
    expect(new Set(messagesOf(run).map(({ dedupKey }) => dedupKey)).size).toBe(2);
    expect(run.status).toBe('COMPLETED');
  });
});

describe('KAFKA_PUBLISH', () => {
  it('owes its request to the topic and completes', () => {
    const run = new Run({ tasks: [kafka({ topic: 'orders', value: { n: 1 }, key: 'k' })] });
    expect(messagesOf(run)).toMatchObject([
      {
        topic: 'event/kafka',
        payload: { sink: 'kafka:orders', payload: { topic: 'orders', value: { n: 1 }, key: 'k' } },
      },
    ]);
    expect([run.status, run.seen('k').output?.event_produced]).toEqual(['COMPLETED', 'kafka:orders']);
  });

  it('without a topic fails at once', () => {
    const run = new Run({ tasks: [kafka({ value: 1 })] });
    expect([run.status, run.seen('k').reason]).toEqual(['FAILED', 'KAFKA_PUBLISH needs a kafka_request with a topic.']);
  });
});
