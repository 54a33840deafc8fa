import { describe, expect, it } from 'vitest';
import type { TaskDefinition } from '../../../src/domain/definition/task-definition.ts';
import type { EngineStore, LeasedTask } from '../../../src/ports/engine-store.ts';
import { completed, givenTasks, lease, NAMESPACE } from './given.ts';
import { barrier, useTwoServers } from './sessions.ts';

const limited = (name: string, concurrentExecLimit: number): TaskDefinition => ({
  name,
  policy: {
    retryCount: 0,
    retryLogic: 'FIXED',
    retryDelayMs: 0,
    backoffScaleFactor: 1,
    maxRetryDelayMs: 0,
    jitterShare: 0,
    jitterMs: 0,
    nonRetryableErrors: [],
    scheduleToStartMs: 0,
    startToCloseMs: 0,
    scheduleToCloseMs: 0,
    heartbeatMs: 60_000,
    timeoutPolicy: 'RETRY',
  },
  concurrentExecLimit,
  inputTemplate: {},
  extra: {},
});

describe('leasing', () => {
  const servers = useTwoServers();
  const engineOf = (index: number): EngineStore => (index % 2 === 0 ? servers().one : servers().two).engine;

  it('gives 200 tasks to 20 workers without giving one twice', async () => {
    await givenTasks(engineOf(0), 200, { queue: 'race', taskName: 'race' });
    const workers = Array.from({ length: 20 }, async (_, index) => {
      const mine: LeasedTask[] = [];
      const poll = () => lease(engineOf(index), { queues: ['race'], workerId: `worker-${index}`, count: 3 });
      for (let batch = await poll(); batch.length > 0; batch = await poll()) mine.push(...batch);
      return mine;
    });
    const leased = (await Promise.all(workers)).flat();
    const rest = await lease(engineOf(0), { queues: ['race'], count: 200 });
    const taskIds = [...leased, ...rest].map((task) => task.taskId);
    expect(taskIds).toHaveLength(200);
    expect(new Set(taskIds).size).toBe(200);
    expect(new Set([...leased, ...rest].map((task) => task.leaseToken)).size).toBe(200);
  });

  it('never goes over a limit of 5, with 10 dispatchers that each want it all (promise 9)', async () => {
    await servers().one.definitions.putTask(NAMESPACE, limited('narrow', 5));
    await givenTasks(engineOf(0), 40, { queue: 'narrow', taskName: 'narrow' });
    const dispatch = () =>
      Promise.all(Array.from({ length: 10 }, (_, index) => lease(engineOf(index), { queues: ['narrow'], count: 20 })));
    const held = (await dispatch()).flat();
    expect(held).toHaveLength(5);
    const settled = await engineOf(1).transaction((tx) =>
      tx.settleTasks(
        NAMESPACE,
        held.slice(0, 2).map((task) => completed(task, 'worker')),
      ),
    );
    expect(settled).toEqual(['settled', 'settled']);
    expect((await dispatch()).flat()).toHaveLength(2);
  });

  it('counts the leases of a transaction that is about to commit against the limit', async () => {
    const { one, two } = servers();
    await one.definitions.putTask(NAMESPACE, limited('tight', 1));
    await givenTasks(one.engine, 2, { queue: 'tight', taskName: 'tight' });
    const step = barrier();
    const first = one.engine.transaction(async (tx) => {
      const leased = await tx.leaseTasks({
        namespace: NAMESPACE,
        queues: ['tight'],
        workerId: 'first',
        count: 1,
        tokens: ['00000000-0000-4000-8000-00000000aaaa' as LeasedTask['leaseToken']],
      });
      await step.stop();
      return leased;
    });
    await step.reached;
    const second = lease(two.engine, { queues: ['tight'] });
    step.go();
    expect(await first).toHaveLength(1);
    expect(await second).toEqual([]);
  });

  it('does not wait for tasks that another transaction is leasing', async () => {
    const { one, two } = servers();
    await givenTasks(one.engine, 2, { queue: 'two', taskName: 'two' });
    const step = barrier();
    const first = one.engine.transaction(async (tx) => {
      const leased = await tx.leaseTasks({
        namespace: NAMESPACE,
        queues: ['two'],
        workerId: 'first',
        count: 1,
        tokens: ['00000000-0000-4000-8000-00000000bbbb' as LeasedTask['leaseToken']],
      });
      await step.stop();
      return leased;
    });
    await step.reached;
    const second = await lease(two.engine, { queues: ['two'], count: 2 });
    step.go();
    const taskIds = [...(await first), ...second].map((task) => task.taskId);
    expect(second).toHaveLength(1);
    expect(new Set(taskIds).size).toBe(2);
  });
});
