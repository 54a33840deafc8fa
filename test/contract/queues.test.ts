import { describe, expect, it } from 'vitest';
import type { TaskDefinition } from '../../src/domain/definition/task-definition.ts';
import { taskDefinition } from './definitions.ts';
import {
  ALPHA,
  BETA,
  givenExecution,
  givenLeasedTask,
  givenTask,
  inTx,
  lease,
  leaseOne,
  reportOf,
  settle,
} from './given.ts';
import { engineHarnesses, harnesses, useHarness } from './harness.ts';

const limited = (name: string, concurrentExecLimit: number): TaskDefinition =>
  taskDefinition(name, { concurrentExecLimit });

describe.each(engineHarnesses)('a concurrency limit over $name', (harness) => {
  const open = useHarness(harness);

  const givenTasks = async (count: number) => {
    const executionId = await givenExecution(open());
    for (let seq = 2; seq < 2 + count; seq += 1) await givenTask(open(), executionId, { seq });
    return executionId;
  };

  it('is never exceeded by one greedy poll', async () => {
    await open().definitions.putTask(ALPHA, limited('charge', 2));
    await givenTasks(4);
    expect(await lease(open(), { count: 4 })).toHaveLength(2);
    expect(await lease(open())).toEqual([]);
  });

  it('is never exceeded by many polls at once', async () => {
    await open().definitions.putTask(ALPHA, limited('charge', 3));
    await givenTasks(8);
    const polls = await Promise.all(Array.from({ length: 8 }, () => lease(open())));
    expect(polls.flat()).toHaveLength(3);
  });

  it('frees a place when a task is settled', async () => {
    await open().definitions.putTask(ALPHA, limited('charge', 1));
    await givenTasks(2);
    const held = await leaseOne(open());
    expect(await lease(open())).toEqual([]);
    await settle(open(), reportOf(held));
    expect(await lease(open())).toHaveLength(1);
  });

  it('frees a place when a lease is given back or expires', async () => {
    await open().definitions.putTask(ALPHA, limited('charge', 1));
    await givenTasks(2);
    const first = await leaseOne(open());
    await inTx(open().engine, (tx) => tx.releaseLeases(ALPHA, [first]));
    await leaseOne(open(), { leaseMs: 1_000 });
    await open().advance(1_001);
    await inTx(open().engine, (tx) => tx.expireLeases(10));
    expect(await lease(open())).toHaveLength(1);
  });

  it('counts by task name over all queues of the namespace', async () => {
    await open().definitions.putTask(ALPHA, limited('charge', 1));
    const executionId = await givenExecution(open());
    await givenTask(open(), executionId, { seq: 2, queue: 'charge' });
    await givenTask(open(), executionId, { seq: 3, queue: 'charge:eu' });
    expect(await lease(open(), { queues: ['charge:eu', 'charge'], count: 2 })).toHaveLength(1);
  });

  it('holds back only the limited task of a shared queue', async () => {
    await open().definitions.putTask(ALPHA, limited('charge', 1));
    await givenTasks(2);
    const executionId = await givenExecution(open());
    await givenTask(open(), executionId, { seq: 2, taskName: 'other' });
    const held = await lease(open(), { count: 3 });
    expect(held.map((task) => task.taskName).sort()).toEqual(['charge', 'other']);
  });

  it('of another namespace does not count', async () => {
    await open().definitions.putTask(BETA, limited('charge', 1));
    await givenTasks(2);
    expect(await lease(open(), { count: 2 })).toHaveLength(2);
  });
});

describe.each(engineHarnesses)('ready queues over $name', (harness) => {
  const open = useHarness(harness);
  const CHARGE = { namespace: ALPHA, queue: 'charge' };

  it('are those with a task that could be leased now', async () => {
    const executionId = await givenExecution(open());
    await givenTask(open(), executionId, { seq: 2 });
    await givenTask(open(), executionId, { seq: 3, queue: 'late', delayMs: 5_000 });
    await givenTask(open(), executionId, { seq: 4, queue: 'waiting', family: 'waiting' });
    const candidates = ['charge', 'late', 'waiting', 'none'].map((queue) => ({ namespace: ALPHA, queue }));
    const foreign = { namespace: BETA, queue: 'charge' };
    expect(await open().engine.readyQueues([...candidates, foreign])).toEqual([CHARGE]);
    expect(await open().engine.readyQueues([foreign])).toEqual([]);
    expect(await open().engine.readyQueues([])).toEqual([]);
    await open().advance(5_001);
    const ready = await open().engine.readyQueues(candidates);
    expect(ready.map(({ queue }) => queue).toSorted()).toEqual(['charge', 'late']);
  });

  it('are not those whose tasks are all leased or settled', async () => {
    const held = await givenLeasedTask(open());
    expect(await open().engine.readyQueues([CHARGE])).toEqual([]);
    await settle(open(), reportOf(held));
    expect(await open().engine.readyQueues([CHARGE])).toEqual([]);
  });

  it('are ready again once a lease is given back', async () => {
    const held = await givenLeasedTask(open());
    await inTx(open().engine, (tx) => tx.releaseLeases(ALPHA, [held]));
    expect(await open().engine.readyQueues([CHARGE])).toEqual([CHARGE]);
  });
});

describe.each(harnesses)('queue depths over $name', (harness) => {
  const open = useHarness(harness);

  it('count what is ready, leased and delayed by queue', async () => {
    const executionId = await givenExecution(open());
    await givenTask(open(), executionId, { seq: 2 });
    await givenTask(open(), executionId, { seq: 3 });
    await givenTask(open(), executionId, { seq: 4, delayMs: 60_000 });
    await givenTask(open(), executionId, { seq: 5, queue: 'refund', taskName: 'refund' });
    await givenTask(open(), executionId, { seq: 6, queue: 'waiting', family: 'waiting' });
    await leaseOne(open());
    const depths = await open().index.queues(ALPHA);
    expect(depths.map(({ queue, ready, leased, delayed }) => ({ queue, ready, leased, delayed }))).toEqual([
      { queue: 'charge', ready: 1, leased: 1, delayed: 1 },
      { queue: 'refund', ready: 1, leased: 0, delayed: 0 },
    ]);
    expect(await open().index.queues(BETA)).toEqual([]);
  });

  it('tell the age of the oldest ready task and the limit', async () => {
    await open().definitions.putTask(ALPHA, limited('charge', 4));
    await givenTask(open(), await givenExecution(open()));
    await open().advance(3_000);
    const [depth] = await open().index.queues(ALPHA);
    expect(depth?.concurrentExecLimit).toBe(4);
    expect(depth?.oldestReadyAgeMs).toBeGreaterThanOrEqual(3_000);
    expect(depth?.oldestReadyAgeMs).toBeLessThan(60_000);
  });

  it('forget a task once it is settled', async () => {
    await settle(open(), reportOf(await givenLeasedTask(open())));
    const [depth] = await open().index.queues(ALPHA);
    expect(depth?.ready ?? 0).toBe(0);
    expect(depth?.leased ?? 0).toBe(0);
  });
});
