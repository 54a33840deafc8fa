import { describe, expect, it } from 'vitest';
import type { BulkAction } from '../../../src/application/use-cases.ts';
import type { ExecutionId, Namespace } from '../../../src/domain/kernel/brand.ts';
import { NAMESPACE, useCluster } from '../../support/engine.ts';
import { createGate, withTx } from '../../support/faults.ts';
import { violations } from '../../support/invariants.ts';
import { eventsOf, registerWorkflow, startRequest, startRun, startRuns, statusOf } from '../../support/runs.ts';
import { leaseOne, reportOne } from '../../support/workers.ts';
import { chain, workflow } from './definitions.ts';
import { countOf, whenBlocked } from './given.ts';

const beforeRemoval = createGate();
const ELSEWHERE = 'elsewhere' as Namespace;
const UNKNOWN = '01890000-0000-7000-8000-000000000001' as ExecutionId;

const TABLES = [
  'workflow_executions',
  'workflow_events',
  'task_executions',
  'task_logs',
  'task_queue',
  'timers',
  'outbox_events',
  'decide_queue',
  'idempotency_keys',
  'execution_admissions',
];

describe('what is done with runs that have ended', () => {
  const { at, cluster } = useCluster(
    {},
    {
      faults: (engine) =>
        withTx(engine, (tx) => ({
          deleteExecution: async (id) => {
            await beforeRemoval.pass();
            return tx.deleteExecution(id);
          },
        })),
    },
  );

  const executions = (server = 0) => at(server).useCases.executions;
  const remove = async (id: ExecutionId, server = 0, namespace = NAMESPACE) => {
    const removed = await executions(server).delete(namespace, id);
    return removed.ok ? 'deleted' : removed.error.code;
  };
  const rowsOf = (id: ExecutionId) =>
    countOf(
      cluster().observer,
      `select ${TABLES.map((table) => `(select count(*) from ${table} where workflow_id = $1)`).join(' + ')} as count`,
      [id],
    );

  const endedRun = async (key?: string): Promise<ExecutionId> => {
    const id = await startRun(at(0), 'gone', key === undefined ? {} : { idempotencyKey: key });
    const task = await leaseOne(at(0), 'gone');
    const lease = { taskId: task.taskId, leaseToken: task.leaseToken };
    await at(0).useCases.workers.appendLogs(NAMESPACE, lease, ['a line']);
    await reportOne(at(0), task);
    await at(0).evaluateAll();
    expect(await statusOf(at(0), id)).toBe('COMPLETED');
    return id;
  };

  it('a deleted run is gone from every table, is not found, and frees its idempotency key', async () => {
    await registerWorkflow(at(0), chain('gone', 1));
    const id = await endedRun('again');
    expect(await rowsOf(id)).toBeGreaterThan(5);
    expect(await remove(id, 0, ELSEWHERE)).toBe('NOT_FOUND');
    expect(await remove(id)).toBe('deleted');
    expect(await rowsOf(id)).toBe(0);
    expect(await remove(id)).toBe('NOT_FOUND');
    expect(await executions().get(NAMESPACE, id)).toMatchObject({ ok: false, error: { code: 'NOT_FOUND' } });
    expect(await executions().retry(NAMESPACE, id, 'test')).toMatchObject({ error: { code: 'NOT_FOUND' } });
    const next = await executions().start(NAMESPACE, startRequest('gone', { idempotencyKey: 'again' }));
    expect(next).toMatchObject({ ok: true, value: { created: true } });
    if (next.ok) await executions().terminate(NAMESPACE, next.value.executionId, 'test');
  });

  it('a run that is running, paused or reopened is not deleted, and loses no report over it', async () => {
    await registerWorkflow(at(0), chain('kept', 2));
    const id = await startRun(at(0), 'kept');
    await reportOne(at(0), await leaseOne(at(0), 'kept'));
    expect(await remove(id)).toBe('INVALID_STATE');
    await at(0).evaluateAll();
    await executions().pause(NAMESPACE, id, 'test');
    expect(await remove(id)).toBe('INVALID_STATE');
    await executions().terminate(NAMESPACE, id, 'test');
    await executions().retry(NAMESPACE, id, 'test');
    expect(await remove(id)).toBe('INVALID_STATE');
    await reportOne(at(0), await leaseOne(at(0), 'kept'));
    await at(0).evaluateAll();
    expect(await statusOf(at(0), id)).toBe('COMPLETED');
  });

  it('a deletion that waits behind a retry leaves the reopened run as it is', async () => {
    await registerWorkflow(at(0), chain('raced', 1));
    const id = await startRun(at(0), 'raced');
    await executions().terminate(NAMESPACE, id, 'test');
    const held = beforeRemoval.close();
    const removal = remove(id, 1);
    await held;
    const retry = executions().retry(NAMESPACE, id, 'test');
    await whenBlocked(cluster().observer);
    beforeRemoval.open();
    expect(await removal).toBe('deleted');
    expect(await retry).toMatchObject({ ok: false, error: { code: 'NOT_FOUND' } });
    expect(await rowsOf(id)).toBe(0);
  });

  it('a run whose message is still to be delivered stays until it is', async () => {
    await registerWorkflow(at(0), workflow('sad', [{ name: 'n', taskReferenceName: 'n', type: 'NOOP' }]));
    await registerWorkflow(at(0), { ...chain('owes', 1, 'owes', { retryCount: 0 }), failureWorkflow: 'sad' });
    const id = await startRun(at(0), 'owes');
    await reportOne(at(0), await leaseOne(at(0), 'owes'), { status: 'FAILED' });
    await at(0).evaluateAll();
    expect(await remove(id)).toBe('INVALID_STATE');
    await at(0).runLoopOnce('relay-outbox');
    expect(await remove(id)).toBe('deleted');
  });

  it('a stream of a run that is deleted comes to its end', async () => {
    const id = await endedRun();
    const stream = await executions().stream(NAMESPACE, id, 0, new AbortController().signal);
    if (!stream.ok) throw new Error(stream.error.message);
    const items = stream.value[Symbol.asyncIterator]();
    expect((await items.next()).value).toMatchObject({ kind: 'event' });
    await remove(id);
    const rest: string[] = [];
    for (let item = await items.next(); item.done !== true; item = await items.next()) rest.push(item.value.kind);
    expect(rest.at(-1)).toBe('end');
  });

  it('one bulk call has one answer for each id, in order, and none stops the others', async () => {
    await registerWorkflow(at(0), chain('many', 1));
    const [first, second, third] = await startRuns(at(0), 'many', 3);
    if (first === undefined || second === undefined || third === undefined) throw new Error('expected three runs');
    await executions().terminate(NAMESPACE, second, 'test');
    const bulk = async (action: BulkAction, ids: readonly string[]) =>
      (await executions().bulk(NAMESPACE, ids, { action, by: 'test', reason: 'all of them' })).map(({ id, result }) => [
        id,
        result.ok ? result.value : result.error.code,
      ]);
    expect(await bulk('pause', [first, second, 'nonsense', UNKNOWN, third])).toEqual([
      [first, 'PAUSED'],
      [second, 'TERMINAL_STATE'],
      ['nonsense', 'NOT_FOUND'],
      [UNKNOWN, 'NOT_FOUND'],
      [third, 'PAUSED'],
    ]);
    expect(await bulk('resume', [first, second])).toEqual([
      [first, 'RUNNING'],
      [second, 'TERMINAL_STATE'],
    ]);
    expect(await bulk('retry', [second, first])).toEqual([
      [second, 'RUNNING'],
      [first, 'INVALID_STATE'],
    ]);
    expect(await bulk('delete', [first])).toEqual([[first, 'INVALID_STATE']]);
    await executions().terminate(NAMESPACE, second, 'test');
    expect(await bulk('restart', [second, first])).toEqual([
      [second, 'RUNNING'],
      [first, 'INVALID_STATE'],
    ]);
    expect((await bulk('terminate', [first, second, third])).map(([, answer]) => answer)).toEqual(
      Array.from({ length: 3 }, () => 'TERMINATED'),
    );
    const [closed] = (await eventsOf(at(0), first)).slice(-1);
    expect(closed).toMatchObject({ type: 'ExecutionClosed', by: 'test', reason: 'all of them' });
    expect(await bulk('delete', [first, third, first])).toEqual([
      [first, undefined],
      [third, undefined],
      [first, undefined],
    ]);
    const elsewhere = await executions().bulk(ELSEWHERE, [second], { action: 'delete', by: 'test' });
    expect(elsewhere).toMatchObject([{ result: { ok: false, error: { code: 'NOT_FOUND' } } }]);
    expect(await violations(cluster().observer, at(0).definitions)).toEqual([]);
  });

  it('a run can be run again: same version and input, or what is given instead, linked to the one it repeats', async () => {
    await registerWorkflow(at(0), chain('repeat', 1));
    const change = { input: { n: 1 }, correlationId: 'c-1', priority: 7, idempotencyKey: 'once' };
    const id = await startRun(at(0), 'repeat', change);
    await registerWorkflow(at(0), { ...chain('repeat', 1), version: 2 });
    const again = async (call: Parameters<ReturnType<typeof executions>['runAgain']>[2]) => {
      const started = await executions().runAgain(NAMESPACE, id, call);
      if (!started.ok) throw new Error(started.error.message);
      expect(started.value.executionId).not.toBe(id);
      const detail = await executions().get(NAMESPACE, started.value.executionId);
      if (!detail.ok) throw new Error(detail.error.message);
      const { version, input, correlationId, priority, copyOf } = detail.value.view;
      return { version, input, correlationId, priority, copyOf };
    };
    const same = { version: 1, input: { n: 1 }, correlationId: 'c-1', priority: 7, copyOf: id };
    expect(await again({ latest: false })).toEqual(same);
    expect(await again({ latest: true, input: { n: 2 } })).toEqual({ ...same, version: 2, input: { n: 2 } });
    expect(await again({ latest: false, version: 2, correlationId: 'c-2', priority: 0 })).toEqual({
      ...same,
      version: 2,
      correlationId: 'c-2',
      priority: 0,
    });
    const missing = await executions().runAgain(NAMESPACE, id, { latest: false, version: 9 });
    expect(missing).toMatchObject({ ok: false, error: { code: 'NOT_FOUND' } });
    expect(await executions().runAgain(ELSEWHERE, id, { latest: false })).toMatchObject({ ok: false });
  });
});
