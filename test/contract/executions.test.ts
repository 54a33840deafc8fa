import { describe, expect, it } from 'vitest';
import { addMs, type ExecutionId, type Instant } from '../../src/domain/kernel/brand.ts';
import type { NewExecution, ProjectExecution, ReviseExecution } from '../../src/ports/engine-store.ts';
import type { ExecutionFilter } from '../../src/ports/execution-index.ts';
import { ALPHA, BETA, givenExecution, ids, inTx, newExecution, owed, rolledBack } from './given.ts';
import { harnesses, useHarness } from './harness.ts';

describe.each(harnesses)('rows of runs over $name', (harness) => {
  const open = useHarness(harness);

  const project = (executionId: ExecutionId, item: Omit<ProjectExecution, 'type'>, namespace = ALPHA) =>
    inTx(open().engine, (tx) =>
      tx.projectExecutions([owed(executionId, { type: 'ProjectExecution' as const, ...item }, namespace)]),
    );

  it('are found as they were created', async () => {
    const parentExecutionId = ids.executionId();
    const overrides = { correlationId: 'c-1', idempotencyKey: 'k-1', parentExecutionId, priority: 4, version: 3 };
    const execution = newExecution(await open().engine.now(), overrides);
    await inTx(open().engine, (tx) => tx.createExecutions([execution]));
    expect(await open().index.find(ALPHA, execution.executionId)).toEqual({
      ...execution,
      status: 'RUNNING',
      updatedAt: execution.startedAt,
    });
  });

  it('have no field that was not given', async () => {
    const executionId = await givenExecution(open());
    const row = await open().index.find(ALPHA, executionId);
    expect(Object.values(row ?? {})).not.toContain(undefined);
    expect(Object.values(row ?? {})).not.toContain(null);
    expect(row).not.toHaveProperty('output');
  });

  it('cannot be created twice', async () => {
    const execution = newExecution(await open().engine.now());
    await inTx(open().engine, (tx) => tx.createExecutions([execution]));
    await expect(inTx(open().engine, (tx) => tx.createExecutions([execution]))).rejects.toThrow();
  });

  it('are gone when their creation is rolled back', async () => {
    const execution = newExecution(await open().engine.now());
    await rolledBack(open().engine, (tx) => tx.createExecutions([execution]));
    expect(await open().index.find(ALPHA, execution.executionId)).toBeUndefined();
    expect(await open().index.search(ALPHA, {}, { limit: 10 })).toEqual([]);
  });

  it('show how the run ended', async () => {
    const executionId = await givenExecution(open());
    const at = addMs(await open().engine.now(), 50);
    await project(executionId, {
      status: 'FAILED',
      at,
      output: { partial: 1 },
      reason: 'declined',
      failedTask: 'charge',
    });
    expect(await open().index.find(ALPHA, executionId)).toMatchObject({
      status: 'FAILED',
      output: { partial: 1 },
      reason: 'declined',
      failedTask: 'charge',
      updatedAt: at,
      endedAt: at,
    });
  });

  it('forget the end of a run that was reopened', async () => {
    const executionId = await givenExecution(open());
    const at = await open().engine.now();
    await project(executionId, { status: 'FAILED', at, output: {}, reason: 'declined', failedTask: 'charge' });
    await project(executionId, { status: 'RUNNING', at });
    const row = await open().index.find(ALPHA, executionId);
    expect(row?.status).toBe('RUNNING');
    for (const field of ['endedAt', 'reason', 'failedTask', 'output']) expect(row).not.toHaveProperty(field);
  });

  it('are revised in what an operator action changes, and in nothing else', async () => {
    const executionId = await givenExecution(open(), { correlationId: 'c-1', version: 1 });
    const before = await open().index.find(ALPHA, executionId);
    const revised = { definitionHash: 'other', version: 2, input: { x: 2 } };
    const revise = (item: Omit<ReviseExecution, 'type'>, namespace = ALPHA) =>
      inTx(open().engine, (tx) =>
        tx.reviseExecutions([owed(executionId, { type: 'ReviseExecution' as const, ...item }, namespace)]),
      );
    await revise(revised, BETA);
    expect(await open().index.find(ALPHA, executionId)).toEqual(before);
    await revise({ ...revised, correlationId: 'c-2' });
    expect(await open().index.find(ALPHA, executionId)).toEqual({ ...before, ...revised, correlationId: 'c-2' });
    await revise(revised);
    expect(await open().index.find(ALPHA, executionId)).not.toHaveProperty('correlationId');
  });

  it('take no projection from another namespace', async () => {
    const executionId = await givenExecution(open());
    await project(executionId, { status: 'TERMINATED', at: await open().engine.now() }, BETA);
    expect((await open().index.find(ALPHA, executionId))?.status).toBe('RUNNING');
  });

  it('keep their status when a projection is rolled back', async () => {
    const executionId = await givenExecution(open());
    const at = await open().engine.now();
    await rolledBack(open().engine, (tx) =>
      tx.projectExecutions([
        owed(executionId, { type: 'ProjectExecution' as const, status: 'COMPLETED' as const, at }),
      ]),
    );
    expect((await open().index.find(ALPHA, executionId))?.status).toBe('RUNNING');
  });

  it('are not shown to another namespace', async () => {
    const executionId = await givenExecution(open());
    expect(await open().index.find(BETA, executionId)).toBeUndefined();
    expect(await open().engine.findHead(BETA, executionId)).toBeUndefined();
    expect(await open().index.search(BETA, { executionIds: [executionId] }, { limit: 10 })).toEqual([]);
  });

  it('have a head', async () => {
    const executionId = await givenExecution(open());
    const head = { executionId, namespace: ALPHA, status: 'RUNNING', definitionHash: 'hash-1' };
    expect(await open().engine.findHead(ALPHA, executionId)).toEqual(head);
    expect(await open().engine.findHead(ALPHA, ids.executionId())).toBeUndefined();
  });
});

describe.each(harnesses)('the runs below a run over $name', (harness) => {
  const open = useHarness(harness);

  it('are found at every depth, up to the limit, in their namespace alone', async () => {
    const top = await givenExecution(open());
    const middle = await givenExecution(open(), { parentExecutionId: top });
    const leaves = [
      await givenExecution(open(), { parentExecutionId: middle }),
      await givenExecution(open(), { parentExecutionId: middle }),
    ];
    await givenExecution(open(), { parentExecutionId: top, namespace: BETA });
    await givenExecution(open());
    const below = async (id: ExecutionId, limit = 10, namespace = ALPHA) =>
      (await open().index.descendants(namespace, id, limit)).map(({ executionId }) => executionId);
    expect(new Set(await below(top))).toEqual(new Set([middle, ...leaves]));
    expect((await below(top))[0]).toBe(middle);
    expect(await below(top, 2)).toHaveLength(2);
    expect(await below(leaves[0] as ExecutionId)).toEqual([]);
    expect(await below(middle, 10, BETA)).toEqual([]);
  });
});

describe.each(harnesses)('searching runs over $name', (harness) => {
  const open = useHarness(harness);

  /** Runs a second apart, the first of them the oldest. */
  const givenRuns = async (...overrides: readonly Partial<NewExecution>[]): Promise<readonly ExecutionId[]> => {
    const now = await open().engine.now();
    const rows = overrides.map((override, index) => newExecution(addMs(now, (index - 100) * 1_000), override));
    await inTx(open().engine, (tx) => tx.createExecutions(rows));
    return rows.map((row) => row.executionId);
  };

  const search = async (filter: ExecutionFilter, limit = 50) =>
    (await open().index.search(ALPHA, filter, { limit })).map((row) => row.executionId);

  it('shows the newest first, without payloads', async () => {
    const runs = await givenRuns({}, {}, {});
    expect(await search({})).toEqual(runs.toReversed());
    const [summary] = await open().index.search(ALPHA, {}, { limit: 1 });
    expect(summary).not.toHaveProperty('input');
    expect(summary).not.toHaveProperty('output');
    expect(summary).toMatchObject({ name: 'checkout', version: 1, status: 'RUNNING', priority: 0 });
  });

  it.each<[string, Partial<NewExecution>, ExecutionFilter]>([
    ['name', { name: 'refund' }, { name: 'refund' }],
    ['name prefix', { name: 'refund-eu' }, { name: 'refund*' }],
    ['version', { version: 9 }, { version: 9 }],
    ['correlation id', { correlationId: 'c-9' }, { correlationId: 'c-9' }],
    ['idempotency key', { idempotencyKey: 'k-9' }, { idempotencyKey: 'k-9' }],
    ['status', {}, { statuses: ['RUNNING', 'PAUSED'], version: 1 }],
  ])('filters by %s', async (_, wanted, filter) => {
    const other = { name: 'check', version: 2, correlationId: 'c-1', idempotencyKey: 'k-1' };
    const [match] = await givenRuns(wanted, other);
    expect(await search(filter)).toEqual([match]);
  });

  it('filters by id, parent and time', async () => {
    const parentExecutionId = ids.executionId();
    const runs = await givenRuns({}, { parentExecutionId }, {});
    const [first, second, third] = runs;
    expect(await search({ executionIds: [first, third].filter((id) => id !== undefined) })).toEqual([third, first]);
    expect(await search({ parentExecutionId })).toEqual([second]);
    const startedAt = (await open().index.find(ALPHA, second as ExecutionId))?.startedAt as Instant;
    expect(await search({ startedAfter: addMs(startedAt, 1) })).toEqual([third]);
    expect(await search({ startedBefore: addMs(startedAt, -1) })).toEqual([first]);
  });

  it('finds nothing for an empty list of ids or statuses', async () => {
    await givenRuns({});
    expect(await search({ executionIds: [] })).toEqual([]);
    expect(await search({ statuses: [] })).toEqual([]);
  });

  it('filters by the status of now', async () => {
    const [ended, running] = await givenRuns({}, {});
    const item = { type: 'ProjectExecution' as const, status: 'COMPLETED' as const, at: await open().engine.now() };
    await inTx(open().engine, (tx) => tx.projectExecutions([owed(ended as ExecutionId, item)]));
    expect(await search({ statuses: ['COMPLETED', 'FAILED'] })).toEqual([ended]);
    expect(await search({ statuses: ['RUNNING'] })).toEqual([running]);
  });

  it.each(['%', '_', '\\', "'"])('takes %s in a name prefix for itself', async (sign) => {
    const [match] = await givenRuns({ name: `a${sign}b-1` }, { name: 'axb-2' }, { name: 'ab-3' });
    expect(await search({ name: `a${sign}b*` })).toEqual([match]);
  });

  it('pages through runs that started at the same instant, each once', async () => {
    const startedAt = await open().engine.now();
    const rows = Array.from({ length: 7 }, () => newExecution(startedAt));
    await inTx(open().engine, (tx) => tx.createExecutions(rows));
    const seen: ExecutionId[] = [];
    let after: { startedAt: Instant; executionId: ExecutionId } | undefined;
    for (let page = 0; page < 4; page += 1) {
      const found = await open().index.search(ALPHA, {}, { limit: 2, ...(after && { after }) });
      seen.push(...found.map((row) => row.executionId));
      after = found.at(-1);
    }
    expect(seen).toEqual(rows.map((row) => row.executionId).toReversed());
  });

  it('pages on after runs that came in meanwhile', async () => {
    const [older, newer] = await givenRuns({}, {});
    const [first] = await open().index.search(ALPHA, {}, { limit: 1 });
    await givenExecution(open());
    const rest = await open().index.search(ALPHA, {}, { limit: 5, ...(first && { after: first }) });
    expect(first?.executionId).toBe(newer);
    expect(rest.map((row) => row.executionId)).toEqual([older]);
  });
});

describe.each(harnesses)('idempotency keys over $name', (harness) => {
  const open = useHarness(harness);

  const start = async (key: string, namespace = ALPHA) => {
    const execution = newExecution(await open().engine.now(), { namespace, idempotencyKey: key });
    const claim = { namespace, key, executionId: execution.executionId, fingerprint: `of-${execution.executionId}` };
    const won = await inTx(open().engine, async (tx) => {
      const winners = await tx.claimIdempotencyKeys([claim]);
      if (winners.size > 0) await tx.createExecutions([execution]);
      return winners.size > 0;
    });
    return { executionId: execution.executionId, fingerprint: claim.fingerprint, won };
  };

  it('lead to the run that won them', async () => {
    const first = await start('k-1');
    const second = await start('k-1');
    expect([first.won, second.won]).toEqual([true, false]);
    expect(await open().engine.findIdempotencyHolder(ALPHA, 'k-1')).toEqual({
      executionId: first.executionId,
      fingerprint: first.fingerprint,
      status: 'RUNNING',
    });
  });

  it('have one winner among many simultaneous starts', async () => {
    const starts = await Promise.all(Array.from({ length: 8 }, () => start('k-1')));
    const winners = starts.filter((one) => one.won);
    expect(winners).toHaveLength(1);
    expect((await open().engine.findIdempotencyHolder(ALPHA, 'k-1'))?.executionId).toBe(winners[0]?.executionId);
  });

  it('belong to their namespace', async () => {
    const alpha = await start('k-1', ALPHA);
    const beta = await start('k-1', BETA);
    expect([alpha.won, beta.won]).toEqual([true, true]);
    expect((await open().engine.findIdempotencyHolder(BETA, 'k-1'))?.executionId).toBe(beta.executionId);
  });

  it('are free again when the claim is rolled back', async () => {
    const claim = { namespace: ALPHA, key: 'k-1', executionId: ids.executionId(), fingerprint: 'f' };
    await rolledBack(open().engine, (tx) => tx.claimIdempotencyKeys([claim]));
    expect(await open().engine.findIdempotencyHolder(ALPHA, 'k-1')).toBeUndefined();
    expect((await start('k-1')).won).toBe(true);
  });

  it('that nobody claimed lead nowhere', async () => {
    expect(await open().engine.findIdempotencyHolder(ALPHA, 'k-none')).toBeUndefined();
  });
});
