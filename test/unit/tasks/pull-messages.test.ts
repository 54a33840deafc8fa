import { describe, expect, it } from 'vitest';
import { MESSAGES_BYTES_MAX, MESSAGES_WAITING_MAX } from '../../../src/domain/execution/messages.ts';
import type { JsonObject } from '../../../src/domain/kernel/json.ts';
import { fork, join, loop, pull, simple } from '../../support/builders.ts';
import { Run } from '../../support/drive.ts';

const payloadsOf = (output: JsonObject | undefined) =>
  ((output?.messages ?? []) as readonly JsonObject[]).map(({ payload }) => payload);

describe('PULL_WORKFLOW_MESSAGES', () => {
  it('waits for the first message, and gives it with its id and its time', () => {
    const run = new Run({ tasks: [pull('p'), simple('b')] });
    expect(run.open()).toEqual(['p']);
    expect(run.message({ n: 1 })).toBeUndefined();
    expect(run.seen('p').output).toEqual({
      messages: [
        { id: '{"n":1}', workflowId: run.state.executionId, payload: { n: 1 }, receivedAt: '2030-01-01T00:00:00.000Z' },
      ],
      count: 1,
    });
    expect(run.open()).toEqual(['b']);
  });

  it('takes the oldest of those that came before it, as many as it asks for, each once', () => {
    const run = new Run({
      tasks: [simple('a'), pull('p', { batchSize: 2 }), pull('q', { batchSize: 9 }), simple('b')],
    });
    for (const n of [1, 2, 3]) run.message({ n });
    run.complete('a');
    expect(payloadsOf(run.seen('p').output)).toEqual([{ n: 1 }, { n: 2 }]);
    expect(payloadsOf(run.seen('q').output)).toEqual([{ n: 3 }]);
    expect([run.state.messages, run.state.messageBytes]).toEqual([[], 0]);
  });

  it('goes on at once without any when it does not block', () => {
    const run = new Run({ tasks: [pull('p', { blocking: false }), simple('b')] });
    expect([run.seen('p').output, run.open()]).toEqual([{ messages: [], count: 0 }, ['b']]);
  });

  it('is served in the order of opening where several wait', () => {
    const run = new Run({
      tasks: [
        fork('f', [
          [simple('a'), pull('p'), simple('x')],
          [pull('q'), simple('y')],
        ]),
        join('j'),
      ],
    });
    run.complete('a');
    run.message({ n: 1 });
    expect(run.open()).toEqual(['p', 'y']);
    run.message({ n: 2 });
    expect(run.open()).toEqual(['x', 'y']);
  });

  it('takes one each iteration of a loop, in order', () => {
    const body = [pull('p'), simple('b', { inputParameters: { got: '${p.output.messages[0].payload.n}' } })];
    const run = new Run({ tasks: [loop('l', 2, body)] });
    for (const n of [1, 2, 3]) run.message({ n });
    expect(run.task('b__1').input).toEqual({ got: 1 });
    run.complete('b__1');
    expect(run.task('b__2').input).toEqual({ got: 2 });
    expect(run.complete('b__2').status).toBe('COMPLETED');
    expect(run.state.messages).toHaveLength(1);
  });

  it('keeps messages over a pause, a failure and a retry of the run', () => {
    const run = new Run({
      tasks: [
        fork('f', [
          [simple('a'), pull('p')],
          [simple('c'), simple('d')],
        ]),
        join('j'),
      ],
    });
    run.pause();
    run.message({ n: 1 });
    run.resume().failForGood('c');
    expect(run.message({ n: 2 })?.code).toBe('TERMINAL_STATE');
    run.retry().complete('a');
    expect(payloadsOf(run.seen('p').output)).toEqual([{ n: 1 }]);
  });

  it('has its message before the clock, and none by it', () => {
    const run = new Run({ tasks: [pull('p', {}, { totalTimeout: 60 }), simple('b')] }).pause();
    run.message({ n: 1 });
    run.advance(60_000);
    expect(run.resume().open()).toEqual(['b']);
    const late = new Run({ tasks: [pull('p', {}, { totalTimeout: 60 })] }).advance(60_000);
    expect([late.status, late.seen('p').status]).toEqual(['TIMED_OUT', 'TIMED_OUT']);
  });

  it('is canceled with the run and takes nothing after it', () => {
    const run = new Run({ tasks: [pull('p')] }).terminate();
    expect([run.seen('p').status, run.state.messageReaders.size]).toEqual(['CANCELED', 0]);
  });

  it.each([
    [{ batchSize: 0 }, 'batchSize is a number from 1 to 1000; it is 0.'],
    [{ batchSize: 'many' }, 'batchSize is a number from 1 to 1000; it is "many".'],
    [{ blocking: 'maybe' }, 'blocking is true or false; it is "maybe".'],
  ])('with %j is refused at once', (input, reason) => {
    const run = new Run({ tasks: [pull('p', input)] });
    expect([run.status, run.seen('p').reason]).toEqual(['FAILED', reason]);
  });
});

describe('the input of PULL_WORKFLOW_MESSAGES', () => {
  it.each([
    [{ blocking: 'false' }, 'COMPLETED'],
    [{ blocking: false, batchSize: '2' }, 'COMPLETED'],
    [{ blocking: 'true' }, 'RUNNING'],
    [{ blocking: null, batchSize: null }, 'RUNNING'],
    [{ batchSize: MESSAGES_WAITING_MAX }, 'RUNNING'],
    [{ batchSize: MESSAGES_WAITING_MAX + 1 }, 'FAILED'],
    [{ batchSize: 1.5 }, 'FAILED'],
  ])('may be text or absent: %j', (input, status) => {
    expect(new Run({ tasks: [pull('p', input)] }).status).toBe(status);
  });
});

describe('messages of a run', () => {
  it('beyond the number that may wait are refused, and one is taken again when one was pulled', () => {
    const run = new Run({ tasks: [simple('a'), pull('p'), simple('b')] }, { checks: false });
    for (let n = 0; n < MESSAGES_WAITING_MAX; n += 1) expect(run.message({ n })).toBeUndefined();
    expect(run.message({ n: -1 })?.code).toBe('LIMIT_EXCEEDED');
    run.complete('a');
    expect(run.message({ n: -1 })).toBeUndefined();
  });

  it('beyond the bytes that may wait are refused', () => {
    const run = new Run({ tasks: [simple('a'), pull('p'), simple('b')] }, { checks: false });
    const text = 'x'.repeat(MESSAGES_BYTES_MAX / 2);
    expect(run.message({ text })).toBeUndefined();
    expect(run.message({ text })?.code).toBe('LIMIT_EXCEEDED');
    run.complete('a');
    expect(run.message({ text })).toBeUndefined();
  });
});
