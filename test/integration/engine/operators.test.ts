import { describe, expect, it } from 'vitest';
import type { OperatorAction } from '../../../src/application/use-cases.ts';
import type { ExecutionId } from '../../../src/domain/kernel/brand.ts';
import { taskIdOf } from '../../../src/domain/kernel/brand.ts';
import { NAMESPACE, useCluster } from '../../support/engine.ts';
import { violations } from '../../support/invariants.ts';
import { eventsOf, ofType, registerWorkflow, startRun, statusOf, whenEnded } from '../../support/runs.ts';
import { createLedger, leaseOne, reportOne, startWorker } from '../../support/workers.ts';
import { chain, fanOut, step, workflow } from './definitions.ts';

const ROUNDS = 12;

describe('actions of operators, with workers at it', () => {
  // Two servers: what one decided the other folds from the log.
  const { at, cluster } = useCluster({}, {});

  const act = async (id: ExecutionId, action: OperatorAction, server = 0) => {
    const done = await at(server).useCases.executions.operate(NAMESPACE, id, action, { by: 'operator', reason: 'why' });
    return done.ok ? done.value.summary.status : done.error.code;
  };

  const sound = async () => expect(await violations(cluster().observer, at(0).definitions)).toEqual([]);

  it('a rerun is not disturbed by the worker that still holds the lease of before', async () => {
    await registerWorkflow(at(0), chain('held', 2));
    const id = await startRun(at(0), 'held');
    const old = await leaseOne(at(0), 'held');
    await at(0).useCases.executions.terminate(NAMESPACE, id, 'operator');
    expect(await act(id, { type: 'rerun', fromTaskId: old.taskId }, 1)).toBe('RUNNING');
    expect(await reportOne(at(0), old)).toBe('LEASE_LOST');
    const task = await leaseOne(at(0), 'held');
    expect([task.ref, task.attempt]).toEqual(['s1', 2]);
    expect(await reportOne(at(0), old)).toBe('LEASE_LOST');
    expect(await reportOne(at(1), task)).toBe('settled');
    await at(1).evaluateAll();
    expect(await reportOne(at(0), await leaseOne(at(0), 'held'))).toBe('settled');
    await at(0).evaluateAll();
    expect(await statusOf(at(0), id)).toBe('COMPLETED');
    await sound();
  });

  it('reruns that race with each other and with the workers take turns, and each attempt ends once', async () => {
    await registerWorkflow(at(0), fanOut('raced', 4, 3));
    const ledger = createLedger();
    const workers = [0, 1].map((server) => startWorker(at(server), ['raced'], { ledger }));
    for (const server of [0, 1]) at(server).startLoops('evaluate');
    const id = await startRun(at(0), 'raced');
    let taken = 0;
    for (let round = 0; round < ROUNDS; round += 1) {
      expect(await whenEnded(at(0), id)).toBe('COMPLETED');
      const from = { type: 'rerun', fromTaskRef: `b${1 + (round % 4)}s${1 + (round % 3)}` } as const;
      const answers = await Promise.all([0, 1, 0, 1].map((server) => act(id, from, server)));
      taken += answers.filter((answer) => answer !== 'INVALID_STATE').length;
    }
    expect(await whenEnded(at(0), id)).toBe('COMPLETED');
    await Promise.all(workers.map((worker) => worker.stop()));
    await Promise.all([0, 1].map((server) => at(server).stopLoops()));
    expect(taken).toBeGreaterThanOrEqual(ROUNDS);
    expect(ofType(await eventsOf(at(0), id), 'ExecutionRerun')).toHaveLength(taken);
    const closed = ofType(await eventsOf(at(0), id), 'TaskClosed');
    const identities = closed.map(({ ref, attempt }) => `${ref}/${attempt}`);
    expect(new Set(identities).size).toBe(identities.length);
    expect(ledger.leases.length).toBe(identities.length);
    await sound();
  });

  it('a canceled task refuses its worker, and has another attempt when the run is resumed', async () => {
    await registerWorkflow(at(0), chain('canceled', 1));
    const id = await startRun(at(0), 'canceled');
    const old = await leaseOne(at(0), 'canceled');
    expect(await act(id, { type: 'cancel-task', taskRef: 's1' }, 1)).toBe('PAUSED');
    expect(await reportOne(at(0), old)).toBe('LEASE_LOST');
    await at(0).evaluateAll();
    await at(1).useCases.executions.resume(NAMESPACE, id, 'operator');
    await at(0).evaluateAll();
    const task = await leaseOne(at(1), 'canceled');
    expect([task.attempt, await reportOne(at(1), task)]).toEqual([2, 'settled']);
    await at(0).evaluateAll();
    expect(await statusOf(at(1), id)).toBe('COMPLETED');
    await sound();
  });

  it('a jump takes the leases of what it jumps over', async () => {
    await registerWorkflow(at(0), chain('jumped', 3));
    const id = await startRun(at(0), 'jumped');
    const old = await leaseOne(at(0), 'jumped');
    expect(await act(id, { type: 'jump', taskRef: 's3', taskInput: { from: 'afar' } }, 1)).toBe('RUNNING');
    expect(await reportOne(at(0), old)).toBe('LEASE_LOST');
    const task = await leaseOne(at(0), 'jumped');
    expect([task.ref, task.input]).toEqual(['s3', { from: 'afar' }]);
    expect(await reportOne(at(0), task)).toBe('settled');
    await at(1).evaluateAll();
    expect(await statusOf(at(0), id)).toBe('COMPLETED');
    await sound();
  });

  it('a restart by the latest definition moves the run, its row and its log, for every server', async () => {
    await registerWorkflow(at(0), chain('moved', 1));
    const id = await startRun(at(0), 'moved');
    expect(await reportOne(at(0), await leaseOne(at(0), 'moved'))).toBe('settled');
    await at(0).evaluateAll();
    await registerWorkflow(at(0), { ...chain('moved', 2), version: 2 });
    expect(await act(id, { type: 'restart', useLatestDefinitions: true })).toBe('RUNNING');
    expect(await at(1).index.find(NAMESPACE, id)).toMatchObject({ version: 2, status: 'RUNNING' });
    for (const server of [1, 0]) {
      expect(await reportOne(at(server), await leaseOne(at(server), 'moved'))).toBe('settled');
      await at(server).evaluateAll();
    }
    expect(await statusOf(at(0), id)).toBe('COMPLETED');
    const detail = await at(1).useCases.executions.get(NAMESPACE, id);
    expect(detail).toMatchObject({ ok: true, value: { view: { version: 2 } } });
    await sound();
  });

  it('an upgrade keeps the lease of what runs, and goes on by the new version on another server', async () => {
    await registerWorkflow(at(0), workflow('upgraded', [step('upgraded', 'a'), step('upgraded', 'b')]));
    const id = await startRun(at(0), 'upgraded');
    const held = await leaseOne(at(0), 'upgraded');
    const tasks = ['first', 'a', 'between', 'b'].map((ref) => step('upgraded', ref));
    await registerWorkflow(at(0), { ...workflow('upgraded', tasks), version: 2 });
    const action = { type: 'upgrade', taskOutput: { first: { given: true } } } as const;
    expect(await act(id, action)).toBe('RUNNING');
    expect(await reportOne(at(1), held)).toBe('settled');
    await at(1).evaluateAll();
    const next = await leaseOne(at(1), 'upgraded');
    expect(next.ref).toBe('between');
    const repaired = await at(0).useCases.executions.decide(NAMESPACE, id);
    expect(repaired).toMatchObject({ ok: true, value: { repaired: 0 } });
    expect(ofType(await eventsOf(at(0), id), 'TaskSkipped')).toMatchObject([{ ref: 'first', output: { given: true } }]);
    await sound();
  });

  it('tasks are found by their id, and nowhere else than in their own run', async () => {
    await registerWorkflow(at(0), chain('found', 1));
    const [id, other] = [await startRun(at(0), 'found'), await startRun(at(0), 'found')];
    await at(0).useCases.executions.terminate(NAMESPACE, id, 'operator');
    for (const fromTaskId of ['nonsense', taskIdOf(other, 2), taskIdOf(id, 1), taskIdOf(id, 99)]) {
      expect(await act(id, { type: 'rerun', fromTaskId })).toBe('NOT_FOUND');
    }
    expect(await act(id, { type: 'rerun', fromTaskId: taskIdOf(id, 2) })).toBe('RUNNING');
  });

  it('a signal can wait for what follows from it', async () => {
    const hold = (ref: string) => ({ name: ref, taskReferenceName: ref, type: 'WAIT' });
    await registerWorkflow(at(0), workflow('signaled', [hold('one'), step('signaled', 'work'), hold('two')]));
    at(0).startLoops('evaluate');
    const worker = startWorker(at(0), ['signaled']);
    const id = await startRun(at(0), 'signaled');
    await at(0).useCases.executions.signal(NAMESPACE, id, { status: 'COMPLETED', output: {} }, 'someone');
    const signal = new AbortController().signal;
    const wait = { waitMs: 20_000, untilBlocked: true, signal };
    const detail = await at(0).useCases.executions.wait(NAMESPACE, id, wait);
    expect(detail).toMatchObject({ ok: true, value: { view: { status: 'RUNNING' }, live: [{ ref: 'two' }] } });
    await worker.stop();
    await at(0).stopLoops();
  });
});
