import { describe, expect, it } from 'vitest';
import type { ExecutionId, TaskId } from '../../src/domain/kernel/brand.ts';
import type { EnqueueTask, LeasedTask, PutOff } from '../../src/ports/engine-store.ts';
import {
  ALPHA,
  BETA,
  closeByPass,
  givenExecution,
  givenLeasedTask,
  givenScheduledEvent,
  givenTask,
  heartbeat,
  ids,
  inTx,
  lease,
  leaseOne,
  openTask,
  outcomesOf,
  reportOf,
  settle,
} from './given.ts';
import { engineHarnesses, useHarness } from './harness.ts';

describe.each(engineHarnesses)('putting an attempt off over $name', (harness) => {
  const open = useHarness(harness);
  const putOff = (held: Pick<PutOff, 'taskId' | 'leaseToken'>, afterSeconds = 30, progress: PutOff['progress'] = {}) =>
    inTx(open().engine, (tx) => {
      const { taskId, leaseToken } = held;
      return tx.putOffTask(ALPHA, { taskId, afterSeconds, progress, ...(leaseToken && { leaseToken }) });
    });
  const given = async (overrides: Partial<EnqueueTask> = {}) =>
    givenTask(open(), await givenExecution(open()), overrides);
  const executionOf = ({ taskId }: EnqueueTask) => taskId.slice(0, taskId.indexOf('.')) as ExecutionId;
  const found = (taskId: TaskId) => open().engine.findOpenLease(ALPHA, taskId);

  it('makes the same attempt come again after the time, with its first start and what its worker left', async () => {
    const held = await givenLeasedTask(open(), { startToCloseMs: 600_000 });
    const before = await open().engine.now();
    const put = await putOff(held, 30, { page: 2 });
    expect(put?.queue).toBe('charge');
    expect(put?.visibleAt).toBeGreaterThanOrEqual(before + 30_000);
    expect(await lease(open())).toEqual([]);
    await open().advance(30_001);
    const again = await leaseOne(open(), { workerId: 'other' });
    const { taskId, attempt, startedAt } = held;
    expect(again).toMatchObject({ taskId, attempt, startedAt, workerId: 'other' });
    expect(again).toMatchObject({ callbacks: 1, callbackSeconds: 30, progress: { page: 2 } });
    expect(again.leaseToken).not.toBe(held.leaseToken);
  });

  it('counts each time, and replaces what was left', async () => {
    const first = await givenLeasedTask(open());
    await putOff(first, 0, { a: 1 });
    const second = await leaseOne(open());
    await putOff(second, 0, { b: 2 });
    expect(await leaseOne(open())).toMatchObject({ callbacks: 2, callbackSeconds: 0, progress: { b: 2 } });
  });

  it('ends the lease: its holder can neither report, extend nor put off again', async () => {
    const held = await givenLeasedTask(open());
    await putOff(held, 0);
    expect(await settle(open(), reportOf(held))).toBe('leaseLost');
    expect(await heartbeat(open(), held)).toEqual({ kind: 'leaseLost' });
    expect(await putOff(held)).toBeUndefined();
    const next = await leaseOne(open());
    expect(await settle(open(), reportOf(held))).toBe('leaseLost');
    expect(await settle(open(), reportOf(next))).toBe('settled');
  });

  it('expires nothing while it is put off', async () => {
    const held = await givenLeasedTask(open(), { heartbeatMs: 1_000 });
    await putOff(held, 3_600);
    await open().advance(5_000);
    expect(await inTx(open().engine, (tx) => tx.expireLeases(10))).toEqual([]);
  });

  it('shows in the open tasks: not leased, with its count, its worker and its progress', async () => {
    const held = await givenLeasedTask(open(), {}, { workerId: 'w-7' });
    await putOff(held, 12, { done: 3 });
    const row = await openTask(open(), held.executionId);
    expect(row).toMatchObject({ leased: false, callbacks: 1, callbackSeconds: 12, workerId: 'w-7' });
    expect(row?.progress).toEqual({ done: 3 });
    expect(row?.leaseExpiresAt).toBeUndefined();
  });

  it('of an attempt that nobody holds needs no token, and counts nothing', async () => {
    const { taskId } = await given();
    expect(await putOff({ taskId }, 60, { note: 'seen' })).toBeDefined();
    expect(await lease(open())).toEqual([]);
    await open().advance(60_001);
    const leased = await leaseOne(open());
    expect(leased.progress).toEqual({ note: 'seen' });
    expect(leased.callbacks).toBeUndefined();
  });

  it('without a token does not touch an attempt that is held', async () => {
    const held = await givenLeasedTask(open());
    expect(await putOff({ taskId: held.taskId })).toBeUndefined();
    expect(await settle(open(), reportOf(held))).toBe('settled');
  });

  it('keeps of a waiting attempt the progress alone', async () => {
    const task = await given({ family: 'waiting', queue: '$waiting', taskType: 'HUMAN' });
    expect(await putOff(task, 60, { seen: true })).toBeDefined();
    const row = await openTask(open(), executionOf(task));
    expect(row?.progress).toEqual({ seen: true });
    expect(row?.callbackSeconds).toBeUndefined();
    expect(row?.visibleAt).toBeLessThanOrEqual(await open().engine.now());
  });

  it.each(['system task', 'reported attempt', 'foreign namespace', 'unknown task'])(
    'leaves a %s alone',
    async (what) => {
      if (what === 'system task') {
        const { taskId } = await given({ family: 'system', queue: '$system' });
        expect(await putOff({ taskId })).toBeUndefined();
        return;
      }
      const held = await givenLeasedTask(open(), { namespace: what === 'foreign namespace' ? BETA : ALPHA });
      if (what === 'reported attempt') await settle(open(), reportOf(held));
      const taskId = what === 'unknown task' ? (`${ids.executionId()}.2` as TaskId) : held.taskId;
      expect(await putOff({ ...held, taskId })).toBeUndefined();
    },
  );

  it('is undone with its transaction', async () => {
    const held = await givenLeasedTask(open());
    const failed = open().engine.transaction(async (tx) => {
      await tx.putOffTask(ALPHA, { taskId: held.taskId, leaseToken: held.leaseToken, afterSeconds: 9, progress: {} });
      throw new Error('no');
    });
    await expect(failed).rejects.toThrow('no');
    expect(await settle(open(), reportOf(held))).toBe('settled');
  });

  describe('who holds an attempt', () => {
    it('is told with its token, while it is open and has no outcome', async () => {
      const held = await givenLeasedTask(open(), {}, { workerId: 'w-1' });
      const { leaseToken } = held;
      expect(await found(held.taskId)).toEqual({ family: 'worker', queue: 'charge', leaseToken, workerId: 'w-1' });
      expect(await open().engine.findOpenLease(BETA, held.taskId)).toBeUndefined();
      await settle(open(), reportOf(held));
      expect(await found(held.taskId)).toBeUndefined();
    });

    it('is nobody before the first lease; after it was put off the worker is still named', async () => {
      const { taskId } = await given();
      expect(await found(taskId)).toEqual({ family: 'worker', queue: 'charge' });
      await putOff(await leaseOne(open(), { workerId: 'w-1' }));
      expect(await found(taskId)).toEqual({ family: 'worker', queue: 'charge', workerId: 'w-1' });
    });

    it('is not told of what does not exist', async () => {
      expect(await found(`${ids.executionId()}.2` as TaskId)).toBeUndefined();
      expect(await found('nonsense' as TaskId)).toBeUndefined();
    });
  });

  it('is told with the outcome: how often, and for how long the last time', async () => {
    const held = await givenLeasedTask(open());
    await putOff(held, 30);
    await open().advance(31_000);
    const again = await leaseOne(open());
    await putOff(again, 7);
    await open().advance(8_000);
    const last = await leaseOne(open());
    await settle(open(), reportOf(last));
    const outcomes = await outcomesOf(open(), last.executionId);
    expect(outcomes).toMatchObject([{ status: 'COMPLETED', callbacks: 2, callbackSeconds: 7 }]);
  });

  describe('lines of somebody who holds no lease', () => {
    const line = (held: LeasedTask, text: string, namespace = ALPHA) =>
      inTx(open().engine, async (tx) =>
        tx.appendTaskLogs(namespace, held.taskId, [{ at: held.startedAt, line: text }]),
      );

    it('go to the log of an attempt, open or closed', async () => {
      const held = await givenLeasedTask(open(), { seq: 1 });
      await givenScheduledEvent(open(), held);
      expect(await line(held, 'one')).toBe(true);
      await settle(open(), reportOf(held));
      await closeByPass(open(), held);
      expect(await line(held, 'two')).toBe(true);
    });

    it('are refused for an attempt of another namespace, and for none', async () => {
      const held = await givenLeasedTask(open(), { seq: 1 });
      await givenScheduledEvent(open(), held);
      expect(await line(held, 'x', BETA)).toBe(false);
      expect(await line({ ...held, taskId: `${held.executionId}.99` as TaskId }, 'x')).toBe(false);
    });
  });
});
