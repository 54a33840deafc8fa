import { describe, expect, it } from 'vitest';
import { ALPHA, claimAll, givenExecution, ids, inTx, rolledBack } from './given.ts';
import { engineHarnesses, useHarness } from './harness.ts';

describe.each(engineHarnesses)('the decide queue over $name', (harness) => {
  const open = useHarness(harness);

  it('hands a requested run out once and then no more', async () => {
    const executionId = await givenExecution(open());
    await inTx(open().engine, (tx) => tx.requestEvaluations([executionId]));
    expect(await claimAll(open())).toEqual([executionId]);
    expect(await claimAll(open())).toEqual([]);
  });

  it('hands out nothing that was not requested', async () => {
    await givenExecution(open());
    expect(await claimAll(open())).toEqual([]);
  });

  it('folds many requests for one run into one pass', async () => {
    const executionId = await givenExecution(open());
    await inTx(open().engine, (tx) => tx.requestEvaluations([executionId, executionId]));
    await inTx(open().engine, (tx) => tx.requestEvaluations([executionId]));
    expect(await claimAll(open())).toEqual([executionId]);
    expect(await claimAll(open())).toEqual([]);
  });

  it('gives a claimed run back when the pass rolls back', async () => {
    const executionId = await givenExecution(open());
    await inTx(open().engine, (tx) => tx.requestEvaluations([executionId]));
    await rolledBack(open().engine, async (tx) => expect((await tx.claimEvaluations(10)).heads).toHaveLength(1));
    expect(await claimAll(open())).toEqual([executionId]);
  });

  it('forgets a request that was rolled back', async () => {
    const executionId = await givenExecution(open());
    await rolledBack(open().engine, (tx) => tx.requestEvaluations([executionId]));
    expect(await claimAll(open())).toEqual([]);
  });

  it('keeps a request made after the claim, in the same transaction', async () => {
    const executionId = await givenExecution(open());
    await inTx(open().engine, (tx) => tx.requestEvaluations([executionId]));
    await inTx(open().engine, async (tx) => {
      await tx.claimEvaluations(10);
      await tx.requestEvaluations([executionId]);
    });
    expect(await claimAll(open())).toEqual([executionId]);
  });

  it('claims at most the limit, the longest waiting first', async () => {
    const runs = [await givenExecution(open()), await givenExecution(open()), await givenExecution(open())];
    for (const run of [runs[2], runs[0], runs[1]]) {
      await inTx(open().engine, (tx) => tx.requestEvaluations(run === undefined ? [] : [run]));
      await open().advance(10);
    }
    const { heads } = await inTx(open().engine, (tx) => tx.claimEvaluations(2));
    expect(heads.map((head) => head.executionId)).toEqual([runs[0], runs[2]]);
    expect(await claimAll(open())).toEqual([runs[1]]);
  });

  it('tells head, status and time of what it locked, in id order', async () => {
    const before = await open().engine.now();
    const runs = [await givenExecution(open()), await givenExecution(open())];
    await inTx(open().engine, (tx) => tx.requestEvaluations(runs.toReversed()));
    const locked = await inTx(open().engine, (tx) => tx.claimEvaluations(10));
    expect(locked.heads).toEqual(
      runs.map((executionId) => ({ executionId, namespace: 'alpha', status: 'RUNNING', definitionHash: 'hash-1' })),
    );
    expect(locked.now).toBeGreaterThanOrEqual(before);
    expect(locked.now).toBeLessThanOrEqual(await open().engine.now());
  });

  it('drops a request for a run that does not exist', async () => {
    await inTx(open().engine, (tx) => tx.requestEvaluations([ids.executionId()]));
    expect(await claimAll(open())).toEqual([]);
    expect((await open().engine.nextDueInMs()).evaluation).toBeUndefined();
  });

  it('claims named runs with and without a decide row, and leaves the others', async () => {
    const [named, bare, other] = [
      await givenExecution(open()),
      await givenExecution(open()),
      await givenExecution(open()),
    ];
    await inTx(open().engine, (tx) => tx.requestEvaluations([named, other]));
    const { heads } = await inTx(open().engine, (tx) => tx.claimEvaluationsOf([bare, named, ids.executionId()]));
    expect(heads.map((head) => head.executionId)).toEqual([named, bare]);
    expect(await claimAll(open())).toEqual([other]);
  });

  it('gives named claims back on a rollback', async () => {
    const executionId = await givenExecution(open());
    await inTx(open().engine, (tx) => tx.requestEvaluations([executionId]));
    await rolledBack(open().engine, (tx) => tx.claimEvaluationsOf([executionId]));
    expect(await claimAll(open())).toEqual([executionId]);
  });
});

describe.each(engineHarnesses)('a parked run over $name', (harness) => {
  const open = useHarness(harness);

  const givenParked = async () => {
    const executionId = await givenExecution(open());
    await inTx(open().engine, (tx) => tx.requestEvaluations([executionId]));
    await inTx(open().engine, (tx) =>
      tx.parkEvaluation({ executionId, attempts: 3, retryAfterMs: 5_000, reason: 'the log contradicts itself' }),
    );
    return executionId;
  };

  it('is not due before its delay is over, and then is', async () => {
    const executionId = await givenParked();
    expect(await claimAll(open())).toEqual([]);
    await open().advance(5_001);
    expect(await claimAll(open())).toEqual([executionId]);
  });

  it('says why nothing moves', async () => {
    const executionId = await givenParked();
    const { parked } = (await open().index.find(ALPHA, executionId)) ?? {};
    expect(parked).toMatchObject({ attempts: 3, reason: 'the log contradicts itself' });
    const now = await open().engine.now();
    expect(parked?.retryAt).toBeGreaterThan(now);
    expect(parked?.retryAt).toBeLessThanOrEqual(now + 5_000);
  });

  it('is due at once when another pass is requested', async () => {
    const executionId = await givenParked();
    await inTx(open().engine, (tx) => tx.requestEvaluations([executionId]));
    expect((await open().index.find(ALPHA, executionId))?.parked).toBeUndefined();
    expect(await claimAll(open())).toEqual([executionId]);
  });

  it('does not hold up the others', async () => {
    await givenParked();
    const other = await givenExecution(open());
    await inTx(open().engine, (tx) => tx.requestEvaluations([other]));
    expect(await claimAll(open())).toEqual([other]);
  });
});
