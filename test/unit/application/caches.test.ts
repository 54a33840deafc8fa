import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/domain/kernel/json.ts';
import { loop, simple } from '../../support/builders.ts';
import { eventually } from '../../support/eventually.ts';
import { memoryEngine } from '../../support/memory-engine.ts';

const fetching = (name: string, fields: JsonObject = {}): JsonObject => ({
  name,
  tasks: [
    simple('fetch', {
      inputParameters: { uri: '${workflow.input.uri}' },
      cacheConfig: { key: '${uri}', ttlInSecond: 60 },
      ...fields,
    }),
  ],
});

describe('the output of a task with a cacheConfig', () => {
  it('is taken over by the next run that asks for the same, until it expires', async () => {
    const given = memoryEngine();
    await given.register(fetching('a'));
    const first = await given.start('a', { uri: '/x' });
    const task = await given.lease('fetch');
    if (task === undefined) throw new Error('nothing to lease');
    await given.report(task, { body: 1 });
    expect((await given.get(first)).view.output).toEqual({ body: 1 });
    const second = await given.get(await given.start('a', { uri: '/x' }));
    expect([second.view.status, second.view.output, second.view.tasks[0]?.fromCache]).toEqual([
      'COMPLETED',
      { body: 1 },
      true,
    ]);
    await given.start('a', { uri: '/y' });
    expect((await given.lease('fetch'))?.input).toEqual({ uri: '/y' });
    given.advance(61_000);
    expect((await given.get(await given.start('a', { uri: '/x' }))).view.status).toBe('RUNNING');
    await given.runLoopOnce('prune-caches');
    expect(await given.engine.transaction((tx) => tx.pruneTaskOutputs(10))).toBe(0);
  });

  it('is known to the next task of the very pass that keeps it', async () => {
    const given = memoryEngine();
    const body = [simple('fetch', { inputParameters: { uri: '/x' }, cacheConfig: { key: '${uri}', ttlInSecond: 60 } })];
    await given.register({ name: 'l', tasks: [loop('again', 5, body)] });
    const id = await given.start('l');
    const task = await given.lease('fetch');
    if (task === undefined) throw new Error('nothing to lease');
    await given.report(task, { body: 1 });
    const { view } = await given.get(id);
    expect([view.status, view.tasks.filter(({ fromCache }) => fromCache === true).length]).toEqual(['COMPLETED', 4]);
  });
});

describe('several domains of a task', () => {
  const queueOf = async (given: ReturnType<typeof memoryEngine>) => {
    const id = await given.start('s', {}, { taskToDomain: { work: 'd1,NO_DOMAIN' } });
    return (await given.get(id)).view.tasks[0]?.queue;
  };

  it('give it to the domain that a worker asked for in the last ten seconds, parked or not', async () => {
    const given = memoryEngine();
    await given.register({ name: 's', tasks: [simple('work')] });
    expect(await queueOf(given)).toBe('work');
    await given.lease('d1:work');
    expect(await queueOf(given)).toBe('d1:work');
    given.advance(9_000);
    await given.lease('work');
    expect(await queueOf(given)).toBe('d1:work');
    given.advance(2_000);
    expect(await queueOf(given)).toBe('work');
  });

  it('know of a poll that is parked for longer', async () => {
    const given = memoryEngine();
    await given.register({ name: 's', tasks: [simple('work')] });
    const gone = new AbortController();
    const parked = given.useCases.workers.lease({
      namespace: given.namespace,
      queues: ['d1:work'],
      workerId: 'patient',
      count: 1,
      waitMs: 60_000,
      signal: gone.signal,
    });
    const isNoted = async () =>
      (await given.engine.polledQueues(given.namespace, ['d1:work'], 10_000)).size > 0 ? true : undefined;
    await eventually('the poll is noted', isNoted);
    given.advance(30_000);
    expect(await queueOf(given)).toBe('work');
    await eventually('the parked poll is noted again', async () => {
      await given.runLoopOnce('domain-polls');
      return isNoted();
    });
    expect(await queueOf(given)).toBe('d1:work');
    gone.abort();
    await parked;
  });
});
