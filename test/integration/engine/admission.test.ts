import { afterEach, describe, expect, it } from 'vitest';
import type { StartedExecution, StartRequest } from '../../../src/application/use-cases.ts';
import type { ExecutionId } from '../../../src/domain/kernel/brand.ts';
import type { EngineTx } from '../../../src/ports/engine-store.ts';
import { NAMESPACE, openServer, useCluster } from '../../support/engine.ts';
import { eventually } from '../../support/eventually.ts';
import { deafWake, type Life, mortal } from '../../support/faults.ts';
import { deadlocks, leftovers, violations } from '../../support/invariants.ts';
import { endsOf, eventsOf, ofType, registerWorkflow, startRequest, startRun, statusOf } from '../../support/runs.ts';
import { leaseFrom, leaseOne, reportOne, startWorker } from '../../support/workers.ts';
import { chain, workflow } from './definitions.ts';
import { countOf, passDeadlines } from './given.ts';

const perKey = (limit: number, policy: 'QUEUE' | 'REJECT' = 'QUEUE') => ({
  rateLimitConfig: { rateLimitKey: '${workflow.input.customer}', concurrentExecLimit: limit, policy },
});

describe('limits on runs', () => {
  const { at, cluster } = useCluster({ poolMax: 24 }, { poolMax: 24 });

  afterEach(async () => {
    await Promise.all(cluster().servers.map((server) => server.stopLoops()));
  });

  const act = async (action: 'pause' | 'resume' | 'terminate' | 'retry', id: ExecutionId, server = 0) => {
    const done = await at(server).useCases.executions[action](NAMESPACE, id, 'test');
    return done.ok ? done.value.status : done.error.code;
  };

  const start = (server: number, name: string, change: Partial<StartRequest> = {}) =>
    at(server).useCases.executions.start(NAMESPACE, startRequest(name, change));

  const startFor = (customer: string, name: string) => startRun(at(0), name, { input: { customer } });
  const tryStart = (name: string, server = 0) => start(server, name).then((answer) => answer.ok);
  const admit = () => at(1).runLoopOnce('admit-executions');

  const isQueued = async (id: ExecutionId) => (await at(0).index.find(NAMESPACE, id))?.awaitingAdmission === true;
  const scheduled = async (id: ExecutionId) => ofType(await eventsOf(at(0), id), 'TaskScheduled').length;
  const held = (name: string) =>
    countOf(cluster().observer, 'select count(*) from execution_admissions where name = $1 and admitted', [name]);

  /** The most places of one key that were ever seen taken. */
  const watchHeld = async (name: string, isOver: () => boolean): Promise<number> => {
    let most = 0;
    while (!isOver()) {
      const query = `select coalesce(max(held), 0) as count from (
        select count(*) as held from execution_admissions where name = $1 and admitted group by key
      ) as held`;
      most = Math.max(most, await countOf(cluster().observer, query, [name]));
    }
    return most;
  };

  it('100 racing starts over two servers against a cap of 5 give five runs and 95 refusals that say so', async () => {
    await registerWorkflow(at(0), chain('capped', 1, 'capped', { retryCount: 0 }));
    await registerWorkflow(at(0), {
      ...chain('capped', 1, 'capped', { retryCount: 0 }),
      version: 2,
      maxConcurrentExecutions: 5,
    });
    const answers = await Promise.all(Array.from({ length: 100 }, (_, index) => start(index % 2, 'capped')));
    const runs = answers.flatMap((answer) => (answer.ok ? [answer.value.executionId] : []));
    const refusals = answers.flatMap((answer) => (answer.ok ? [] : [answer.error]));
    expect(runs).toHaveLength(5);
    expect(refusals).toHaveLength(95);
    const details = {
      scope: 'definition',
      definition: 'capped',
      quota: 'maxConcurrentExecutions',
      limit: 5,
      current: 5,
    };
    for (const refusal of refusals) expect(refusal).toMatchObject({ code: 'LIMIT_EXCEEDED', details });
    expect(await deadlocks(cluster().observer)).toBe(0);
  });

  it('a capped place is free again by whatever road the run ends, and a version without a cap takes none', async () => {
    await registerWorkflow(at(0), {
      ...chain('freed', 1, 'freed', { retryCount: 0 }),
      maxConcurrentExecutions: 1,
      timeoutSeconds: 600,
    });
    const ends: readonly ((id: ExecutionId) => Promise<unknown>)[] = [
      async () => reportOne(at(0), await leaseOne(at(0), 'freed')),
      async () => reportOne(at(0), await leaseOne(at(0), 'freed'), { status: 'FAILED' }),
      (id) => act('terminate', id, 1),
      async (id) => {
        await act('pause', id);
        await act('terminate', id);
      },
      async (id) => {
        await passDeadlines(cluster().observer, id);
        await at(0).runLoopOnce('deadlines');
      },
    ];
    for (const end of ends) {
      const id = await startRun(at(0), 'freed');
      expect(await tryStart('freed', 1)).toBe(false);
      await end(id);
      await at(0).evaluateAll();
      expect(await held('freed')).toBe(0);
    }
  });

  it('a run that ends in the transaction of its own start keeps no place', async () => {
    const atOnce = { name: 'at_once', version: 1, tasks: [{ name: 'n', taskReferenceName: 'n', type: 'NOOP' }] };
    await registerWorkflow(at(0), { ...atOnce, maxConcurrentExecutions: 1 });
    for (let times = 0; times < 3; times += 1) expect(await tryStart('at_once')).toBe(true);
    expect(await held('at_once')).toBe(0);
  });

  it('a retry asks for its place again: refused at the cap, and given when there is room', async () => {
    await registerWorkflow(at(0), { ...chain('again', 1, 'again', { retryCount: 0 }), maxConcurrentExecutions: 1 });
    const first = await startRun(at(0), 'again');
    await act('terminate', first);
    const second = await startRun(at(0), 'again');
    expect(await act('retry', first)).toBe('LIMIT_EXCEEDED');
    expect(await statusOf(at(0), first)).toBe('TERMINATED');
    await act('terminate', second);
    expect(await act('retry', first)).toBe('RUNNING');
    expect(await tryStart('again')).toBe(false);
    expect(await held('again')).toBe(1);
  });

  it('queued runs exist, schedule nothing, say why, and are admitted first in first out for each key', async () => {
    await registerWorkflow(at(0), { ...chain('line', 1), ...perKey(1) });
    const running = await startFor('a', 'line');
    const [second, third] = [await startFor('a', 'line'), await startFor('a', 'line')];
    const other = await startFor('b', 'line');
    expect([await isQueued(running), await isQueued(second), await isQueued(third), await isQueued(other)]).toEqual([
      false,
      true,
      true,
      false,
    ]);
    expect([await statusOf(at(0), third), await scheduled(third)]).toEqual(['RUNNING', 0]);
    const detail = await at(1).useCases.executions.get(NAMESPACE, third);
    const why = 'It awaits its admission: 1 of 1 executions with the key "a" are going, 1 wait before it.';
    expect(detail).toMatchObject({ ok: true, value: { view: { awaitingAdmission: true }, waitingFor: [{ why }] } });
    await admit();
    expect(await scheduled(second)).toBe(0);
    await act('terminate', running);
    await admit();
    expect([await scheduled(second), await scheduled(third)]).toEqual([1, 0]);
    expect((await eventsOf(at(0), second)).map(({ type }) => type)).toEqual([
      'ExecutionStarted',
      'ExecutionQueued',
      'ExecutionAdmitted',
      'TaskScheduled',
    ]);
    await act('terminate', second);
    await admit();
    expect([await scheduled(third), await isQueued(third)]).toEqual([1, false]);
    for (const id of [third, other]) await act('terminate', id);
    expect(await violations(cluster().observer, at(0).definitions)).toEqual([]);
  });

  it('a queued run can be paused, resumed, terminated and timed out, and others go on meanwhile', async () => {
    await registerWorkflow(at(0), { ...chain('waits', 1), ...perKey(1), timeoutSeconds: 600 });
    const running = await startFor('a', 'waits');
    const [paused, ended, late, last] = [
      await startFor('a', 'waits'),
      await startFor('a', 'waits'),
      await startFor('a', 'waits'),
      await startFor('a', 'waits'),
    ];
    expect(await act('pause', paused)).toBe('PAUSED');
    expect(await act('terminate', ended)).toBe('TERMINATED');
    await passDeadlines(cluster().observer, late);
    await at(0).runLoopOnce('deadlines');
    expect(await statusOf(at(0), late)).toBe('TIMED_OUT');
    await act('terminate', running);
    await admit();
    expect([await scheduled(paused), await scheduled(last)]).toEqual([0, 1]);
    expect(await act('resume', paused, 1)).toBe('RUNNING');
    expect([await isQueued(paused), await scheduled(paused)]).toEqual([true, 0]);
    await act('terminate', last);
    await admit();
    expect(await scheduled(paused)).toBe(1);
    await act('terminate', paused);
    expect(await held('waits')).toBe(0);
  });

  it('a run that is retried while its key is taken is reopened and waits its turn', async () => {
    await registerWorkflow(at(0), { ...chain('reopened', 1, 'reopened', { retryCount: 0 }), ...perKey(1) });
    const first = await startFor('a', 'reopened');
    await act('terminate', first);
    const second = await startFor('a', 'reopened');
    expect(await act('retry', first)).toBe('RUNNING');
    expect([await isQueued(first), await scheduled(first)]).toEqual([true, 1]);
    await act('terminate', second);
    await admit();
    expect(await scheduled(first)).toBe(2);
    await reportOne(at(0), await leaseOne(at(0), 'reopened'));
    await at(0).evaluateAll();
    expect(await statusOf(at(0), first)).toBe('COMPLETED');
    expect(await violations(cluster().observer, at(0).definitions)).toEqual([]);
  });

  it('the policy REJECT refuses with the key, and a key that cannot be resolved is the fault of the input', async () => {
    await registerWorkflow(at(0), { ...chain('rejects', 1), ...perKey(1, 'REJECT') });
    const id = await startFor('a', 'rejects');
    const refused = await start(1, 'rejects', { input: { customer: 'a' } });
    const details = { quota: 'rateLimitConfig', limit: 1, current: 1, key: 'a' };
    expect(refused).toMatchObject({ ok: false, error: { code: 'LIMIT_EXCEEDED', details } });
    const tooLong = await start(1, 'rejects', { input: { customer: 'x'.repeat(2_000) } });
    expect(tooLong).toMatchObject({ ok: false, error: { code: 'VALIDATION_FAILED', path: 'input' } });
    await act('terminate', id);
  });

  it('60 racing starts of 3 keys never go over 2 of a key, never starve, and all come to their end', async () => {
    await registerWorkflow(at(0), { ...chain('busy', 2), ...perKey(2) });
    for (const server of cluster().servers) server.startLoops('evaluate', 'wake-polls', 'admit-executions');
    const worker = startWorker(at(0), ['busy'], { count: 3, waitMs: 500 });
    let isOver = false;
    const mostHeld = watchHeld('busy', () => isOver);
    const started = await Promise.all(
      Array.from({ length: 60 }, (_, index) => start(index % 2, 'busy', { input: { customer: `c${index % 3}` } })),
    );
    const ids = started.flatMap((answer) => (answer.ok ? [answer.value.executionId] : []));
    expect(ids).toHaveLength(60);
    expect(await endsOf(at(0), ids)).toEqual({ COMPLETED: 60 });
    await worker.stop();
    isOver = true;
    expect(await mostHeld).toBe(2);
    expect(await held('busy')).toBe(0);
    expect(await violations(cluster().observer, at(0).definitions)).toEqual([]);
    expect(await deadlocks(cluster().observer)).toBe(0);
  });

  it('a server that dies anywhere in an admission has admitted nothing, and the next one does it', async () => {
    await registerWorkflow(at(0), { ...chain('killed', 1), ...perKey(1) });
    let running = await startFor('a', 'killed');
    const steps: readonly (keyof EngineTx)[] = ['admitQueued', 'appendEvents', 'enqueueTasks'];
    for (const diesAfter of steps) {
      const queued = await startFor('a', 'killed');
      await act('terminate', running);
      const life: Life = { diesAfter, isDead: false };
      const dying = await openServer(cluster().url, { faults: (engine) => mortal(engine, life), wake: deafWake });
      dying.startLoops('admit-executions');
      await eventually('it dies', () => life.isDead);
      expect([await isQueued(queued), await scheduled(queued), await held('killed')]).toEqual([true, 0, 0]);
      await dying.close();
      await admit();
      expect([await isQueued(queued), await scheduled(queued), await held('killed')]).toEqual([false, 1, 1]);
      running = queued;
    }
    await act('terminate', running);
    expect(await violations(cluster().observer, at(0).definitions)).toEqual([]);
  });

  it('the end of a run, a pause and a resume wake the admission of who is next', async () => {
    await registerWorkflow(at(0), { ...chain('woken', 1), ...perKey(1) });
    let wakes = 0;
    const subscription = at(0)
      .wake.on('admissions')
      .subscribe(() => {
        wakes += 1;
      });
    const [running, queued] = [await startFor('a', 'woken'), await startFor('a', 'woken')];
    const afterQueueing = wakes;
    await act('pause', queued);
    await act('resume', queued);
    await act('terminate', running);
    expect(wakes - afterQueueing).toBe(3);
    subscription.unsubscribe();
    await act('terminate', queued);
  });

  it('children pass the same gates: one waits in the queue of its key, one that is refused is a failed attempt', async () => {
    const child = (name: string, input: object, change: object = {}) => ({
      name,
      taskReferenceName: 'child',
      type: 'SUB_WORKFLOW',
      subWorkflowParam: { name },
      inputParameters: { ...input },
      ...change,
    });
    await registerWorkflow(at(0), { ...chain('queued_child', 1), ...perKey(1) });
    await registerWorkflow(at(0), { ...chain('capped_child', 1), maxConcurrentExecutions: 1 });
    await registerWorkflow(at(0), workflow('parent_queue', [child('queued_child', { customer: 'a' })]));
    await registerWorkflow(at(0), workflow('parent_cap', [child('capped_child', {}, { retryCount: 0 })]));
    const running = [await startFor('a', 'queued_child'), await startRun(at(0), 'capped_child')];
    const parents = [await startRun(at(0), 'parent_queue'), await startRun(at(0), 'parent_cap')];
    await at(0).runLoopOnce('relay-outbox');
    await at(0).evaluateAll();
    const [queueing, refused] = parents;
    if (queueing === undefined || refused === undefined) throw new Error('expected two parents');
    const [closed] = ofType(await eventsOf(at(0), refused), 'TaskClosed');
    expect(closed).toMatchObject({ status: 'FAILED', reason: expect.stringContaining('LIMIT_EXCEEDED') });
    expect(await statusOf(at(0), refused)).toBe('FAILED');
    const [waiting] = await at(0).index.search(NAMESPACE, { parentExecutionId: queueing }, { limit: 2 });
    expect(waiting?.awaitingAdmission).toBe(true);
    for (const id of running) await act('terminate', id);
    await admit();
    if (waiting === undefined) throw new Error('expected a child');
    expect(await scheduled(waiting.executionId)).toBe(1);
    await reportOne(at(0), await leaseOne(at(0), 'queued_child'));
    await at(0).evaluateAll();
    await at(0).runLoopOnce('relay-outbox');
    await at(0).evaluateAll();
    expect(await statusOf(at(0), queueing)).toBe('COMPLETED');
  });

  const putQuotas = (quotas: Parameters<(typeof access)['putQuotas']>[1]) => access.putQuotas(NAMESPACE, quotas);
  let access: ReturnType<typeof at>['useCases']['access'];

  it('quotas of a namespace are exact under racing starts over two servers, and an existing run needs none', async () => {
    await registerWorkflow(at(0), chain('quota', 1));
    access = at(0).useCases.access;
    const going = await countOf(
      cluster().observer,
      `select count(*) from workflow_executions where status in ('RUNNING', 'PAUSED')`,
    );
    const keyed = await start(0, 'quota', { idempotencyKey: 'quota-1' });
    expect(await putQuotas({ maxConcurrentExecutions: going + 6 })).toMatchObject({ ok: true });
    const answers = await Promise.all(Array.from({ length: 40 }, (_, index) => start(index % 2, 'quota')));
    const started = answers.flatMap((answer): StartedExecution[] => (answer.ok ? [answer.value] : []));
    expect(started).toHaveLength(5);
    const [refusal] = answers.flatMap((answer) => (answer.ok ? [] : [answer.error]));
    const details = { scope: 'namespace', quota: 'maxConcurrentExecutions', limit: going + 6, current: going + 6 };
    expect(refusal).toMatchObject({ code: 'LIMIT_EXCEEDED', details });
    expect(await start(1, 'quota', { idempotencyKey: 'quota-1' })).toMatchObject({
      ok: true,
      value: { created: false },
    });
    const refusedKey = await start(1, 'quota', { idempotencyKey: 'quota-2' });
    expect(refusedKey).toMatchObject({ ok: false, error: { code: 'LIMIT_EXCEEDED' } });
    const [one] = started;
    if (!keyed.ok || one === undefined) throw new Error('expected runs');
    await act('terminate', one.executionId);
    expect(await start(0, 'quota', { idempotencyKey: 'quota-2' })).toMatchObject({
      ok: true,
      value: { created: true },
    });
    await putQuotas({});
    expect(await tryStart('quota')).toBe(true);
  });

  it('a burst of ten times the starts of a minute is refused with the time to come back', async () => {
    await putQuotas({ maxExecutionsPerMinute: 4 });
    const answers = await Promise.all(Array.from({ length: 40 }, (_, index) => start(index % 2, 'quota')));
    const count = answers.filter((answer) => answer.ok).length;
    // The minute may turn in the middle of the burst.
    expect([4, 8]).toContain(count);
    const [refusal] = answers.flatMap((answer) => (answer.ok ? [] : [answer.error]));
    expect(refusal).toMatchObject({ code: 'LIMIT_EXCEEDED', details: { quota: 'maxExecutionsPerMinute', limit: 4 } });
    expect(refusal?.details).toHaveProperty('retryAfterSeconds');
    await putQuotas({});
  });

  it('leave nothing behind once all runs have ended', async () => {
    const { rows } = await cluster().observer.query<{ id: ExecutionId }>(
      `select workflow_id as id from workflow_executions where status in ('RUNNING', 'PAUSED')`,
    );
    for (const { id } of rows) await act('terminate', id);
    expect(await leaseFrom(at(0), ['quota', 'capped'])).toEqual([]);
    expect(await leftovers(cluster().observer)).toEqual([]);
  });
});
