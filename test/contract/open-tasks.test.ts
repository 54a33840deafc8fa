import { describe, expect, it } from 'vitest';
import type { Instant } from '../../src/domain/kernel/brand.ts';
import type { EnqueueTask } from '../../src/ports/engine-store.ts';
import {
  ALPHA,
  BETA,
  claimAll,
  closeOf,
  givenExecution,
  givenTask,
  inTx,
  lease,
  leaseOne,
  newTask,
  openTask,
  outcomesOf,
  owed,
  reportOf,
  rolledBack,
  settle,
  timerOf,
} from './given.ts';
import { engineHarnesses, useHarness } from './harness.ts';

describe.each(engineHarnesses)('opening attempts over $name', (harness) => {
  const open = useHarness(harness);

  it('shows the open attempt to its namespace only', async () => {
    const executionId = await givenExecution(open());
    const task = await givenTask(open(), executionId);
    expect(await open().index.openTasks(ALPHA, executionId)).toEqual([
      {
        taskId: task.taskId,
        ref: 'task-2',
        iteration: 0,
        attempt: 1,
        family: 'worker',
        queue: 'charge',
        leased: false,
        visibleAt: task.visibleAt,
        hasOutcome: false,
      },
    ]);
    expect(await open().index.openTasks(BETA, executionId)).toEqual([]);
  });

  it('absorbs an identity that is open already and names its run alone', async () => {
    const [run, other] = [await givenExecution(open()), await givenExecution(open())];
    const task = await givenTask(open(), run);
    const fresh = newTask(other, task.scheduledAt, 2);
    const absorbed = await inTx(open().engine, (tx) => tx.enqueueTasks([owed(run, task), owed(other, fresh)]));
    expect([...absorbed]).toEqual([run]);
    expect(await open().index.openTasks(ALPHA, run)).toHaveLength(1);
    expect(await open().index.openTasks(ALPHA, other)).toHaveLength(1);
  });

  it('absorbs by ref, iteration and attempt, whatever the task id', async () => {
    const executionId = await givenExecution(open());
    const task = await givenTask(open(), executionId);
    const again = newTask(executionId, task.scheduledAt, 9, { ref: task.ref });
    expect([...(await inTx(open().engine, (tx) => tx.enqueueTasks([owed(executionId, again)])))]).toEqual([
      executionId,
    ]);
    expect((await open().index.openTasks(ALPHA, executionId)).map((row) => row.taskId)).toEqual([task.taskId]);
  });

  it.each<[string, Partial<EnqueueTask>]>([
    ['another attempt', { attempt: 2 }],
    ['another iteration', { iteration: 1 }],
    ['another ref', { ref: 'task-2__1' }],
  ])('opens %s of a node beside the first', async (_, difference) => {
    const executionId = await givenExecution(open());
    const task = await givenTask(open(), executionId);
    const next = newTask(executionId, task.scheduledAt, 3, { ref: task.ref, ...difference });
    expect([...(await inTx(open().engine, (tx) => tx.enqueueTasks([owed(executionId, next)])))]).toEqual([]);
    expect(await open().index.openTasks(ALPHA, executionId)).toHaveLength(2);
  });

  it('forgets an attempt that was rolled back', async () => {
    const executionId = await givenExecution(open());
    const task = newTask(executionId, await open().engine.now(), 2);
    await rolledBack(open().engine, (tx) => tx.enqueueTasks([owed(executionId, task)]));
    expect(await open().index.openTasks(ALPHA, executionId)).toEqual([]);
    expect([...(await inTx(open().engine, (tx) => tx.enqueueTasks([owed(executionId, task)])))]).toEqual([]);
  });

  it('keeps the input exactly', async () => {
    const input = { text: 'naïve 🧪', list: [null, true, { '': [] }], big: 2 ** 53 - 1 };
    await givenTask(open(), await givenExecution(open()), { input });
    expect((await leaseOne(open())).input).toEqual(input);
  });

  it.each([null, 'text', 0, false, []])('keeps an input that is no object: %j', async (input) => {
    await givenTask(open(), await givenExecution(open()), { input });
    expect((await leaseOne(open())).input).toEqual(input);
  });
});

describe.each(engineHarnesses)('ending attempts over $name', (harness) => {
  const open = useHarness(harness);

  it('removes a closed attempt from the queue and records how it ended', async () => {
    const executionId = await givenExecution(open());
    const task = await givenTask(open(), executionId);
    await inTx(open().engine, (tx) => tx.closeTasks([owed(executionId, closeOf(task, task.scheduledAt))]));
    expect(await open().index.openTasks(ALPHA, executionId)).toEqual([]);
    expect(await lease(open())).toEqual([]);
    expect(await open().closedTasks(executionId)).toMatchObject([{ ref: 'task-2', attempt: 1, status: 'COMPLETED' }]);
  });

  it('takes the outcome away with the closed attempt', async () => {
    const executionId = await givenExecution(open());
    const task = await givenTask(open(), executionId);
    await settle(open(), reportOf(await leaseOne(open())));
    await inTx(open().engine, (tx) => tx.closeTasks([owed(executionId, closeOf(task, task.scheduledAt))]));
    expect(await outcomesOf(open(), executionId)).toEqual([]);
  });

  it('opens the next attempt after the first was closed', async () => {
    const executionId = await givenExecution(open());
    const task = await givenTask(open(), executionId);
    const retry = newTask(executionId, task.scheduledAt, 4, { ref: task.ref, attempt: 2 });
    await inTx(open().engine, async (tx) => {
      await tx.closeTasks([owed(executionId, closeOf(task, task.scheduledAt, { status: 'FAILED' }))]);
      expect([...(await tx.enqueueTasks([owed(executionId, retry)]))]).toEqual([]);
    });
    expect((await leaseOne(open())).attempt).toBe(2);
  });

  it('restores a closed attempt on a rollback', async () => {
    const executionId = await givenExecution(open());
    const task = await givenTask(open(), executionId);
    await rolledBack(open().engine, (tx) => tx.closeTasks([owed(executionId, closeOf(task, task.scheduledAt))]));
    expect(await open().closedTasks(executionId)).toEqual([]);
    expect((await leaseOne(open())).taskId).toBe(task.taskId);
  });

  it('cancels every open attempt and timer of an ended run, and nothing of another', async () => {
    const [ended, other] = [await givenExecution(open()), await givenExecution(open())];
    const free = await givenTask(open(), ended, { seq: 2 });
    await givenTask(open(), ended, { seq: 3, family: 'waiting', queue: '' });
    const kept = await givenTask(open(), other, { seq: 2, queue: 'other' });
    await leaseOne(open());
    const at = await open().engine.now();
    await inTx(open().engine, async (tx) => {
      await tx.armTimers([ended, other].map((run) => owed(run, timerOf(free, 'SCHEDULE_TO_CLOSE', at))));
      await tx.armTimers([owed(ended, timerOf({ ref: '', iteration: 0, attempt: 0 }, 'EXECUTION', at))]);
      await tx.cancelOpenWork([{ executionId: ended, at }]);
    });
    expect(await open().index.openTasks(ALPHA, ended)).toEqual([]);
    expect(await open().closedTasks(ended)).toMatchObject([
      { ref: 'task-2', status: 'CANCELED' },
      { ref: 'task-3', status: 'CANCELED' },
    ]);
    expect((await openTask(open(), other))?.taskId).toBe(kept.taskId);
    await open().advance(1);
    const fired = await inTx(open().engine, (tx) => tx.fireTimers(10));
    expect(fired).toEqual({ evaluated: [other], underLock: [] });
  });

  it('refuses the report of a canceled attempt', async () => {
    const executionId = await givenExecution(open());
    await givenTask(open(), executionId);
    const held = await leaseOne(open());
    await inTx(open().engine, (tx) => tx.cancelOpenWork([{ executionId, at: held.startedAt }]));
    expect(await settle(open(), reportOf(held))).toBe('leaseLost');
    expect(await claimAll(open())).toEqual([]);
  });

  it('absorbs an attempt that was closed before: its identity is taken for good', async () => {
    const executionId = await givenExecution(open());
    const task = await givenTask(open(), executionId);
    await inTx(open().engine, (tx) => tx.closeTasks([owed(executionId, closeOf(task, task.scheduledAt))]));
    expect([...(await inTx(open().engine, (tx) => tx.enqueueTasks([owed(executionId, task)])))]).toEqual([executionId]);
    expect(await open().index.openTasks(ALPHA, executionId)).toEqual([]);
  });

  it('tells which attempts of a run are open, the reported ones too', async () => {
    const [run, other] = [await givenExecution(open()), await givenExecution(open())];
    const tasks = [await givenTask(open(), run, { seq: 2 }), await givenTask(open(), run, { seq: 3 })];
    await givenTask(open(), other, { queue: 'other' });
    await settle(open(), reportOf(await leaseOne(open())));
    const openIds = () => inTx(open().engine, (tx) => tx.openTaskIds(run));
    expect((await openIds()).toSorted()).toEqual(tasks.map((task) => task.taskId));
    await inTx(open().engine, (tx) => tx.cancelOpenWork([{ executionId: run, at: tasks[0]?.scheduledAt as Instant }]));
    expect(await openIds()).toEqual([]);
  });
});
