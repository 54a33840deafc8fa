import { describe, expect, it } from 'vitest';
import type { TaskDefinition } from '../../src/domain/definition/task-definition.ts';
import { addMs, type LeaseToken } from '../../src/domain/kernel/brand.ts';
import { taskDefinition } from './definitions.ts';
import {
  ALPHA,
  BETA,
  givenExecution,
  givenLeasedTask,
  givenTask,
  heartbeat,
  ids,
  inTx,
  lease,
  leaseOne,
  leaseRequest,
  openTask,
  reportOf,
  rolledBack,
  settle,
  timerOf,
} from './given.ts';
import { harnesses, useHarness } from './harness.ts';

const limited = (name: string, concurrentExecLimit: number): TaskDefinition =>
  taskDefinition(name, { concurrentExecLimit });

describe.each(harnesses)('leasing over $name', (harness) => {
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

  it('never hands out a waiting task, and hands out a system task', async () => {
    const executionId = await givenExecution(open());
    await givenTask(open(), executionId, { seq: 2, family: 'waiting' });
    const system = await givenTask(open(), executionId, { seq: 3, family: 'system', taskType: 'INLINE' });
    expect((await lease(open(), { count: 5 })).map((task) => task.taskId)).toEqual([system.taskId]);
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

describe.each(harnesses)('a concurrency limit over $name', (harness) => {
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

describe.each(harnesses)('holding a lease over $name', (harness) => {
  const open = useHarness(harness);
  const stale = (): LeaseToken => ids.leaseToken();

  it('is extended by a heartbeat, for the time asked or the task’s own', async () => {
    const held = await givenLeasedTask(open(), { heartbeatMs: 9_000 }, { leaseMs: 1_000 });
    const before = await open().engine.now();
    expect(await heartbeat(open(), held, 20_000)).toMatchObject({ kind: 'extended' });
    const asked = (await openTask(open(), held.executionId))?.leaseExpiresAt;
    expect(asked).toBeGreaterThanOrEqual(before + 20_000);
    const own = await heartbeat(open(), held);
    expect(own?.leaseExpiresAt).toBeGreaterThanOrEqual(before + 9_000);
    expect(own?.leaseExpiresAt).toBeLessThan(before + 20_000);
  });

  it('outlives its first expiry after a heartbeat', async () => {
    const held = await givenLeasedTask(open(), {}, { leaseMs: 1_000 });
    await heartbeat(open(), held, 10_000);
    await open().advance(1_001);
    expect(await inTx(open().engine, (tx) => tx.expireLeases(10))).toEqual([]);
    expect(await settle(open(), reportOf(held))).toBe('settled');
  });

  it('keeps the progress of a heartbeat', async () => {
    const held = await givenLeasedTask(open());
    await inTx(open().engine, (tx) => tx.heartbeat(ALPHA, [{ ...held, progress: { percent: 40 } }]));
    expect((await openTask(open(), held.executionId))?.progress).toEqual({ percent: 40 });
  });

  it('answers each heartbeat of a batch, in order', async () => {
    const [a, b] = [await givenLeasedTask(open()), await givenLeasedTask(open())];
    const beats = [a, { ...b, leaseToken: stale() }, b];
    const outcomes = await inTx(open().engine, (tx) =>
      tx.heartbeat(
        ALPHA,
        beats.map(({ taskId, leaseToken }) => ({ taskId, leaseToken })),
      ),
    );
    expect(outcomes.map((outcome) => outcome.kind)).toEqual(['extended', 'leaseLost', 'extended']);
  });

  it.each(['stale token', 'foreign namespace', 'unknown task'])('refuses a heartbeat with a %s', async (fault) => {
    const held = await givenLeasedTask(open());
    const wrong = {
      taskId: fault === 'unknown task' ? `${ids.executionId()}.2` : held.taskId,
      leaseToken: fault === 'stale token' ? stale() : held.leaseToken,
    } as typeof held;
    const namespace = fault === 'foreign namespace' ? BETA : ALPHA;
    expect(await heartbeat(open(), wrong, 99_000, namespace)).toEqual({ kind: 'leaseLost' });
    expect((await openTask(open(), held.executionId))?.leaseExpiresAt).toBe(held.leaseExpiresAt);
  });

  it('refuses a heartbeat after the report', async () => {
    const held = await givenLeasedTask(open());
    await settle(open(), reportOf(held));
    expect(await heartbeat(open(), held)).toEqual({ kind: 'leaseLost' });
  });

  it('ends when given back: visible at once, the same attempt, the same start', async () => {
    const held = await givenLeasedTask(open());
    expect(await inTx(open().engine, (tx) => tx.releaseLeases(ALPHA, [held]))).toEqual([
      { namespace: ALPHA, queue: 'charge' },
    ]);
    expect((await openTask(open(), held.executionId))?.leased).toBe(false);
    await open().advance(1_000);
    const again = await leaseOne(open(), { workerId: 'worker-2' });
    expect(again).toMatchObject({ taskId: held.taskId, attempt: held.attempt, startedAt: held.startedAt });
    expect(again.leaseToken).not.toBe(held.leaseToken);
  });

  it('leaves the old holder without any right once given back and leased again', async () => {
    const old = await givenLeasedTask(open());
    await inTx(open().engine, (tx) => tx.releaseLeases(ALPHA, [old]));
    const current = await leaseOne(open(), { workerId: 'worker-2' });
    expect(await settle(open(), reportOf(old))).toBe('leaseLost');
    expect(await heartbeat(open(), old)).toEqual({ kind: 'leaseLost' });
    expect(await inTx(open().engine, (tx) => tx.releaseLeases(ALPHA, [old]))).toEqual([]);
    expect(await settle(open(), reportOf(current))).toBe('settled');
  });

  it('is given back within its namespace, or by the server whatever the namespace', async () => {
    const held = await givenLeasedTask(open());
    expect(await inTx(open().engine, (tx) => tx.releaseLeases(BETA, [held]))).toEqual([]);
    expect((await openTask(open(), held.executionId))?.leased).toBe(true);
    expect(await inTx(open().engine, (tx) => tx.releaseLeases(undefined, [held]))).toHaveLength(1);
  });

  it('is not given back by a stale token or after the report', async () => {
    const held = await givenLeasedTask(open());
    expect(await inTx(open().engine, (tx) => tx.releaseLeases(ALPHA, [{ ...held, leaseToken: stale() }]))).toEqual([]);
    await settle(open(), reportOf(held));
    expect(await inTx(open().engine, (tx) => tx.releaseLeases(ALPHA, [held]))).toEqual([]);
    expect(await lease(open())).toEqual([]);
  });
});

describe.each(harnesses)('the log of a task over $name', (harness) => {
  const open = useHarness(harness);
  const page = { after: 0, limit: 10 };

  it('keeps the lines of the holder, in order, and pages them', async () => {
    const held = await givenLeasedTask(open());
    const at = await open().engine.now();
    const lines = ['one', 'two', 'three'].map((line) => ({ at, line }));
    expect(await inTx(open().engine, (tx) => tx.appendLogs(ALPHA, held, lines))).toBe(true);
    const [first, ...rest] = await open().index.logs(ALPHA, held.taskId, { after: 0, limit: 2 });
    expect([first, ...rest].map((line) => line?.line)).toEqual(['one', 'two']);
    expect(first?.at).toBe(at);
    const after = rest[0]?.id ?? 0;
    expect((await open().index.logs(ALPHA, held.taskId, { after, limit: 2 })).map(({ line }) => line)).toEqual([
      'three',
    ]);
  });

  it.each(['stale token', 'foreign namespace', 'ended attempt'])('refuses lines with a %s', async (fault) => {
    const held = await givenLeasedTask(open());
    if (fault === 'ended attempt') await settle(open(), reportOf(held));
    const token = fault === 'stale token' ? ids.leaseToken() : held.leaseToken;
    const namespace = fault === 'foreign namespace' ? BETA : ALPHA;
    const line = { at: held.startedAt, line: 'forged' };
    const append = inTx(open().engine, (tx) => tx.appendLogs(namespace, { ...held, leaseToken: token }, [line]));
    expect(await append).toBe(false);
    expect(await open().index.logs(ALPHA, held.taskId, page)).toEqual([]);
  });

  it('is not shown to another namespace', async () => {
    const held = await givenLeasedTask(open());
    await inTx(open().engine, (tx) => tx.appendLogs(ALPHA, held, [{ at: held.startedAt, line: 'private' }]));
    expect(await open().index.logs(BETA, held.taskId, page)).toEqual([]);
  });

  it('outlives the attempt', async () => {
    const held = await givenLeasedTask(open());
    await inTx(open().engine, (tx) => tx.appendLogs(ALPHA, held, [{ at: held.startedAt, line: 'last words' }]));
    await inTx(open().engine, (tx) => tx.cancelOpenWork([{ executionId: held.executionId, at: held.startedAt }]));
    expect(await open().index.logs(ALPHA, held.taskId, page)).toHaveLength(1);
  });
});

describe.each(harnesses)('ready queues over $name', (harness) => {
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
