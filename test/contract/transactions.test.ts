import { describe, expect, it } from 'vitest';
import { addMs } from '../../src/domain/kernel/brand.ts';
import type { EngineTx } from '../../src/ports/engine-store.ts';
import {
  ALPHA,
  claimAll,
  givenExecution,
  givenLeasedTask,
  givenTask,
  inTx,
  leaseOne,
  messageOf,
  owed,
  reportOf,
  settle,
  timerOf,
} from './given.ts';
import { engineHarnesses, useHarness } from './harness.ts';

const RUN = { ref: '', iteration: 0, attempt: 0 };

describe.each(engineHarnesses)('transactions over $name', (harness) => {
  const open = useHarness(harness);

  it('answer what the work answered', async () => {
    expect(await open().engine.transaction(async () => 42)).toBe(42);
  });

  it('pass on what the work threw', async () => {
    const failure = new Error('the work broke');
    const attempt = open().engine.transaction(() => Promise.reject(failure));
    await expect(attempt).rejects.toBe(failure);
  });

  it('go on after one that threw', async () => {
    await open()
      .engine.transaction(() => Promise.reject(new Error('broken')))
      .catch(() => undefined);
    const executionId = await givenExecution(open());
    expect(await open().index.find(ALPHA, executionId)).toBeDefined();
  });

  it('undo all of their writes together', async () => {
    const held = await givenLeasedTask(open());
    const { executionId } = held;
    const attempt = open().engine.transaction(async (tx) => {
      await tx.requestEvaluations([executionId]);
      await tx.projectExecutions([
        owed(executionId, { type: 'ProjectExecution', status: 'TERMINATED', at: held.startedAt }),
      ]);
      await tx.cancelOpenWork([{ executionId, at: held.startedAt }]);
      await tx.armTimers([owed(executionId, timerOf(RUN, 'EXECUTION', held.startedAt))]);
      await tx.putMessages([owed(executionId, messageOf('m-1'))]);
      throw new Error('at the very end');
    });
    await expect(attempt).rejects.toThrow('at the very end');
    expect(await claimAll(open())).toEqual([]);
    expect((await open().index.find(ALPHA, executionId))?.status).toBe('RUNNING');
    expect(await open().closedTasks(executionId)).toEqual([]);
    expect(await inTx(open().engine, (tx) => tx.claimMessages(5, 0))).toEqual([]);
    expect((await inTx(open().engine, (tx) => tx.fireTimers(5))).underLock).toEqual([]);
    expect(await settle(open(), reportOf(held))).toBe('settled');
  });

  it('show others nothing before they commit', async () => {
    const executionId = await givenExecution(open());
    const at = await open().engine.now();
    let seenMeanwhile: Promise<unknown> = Promise.resolve();
    const { promise: written, resolve: sayWritten } = Promise.withResolvers<void>();
    const { promise: mayEnd, resolve: end } = Promise.withResolvers<void>();
    const writer = open()
      .engine.transaction(async (tx) => {
        await tx.projectExecutions([owed(executionId, { type: 'ProjectExecution', status: 'COMPLETED', at })]);
        sayWritten();
        await mayEnd;
        throw new Error('roll back');
      })
      .catch(() => undefined);
    await written;
    seenMeanwhile = open().index.find(ALPHA, executionId);
    end();
    await writer;
    expect(await seenMeanwhile).toMatchObject({ status: 'RUNNING' });
  });

  it('leave an object behind that can write no more', async () => {
    const executionId = await givenExecution(open());
    let escaped: EngineTx | undefined;
    await open().engine.transaction(async (tx) => {
      escaped = tx;
    });
    await expect((async () => escaped?.requestEvaluations([executionId]))()).rejects.toThrow();
    expect(await claimAll(open())).toEqual([]);
  });
});

describe.each(engineHarnesses)('what is due next over $name', (harness) => {
  const open = useHarness(harness);

  it('is nothing when nothing waits', async () => {
    await givenExecution(open());
    const { evaluation, timer, lease, message } = await open().engine.nextDueInMs();
    expect([evaluation, timer, lease, message]).toEqual([undefined, undefined, undefined, undefined]);
  });

  it('is a requested pass at once, a parked one after its delay', async () => {
    const executionId = await givenExecution(open());
    await inTx(open().engine, (tx) => tx.requestEvaluations([executionId]));
    expect((await open().engine.nextDueInMs()).evaluation).toBe(0);
    await inTx(open().engine, (tx) =>
      tx.parkEvaluation({ executionId, attempts: 1, retryAfterMs: 60_000, reason: 'broken' }),
    );
    const { evaluation } = await open().engine.nextDueInMs();
    expect(evaluation).toBeGreaterThan(50_000);
    expect(evaluation).toBeLessThanOrEqual(60_000);
  });

  it('is the next timer, of a task or of a run', async () => {
    const executionId = await givenExecution(open());
    const task = await givenTask(open(), executionId);
    const now = await open().engine.now();
    await inTx(open().engine, (tx) =>
      tx.armTimers([owed(executionId, timerOf(task, 'SCHEDULE_TO_CLOSE', addMs(now, 90_000)))]),
    );
    expect((await open().engine.nextDueInMs()).timer).toBeGreaterThan(80_000);
    await inTx(open().engine, (tx) => tx.armTimers([owed(executionId, timerOf(RUN, 'EXECUTION', addMs(now, 30_000)))]));
    const { timer } = await open().engine.nextDueInMs();
    expect(timer).toBeGreaterThan(20_000);
    expect(timer).toBeLessThanOrEqual(30_000);
  });

  it('is the lease that runs out first, until it is settled', async () => {
    const held = await givenLeasedTask(open(), {}, { leaseMs: 40_000 });
    const { lease } = await open().engine.nextDueInMs();
    expect(lease).toBeGreaterThan(30_000);
    expect(lease).toBeLessThanOrEqual(40_000);
    await settle(open(), reportOf(held));
    expect((await open().engine.nextDueInMs()).lease).toBeUndefined();
  });

  it('is a message at once, a failed one after its delay, a dead one never', async () => {
    const executionId = await givenExecution(open());
    await inTx(open().engine, (tx) => tx.putMessages([owed(executionId, messageOf('m-1'))]));
    expect((await open().engine.nextDueInMs()).message).toBe(0);
    const [message] = await inTx(open().engine, (tx) => tx.claimMessages(1, 0));
    const failure = { id: message?.id ?? '', reason: 'down', retryAfterMs: 60_000, dead: false };
    await inTx(open().engine, (tx) => tx.markFailed([failure]));
    expect((await open().engine.nextDueInMs()).message).toBeGreaterThan(50_000);
    await inTx(open().engine, (tx) => tx.markFailed([{ ...failure, dead: true }]));
    expect((await open().engine.nextDueInMs()).message).toBeUndefined();
  });

  it('is never negative', async () => {
    await givenLeasedTask(open(), {}, { leaseMs: 1_000 });
    await open().advance(5_000);
    expect((await open().engine.nextDueInMs()).lease).toBe(0);
  });
});

describe.each(engineHarnesses)('a stuck run over $name', (harness) => {
  const open = useHarness(harness);
  const IDLE_MS = 300_000;
  const findStuck = () => open().engine.findStuck(IDLE_MS, 10);

  it('is one that nothing could ever wake, once it was idle long enough', async () => {
    const executionId = await givenExecution(open());
    expect(await findStuck()).toEqual([]);
    await open().advance(IDLE_MS + 1);
    expect(await findStuck()).toEqual([executionId]);
  });

  it('is not one with an open task, a timer, a message or a requested pass', async () => {
    const [withTask, withTimer, withMessage, withPass] = [
      await givenExecution(open()),
      await givenExecution(open()),
      await givenExecution(open()),
      await givenExecution(open()),
    ];
    await givenTask(open(), withTask, { delayMs: 900_000 });
    const fireAt = addMs(await open().engine.now(), 900_000);
    await inTx(open().engine, async (tx) => {
      await tx.requestEvaluations([withPass]);
      await tx.armTimers([owed(withTimer, timerOf({ ref: 'r', iteration: 0, attempt: 1 }, 'WAIT', fireAt))]);
      await tx.putMessages([owed(withMessage, messageOf('m-1'))]);
    });
    await open().advance(IDLE_MS + 1);
    expect(await findStuck()).toEqual([]);
  });

  it('is one that only its own deadline would end', async () => {
    const executionId = await givenExecution(open());
    const fireAt = addMs(await open().engine.now(), 900_000);
    await inTx(open().engine, (tx) => tx.armTimers([owed(executionId, timerOf(RUN, 'EXECUTION', fireAt))]));
    await open().advance(IDLE_MS + 1);
    expect(await findStuck()).toEqual([executionId]);
  });

  it('is one whose only task was reported but whose pass was lost', async () => {
    const executionId = await givenExecution(open());
    await givenTask(open(), executionId);
    await settle(open(), reportOf(await leaseOne(open())));
    expect(await claimAll(open())).toEqual([executionId]);
    await open().advance(IDLE_MS + 1);
    expect(await findStuck()).toEqual([executionId]);
  });

  it('is not one that is paused or ended', async () => {
    const [paused, ended] = [await givenExecution(open()), await givenExecution(open())];
    const at = await open().engine.now();
    await inTx(open().engine, (tx) =>
      tx.projectExecutions([
        owed(paused, { type: 'ProjectExecution', status: 'PAUSED', at }),
        owed(ended, { type: 'ProjectExecution', status: 'COMPLETED', at }),
      ]),
    );
    await open().advance(IDLE_MS + 1);
    expect(await findStuck()).toEqual([]);
  });

  it('is listed up to the limit', async () => {
    for (let run = 0; run < 3; run += 1) await givenExecution(open());
    await open().advance(IDLE_MS + 1);
    expect(await open().engine.findStuck(IDLE_MS, 2)).toHaveLength(2);
  });
});
