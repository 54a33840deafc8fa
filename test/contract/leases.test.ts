import { describe, expect, it } from 'vitest';
import { addMs } from '../../src/domain/kernel/brand.ts';
import {
  ALPHA,
  BETA,
  givenExecution,
  givenLeasedTask,
  givenTask,
  ids,
  inTx,
  lease,
  leaseOne,
  leaseRequest,
  openTask,
  rolledBack,
  timerOf,
} from './given.ts';
import { engineHarnesses, useHarness } from './harness.ts';

describe.each(engineHarnesses)('leasing over $name', (harness) => {
  const open = useHarness(harness);

  it('hands out everything a worker needs, under the token it was given', async () => {
    const executionId = await givenExecution(open());
    const task = await givenTask(open(), executionId, { iteration: 2, attempt: 3, priority: 5 });
    const token = ids.leaseToken();
    const before = await open().engine.now();
    const held = await leaseOne(open(), { tokens: [token], leaseMs: 30_000 });
    const after = await open().engine.now();
    expect(held).toMatchObject({
      taskId: task.taskId,
      executionId,
      namespace: ALPHA,
      ref: task.ref,
      iteration: 2,
      attempt: 3,
      taskType: 'SIMPLE',
      taskName: 'charge',
      queue: 'charge',
      priority: 5,
      input: task.input,
      leaseToken: token,
      scheduledAt: task.scheduledAt,
      workerId: 'worker-1',
    });
    expect(held.startedAt).toBeGreaterThanOrEqual(before);
    expect(held.startedAt).toBeLessThanOrEqual(after);
    expect(held.leaseExpiresAt).toBeGreaterThanOrEqual(before + 30_000);
    expect(held.leaseExpiresAt).toBeLessThanOrEqual(after + 30_000);
  });

  it('leases for the heartbeat time of the task when none is asked for', async () => {
    const before = await open().engine.now();
    const held = await givenLeasedTask(open(), { heartbeatMs: 7_000 });
    expect(held.leaseExpiresAt).toBeGreaterThanOrEqual(before + 7_000);
    expect(held.leaseExpiresAt).toBeLessThanOrEqual((await open().engine.now()) + 7_000);
  });

  it('hands a task to one worker only', async () => {
    await givenLeasedTask(open());
    expect(await lease(open(), { workerId: 'worker-2' })).toEqual([]);
  });

  it('hands two simultaneous polls different tasks', async () => {
    const executionId = await givenExecution(open());
    for (const seq of [2, 3, 4, 5]) await givenTask(open(), executionId, { seq });
    const polls = await Promise.all([1, 2, 3, 4].map(() => lease(open(), { count: 1 })));
    expect(new Set(polls.flat().map((task) => task.taskId)).size).toBe(4);
  });

  it('serves the higher priority first, then the older', async () => {
    const executionId = await givenExecution(open());
    const now = await open().engine.now();
    const [youngLow, oldLow, high] = [
      await givenTask(open(), executionId, { seq: 2, scheduledAt: addMs(now, -10) }),
      await givenTask(open(), executionId, { seq: 3, scheduledAt: addMs(now, -20) }),
      await givenTask(open(), executionId, { seq: 4, priority: 9 }),
    ];
    const served: string[] = [];
    for (let poll = 0; poll < 3; poll += 1) served.push((await leaseOne(open())).taskId);
    expect(served).toEqual([high.taskId, oldLow.taskId, youngLow.taskId]);
  });

  it('hands out at most the count', async () => {
    const executionId = await givenExecution(open());
    for (const seq of [2, 3, 4]) await givenTask(open(), executionId, { seq });
    expect(await lease(open(), { count: 2 })).toHaveLength(2);
    expect(await lease(open(), { count: 5 })).toHaveLength(1);
  });

  it('gives each task of a batch a token of its own', async () => {
    const executionId = await givenExecution(open());
    for (const seq of [2, 3]) await givenTask(open(), executionId, { seq });
    const request = leaseRequest({ count: 2 });
    const held = await inTx(open().engine, (tx) => tx.leaseTasks(request));
    expect(held.map((task) => task.leaseToken).sort()).toEqual([...request.tokens].sort());
  });

  it('serves several queues in the order asked for', async () => {
    const executionId = await givenExecution(open());
    await givenTask(open(), executionId, { seq: 2, queue: 'charge', priority: 9 });
    await givenTask(open(), executionId, { seq: 3, queue: 'refund' });
    const queues = ['none', 'refund', 'charge'];
    expect((await leaseOne(open(), { queues })).queue).toBe('refund');
    expect((await leaseOne(open(), { queues })).queue).toBe('charge');
  });

  it('never hands out what lies in a queue not asked for', async () => {
    await givenTask(open(), await givenExecution(open()), { queue: 'refund' });
    expect(await lease(open())).toEqual([]);
  });

  it('never hands out a waiting task, nor a system task to a worker', async () => {
    const executionId = await givenExecution(open());
    await givenTask(open(), executionId, { seq: 2, family: 'waiting' });
    await givenTask(open(), executionId, { seq: 3, family: 'system', taskType: 'INLINE' });
    const task = await givenTask(open(), executionId, { seq: 4 });
    expect((await lease(open(), { count: 5 })).map(({ taskId }) => taskId)).toEqual([task.taskId]);
    expect(await open().engine.readyQueues([{ namespace: ALPHA, queue: 'charge' }])).toEqual([]);
  });

  it('hands system tasks of every namespace, and no others, to who names none', async () => {
    const executionId = await givenExecution(open());
    const system = await givenTask(open(), executionId, { seq: 2, family: 'system', taskType: 'INLINE' });
    await givenTask(open(), executionId, { seq: 3 });
    const held = await lease(open(), { namespace: undefined, count: 5 });
    expect(held.map(({ taskId }) => taskId)).toEqual([system.taskId]);
  });

  it('hands a delayed task out once its time has come', async () => {
    const task = await givenTask(open(), await givenExecution(open()), { delayMs: 5_000 });
    expect(await lease(open())).toEqual([]);
    await open().advance(5_001);
    expect((await leaseOne(open())).taskId).toBe(task.taskId);
  });

  it('never shows the tasks of one namespace to another', async () => {
    const executionId = await givenExecution(open(), { namespace: BETA });
    await givenTask(open(), executionId, { namespace: BETA });
    expect(await lease(open(), { namespace: ALPHA })).toEqual([]);
    expect(await lease(open(), { namespace: BETA })).toHaveLength(1);
  });

  it('serves every namespace when none is named, the most urgent first', async () => {
    const [alpha, beta] = [await givenExecution(open()), await givenExecution(open(), { namespace: BETA })];
    await givenTask(open(), alpha, { family: 'system', queue: 'sys' });
    await givenTask(open(), beta, { family: 'system', queue: 'sys', namespace: BETA, priority: 3 });
    const held = await lease(open(), { namespace: undefined, queues: ['sys'], count: 5 });
    expect(held.map((task) => task.namespace)).toEqual([BETA, ALPHA]);
  });

  it('forgets a lease that was rolled back', async () => {
    const executionId = await givenExecution(open());
    await givenTask(open(), executionId);
    await rolledBack(open().engine, (tx) => tx.leaseTasks(leaseRequest()));
    expect((await openTask(open(), executionId))?.leased).toBe(false);
    expect(await lease(open())).toHaveLength(1);
  });

  it('shows who holds a task, since when and for how long', async () => {
    const held = await givenLeasedTask(open());
    expect(await openTask(open(), held.executionId)).toMatchObject({
      leased: true,
      workerId: 'worker-1',
      startedAt: held.startedAt,
      leaseExpiresAt: held.leaseExpiresAt,
      hasOutcome: false,
    });
  });

  it('arms start-to-close at the first lease', async () => {
    const held = await givenLeasedTask(open(), { startToCloseMs: 4_000 });
    expect((await inTx(open().engine, (tx) => tx.fireTimers(10))).evaluated).toEqual([]);
    await open().advance(4_001);
    expect((await inTx(open().engine, (tx) => tx.fireTimers(10))).evaluated).toEqual([held.executionId]);
  });

  it('counts start-to-close from the first lease, however often the attempt is leased again', async () => {
    const held = await givenLeasedTask(open(), { startToCloseMs: 4_000 });
    await open().advance(3_000);
    await inTx(open().engine, (tx) => tx.releaseLeases(ALPHA, [held]));
    await leaseOne(open());
    await open().advance(1_001);
    expect((await inTx(open().engine, (tx) => tx.fireTimers(10))).evaluated).toEqual([held.executionId]);
  });

  it('does not arm start-to-close again when the attempt is leased again after that deadline has passed', async () => {
    const held = await givenLeasedTask(open(), { startToCloseMs: 4_000, alertOnly: true });
    await open().advance(4_001);
    const { underLock } = await inTx(open().engine, (tx) => tx.fireTimers(10));
    await inTx(open().engine, (tx) => tx.dropTimers(underLock));
    await inTx(open().engine, (tx) => tx.releaseLeases(ALPHA, [held]));
    await leaseOne(open());
    await open().advance(4_001);
    expect(underLock).toHaveLength(1);
    expect((await inTx(open().engine, (tx) => tx.fireTimers(10))).underLock).toEqual([]);
  });

  it('drops schedule-to-start at the first lease', async () => {
    const executionId = await givenExecution(open());
    const task = await givenTask(open(), executionId);
    const fireAt = addMs(task.scheduledAt, 1_000);
    await inTx(open().engine, (tx) =>
      tx.armTimers([{ namespace: ALPHA, executionId, item: timerOf(task, 'SCHEDULE_TO_START', fireAt) }]),
    );
    await leaseOne(open());
    await open().advance(1_001);
    expect((await inTx(open().engine, (tx) => tx.fireTimers(10))).evaluated).toEqual([]);
  });
});
