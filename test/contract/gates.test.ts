import { describe, expect, it } from 'vitest';
import type { TaskDefinition } from '../../src/domain/definition/task-definition.ts';
import type { EnqueueTask, LeasedTask, LeaseRequest } from '../../src/ports/engine-store.ts';
import { taskDefinition } from './definitions.ts';
import {
  ALPHA,
  BETA,
  closeByPass,
  givenExecution,
  givenTask,
  inTx,
  lease,
  leaseOne,
  leaseRequest,
  newTask,
  owed,
  reportOf,
  rolledBack,
  settle,
} from './given.ts';
import { harnesses, type OpenHarness, useHarness } from './harness.ts';

const CHARGE = { namespace: ALPHA, queue: 'charge' };
/** Longer than a test takes, so that none of its windows closes by itself. */
const WINDOW_SECONDS = 86_400;

const givenTasks = async (open: OpenHarness, taskName: string, count: number): Promise<void> => {
  const executionId = await givenExecution(open);
  for (let seq = 2; seq < 2 + count; seq += 1) {
    await givenTask(open, executionId, { seq, taskName, queue: taskName });
  }
};

describe.each(harnesses)('a rate limit over $name', (harness) => {
  const open = useHarness(harness);
  const limited = (leases: number): TaskDefinition =>
    taskDefinition('charge', { rateLimit: { leases, windowSeconds: WINDOW_SECONDS } });

  it('lets so many be leased in a window, however many ask for how many', async () => {
    await open().definitions.putTask(ALPHA, limited(3));
    await givenTasks(open(), 'charge', 8);
    const polls = await Promise.all(Array.from({ length: 6 }, () => lease(open(), { count: 5 })));
    expect(polls.flat()).toHaveLength(3);
  });

  it('counts leases and not tasks at work: what was settled or given back was leased', async () => {
    await open().definitions.putTask(ALPHA, limited(2));
    await givenTasks(open(), 'charge', 4);
    const [first, second] = await lease(open(), { count: 2 });
    await settle(open(), reportOf(first as LeasedTask));
    await inTx(open().engine, (tx) => tx.releaseLeases(ALPHA, [second as LeasedTask]));
    expect(await lease(open(), { count: 2 })).toEqual([]);
  });

  it('lets as many again be leased when the next window opens', async () => {
    await open().definitions.putTask(ALPHA, limited(2));
    await givenTasks(open(), 'charge', 6);
    expect(await lease(open(), { count: 6 })).toHaveLength(2);
    await open().advance(WINDOW_SECONDS * 1_000);
    expect(await lease(open(), { count: 6 })).toHaveLength(2);
    expect(await lease(open(), { count: 6 })).toEqual([]);
  });

  it('tells when to look again at a queue whose window is used up', async () => {
    await open().definitions.putTask(ALPHA, limited(1));
    await givenTasks(open(), 'charge', 2);
    expect(await open().engine.readyQueues([CHARGE])).toEqual([CHARGE]);
    await leaseOne(open());
    const [held] = await open().engine.readyQueues([CHARGE]);
    expect(held?.opensInMs).toBeGreaterThan(0);
    expect(held?.opensInMs).toBeLessThanOrEqual(WINDOW_SECONDS * 1_000);
    await open().advance(held?.opensInMs ?? 0);
    expect(await open().engine.readyQueues([CHARGE])).toEqual([CHARGE]);
  });

  it('gives a lease that was rolled back to the next', async () => {
    await open().definitions.putTask(ALPHA, limited(1));
    await givenTasks(open(), 'charge', 2);
    await rolledBack(open().engine, (tx) => tx.leaseTasks(leaseRequest()));
    expect(await lease(open(), { count: 2 })).toHaveLength(1);
  });

  it('of another namespace does not count', async () => {
    await open().definitions.putTask(BETA, limited(1));
    await givenTasks(open(), 'charge', 3);
    expect(await lease(open(), { count: 3 })).toHaveLength(3);
  });
});

describe.each(harnesses)('a semaphore over $name', (harness) => {
  const open = useHarness(harness);
  const BOTH: Partial<LeaseRequest> = { queues: ['charge', 'refund'] };

  const needs = (name: string, ...semaphores: readonly string[]) =>
    open().definitions.putTask(ALPHA, taskDefinition(name, { semaphores }));
  const held = async (name: string) => (await open().semaphores.findSemaphore(ALPHA, name))?.held;

  /** Two types of tasks that contend for one permit; one of them is leased. */
  const givenContention = async (): Promise<LeasedTask> => {
    await needs('charge', 'bank');
    await needs('refund', 'bank');
    await open().semaphores.putSemaphore(ALPHA, 'bank', 1);
    await givenTasks(open(), 'charge', 2);
    await givenTasks(open(), 'refund', 2);
    return leaseOne(open(), BOTH);
  };

  it('is shared by two types of tasks that contend for one permit', async () => {
    const first = await givenContention();
    expect([await held('bank'), await lease(open(), { ...BOTH, count: 4 })]).toEqual([1, []]);
    await settle(open(), reportOf(first));
    const [second, ...others] = await lease(open(), { queues: ['refund', 'charge'], count: 4 });
    expect([second?.taskName, others]).toEqual(['refund', []]);
  });

  it('never has more holders than permits, however many ask at once', async () => {
    await needs('charge', 'bank');
    await needs('refund', 'bank');
    await open().semaphores.putSemaphore(ALPHA, 'bank', 3);
    await givenTasks(open(), 'charge', 5);
    await givenTasks(open(), 'refund', 5);
    const polls = await Promise.all(
      Array.from({ length: 8 }, (_, index) =>
        lease(open(), { queues: index % 2 === 0 ? ['charge', 'refund'] : ['refund', 'charge'], count: 4 }),
      ),
    );
    expect([polls.flat().length, await held('bank')]).toEqual([3, 3]);
  });

  it.each([
    ['reported', async (task: LeasedTask) => void (await settle(open(), reportOf(task)))],
    [
      'given back',
      async (task: LeasedTask) => void (await inTx(open().engine, (tx) => tx.releaseLeases(ALPHA, [task]))),
    ],
    [
      'closed by its pass',
      async (task: LeasedTask) => {
        await settle(open(), reportOf(task));
        await closeByPass(open(), task);
      },
    ],
    [
      'canceled with its run',
      async ({ executionId }: LeasedTask) => {
        const at = await open().engine.now();
        await inTx(open().engine, (tx) => tx.cancelOpenWork([{ executionId, at }]));
      },
    ],
    [
      'reclaimed after its lease expired',
      async () => {
        await open().advance(60_001);
        await inTx(open().engine, (tx) => tx.expireLeases(10));
      },
    ],
  ])('has its permit back in the transaction in which its holder is %s', async (_, end) => {
    const first = await givenContention();
    await end(first);
    expect(await held('bank')).toBe(0);
    await leaseOne(open(), BOTH);
    expect(await held('bank')).toBe(1);
  });

  it('is not taken by a lease that was rolled back', async () => {
    await needs('charge', 'bank');
    await open().semaphores.putSemaphore(ALPHA, 'bank', 1);
    await givenTasks(open(), 'charge', 1);
    await rolledBack(open().engine, (tx) => tx.leaseTasks(leaseRequest()));
    expect(await held('bank')).toBe(0);
    await leaseOne(open());
  });

  it('is one of several of which a task takes all or none', async () => {
    await needs('charge', 'bank', 'printer');
    await needs('refund', 'printer');
    await open().semaphores.putSemaphore(ALPHA, 'bank', 0);
    await open().semaphores.putSemaphore(ALPHA, 'printer', 1);
    await givenTasks(open(), 'charge', 1);
    await givenTasks(open(), 'refund', 1);
    expect((await leaseOne(open(), { ...BOTH, count: 2 })).taskName).toBe('refund');
    expect([await held('bank'), await held('printer')]).toEqual([0, 1]);
  });

  it('holds nothing back as long as nobody has set it up, and counts who holds it from the first', async () => {
    await needs('charge', 'bank');
    await givenTasks(open(), 'charge', 3);
    expect(await lease(open(), { count: 2 })).toHaveLength(2);
    const { outcome, semaphore } = await open().semaphores.putSemaphore(ALPHA, 'bank', 2);
    expect([outcome, semaphore.held]).toEqual(['created', 2]);
    expect(await lease(open())).toEqual([]);
    expect(await open().semaphores.deleteSemaphore(ALPHA, 'bank')).toBe(true);
    await leaseOne(open());
  });

  it('with fewer permits than are held ends nobody, and gives none until so many are free', async () => {
    await needs('charge', 'bank');
    await open().semaphores.putSemaphore(ALPHA, 'bank', 3);
    await givenTasks(open(), 'charge', 5);
    const holders = await lease(open(), { count: 3 });
    expect((await open().semaphores.putSemaphore(ALPHA, 'bank', 1)).semaphore).toMatchObject({ permits: 1, held: 3 });
    for (const task of holders.slice(0, 2)) await settle(open(), reportOf(task));
    expect(await lease(open())).toEqual([]);
    await settle(open(), reportOf(holders[2] as LeasedTask));
    expect(await lease(open(), { count: 3 })).toHaveLength(1);
  });

  it('of another namespace does not count', async () => {
    await needs('charge', 'bank');
    await open().semaphores.putSemaphore(BETA, 'bank', 0);
    await givenTasks(open(), 'charge', 1);
    await leaseOne(open());
  });

  it('tells that a queue is worth another look soon while its permits are taken', async () => {
    const first = await givenContention();
    expect((await open().engine.readyQueues([CHARGE]))[0]?.opensInMs).toBeGreaterThan(0);
    await settle(open(), reportOf(first));
    expect(await open().engine.readyQueues([CHARGE])).toEqual([CHARGE]);
  });

  it('can be listed by name, page by page, in its namespace alone', async () => {
    for (const name of ['c', 'a', 'b']) await open().semaphores.putSemaphore(ALPHA, name, 1);
    await open().semaphores.putSemaphore(BETA, 'd', 1);
    const first = await open().semaphores.listSemaphores(ALPHA, { limit: 2 });
    const rest = await open().semaphores.listSemaphores(ALPHA, { limit: 2, after: 'b' });
    expect([first.map(({ name }) => name), rest.map(({ name }) => name)]).toEqual([['a', 'b'], ['c']]);
    expect(await open().semaphores.deleteSemaphore(BETA, 'a')).toBe(false);
  });
});

describe.each(harnesses)('limits together over $name', (harness) => {
  const open = useHarness(harness);

  it('hold a task back as long as the most restrictive of them does', async () => {
    await open().definitions.putTask(
      ALPHA,
      taskDefinition('charge', {
        concurrentExecLimit: 3,
        rateLimit: { leases: 4, windowSeconds: WINDOW_SECONDS },
        semaphores: ['bank'],
      }),
    );
    await open().semaphores.putSemaphore(ALPHA, 'bank', 2);
    await givenTasks(open(), 'charge', 8);
    const first = await lease(open(), { count: 8 });
    expect(first).toHaveLength(2);
    await open().semaphores.putSemaphore(ALPHA, 'bank', 100);
    const second = await lease(open(), { count: 8 });
    expect(second).toHaveLength(1);
    for (const task of [...first, ...second]) await settle(open(), reportOf(task));
    expect(await lease(open(), { count: 8 })).toHaveLength(1);
  });

  it('of the tasks at the head of a shared queue do not hide those behind them', async () => {
    await open().definitions.putTask(ALPHA, taskDefinition('slow', { concurrentExecLimit: 1 }));
    await open().definitions.putTask(ALPHA, taskDefinition('quick', { concurrentExecLimit: 5 }));
    const executionId = await givenExecution(open());
    for (let seq = 2; seq < 12; seq += 1) await givenTask(open(), executionId, { seq, taskName: 'slow' });
    await givenTask(open(), executionId, { seq: 20, taskName: 'quick' });
    await givenTask(open(), executionId, { seq: 21, taskName: 'free' });
    const held = [...(await lease(open(), { count: 2 })), ...(await lease(open(), { count: 2 }))];
    expect(held.map(({ taskName }) => taskName).sort()).toEqual(['free', 'quick', 'slow']);
  });

  it('count for tasks of the server too, in each namespace for itself', async () => {
    for (const namespace of [ALPHA, BETA]) {
      await open().definitions.putTask(namespace, taskDefinition('script', { concurrentExecLimit: 1 }));
      const executionId = await givenExecution(open(), { namespace });
      for (const seq of [2, 3]) {
        await givenTask(open(), executionId, {
          seq,
          namespace,
          family: 'system',
          queue: '$system',
          taskName: 'script',
        });
      }
    }
    const request = { namespace: undefined, queues: ['$system'], count: 4 };
    const held = await lease(open(), request);
    expect(held.map(({ namespace }) => namespace).sort()).toEqual([ALPHA, BETA]);
    expect(await lease(open(), request)).toEqual([]);
  });
});

describe.each(harnesses)('turns over $name', (harness) => {
  const open = useHarness(harness);

  /** Tasks of a run, all scheduled at once. */
  const enqueue = async (
    workflowName: string,
    count: number,
    overrides: Partial<EnqueueTask> = {},
    namespace = ALPHA,
  ) => {
    const executionId = await givenExecution(open(), { namespace });
    const now = await open().engine.now();
    const tasks = Array.from({ length: count }, (_, index) =>
      owed(executionId, newTask(executionId, now, index + 2, { workflowName, ...overrides }), namespace),
    );
    await inTx(open().engine, (tx) => tx.enqueueTasks(tasks));
    return executionId;
  };

  const order = async (count: number, overrides: Partial<LeaseRequest> = {}) =>
    (await lease(open(), { count, ...overrides })).map((task) => task.executionId);

  it('let the task of another definition go before the line of one that floods the queue', async () => {
    await enqueue('flood', 3_000);
    await order(200);
    const single = await enqueue('single', 1);
    expect(await order(1)).toEqual([single]);
  });

  it('let another run of a definition go before the line of one run', async () => {
    await enqueue('flood', 3_000);
    await order(200);
    const other = await enqueue('flood', 1);
    expect(await order(1)).toEqual([other]);
  });

  it('keep those who bring few tasks in the order in which they came', async () => {
    const runs = [await enqueue('a', 1), await enqueue('b', 1), await enqueue('a', 1)];
    expect(await order(3)).toEqual(runs);
  });

  it('come after priority', async () => {
    await enqueue('low', 3_000);
    const high = await enqueue('high', 3, { priority: 5 });
    await enqueue('low', 1);
    expect(await order(3)).toEqual([high, high, high]);
  });

  it('of tasks of the server are taken by namespaces', async () => {
    const system = { family: 'system', queue: '$system' } as const;
    const request = { namespace: undefined, queues: ['$system'] };
    await enqueue('flood', 3_000, system);
    await order(200, request);
    const other = await enqueue('flood', 1, system, BETA);
    expect(await order(1, request)).toEqual([other]);
  });
});

describe.each(harnesses)('retry counts over $name', (harness) => {
  const open = useHarness(harness);
  const add = (taskName: string, attempts: number, retries: number) =>
    inTx(open().engine, (tx) => tx.addRetryCounts([{ namespace: ALPHA, taskName, attempts, retries }]));
  const read = (...names: readonly string[]) => inTx(open().engine, (tx) => tx.retryCounts(ALPHA, names));

  it('add up over the last five minutes, and are forgotten after them', async () => {
    await add('charge', 10, 2);
    await add('charge', 5, 1);
    await add('refund', 7, 0);
    expect((await read('charge', 'none')).get('charge')).toMatchObject({ attempts: 15, retries: 3 });
    expect([...(await read('charge', 'refund', 'none')).keys()].sort()).toEqual(['charge', 'refund']);
    await open().advance(200_000);
    await add('charge', 1, 0);
    expect((await read('charge')).get('charge')).toMatchObject({ attempts: 16, retries: 3 });
    await open().advance(150_000);
    expect((await read('charge')).get('charge')).toMatchObject({ attempts: 1, retries: 0 });
    await open().advance(3_600_000);
    await inTx(open().engine, (tx) => tx.forgetPastLimits());
    expect(await read('charge', 'refund')).toEqual(new Map());
  });
});
