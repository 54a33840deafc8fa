import { describe, expect, it } from 'vitest';
import type { TaskReport } from '../../src/ports/engine-store.ts';
import {
  ALPHA,
  BETA,
  claimAll,
  closeByPass,
  givenExecution,
  givenLeasedTask,
  givenScheduledEvent,
  givenTask,
  ids,
  inTx,
  lease,
  leaseOne,
  openTask,
  outcomesOf,
  reportOf,
  rolledBack,
  settle,
} from './given.ts';
import { engineHarnesses, useHarness } from './harness.ts';

describe.each(engineHarnesses)('reporting over $name', (harness) => {
  const open = useHarness(harness);

  it('leaves the outcome for the pass and asks for the pass', async () => {
    const held = await givenLeasedTask(open());
    expect(await settle(open(), reportOf(held, { status: 'FAILED', reason: 'card declined' }))).toBe('settled');
    expect(await outcomesOf(open(), held.executionId)).toEqual([
      {
        ref: held.ref,
        iteration: 0,
        attempt: 1,
        status: 'FAILED',
        output: { receipt: 'r-1' },
        reason: 'card declined',
        workerId: 'worker-1',
        startedAt: held.startedAt,
      },
    ]);
    expect(await claimAll(open())).toEqual([held.executionId]);
    expect((await openTask(open(), held.executionId))?.hasOutcome).toBe(true);
  });

  it('accepts a report whatever the namespace when none is given', async () => {
    const held = await givenLeasedTask(open(), { namespace: BETA });
    const outcomes = await inTx(open().engine, (tx) => tx.settleTasks(undefined, [reportOf(held)]));
    expect(outcomes).toEqual(['settled']);
  });

  it('recognises the very same report again, and keeps one outcome', async () => {
    const held = await givenLeasedTask(open());
    const report = reportOf(held, { output: { nested: { list: [1, 2.5, null] } }, reason: 'fine' });
    expect(await settle(open(), report)).toBe('settled');
    expect(await settle(open(), structuredClone(report))).toBe('repeated');
    expect(await outcomesOf(open(), held.executionId)).toHaveLength(1);
  });

  it('recognises a repetition within one batch', async () => {
    const report = reportOf(await givenLeasedTask(open()));
    expect(await inTx(open().engine, (tx) => tx.settleTasks(ALPHA, [report, report]))).toEqual(['settled', 'repeated']);
  });

  it('settles the first of two different reports of one batch, and refuses the other', async () => {
    const held = await givenLeasedTask(open());
    const reports = [reportOf(held), reportOf(held, { status: 'FAILED', reason: 'no' })];
    expect(await inTx(open().engine, (tx) => tx.settleTasks(ALPHA, reports))).toEqual(['settled', 'leaseLost']);
    expect(await outcomesOf(open(), held.executionId)).toMatchObject([{ status: 'COMPLETED' }]);
  });

  it.each<[string, Partial<TaskReport>]>([
    ['status', { status: 'FAILED' }],
    ['output', { output: { receipt: 'r-2' } }],
    ['reason', { reason: 'second thoughts' }],
  ])('refuses a second report with another %s: what is finished stays finished', async (_, change) => {
    const held = await givenLeasedTask(open());
    await settle(open(), reportOf(held));
    expect(await settle(open(), reportOf(held, change))).toBe('leaseLost');
    expect(await outcomesOf(open(), held.executionId)).toMatchObject([
      { status: 'COMPLETED', output: { receipt: 'r-1' } },
    ]);
  });

  it.each(['stale token', 'foreign namespace', 'unknown task'])('refuses a report with a %s', async (fault) => {
    const held = await givenLeasedTask(open());
    const report = reportOf({
      taskId: fault === 'unknown task' ? (`${ids.executionId()}.2` as typeof held.taskId) : held.taskId,
      leaseToken: fault === 'stale token' ? ids.leaseToken() : held.leaseToken,
    });
    expect(await settle(open(), report, fault === 'foreign namespace' ? BETA : ALPHA)).toBe('leaseLost');
    expect(await outcomesOf(open(), held.executionId)).toEqual([]);
    expect((await openTask(open(), held.executionId))?.hasOutcome).toBe(false);
  });

  it('refuses a report for a task that nobody leased', async () => {
    const executionId = await givenExecution(open());
    const { taskId } = await givenTask(open(), executionId);
    expect(await settle(open(), reportOf({ taskId, leaseToken: ids.leaseToken() }))).toBe('leaseLost');
  });

  it('refuses a repetition once the attempt was canceled', async () => {
    const held = await givenLeasedTask(open());
    await settle(open(), reportOf(held));
    await inTx(open().engine, (tx) => tx.cancelOpenWork([{ executionId: held.executionId, at: held.startedAt }]));
    expect(await settle(open(), reportOf(held))).toBe('leaseLost');
  });

  it('answers each report of a batch, in order, and settles those that stand', async () => {
    const [a, b, c] = [await givenLeasedTask(open()), await givenLeasedTask(open()), await givenLeasedTask(open())];
    const forged = reportOf({ taskId: b.taskId, leaseToken: ids.leaseToken() });
    const outcomes = await inTx(open().engine, (tx) => tx.settleTasks(ALPHA, [reportOf(c), forged, reportOf(a)]));
    expect(outcomes).toEqual(['settled', 'leaseLost', 'settled']);
    expect((await claimAll(open())).toSorted()).toEqual([a.executionId, c.executionId].toSorted());
  });

  it('reads outcomes in the order they were reported', async () => {
    const executionId = await givenExecution(open());
    for (const seq of [2, 3, 4]) await givenTask(open(), executionId, { seq });
    const held = await lease(open(), { count: 3 });
    const order = [held[2], held[0], held[1]].filter((task) => task !== undefined);
    for (const task of order) await settle(open(), reportOf(task));
    expect((await outcomesOf(open(), executionId)).map(({ ref }) => ref)).toEqual(order.map(({ ref }) => ref));
  });

  it('forgets a report that was rolled back, with its request for a pass', async () => {
    const held = await givenLeasedTask(open());
    await rolledBack(open().engine, (tx) => tx.settleTasks(ALPHA, [reportOf(held)]));
    expect(await claimAll(open())).toEqual([]);
    expect(await outcomesOf(open(), held.executionId)).toEqual([]);
    expect(await settle(open(), reportOf(held))).toBe('settled');
  });

  it('accepts a report after the lease ran out but before anybody reclaimed it', async () => {
    const held = await givenLeasedTask(open(), {}, { leaseMs: 1_000 });
    await open().advance(1_001);
    expect(await settle(open(), reportOf(held))).toBe('settled');
    expect(await inTx(open().engine, (tx) => tx.expireLeases(10))).toEqual([]);
  });

  it('hands a settled task to nobody', async () => {
    const held = await givenLeasedTask(open(), {}, { leaseMs: 1_000 });
    await settle(open(), reportOf(held));
    await open().advance(1_001);
    expect(await lease(open())).toEqual([]);
  });
});

describe.each(engineHarnesses)('a report made again after the pass over $name', (harness) => {
  const open = useHarness(harness);

  /** A task of seq 1 whose report a pass has taken in. */
  const givenClosed = async (overrides: Partial<TaskReport> = {}) => {
    const held = await givenLeasedTask(open(), { seq: 1 });
    await givenScheduledEvent(open(), held);
    const report = reportOf(held, overrides);
    expect(await settle(open(), report)).toBe('settled');
    await closeByPass(open(), held);
    return { held, report };
  };

  it('is recognised, as often as it comes, and changes nothing', async () => {
    const { held, report } = await givenClosed({
      output: { text: 'naïve "🧪"', list: [1, 2.5, null] },
      reason: 'fine',
    });
    expect(await settle(open(), structuredClone(report))).toBe('repeated');
    expect(await inTx(open().engine, (tx) => tx.settleTasks(undefined, [report, report]))).toEqual([
      'repeated',
      'repeated',
    ]);
    expect(await claimAll(open())).toEqual([]);
    expect(await open().closedTasks(held.executionId)).toMatchObject([{ ref: held.ref, status: 'COMPLETED' }]);
  });

  it.each<[string, Partial<TaskReport>]>([
    ['status', { status: 'FAILED' }],
    ['output', { output: { receipt: 'r-2' } }],
    ['reason', { reason: 'second thoughts' }],
    ['empty reason', { reason: '' }],
    ['token', { leaseToken: ids.leaseToken() }],
  ])('is refused with another %s', async (_, change) => {
    const { report } = await givenClosed();
    expect(await settle(open(), { ...report, ...change })).toBe('leaseLost');
  });

  it('is refused in another namespace', async () => {
    const { report } = await givenClosed();
    expect(await settle(open(), report, BETA)).toBe('leaseLost');
  });

  it('is told apart from another one under the same token, in one call', async () => {
    const { report } = await givenClosed();
    const other: TaskReport = { ...report, status: 'FAILED' };
    expect(await inTx(open().engine, (tx) => tx.settleTasks(ALPHA, [other, report]))).toEqual([
      'leaseLost',
      'repeated',
    ]);
  });

  it('is refused when a deadline ended the attempt and not the report', async () => {
    const held = await givenLeasedTask(open(), { seq: 1 }, { leaseMs: 1_000 });
    await givenScheduledEvent(open(), held);
    await open().advance(1_001);
    await inTx(open().engine, (tx) => tx.expireLeases(10));
    await closeByPass(open(), held);
    expect(await settle(open(), reportOf(held))).toBe('leaseLost');
  });
});

describe.each(engineHarnesses)('expiring leases over $name', (harness) => {
  const open = useHarness(harness);
  const expire = (limit = 10) => inTx(open().engine, (tx) => tx.expireLeases(limit));

  it('ends an attempt whose lease ran out, and asks for the pass', async () => {
    const held = await givenLeasedTask(open(), {}, { leaseMs: 1_000 });
    expect(await expire()).toEqual([]);
    await open().advance(1_001);
    expect(await expire()).toEqual([held.executionId]);
    expect(await outcomesOf(open(), held.executionId)).toMatchObject([
      {
        ref: held.ref,
        attempt: 1,
        status: 'TIMED_OUT',
        deadline: 'HEARTBEAT',
        output: {},
        workerId: 'worker-1',
        startedAt: held.startedAt,
      },
    ]);
    expect(await claimAll(open())).toEqual([held.executionId]);
    expect(await expire()).toEqual([]);
  });

  it('refuses the late report, and the late heartbeat cannot revive the lease', async () => {
    const held = await givenLeasedTask(open(), {}, { leaseMs: 1_000 });
    await open().advance(1_001);
    await expire();
    expect(await settle(open(), reportOf(held))).toBe('leaseLost');
    const [beat] = await inTx(open().engine, (tx) => tx.heartbeat(ALPHA, [held]));
    expect(beat).toEqual({ kind: 'leaseLost' });
    expect(await outcomesOf(open(), held.executionId)).toMatchObject([{ status: 'TIMED_OUT' }]);
  });

  it('never hands an expired attempt to another worker: the next attempt is the engine’s decision', async () => {
    await givenLeasedTask(open(), {}, { leaseMs: 1_000 });
    await open().advance(1_001);
    await expire();
    expect(await lease(open())).toEqual([]);
  });

  it('takes at most the limit, the longest expired first', async () => {
    const [late, early] = [
      await givenLeasedTask(open(), {}, { leaseMs: 2_000 }),
      await givenLeasedTask(open(), {}, { leaseMs: 1_000 }),
    ];
    await open().advance(2_001);
    expect(await expire(1)).toEqual([early.executionId]);
    expect(await expire(1)).toEqual([late.executionId]);
  });

  it('names a run once however many of its leases ran out', async () => {
    const executionId = await givenExecution(open());
    for (const seq of [2, 3]) await givenTask(open(), executionId, { seq });
    await lease(open(), { count: 2, leaseMs: 1_000 });
    await open().advance(1_001);
    expect(await expire()).toEqual([executionId]);
    expect(await outcomesOf(open(), executionId)).toHaveLength(2);
  });

  it('leaves released tasks alone', async () => {
    const held = await givenLeasedTask(open(), {}, { leaseMs: 1_000 });
    await inTx(open().engine, (tx) => tx.releaseLeases(ALPHA, [held]));
    await open().advance(1_001);
    expect(await expire()).toEqual([]);
    expect((await leaseOne(open())).taskId).toBe(held.taskId);
  });
});
