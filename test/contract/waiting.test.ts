import { describe, expect, it } from 'vitest';
import { taskIdOf } from '../../src/domain/kernel/brand.ts';
import type { WaitingOutcome } from '../../src/ports/engine-store.ts';
import {
  ALPHA,
  BETA,
  claimAll,
  closeOf,
  givenExecution,
  givenTask,
  ids,
  inTx,
  outcomesOf,
  owed,
  readByPass,
} from './given.ts';
import { engineHarnesses, useHarness } from './harness.ts';

describe.each(engineHarnesses)('waiting attempts over $name', (harness) => {
  const open = useHarness(harness);

  const givenWait = async (seq = 2) => {
    const executionId = await givenExecution(open());
    const task = await givenTask(open(), executionId, { seq, family: 'waiting', queue: '$waiting' });
    return { executionId, task };
  };
  const settle = (outcome: WaitingOutcome, namespace = ALPHA) =>
    inTx(open().engine, (tx) => tx.settleWaiting(namespace, [outcome]));
  const completed = { status: 'COMPLETED', output: { answer: 42 } } as const;

  it('take an outcome once, with who gave it, and the run is evaluated', async () => {
    const { executionId, task } = await givenWait();
    expect(await settle({ taskId: task.taskId, ...completed, by: 'alice' })).toEqual(new Set([task.taskId]));
    expect(await settle({ taskId: task.taskId, status: 'FAILED', output: {}, reason: 'too late' })).toEqual(new Set());
    expect(await outcomesOf(open(), executionId)).toMatchObject([
      { ref: task.ref, attempt: 1, status: 'COMPLETED', output: { answer: 42 }, workerId: 'alice' },
    ]);
    expect(await inTx(open().engine, readByPass)).toEqual({ [executionId]: [task.ref] });
  });

  it('of several runs are settled by one call, in the order given', async () => {
    const [first, second] = [await givenWait(), await givenWait()];
    const outcomes = [first, second].map(({ task }) => ({ taskId: task.taskId, ...completed }));
    expect(await inTx(open().engine, (tx) => tx.settleWaiting(ALPHA, outcomes))).toEqual(
      new Set([first.task.taskId, second.task.taskId]),
    );
    expect(await inTx(open().engine, readByPass)).toEqual({
      [first.executionId]: [first.task.ref],
      [second.executionId]: [second.task.ref],
    });
  });

  it('of another namespace, of a worker, or unknown, take nothing and ask for no pass', async () => {
    const { task } = await givenWait();
    const worker = await givenTask(open(), await givenExecution(open()), { seq: 3 });
    expect(await settle({ taskId: task.taskId, ...completed }, BETA)).toEqual(new Set());
    expect(await settle({ taskId: worker.taskId, ...completed })).toEqual(new Set());
    expect(await settle({ taskId: taskIdOf(ids.executionId(), 9), ...completed })).toEqual(new Set());
    expect(await claimAll(open())).toEqual([]);
  });

  it('can be held while they are open and without an outcome', async () => {
    const { executionId, task } = await givenWait();
    const held = (namespace = ALPHA) => inTx(open().engine, (tx) => tx.holdAttempt(namespace, task.taskId));
    expect(await held()).toBe(true);
    expect(await held(BETA)).toBe(false);
    await settle({ taskId: task.taskId, ...completed });
    expect(await held()).toBe(false);
    const now = await open().engine.now();
    await inTx(open().engine, (tx) => tx.closeTasks([owed(executionId, closeOf(task, now))]));
    expect(await held()).toBe(false);
  });
});

describe.each(engineHarnesses)('a glance at a run over $name', (harness) => {
  const open = useHarness(harness);

  it('tells the time and whether there is such a run, created in this very transaction or before', async () => {
    const executionId = await givenExecution(open());
    const seen = await inTx(open().engine, (tx) => tx.lookUpRun(executionId));
    expect(seen.head).toEqual({ executionId, namespace: ALPHA, status: 'RUNNING', definitionHash: 'hash-1' });
    const unknown = await inTx(open().engine, (tx) => tx.lookUpRun(ids.executionId()));
    expect(unknown.head).toBeUndefined();
    expect(Math.abs(unknown.now - (await open().engine.now()))).toBeLessThan(5_000);
  });

  it('leaves no bundle behind that a run could need and not find: what was put is read in the transaction', async () => {
    const bundle = { workflow: { name: 'inline' } as never, taskDefinitions: {} };
    await inTx(open().engine, async (tx) => {
      await tx.putBundle('hash-inline', bundle);
      expect((await tx.findBundles(['hash-inline'])).get('hash-inline')).toEqual(bundle);
    });
    expect((await open().definitions.findBundles(['hash-inline'])).get('hash-inline')).toEqual(bundle);
  });

  it('finds definitions by name and version within the transaction', async () => {
    const definition = { name: 'child', version: 2 } as never;
    await open().definitions.putWorkflow(ALPHA, definition, 'hash-2', false);
    const find = (version?: number, namespace = ALPHA) =>
      inTx(open().engine, (tx) => tx.findWorkflow(namespace, 'child', version));
    expect(await find()).toMatchObject({ version: 2, hash: 'hash-2' });
    expect(await find(2)).toMatchObject({ version: 2 });
    expect(await find(1)).toBeUndefined();
    expect(await find(2, BETA)).toBeUndefined();
  });
});
