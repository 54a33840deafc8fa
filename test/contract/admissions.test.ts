import { describe, expect, it } from 'vitest';
import type { Gate } from '../../src/domain/execution/admission.ts';
import type { Admission } from '../../src/domain/execution/admit.ts';
import { addMs, type ExecutionId } from '../../src/domain/kernel/brand.ts';
import type { NamespaceQuotas } from '../../src/ports/access-store.ts';
import { ALPHA, BETA, ids, inTx, newExecution, owed, rolledBack } from './given.ts';
import { harnesses, useHarness } from './harness.ts';

const cap = (limit: number): Gate => ({ kind: 'DEFINITION', name: 'checkout', key: '', limit, waits: false });
const perKey = (key: string, limit: number, waits = true): Gate => ({
  kind: 'KEY',
  name: 'checkout',
  key,
  limit,
  waits,
});

describe.each(harnesses)('places under limits on runs over $name', (harness) => {
  const open = useHarness(harness);

  /** A start as the engine makes it: the places and the run in one transaction. */
  const start = async (gates: readonly Gate[], namespace = ALPHA) => {
    const execution = newExecution(await open().engine.now(), { namespace });
    const { executionId } = execution;
    const admission = await inTx(open().engine, async (tx) => {
      const [answer] = await tx.admitExecutions([{ executionId, namespace, gates, isStart: true }]);
      if (answer?.kind !== 'refused') await tx.createExecutions([execution]);
      return answer;
    });
    return { executionId, admission };
  };

  const project = async (executionId: ExecutionId, status: 'RUNNING' | 'PAUSED' | 'COMPLETED') => {
    const item = { type: 'ProjectExecution' as const, status, at: await open().engine.now() };
    await inTx(open().engine, (tx) => tx.projectExecutions([owed(executionId, item)]));
  };

  const end = async (executionId: ExecutionId) => {
    await project(executionId, 'COMPLETED');
    await inTx(open().engine, (tx) => tx.releaseAdmissions([executionId]));
  };

  const admitQueued = (executionId: ExecutionId) => inTx(open().engine, (tx) => tx.admitQueued(executionId));
  const admissible = () => open().engine.findAdmissible(10);
  const kindOf = (admission: Admission | undefined) => admission?.kind;

  it('are given up to the cap of a definition, and then refused with the limit and what is there', async () => {
    const first = await start([cap(2)]);
    expect(first.admission).toEqual({ kind: 'admitted' });
    expect((await start([cap(2)])).admission).toEqual({ kind: 'admitted' });
    const exceeded = { scope: 'definition', quota: 'maxConcurrentExecutions', limit: 2, current: 2 };
    expect((await start([cap(2)])).admission).toEqual({ kind: 'refused', exceeded });
    await end(first.executionId);
    expect((await start([cap(2)])).admission).toEqual({ kind: 'admitted' });
  });

  it('are shared out among the starts of one transaction', async () => {
    const requests = Array.from({ length: 5 }, () => ({
      executionId: ids.executionId(),
      namespace: ALPHA,
      gates: [cap(3)],
      isStart: true,
    }));
    const answers = await inTx(open().engine, (tx) => tx.admitExecutions(requests));
    expect(answers.map(kindOf)).toEqual(['admitted', 'admitted', 'admitted', 'refused', 'refused']);
  });

  it('never exceed a limit when transactions race for them', async () => {
    const answers = await Promise.all(Array.from({ length: 12 }, () => start([cap(5)])));
    expect(answers.filter(({ admission }) => admission?.kind === 'admitted')).toHaveLength(5);
  });

  it('are free again when the transaction that took them is rolled back', async () => {
    const request = { executionId: ids.executionId(), namespace: ALPHA, gates: [cap(1)], isStart: true };
    await rolledBack(open().engine, (tx) => tx.admitExecutions([request]));
    expect((await start([cap(1)])).admission).toEqual({ kind: 'admitted' });
  });

  it('are those of one namespace, one key, and one kind', async () => {
    expect(kindOf((await start([perKey('a', 1)])).admission)).toBe('admitted');
    expect(kindOf((await start([perKey('a', 1)], BETA)).admission)).toBe('admitted');
    expect(kindOf((await start([perKey('b', 1)])).admission)).toBe('admitted');
    expect(kindOf((await start([cap(1)])).admission)).toBe('admitted');
    expect(kindOf((await start([perKey('a', 1)])).admission)).toBe('queued');
  });

  it('are taken nowhere by a run that one of its limits refuses', async () => {
    await start([cap(1)]);
    expect(kindOf((await start([perKey('a', 1), cap(1)])).admission)).toBe('refused');
    expect(kindOf((await start([perKey('a', 1)])).admission)).toBe('admitted');
  });

  it('are refused instead of queued where the policy says so', async () => {
    await start([perKey('a', 1, false)]);
    const exceeded = { scope: 'definition', quota: 'rateLimitConfig', limit: 1, current: 1, key: 'a' };
    expect((await start([perKey('a', 1, false)])).admission).toEqual({ kind: 'refused', exceeded });
  });

  it('go to queued runs first in, first out, one for each that ends', async () => {
    const running = await start([perKey('a', 1)]);
    const [second, third] = [await start([perKey('a', 1)]), await start([perKey('a', 1)])];
    expect(second.admission).toEqual({ kind: 'queued', key: 'a' });
    expect(await admissible()).toEqual([]);
    expect(await admitQueued(second.executionId)).toBe(false);
    await end(running.executionId);
    expect(await admissible()).toEqual([second.executionId]);
    expect(await admitQueued(third.executionId)).toBe(false);
    expect(await admitQueued(second.executionId)).toBe(true);
    expect(await admitQueued(second.executionId)).toBe(false);
    expect(await admissible()).toEqual([]);
    await end(second.executionId);
    expect(await admissible()).toEqual([third.executionId]);
  });

  it('are given to nobody who comes while others wait, whatever room there is', async () => {
    const running = await start([perKey('a', 1)]);
    await start([perKey('a', 1)]);
    await end(running.executionId);
    expect(kindOf((await start([perKey('a', 1)])).admission)).toBe('queued');
  });

  it('pass by a queued run that is paused, which keeps its turn for when it is resumed', async () => {
    const running = await start([perKey('a', 1)]);
    const [second, third] = [await start([perKey('a', 1)]), await start([perKey('a', 1)])];
    await project(second.executionId, 'PAUSED');
    await end(running.executionId);
    expect(await admissible()).toEqual([third.executionId]);
    expect(await admitQueued(second.executionId)).toBe(false);
    await project(second.executionId, 'RUNNING');
    expect(await admitQueued(third.executionId)).toBe(false);
    expect(await admitQueued(second.executionId)).toBe(true);
  });

  it('pass by a queued run that was postponed, until its time has come', async () => {
    const running = await start([perKey('a', 1)]);
    const [second, third] = [await start([perKey('a', 1)]), await start([perKey('a', 1)])];
    await end(running.executionId);
    await inTx(open().engine, (tx) => tx.postponeAdmission(second.executionId, 60_000));
    expect(await admissible()).toEqual([third.executionId]);
    await open().advance(60_000);
    expect(await admissible()).toEqual([second.executionId]);
    expect(await admitQueued(third.executionId)).toBe(false);
  });

  it('are found in every queue that has room, the longest wait first', async () => {
    const running = [await start([perKey('a', 1)]), await start([perKey('b', 1)]), await start([perKey('c', 1)])];
    const queued = [await start([perKey('c', 1)]), await start([perKey('a', 1)]), await start([perKey('b', 1)])];
    for (const { executionId } of running) await end(executionId);
    expect(await admissible()).toEqual(queued.map(({ executionId }) => executionId));
    expect(await open().engine.findAdmissible(1)).toEqual([queued[0]?.executionId]);
  });

  it('show what a queued run waits for, to its own namespace', async () => {
    await start([perKey('a', 1)]);
    await start([perKey('a', 1)]);
    const { executionId } = await start([perKey('a', 1)]);
    expect(await open().index.waitingAdmission(ALPHA, executionId)).toEqual({
      key: 'a',
      limit: 1,
      running: 1,
      ahead: 1,
    });
    expect(await open().index.waitingAdmission(BETA, executionId)).toBeUndefined();
    expect((await open().index.find(ALPHA, executionId))?.awaitingAdmission).toBe(true);
  });

  it('can be searched for', async () => {
    const { executionId: running } = await start([perKey('a', 1)]);
    const { executionId: queued } = await start([perKey('a', 1)]);
    const search = async (awaitingAdmission: boolean) =>
      (await open().index.search(ALPHA, { awaitingAdmission }, { limit: 10 })).map((row) => row.executionId);
    expect(await search(true)).toEqual([queued]);
    expect(await search(false)).toEqual([running]);
    const [row] = await open().index.search(ALPHA, { executionIds: [running] }, { limit: 1 });
    expect(row).not.toHaveProperty('awaitingAdmission');
  });

  it('keep a queued run from counting as stuck', async () => {
    await start([perKey('a', 1)]);
    const { executionId } = await start([perKey('a', 1)]);
    await open().advance(1_000);
    expect(await open().engine.findStuck(500, 10)).not.toContain(executionId);
  });

  const putQuotas = (quotas: NamespaceQuotas) => open().access.putQuotas(ALPHA, quotas);

  it('of a namespace are counted over all its runs, whatever they run', async () => {
    const before = await start([]);
    await putQuotas({ maxConcurrentExecutions: 2 });
    expect((await start([])).admission).toEqual({ kind: 'admitted' });
    const exceeded = { scope: 'namespace', quota: 'maxConcurrentExecutions', limit: 2, current: 2 };
    expect((await start([])).admission).toEqual({ kind: 'refused', exceeded });
    expect(kindOf((await start([], BETA)).admission)).toBe('admitted');
    await end(before.executionId);
    expect(kindOf((await start([])).admission)).toBe('admitted');
  });

  it('of a namespace never exceed its quota when transactions race', async () => {
    await putQuotas({ maxConcurrentExecutions: 4 });
    const answers = await Promise.all(Array.from({ length: 10 }, () => start([])));
    expect(answers.filter(({ admission }) => admission?.kind === 'admitted')).toHaveLength(4);
  });

  it('of a minute are as many as its quota, and say when the next minute begins', async () => {
    await putQuotas({ maxExecutionsPerMinute: 3 });
    const answers = await Promise.all(Array.from({ length: 5 }, () => start([])));
    const kinds = answers.map(({ admission }) => kindOf(admission)).sort();
    expect(kinds).toEqual(['admitted', 'admitted', 'admitted', 'refused', 'refused']);
    const refused = answers.find(({ admission }) => admission?.kind === 'refused')?.admission;
    const exceeded = { scope: 'namespace', quota: 'maxExecutionsPerMinute', limit: 3, current: 3 };
    expect(refused).toMatchObject({ kind: 'refused', exceeded });
    const retryAfterMs = refused?.kind === 'refused' ? (refused.exceeded.retryAfterMs ?? 0) : 0;
    expect(retryAfterMs).toBeGreaterThan(0);
    expect(retryAfterMs).toBeLessThanOrEqual(60_000);
    await open().advance(60_000);
    expect(kindOf((await start([])).admission)).toBe('admitted');
  });

  it('of a minute count no run that is reopened', async () => {
    await putQuotas({ maxExecutionsPerMinute: 1 });
    await start([]);
    const reopened = { executionId: ids.executionId(), namespace: ALPHA, gates: [], isStart: false };
    expect(await inTx(open().engine, (tx) => tx.admitExecutions([reopened]))).toEqual([{ kind: 'admitted' }]);
  });

  it('are limited only where a quota limits starts', async () => {
    const limited = async () => [...(await open().engine.startContext([ALPHA, BETA])).limited];
    expect(await limited()).toEqual([]);
    await putQuotas({ maxSchedules: 1, maxWorkflowDefinitions: 1 });
    expect(await limited()).toEqual([]);
    await putQuotas({ maxExecutionsPerMinute: 1 });
    expect(await limited()).toEqual([ALPHA]);
    expect(await open().access.findQuotas(ALPHA)).toEqual({ maxExecutionsPerMinute: 1 });
    await putQuotas({});
    expect(await limited()).toEqual([]);
    expect(await open().access.findQuotas(ALPHA)).toEqual({});
  });

  it('are asked for at the time of the store', async () => {
    const { now } = await open().engine.startContext([]);
    expect(Math.abs((await open().engine.now()) - now)).toBeLessThan(5_000);
    expect(addMs(now, 0)).toBe(now);
  });
});

describe.each(harnesses)('idempotency keys of runs that ended over $name', (harness) => {
  const open = useHarness(harness);

  const claimOf = (executionId: ExecutionId, key = 'k-1') => ({
    namespace: ALPHA,
    key,
    executionId,
    fingerprint: `of-${executionId}`,
  });

  const start = async () => {
    const execution = newExecution(await open().engine.now(), { idempotencyKey: 'k-1' });
    const claim = claimOf(execution.executionId);
    const won = await inTx(open().engine, async (tx) => {
      const claimed = await tx.claimIdempotencyKeys([claim]);
      const winners = claimed.size > 0 ? claimed : await tx.takeOverIdempotencyKeys([claim]);
      if (winners.size > 0) await tx.createExecutions([execution]);
      return winners.has(execution.executionId);
    });
    return { executionId: execution.executionId, won };
  };

  const end = async (executionId: ExecutionId) => {
    const item = { type: 'ProjectExecution' as const, status: 'FAILED' as const, at: await open().engine.now() };
    await inTx(open().engine, (tx) => tx.projectExecutions([owed(executionId, item)]));
  };

  it('are taken over by another run, and never from one that is going', async () => {
    const first = await start();
    expect((await start()).won).toBe(false);
    await end(first.executionId);
    const second = await start();
    expect(second.won).toBe(true);
    expect(await open().engine.findIdempotencyHolder(ALPHA, 'k-1')).toEqual({
      executionId: second.executionId,
      fingerprint: `of-${second.executionId}`,
      status: 'RUNNING',
    });
    expect((await start()).won).toBe(false);
  });

  it('have one taker when many want them at once', async () => {
    const first = await start();
    await end(first.executionId);
    const takers = await Promise.all(Array.from({ length: 8 }, start));
    const winners = takers.filter(({ won }) => won);
    expect(winners).toHaveLength(1);
    expect((await open().engine.findIdempotencyHolder(ALPHA, 'k-1'))?.executionId).toBe(winners[0]?.executionId);
  });

  it('are given back by the run that holds them, and by no other', async () => {
    const first = await start();
    const other = claimOf(ids.executionId());
    await inTx(open().engine, (tx) => tx.releaseIdempotencyKeys([other]));
    expect((await start()).won).toBe(false);
    await inTx(open().engine, (tx) => tx.releaseIdempotencyKeys([claimOf(first.executionId)]));
    expect((await start()).won).toBe(true);
  });
});
