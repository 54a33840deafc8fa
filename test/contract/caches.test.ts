import { describe, expect, it } from 'vitest';
import { addMs } from '../../src/domain/kernel/brand.ts';
import type { JsonObject } from '../../src/domain/kernel/json.ts';
import { ALPHA, BETA, ids } from './given.ts';
import { harnesses, useHarness } from './harness.ts';

describe.each(harnesses)('outputs of tasks over $name', (harness) => {
  const open = useHarness(harness);
  const store = async (
    ...given: readonly (readonly [taskName: string, key: string, output: JsonObject, ttlMs: number])[]
  ) => {
    const now = await open().engine.now();
    const owed = given.map(([taskName, key, output, ttlMs]) => ({
      namespace: ALPHA,
      executionId: ids.executionId(),
      item: { type: 'StoreTaskOutput' as const, taskName, key, output, expiresAt: addMs(now, ttlMs) },
    }));
    await open().engine.transaction((tx) => tx.storeTaskOutputs(owed));
  };
  const find = async (taskName: string, key: string, namespace = ALPHA) => {
    const now = await open().engine.now();
    return open().engine.transaction((tx) => tx.findTaskOutput(namespace, { taskName, key }, now));
  };

  it('are found by name and key in their namespace until they expire', async () => {
    await store(['fetch', 'a', { body: 1 }, 60_000]);
    expect(await find('fetch', 'a')).toEqual({ body: 1 });
    expect([await find('fetch', 'b'), await find('other', 'a'), await find('fetch', 'a', BETA)]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    await open().advance(61_000);
    expect(await find('fetch', 'a')).toBeUndefined();
  });

  it('are replaced by the last that came, also of one statement', async () => {
    await store(['fetch', 'a', { body: 1 }, 60_000]);
    await store(
      ['fetch', 'a', { body: 2 }, 60_000],
      ['fetch', 'long key '.repeat(500), {}, 60_000],
      ['fetch', 'a', { body: 3 }, 60_000],
    );
    expect(await find('fetch', 'a')).toEqual({ body: 3 });
    expect(await find('fetch', 'long key '.repeat(500))).toEqual({});
  });

  it('are pruned when they have expired, a batch at a time', async () => {
    await store(['fetch', 'a', {}, 1_000], ['fetch', 'b', {}, 2_000], ['fetch', 'c', {}, 90_000]);
    await open().advance(3_000);
    const prune = () => open().engine.transaction((tx) => tx.pruneTaskOutputs(1));
    expect([await prune(), await prune(), await prune()]).toEqual([1, 1, 0]);
    expect(await find('fetch', 'c')).toEqual({});
  });

  it('are gone with a transaction that rolls back', async () => {
    const expiresAt = addMs(await open().engine.now(), 9_000);
    const failing = open().engine.transaction(async (tx) => {
      const item = {
        type: 'StoreTaskOutput' as const,
        taskName: 'fetch',
        key: 'a',
        output: {},
        expiresAt,
      };
      await tx.storeTaskOutputs([{ namespace: ALPHA, executionId: ids.executionId(), item }]);
      throw new Error('no');
    });
    await expect(failing).rejects.toThrow('no');
    expect(await find('fetch', 'a')).toBeUndefined();
  });
});

describe.each(harnesses)('polls of workers over $name', (harness) => {
  const open = useHarness(harness);
  const poll = (queue: string, workerId: string, agoMs = 0, namespace = ALPHA) => ({
    namespace,
    queue,
    workerId,
    agoMs,
  });
  const seen = async (withinMs: number, limit = 10) =>
    (await open().workerPolls.seen(ALPHA, withinMs, limit)).map(({ queue, workerId }) => `${queue} ${workerId}`);
  const served = async (queues: readonly string[], withinMs: number) => [
    ...(await open().workerPolls.servedQueues(ALPHA, queues, withinMs)),
  ];

  it('are known by queue and worker in their namespace, each by its latest', async () => {
    await open().workerPolls.note([
      poll('pick', 'w2', 60_000),
      poll('pick', 'w1'),
      poll('label', 'w1', 5_000),
      poll('pick', 'w9', 0, BETA),
      poll('pick', 'w2', 1_000),
    ]);
    expect(await seen(30_000)).toEqual(['label w1', 'pick w1', 'pick w2']);
    expect(await seen(30_000, 2)).toEqual(['label w1', 'pick w1']);
    const before = await open().workerPolls.seen(ALPHA, 30_000, 1);
    await open().workerPolls.note([poll('label', 'w1', 20_000)]);
    expect(await open().workerPolls.seen(ALPHA, 30_000, 1)).toEqual(before);
    await open().workerPolls.note([poll('label', 'w1')]);
    const [after] = await open().workerPolls.seen(ALPHA, 30_000, 1);
    expect(after?.lastPollAt).toBeGreaterThan(before[0]?.lastPollAt ?? Number.POSITIVE_INFINITY);
  });

  it('say which queues have workers, for a while', async () => {
    await open().workerPolls.note([poll('pick', 'w1', 1_000), poll('pick', 'w2', 40_000), poll('label', 'w1', 40_000)]);
    expect(await served(['pick', 'label', 'none'], 30_000)).toEqual(['pick']);
    expect(await open().workerPolls.servedQueues(BETA, ['pick'], 30_000)).toEqual(new Set());
    await open().advance(31_000);
    expect(await served(['pick'], 30_000)).toEqual([]);
    expect(await seen(60_000)).toEqual(['pick w1']);
  });

  it('are forgotten when they are old', async () => {
    await open().workerPolls.note([poll('pick', 'w1'), poll('pick', 'w2', 40_000)]);
    const forget = () => open().workerPolls.forget(30_000);
    expect([await forget(), await forget()]).toEqual([1, 0]);
    expect(await seen(600_000)).toEqual(['pick w1']);
  });
});

describe.each(harnesses)('polls of queues with a domain over $name', (harness) => {
  const open = useHarness(harness);
  const polled = async (queues: readonly string[], namespace = ALPHA) => [
    ...(await open().engine.transaction((tx) => tx.polledQueues(namespace, queues, 10_000))),
  ];

  it('count for a while, in their namespace', async () => {
    const queues = [
      { namespace: ALPHA, queue: 'd:a' },
      { namespace: ALPHA, queue: 'd:a' },
      { namespace: BETA, queue: 'e:a' },
    ];
    await open().engine.transaction((tx) => tx.notePolls(queues));
    expect(await polled(['d:a', 'e:a'])).toEqual(['d:a']);
    await open().advance(11_000);
    expect(await polled(['d:a'])).toEqual([]);
    await open().engine.transaction((tx) => tx.notePolls(queues.slice(0, 1)));
    expect(await polled(['d:a'])).toEqual(['d:a']);
  });

  it('are forgotten when they are old', async () => {
    await open().engine.transaction((tx) => tx.notePolls([{ namespace: ALPHA, queue: 'd:a' }]));
    await open().advance(5_000);
    const prune = (olderThanMs: number) => open().engine.transaction((tx) => tx.prunePolls(olderThanMs));
    expect([await prune(10_000), await prune(1_000), await prune(1_000)]).toEqual([0, 1, 0]);
  });
});
