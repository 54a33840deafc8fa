import { describe, expect, it } from 'vitest';
import type { LeaseToken } from '../../src/domain/kernel/brand.ts';
import {
  ALPHA,
  BETA,
  givenLeasedTask,
  heartbeat,
  ids,
  inTx,
  lease,
  leaseOne,
  openTask,
  reportOf,
  settle,
} from './given.ts';
import { engineHarnesses, useHarness } from './harness.ts';

describe.each(engineHarnesses)('holding a lease over $name', (harness) => {
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

  it('ends when put off: nobody sees the same attempt before its time, and then it has its progress', async () => {
    const held = await givenLeasedTask(open());
    const deferral = { ...held, delayMs: 60_000, progress: { polls: 2 } };
    expect(await inTx(open().engine, (tx) => tx.deferTasks(ALPHA, [deferral]))).toEqual([true]);
    expect(await openTask(open(), held.executionId)).toMatchObject({ leased: false, progress: { polls: 2 } });
    expect(await lease(open())).toEqual([]);
    expect(await settle(open(), reportOf(held))).toBe('leaseLost');
    const again = await givenLeasedTask(open());
    expect(await inTx(open().engine, (tx) => tx.deferTasks(ALPHA, [{ ...again, delayMs: 0 }]))).toEqual([true]);
    await open().advance(1_000);
    expect(await leaseOne(open())).toMatchObject({ taskId: again.taskId, attempt: 1, startedAt: again.startedAt });
  });

  it('is put off by its holder alone, in its namespace, and not after the report', async () => {
    const held = await givenLeasedTask(open());
    const stranger = { ...held, leaseToken: stale(), delayMs: 0 };
    expect(await inTx(open().engine, (tx) => tx.deferTasks(ALPHA, [stranger]))).toEqual([false]);
    expect(await inTx(open().engine, (tx) => tx.deferTasks(BETA, [{ ...held, delayMs: 0 }]))).toEqual([false]);
    await settle(open(), reportOf(held));
    expect(await inTx(open().engine, (tx) => tx.deferTasks(ALPHA, [{ ...held, delayMs: 0 }]))).toEqual([false]);
  });

  it('is not given back by a stale token or after the report', async () => {
    const held = await givenLeasedTask(open());
    expect(await inTx(open().engine, (tx) => tx.releaseLeases(ALPHA, [{ ...held, leaseToken: stale() }]))).toEqual([]);
    await settle(open(), reportOf(held));
    expect(await inTx(open().engine, (tx) => tx.releaseLeases(ALPHA, [held]))).toEqual([]);
    expect(await lease(open())).toEqual([]);
  });
});

describe.each(engineHarnesses)('the log of a task over $name', (harness) => {
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
