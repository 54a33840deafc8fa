import { describe, expect, it } from 'vitest';
import { addMs } from '../../src/domain/kernel/brand.ts';
import {
  ALPHA,
  claimAll,
  givenExecution,
  givenLeasedTask,
  givenTask,
  inTx,
  lease,
  outcomesOf,
  owed,
  readByPass,
  reportOf,
  rolledBack,
  settle,
  timerOf,
} from './given.ts';
import { engineHarnesses, useHarness } from './harness.ts';

describe.each(engineHarnesses)('what a pass reads over $name', (harness) => {
  const open = useHarness(harness);
  const pass = () => inTx(open().engine, readByPass);

  const givenHeld = async (count: number) => {
    const executionId = await givenExecution(open());
    for (let seq = 2; seq < 2 + count; seq += 1) await givenTask(open(), executionId, { seq });
    return { executionId, held: await lease(open(), { count }) };
  };

  it('is each outcome once, by the pass that comes after it', async () => {
    const { executionId, held } = await givenHeld(2);
    const [first, second] = held.map((task) => reportOf(task));
    if (first === undefined || second === undefined) throw new Error('expected two tasks');
    await settle(open(), first);
    expect(await pass()).toEqual({ [executionId]: ['task-2'] });
    await settle(open(), second);
    expect(await pass()).toEqual({ [executionId]: ['task-3'] });
    expect(await pass()).toEqual({});
    expect(await outcomesOf(open(), executionId)).toHaveLength(2);
  });

  it('are all outcomes reported before it, of however many calls, in their order', async () => {
    const { executionId, held } = await givenHeld(3);
    for (const task of held.toReversed()) await settle(open(), reportOf(task));
    expect(await pass()).toEqual({ [executionId]: ['task-4', 'task-3', 'task-2'] });
  });

  it('are the outcomes of the runs that it claimed', async () => {
    const [a, b] = [await givenLeasedTask(open()), await givenLeasedTask(open())];
    await inTx(open().engine, (tx) => tx.settleTasks(ALPHA, [reportOf(a), reportOf(b)]));
    const both = [a.executionId, b.executionId];
    const read = await inTx(open().engine, async (tx) => {
      await tx.claimEvaluationsOf([a.executionId]);
      return tx.readOutcomes(both);
    });
    expect(read.get(a.executionId)).toMatchObject([{ ref: a.ref, status: 'COMPLETED', workerId: 'worker-1' }]);
    expect(read.get(b.executionId) ?? []).toEqual([]);
    expect(await pass()).toEqual({ [b.executionId]: [b.ref] });
  });

  it('is read again when the claim was rolled back', async () => {
    const { executionId, held } = await givenHeld(1);
    for (const task of held) await settle(open(), reportOf(task));
    await rolledBack(open().engine, async (tx) => {
      expect(await readByPass(tx)).toEqual({ [executionId]: ['task-2'] });
    });
    expect(await pass()).toEqual({ [executionId]: ['task-2'] });
  });

  it('is read again when the run was parked, with what was reported since', async () => {
    const { executionId, held } = await givenHeld(2);
    const [first, second] = held.map((task) => reportOf(task));
    if (first === undefined || second === undefined) throw new Error('expected two tasks');
    await settle(open(), first);
    await inTx(open().engine, async (tx) => {
      await tx.claimEvaluationsOf([executionId]);
      await tx.parkEvaluation({ executionId, attempts: 1, retryAfterMs: 60_000, reason: 'it broke' });
    });
    expect(await pass()).toEqual({});
    await settle(open(), second);
    expect(await pass()).toEqual({ [executionId]: ['task-2', 'task-3'] });
  });

  it('is read after the delay of a parked run, when nobody asks before', async () => {
    const { executionId, held } = await givenHeld(1);
    for (const task of held) await settle(open(), reportOf(task));
    await inTx(open().engine, async (tx) => {
      await tx.claimEvaluations(1);
      await tx.parkEvaluation({ executionId, attempts: 1, retryAfterMs: 5_000, reason: 'it broke' });
    });
    await open().advance(5_001);
    expect(await pass()).toEqual({ [executionId]: ['task-2'] });
  });

  it('is not forgotten by redundant requests, before and after the report', async () => {
    const { executionId, held } = await givenHeld(1);
    const request = () => inTx(open().engine, (tx) => tx.requestEvaluations([executionId]));
    await request();
    for (const task of held) await settle(open(), reportOf(task));
    await request();
    await inTx(open().engine, async (tx) => {
      await tx.requestEvaluations([executionId]);
      await tx.claimEvaluationsOf([executionId]);
      expect((await tx.readOutcomes([executionId])).get(executionId)).toMatchObject([{ ref: 'task-2' }]);
    });
  });

  it('is what a timer and an ended lease left, too, beside a report', async () => {
    const { executionId, held } = await givenHeld(2);
    const [reported, silent] = held;
    if (reported === undefined || silent === undefined) throw new Error('expected two tasks');
    const waiting = await givenTask(open(), executionId, { seq: 4, family: 'waiting', queue: '' });
    const now = await open().engine.now();
    await inTx(open().engine, (tx) => tx.armTimers([owed(executionId, timerOf(waiting, 'WAIT', addMs(now, 1_000)))]));
    await settle(open(), reportOf(reported));
    await open().advance(60_001);
    await inTx(open().engine, (tx) => tx.fireTimers(10));
    await inTx(open().engine, (tx) => tx.expireLeases(10));
    const read = (await pass())[executionId] ?? [];
    expect(read).toEqual([reported.ref, waiting.ref, silent.ref]);
  });

  it('is once what a report and a timer raced for', async () => {
    const { executionId, held } = await givenHeld(1);
    const [task] = held;
    if (task === undefined) throw new Error('expected a task');
    const now = await open().engine.now();
    const deadline = timerOf(task, 'START_TO_CLOSE', addMs(now, 1_000));
    await inTx(open().engine, (tx) => tx.armTimers([owed(executionId, deadline)]));
    await open().advance(1_001);
    await settle(open(), reportOf(task));
    expect((await inTx(open().engine, (tx) => tx.fireTimers(10))).evaluated).toEqual([]);
    expect(await settle(open(), reportOf(task))).toBe('repeated');
    expect(await pass()).toEqual({ [executionId]: [task.ref] });
  });

  it('is nothing of an attempt that was closed meanwhile', async () => {
    const { executionId, held } = await givenHeld(1);
    for (const task of held) await settle(open(), reportOf(task));
    const at = await open().engine.now();
    await inTx(open().engine, (tx) => tx.cancelOpenWork([{ executionId, at }]));
    expect(await pass()).toEqual({});
  });

  it('is found by a repair when nothing tells of it any more', async () => {
    const { executionId, held } = await givenHeld(1);
    for (const task of held) await settle(open(), reportOf(task));
    expect(await claimAll(open())).toEqual([executionId]);
    expect(await inTx(open().engine, (tx) => tx.readAllOutcomes(executionId))).toMatchObject([{ ref: 'task-2' }]);
    await open().advance(1_001);
    expect(await open().engine.findStuck(1_000, 10)).toEqual([executionId]);
  });
});
