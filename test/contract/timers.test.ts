import { describe, expect, it } from 'vitest';
import type { TimerPurpose } from '../../src/domain/execution/commands.ts';
import { addMs, type ExecutionId } from '../../src/domain/kernel/brand.ts';
import {
  ALPHA,
  claimAll,
  givenExecution,
  givenTask,
  inTx,
  lease,
  leaseOne,
  outcomesOf,
  owed,
  reportOf,
  rolledBack,
  settle,
  timerOf,
} from './given.ts';
import { engineHarnesses, useHarness } from './harness.ts';

const RUN = { ref: '', iteration: 0, attempt: 0 };

describe.each(engineHarnesses)('timers over $name', (harness) => {
  const open = useHarness(harness);
  const fire = (limit = 10) => inTx(open().engine, (tx) => tx.fireTimers(limit));

  const arm = async (
    executionId: ExecutionId,
    slot: Parameters<typeof timerOf>[0],
    purpose: TimerPurpose,
    delayMs = 1_000,
    alertOnly = false,
  ) => {
    const fireAt = addMs(await open().engine.now(), delayMs);
    await inTx(open().engine, (tx) => tx.armTimers([owed(executionId, timerOf(slot, purpose, fireAt, alertOnly))]));
  };

  const givenTimer = async (purpose: TimerPurpose, delayMs = 1_000) => {
    const executionId = await givenExecution(open());
    const family = purpose === 'WAIT' ? 'waiting' : 'worker';
    const task = await givenTask(open(), executionId, { family });
    await arm(executionId, task, purpose, delayMs);
    return { executionId, task };
  };

  it('never fires before it is due, then once', async () => {
    const { executionId } = await givenTimer('WAIT');
    expect((await fire()).evaluated).toEqual([]);
    await open().advance(1_001);
    expect((await fire()).evaluated).toEqual([executionId]);
    expect((await fire()).evaluated).toEqual([]);
  });

  it('ends a wait as COMPLETED and asks for the pass', async () => {
    const { executionId, task } = await givenTimer('WAIT');
    await open().advance(1_001);
    await fire();
    const [outcome, ...others] = await outcomesOf(open(), executionId);
    expect(outcome).toMatchObject({ ref: task.ref, iteration: 0, attempt: 1, status: 'COMPLETED', output: {} });
    expect(outcome?.deadline).toBeUndefined();
    expect(others).toEqual([]);
    expect(await claimAll(open())).toEqual([executionId]);
  });

  it.each<TimerPurpose>(['SCHEDULE_TO_START', 'START_TO_CLOSE', 'SCHEDULE_TO_CLOSE'])(
    'ends an attempt as TIMED_OUT by %s',
    async (purpose) => {
      const { executionId } = await givenTimer(purpose);
      await open().advance(1_001);
      expect((await fire()).evaluated).toEqual([executionId]);
      expect(await outcomesOf(open(), executionId)).toMatchObject([
        { status: 'TIMED_OUT', deadline: purpose, output: {}, attempt: 1 },
      ]);
    },
  );

  it('refuses the report of a worker after the deadline', async () => {
    const { executionId } = await givenTimer('SCHEDULE_TO_CLOSE');
    const held = await leaseOne(open());
    await open().advance(1_001);
    await fire();
    expect(await settle(open(), reportOf(held))).toBe('leaseLost');
    expect(await outcomesOf(open(), executionId)).toMatchObject([{ status: 'TIMED_OUT', workerId: 'worker-1' }]);
  });

  it('lets an outcome stand that came first', async () => {
    const { executionId } = await givenTimer('SCHEDULE_TO_CLOSE');
    await settle(open(), reportOf(await leaseOne(open())));
    await open().advance(1_001);
    expect((await fire()).evaluated).toEqual([]);
    expect(await outcomesOf(open(), executionId)).toMatchObject([{ status: 'COMPLETED' }]);
    expect((await open().engine.nextDueInMs()).timer).toBeUndefined();
  });

  it('goes without a trace when its attempt is gone', async () => {
    const executionId = await givenExecution(open());
    await arm(executionId, { ref: 'gone', iteration: 0, attempt: 1 }, 'SCHEDULE_TO_CLOSE');
    await open().advance(1_001);
    expect((await fire()).evaluated).toEqual([]);
    expect((await open().engine.nextDueInMs()).timer).toBeUndefined();
  });

  it('of one attempt never ends the next', async () => {
    const executionId = await givenExecution(open());
    const task = await givenTask(open(), executionId, { attempt: 2 });
    await arm(executionId, { ...task, attempt: 1 }, 'START_TO_CLOSE');
    await open().advance(1_001);
    await fire();
    expect(await outcomesOf(open(), executionId)).toEqual([]);
  });

  it('fires at most the limit, the longest due first', async () => {
    const late = await givenTimer('WAIT', 2_000);
    const early = await givenTimer('WAIT', 1_000);
    await open().advance(2_001);
    expect((await fire(1)).evaluated).toEqual([early.executionId]);
    expect((await fire(1)).evaluated).toEqual([late.executionId]);
  });

  it('fires each of many that are due at the same instant', async () => {
    const runs: ExecutionId[] = [];
    const fireAt = addMs(await open().engine.now(), 500);
    for (let run = 0; run < 5; run += 1) {
      const executionId = await givenExecution(open());
      const task = await givenTask(open(), executionId, { family: 'waiting' });
      await inTx(open().engine, (tx) => tx.armTimers([owed(executionId, timerOf(task, 'WAIT', fireAt))]));
      runs.push(executionId);
    }
    await open().advance(501);
    const fired = [...(await fire(2)).evaluated, ...(await fire(2)).evaluated, ...(await fire(2)).evaluated];
    expect(fired.toSorted()).toEqual(runs.toSorted());
  });

  it('falls away when canceled, for that attempt alone', async () => {
    const { executionId, task } = await givenTimer('SCHEDULE_TO_CLOSE');
    await arm(executionId, task, 'SCHEDULE_TO_START');
    const sibling = await givenTask(open(), executionId, { seq: 3 });
    await arm(executionId, sibling, 'SCHEDULE_TO_CLOSE');
    const { ref, iteration, attempt } = task;
    await inTx(open().engine, (tx) =>
      tx.cancelTimers([owed(executionId, { type: 'CancelTimers', ref, iteration, attempt })]),
    );
    await open().advance(1_001);
    await fire();
    expect((await outcomesOf(open(), executionId)).map((outcome) => outcome.ref)).toEqual([sibling.ref]);
  });

  it('may be armed again by a replayed decision', async () => {
    const { executionId, task } = await givenTimer('WAIT');
    await arm(executionId, task, 'WAIT');
    await open().advance(1_001);
    await fire();
    expect(await outcomesOf(open(), executionId)).toHaveLength(1);
  });

  it('comes back when its firing is rolled back', async () => {
    const { executionId } = await givenTimer('WAIT');
    await open().advance(1_001);
    await rolledBack(open().engine, (tx) => tx.fireTimers(10));
    expect(await outcomesOf(open(), executionId)).toEqual([]);
    expect((await fire()).evaluated).toEqual([executionId]);
  });

  it('of a run is only told, until it is dropped', async () => {
    const executionId = await givenExecution(open());
    await arm(executionId, RUN, 'EXECUTION');
    expect((await fire()).underLock).toEqual([]);
    await open().advance(1_001);
    const due = { executionId, ...RUN, purpose: 'EXECUTION' };
    expect(await fire()).toEqual({ evaluated: [], underLock: [due] });
    const { underLock } = await fire();
    expect(underLock).toEqual([due]);
    await inTx(open().engine, (tx) => tx.dropTimers(underLock));
    expect((await fire()).underLock).toEqual([]);
  });

  it('fires a postponed timer after the delay, and not before', async () => {
    const executionId = await givenExecution(open());
    await arm(executionId, RUN, 'EXECUTION', 0);
    await open().advance(1);
    const { underLock } = await fire();
    expect(underLock).toHaveLength(1);
    await inTx(open().engine, (tx) => tx.postponeTimers(underLock, 60_000));
    expect((await fire()).underLock).toEqual([]);
    await open().advance(60_001);
    expect((await fire()).underLock).toEqual(underLock);
  });

  it('of a run is dropped without the timers of its tasks', async () => {
    const { executionId } = await givenTimer('WAIT');
    await arm(executionId, RUN, 'EXECUTION');
    await open().advance(1_001);
    await inTx(open().engine, (tx) => tx.dropTimers([{ executionId, ...RUN, purpose: 'EXECUTION' }]));
    expect(await fire()).toEqual({ evaluated: [executionId], underLock: [] });
  });

  it('that was armed anew is not dropped in place of the one that passed', async () => {
    const executionId = await givenExecution(open());
    await arm(executionId, RUN, 'EXECUTION');
    await open().advance(1_001);
    const { underLock } = await fire();
    await arm(executionId, RUN, 'EXECUTION', 5_000);
    await inTx(open().engine, (tx) => tx.dropTimers(underLock));
    expect((await fire()).underLock).toEqual([]);
    await open().advance(5_001);
    expect((await fire()).underLock).toHaveLength(1);
  });

  it('of a run that nobody handles holds up no task', async () => {
    const stalled = await givenExecution(open());
    await arm(stalled, RUN, 'EXECUTION', 500);
    const { executionId } = await givenTimer('WAIT');
    await open().advance(1_001);
    expect((await fire(1)).evaluated).toEqual([executionId]);
  });

  it('that only alerts is told and leaves the attempt to its worker', async () => {
    const executionId = await givenExecution(open());
    const { ref, iteration, attempt, ...task } = await givenTask(open(), executionId);
    await arm(executionId, { ref, iteration, attempt }, 'SCHEDULE_TO_CLOSE', 1_000, true);
    const held = await leaseOne(open());
    expect(held.taskId).toBe(task.taskId);
    await open().advance(1_001);
    const due = { executionId, ref, iteration, attempt, purpose: 'SCHEDULE_TO_CLOSE' };
    expect(await fire()).toEqual({ evaluated: [], underLock: [due] });
    expect(await outcomesOf(open(), executionId)).toEqual([]);
    await inTx(open().engine, async (tx) => tx.dropTimers((await tx.fireTimers(10)).underLock));
    expect(await fire()).toEqual({ evaluated: [], underLock: [] });
    expect(await settle(open(), reportOf(held))).toBe('settled');
  });

  it('that only alerts is armed at the first lease when start-to-close does', async () => {
    const executionId = await givenExecution(open());
    await givenTask(open(), executionId, { startToCloseMs: 1_000, alertOnly: true });
    const held = await leaseOne(open());
    await open().advance(1_001);
    expect(await fire()).toMatchObject({ evaluated: [], underLock: [{ executionId, purpose: 'START_TO_CLOSE' }] });
    expect(await settle(open(), reportOf(held))).toBe('settled');
  });

  it.each([false, true])(
    'for the wait for a worker says nothing once there was one (alert only: %s)',
    async (alertOnly) => {
      const executionId = await givenExecution(open());
      await arm(executionId, await givenTask(open(), executionId), 'SCHEDULE_TO_START', 1_000, alertOnly);
      const held = await leaseOne(open());
      await inTx(open().engine, (tx) => tx.releaseLeases(ALPHA, [held]));
      await open().advance(1_001);
      expect(await fire()).toEqual({ evaluated: [], underLock: [] });
      expect((await open().engine.nextDueInMs()).timer).toBeUndefined();
      expect(await lease(open())).toHaveLength(1);
    },
  );
});
