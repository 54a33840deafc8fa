import { describe, expect, it } from 'vitest';
import type { ExecutionId } from '../../../src/domain/kernel/brand.ts';
import { NAMESPACE, useCluster } from '../../support/engine.ts';
import { eventually } from '../../support/eventually.ts';
import { createGate, withTx } from '../../support/faults.ts';
import { violations } from '../../support/invariants.ts';
import { eventsOf, ofType, registerWorkflow, startRun, statusOf, whenEnded } from '../../support/runs.ts';
import { leaseFrom, leaseOne, reportAll, reportOf, reportOne, startWorker } from '../../support/workers.ts';
import { chain, fanOut, step, workflow } from './definitions.ts';
import { countOf, whenBlocked } from './given.ts';

const afterLease = createGate();

describe('operator actions', () => {
  const { at, cluster } = useCluster(
    {},
    {},
    {
      faults: (engine) =>
        withTx(engine, (tx) => ({
          leaseTasks: async (request) => {
            const tasks = await tx.leaseTasks(request);
            await afterLease.pass();
            return tasks;
          },
        })),
    },
  );

  const act = async (action: 'pause' | 'resume' | 'terminate' | 'retry', id: ExecutionId, server = 0) => {
    const done = await at(server).useCases.executions[action](NAMESPACE, id, 'test');
    return done.ok ? done.value.status : done.error.code;
  };

  const openRows = (id: ExecutionId) =>
    countOf(
      cluster().observer,
      `select (select count(*) from task_queue where workflow_id = $1)
        + (select count(*) from timers where workflow_id = $1) as count`,
      [id],
    );

  it('what happens during a pause is handled after the resume: reports, deadlines, signals', async () => {
    await registerWorkflow(
      at(0),
      workflow('paused', [
        {
          name: 'fork',
          taskReferenceName: 'fork',
          type: 'FORK_JOIN',
          forkTasks: [
            [step('paused', 'reported'), step('paused', 'next')],
            [{ name: 'clock', taskReferenceName: 'clock', type: 'WAIT', inputParameters: { duration: '1 second' } }],
            [{ name: 'signal', taskReferenceName: 'signal', type: 'WAIT', inputParameters: {} }],
          ],
        },
        { name: 'join', taskReferenceName: 'join', type: 'JOIN', joinOn: ['next', 'clock', 'signal'] },
      ]),
    );
    const id = await startRun(at(0), 'paused');
    const task = await leaseOne(at(0), 'paused');
    expect(await act('pause', id)).toBe('PAUSED');
    expect(await act('pause', id, 1)).toBe('INVALID_STATE');
    expect(await reportOne(at(1), task)).toBe('settled');
    await eventually('the wait is due', async () => (await at(1).engine.nextDueInMs()).timer === 0);
    await at(1).runLoopOnce('deadlines');
    await at(1).evaluateAll();
    const signalled = await at(1).useCases.executions.signal(
      NAMESPACE,
      id,
      { ref: 'signal', status: 'COMPLETED', output: {} },
      'test',
    );
    expect(signalled).toMatchObject({ ok: true, value: { delivered: true } });
    await at(0).evaluateAll();
    expect(await statusOf(at(0), id)).toBe('PAUSED');
    expect(await leaseFrom(at(0), ['paused'])).toEqual([]);
    expect(await act('resume', id, 1)).toBe('RUNNING');
    await at(0).evaluateAll();
    expect(await reportOne(at(0), await leaseOne(at(0), 'paused'))).toBe('settled');
    await at(0).evaluateAll();
    expect(await statusOf(at(0), id)).toBe('COMPLETED');
  });

  it('a pause and a resume at any moment of a run lose nothing', async () => {
    await registerWorkflow(at(0), fanOut('flicker', 4, 3));
    const ids = await Promise.all(Array.from({ length: 4 }, () => startRun(at(0), 'flicker')));
    for (const server of cluster().servers) server.startLoops('evaluate', 'wake-polls');
    const workers = [0, 1].map((server) => startWorker(at(server), ['flicker'], { count: 2, waitMs: 500 }));
    const flicker = async (id: ExecutionId) => {
      let turns = 0;
      while (!['COMPLETED', 'TERMINAL_STATE'].includes(await act('pause', id, turns % 2))) {
        const resumed = await act('resume', id, (turns + 1) % 2);
        expect(['RUNNING', 'COMPLETED']).toContain(resumed);
        turns += 1;
      }
      return turns;
    };
    const turns = await Promise.all(ids.map(flicker));
    expect(Math.min(...turns)).toBeGreaterThan(0);
    for (const id of ids) expect(await whenEnded(at(0), id)).toBe('COMPLETED');
    await Promise.all(workers.map((worker) => worker.stop()));
    await Promise.all(cluster().servers.map((server) => server.stopLoops()));
    expect(await violations(cluster().observer, at(0).definitions)).toEqual([]);
  });

  it('a terminate in the middle leaves no open attempt and no timer', async () => {
    await registerWorkflow(at(0), {
      ...fanOut('cut_short', 5, 2, { scheduleToStartTimeout: 60 }),
      timeoutSeconds: 600,
    });
    const id = await startRun(at(0), 'cut_short');
    const tasks = await leaseFrom(at(0), ['cut_short'], { count: 3 });
    await reportAll(at(0), [reportOf(tasks[0] ?? (await leaseOne(at(0), 'cut_short')))]);
    await at(0).evaluateAll();
    expect(await openRows(id)).toBeGreaterThan(5);
    expect(await act('terminate', id, 1)).toBe('TERMINATED');
    expect(await openRows(id)).toBe(0);
    expect(await act('terminate', id)).toBe('TERMINAL_STATE');
    expect(await act('resume', id)).toBe('TERMINAL_STATE');
    await at(0).evaluateAll();
    expect((await eventsOf(at(0), id)).at(-1)?.type).toBe('ExecutionClosed');
  });

  it('a terminate that waits for a lease being taken leaves no timer of that lease', async () => {
    await registerWorkflow(at(0), chain('taken', 1, 'taken', { startToCloseTimeout: 600 }));
    const id = await startRun(at(0), 'taken');
    const held = afterLease.close();
    const lease = leaseOne(at(2), 'taken');
    await held;
    const termination = act('terminate', id);
    await whenBlocked(cluster().observer);
    afterLease.open();
    const task = await lease;
    expect(await termination).toBe('TERMINATED');
    expect(await openRows(id)).toBe(0);
    expect(await reportOne(at(0), task)).toBe('LEASE_LOST');
  });

  it('a terminate that races passes and reports is strictly before or after each of them', async () => {
    await registerWorkflow(at(0), fanOut('raced_end', 5, 4));
    const ids = await Promise.all(Array.from({ length: 8 }, () => startRun(at(0), 'raced_end')));
    for (const server of cluster().servers) server.startLoops('evaluate', 'wake-polls');
    const workers = [0, 1].map((server) => startWorker(at(server), ['raced_end'], { count: 4, waitMs: 300 }));
    await Promise.all(ids.map((id, index) => act('terminate', id, index % 2)));
    for (const id of ids) await whenEnded(at(0), id);
    await Promise.all(workers.map((worker) => worker.stop()));
    await Promise.all(cluster().servers.map((server) => server.stopLoops()));
    for (const id of ids) expect(await openRows(id)).toBe(0);
    expect(await violations(cluster().observer, at(0).definitions)).toEqual([]);
  });

  it('a retry of a failed run goes on at its failed task and completes', async () => {
    await registerWorkflow(at(0), chain('retried', 3, 'retried', { retryCount: 0 }));
    const id = await startRun(at(0), 'retried');
    await reportOne(at(0), await leaseOne(at(0), 'retried'));
    await at(0).evaluateAll();
    await reportOne(at(0), await leaseOne(at(0), 'retried'), { status: 'FAILED' });
    await at(0).evaluateAll();
    expect(await statusOf(at(0), id)).toBe('FAILED');
    expect(await act('retry', id, 1)).toBe('RUNNING');
    expect(await act('retry', id)).toBe('INVALID_STATE');
    for (let rest = 0; rest < 2; rest += 1) {
      expect(await reportOne(at(0), await leaseOne(at(0), 'retried'))).toBe('settled');
      await at(rest).evaluateAll();
    }
    expect(await statusOf(at(0), id)).toBe('COMPLETED');
    const scheduled = ofType(await eventsOf(at(0), id), 'TaskScheduled').map(({ ref, attempt }) => [ref, attempt]);
    expect(scheduled).toEqual([
      ['s1', 1],
      ['s2', 1],
      ['s2', 2],
      ['s3', 1],
    ]);
    expect(await violations(cluster().observer, at(0).definitions)).toEqual([]);
  });
});
