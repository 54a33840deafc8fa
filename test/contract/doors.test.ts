import { describe, expect, it } from 'vitest';
import type { ExecutionId, TaskId } from '../../src/domain/kernel/brand.ts';
import type { NewInternalEvent } from '../../src/ports/engine-store.ts';
import { ALPHA, BETA, givenExecution, givenTask, inTx, messageOf, owed, pausedEvent } from './given.ts';
import { harnesses, useHarness } from './harness.ts';

const HOLD_MS = 0;

describe.each(harnesses)('dead letters over $name', (harness) => {
  const open = useHarness(harness);
  const list = (namespace = ALPHA, page: { limit: number; after?: string } = { limit: 10 }) =>
    open().index.deadLetters(namespace, page);
  const put = (executionId: ExecutionId, ...keys: readonly string[]) =>
    inTx(open().engine, (tx) => tx.putMessages(keys.map((key) => owed(executionId, messageOf(key)))));
  const claimed = () => inTx(open().engine, (tx) => tx.claimMessages(10, HOLD_MS));

  /** Gives up the first message that is deliverable. */
  const giveUp = async (reason = 'nobody is there') => {
    await inTx(open().engine, async (tx) => {
      const [message] = await tx.claimMessages(1, HOLD_MS);
      await tx.markFailed([{ id: message?.id ?? '', reason, retryAfterMs: 0, dead: true }]);
    });
  };

  it('are listed whole, oldest first, by page, and of their namespace alone', async () => {
    const run = await givenExecution(open());
    await put(run, 'm-1', 'm-2', 'm-3');
    await giveUp('the receiver is gone');
    await giveUp();
    const letters = await list();
    expect(letters).toMatchObject([
      {
        executionId: run,
        topic: 'start-failure-workflow',
        orderingKey: 'order-1',
        payload: { about: 'm-1' },
        attempts: 1,
        lastFailure: 'the receiver is gone',
      },
      { payload: { about: 'm-2' } },
    ]);
    expect(letters[0]?.deadAt).toBeGreaterThanOrEqual(letters[0]?.createdAt ?? Number.POSITIVE_INFINITY);
    expect((await list(ALPHA, { limit: 1 })).map(({ id }) => id)).toEqual([letters[0]?.id]);
    expect((await list(ALPHA, { limit: 9, after: letters[0]?.id ?? '' })).map(({ id }) => id)).toEqual([
      letters[1]?.id,
    ]);
    expect(await list(BETA)).toEqual([]);
  });

  it('come back as if never tried, before what was put after them under the same key', async () => {
    await put(await givenExecution(open()), 'm-1', 'm-2');
    await giveUp();
    expect((await claimed()).map(({ dedupKey }) => dedupKey)).toEqual(['m-2']);
    const [letter] = await list();
    expect(await inTx(open().engine, (tx) => tx.redriveDeadLetters(BETA, [letter?.id ?? '']))).toBe(0);
    expect(await inTx(open().engine, (tx) => tx.redriveDeadLetters(ALPHA, [letter?.id ?? '']))).toBe(1);
    expect(await list()).toEqual([]);
    expect(await claimed()).toMatchObject([{ dedupKey: 'm-1', attempts: 0 }]);
    expect(await inTx(open().engine, (tx) => tx.redriveDeadLetters(ALPHA, [letter?.id ?? '']))).toBe(0);
  });

  it('are deleted for good, and what still is to be delivered is not', async () => {
    await put(await givenExecution(open()), 'm-1', 'm-2');
    await giveUp();
    const [[letter], [alive]] = [await list(), await claimed()];
    const both = [letter?.id ?? '', alive?.id ?? ''];
    expect(await inTx(open().engine, (tx) => tx.deleteDeadLetters(BETA, both))).toBe(0);
    expect(await inTx(open().engine, (tx) => tx.deleteDeadLetters(ALPHA, both))).toBe(1);
    expect(await list()).toEqual([]);
    expect((await claimed()).map(({ dedupKey }) => dedupKey)).toEqual(['m-2']);
  });
});

describe.each(harnesses)('internal events over $name', (harness) => {
  const open = useHarness(harness);
  const list = (sink: string, page: { limit: number; before?: string } = { limit: 10 }, namespace = ALPHA) =>
    open().index.internalEvents(namespace, sink, page);

  const record = async (sink: string, n: number, keepMax = 10, change: Partial<NewInternalEvent> = {}) => {
    const executionId = await givenExecution(open());
    const event = { namespace: ALPHA, executionId, sink, messageId: `m-${n}`, payload: { n }, ...change };
    await inTx(open().engine, (tx) => tx.recordInternalEvent(event, keepMax));
    return executionId;
  };

  it('are listed whole, newest first, by page, of their sink and namespace alone', async () => {
    const first = await record('internal:a', 1);
    await record('internal:a', 2);
    await record('internal:b', 3);
    await record('internal:a', 4, 10, { namespace: BETA });
    const [second, oldest] = await list('internal:a');
    expect([second?.payload, oldest]).toMatchObject([
      { n: 2 },
      { sink: 'internal:a', executionId: first, messageId: 'm-1', payload: { n: 1 } },
    ]);
    expect((await list('internal:a', { limit: 1 })).map(({ id }) => id)).toEqual([second?.id]);
    expect((await list('internal:a', { limit: 9, before: second?.id ?? '' })).map(({ id }) => id)).toEqual([
      oldest?.id,
    ]);
    expect((await list('internal:a', { limit: 9 }, BETA)).map(({ payload }) => payload)).toEqual([{ n: 4 }]);
  });

  it('keep the newest of each sink', async () => {
    await record('internal:b', 0, 2);
    for (const n of [1, 2, 3, 4]) await record('internal:a', n, 2);
    expect((await list('internal:a')).map(({ payload }) => payload)).toEqual([{ n: 4 }, { n: 3 }]);
    expect(await list('internal:b')).toHaveLength(1);
  });
});

describe.each(harnesses)('tasks that wait for a webhook over $name', (harness) => {
  const open = useHarness(harness);
  const waits = (after?: TaskId, limit = 10) =>
    open().index.webhookWaits(ALPHA, after === undefined ? { limit } : { limit, after });
  const waiting = { family: 'waiting', taskType: 'WAIT_FOR_WEBHOOK', queue: '$waiting' } as const;

  it('are found page by page with what they ask for; others are not', async () => {
    const [one, two] = [await givenExecution(open()), await givenExecution(open())];
    const first = await givenTask(open(), one, { ...waiting, input: { matches: { a: 1 } } });
    const second = await givenTask(open(), two, waiting);
    await givenTask(open(), one, { seq: 3 });
    await givenTask(open(), await givenExecution(open(), { namespace: BETA }), { ...waiting, namespace: BETA });
    expect(await waits()).toEqual([
      { taskId: first.taskId, input: { matches: { a: 1 } } },
      { taskId: second.taskId, input: { amount: 12.5 } },
    ]);
    expect((await waits(undefined, 1)).map(({ taskId }) => taskId)).toEqual([first.taskId]);
    expect((await waits(first.taskId)).map(({ taskId }) => taskId)).toEqual([second.taskId]);
  });

  it('are found no more once they have an outcome', async () => {
    const task = await givenTask(open(), await givenExecution(open()), waiting);
    const outcome = { taskId: task.taskId, status: 'COMPLETED', output: {} } as const;
    await inTx(open().engine, (tx) => tx.settleWaiting(ALPHA, [outcome]));
    expect(await waits()).toEqual([]);
  });
});

describe.each(harnesses)('one event over $name', (harness) => {
  const open = useHarness(harness);

  it('is found by its place in the log, with the namespace of its run', async () => {
    const run = await givenExecution(open(), { namespace: BETA });
    const event = pausedEvent(1, await open().engine.now());
    await inTx(open().engine, (tx) => tx.appendEvents([owed(run, event, BETA)]));
    expect(await open().engine.findEvent(run, 1)).toEqual({ namespace: BETA, event: event.event });
    expect(await open().engine.findEvent(run, 2)).toBeUndefined();
    expect(await open().engine.findEvent('01900000-0000-7000-8000-ffffffffffff' as ExecutionId, 1)).toBeUndefined();
  });
});

describe.each(harnesses)('the keys of the servers over $name', (harness) => {
  const open = useHarness(harness);

  it('are those that were offered first, by purpose', async () => {
    expect(await open().access.keepServerKey('callbacks', 'first')).toBe('first');
    expect(await open().access.keepServerKey('callbacks', 'second')).toBe('first');
    expect(await open().access.keepServerKey('others', 'second')).toBe('second');
    const raced = await Promise.all(['a', 'b', 'c'].map((key) => open().access.keepServerKey('raced', key)));
    expect(new Set(raced).size).toBe(1);
  });
});
