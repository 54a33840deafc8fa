import { describe, expect, it } from 'vitest';
import { useCluster } from '../../support/engine.ts';
import { ledgerViolations, leftovers, readRuns, violations } from '../../support/invariants.ts';
import {
  endsOf,
  eventsOf,
  ofType,
  registerTask,
  registerWorkflow,
  startRun,
  startRuns,
  whenEnded,
} from '../../support/runs.ts';
import { completing, createLedger, leaseFrom, leaseOne, reportOne, startWorker } from '../../support/workers.ts';
import { chain, fanOut } from './definitions.ts';
import { expireLease } from './given.ts';

describe('leases over two servers', () => {
  const { at, cluster } = useCluster({ notify: true, poolMax: 24 }, { notify: true, poolMax: 24 });

  it('are each given once when 20 workers race for 200 tasks, and all tasks complete', async () => {
    await registerWorkflow(at(0), fanOut('race', 10, 1));
    const ids = await startRuns(at(0), 'race', 20);
    const ledger = createLedger();
    const workers = Array.from({ length: 20 }, (_, index) =>
      startWorker(at(index % 2), ['race'], { workerId: `w${index}`, count: 3, ledger }),
    );
    for (const server of cluster().servers) server.startLoops('evaluate', 'wake-polls');
    expect(await endsOf(at(0), ids)).toEqual({ COMPLETED: 20 });
    await Promise.all(workers.map((worker) => worker.stop()));
    await Promise.all(cluster().servers.map((server) => server.stopLoops()));
    expect(ledger.leases).toHaveLength(200);
    expect(new Set(ledger.leases.map(({ taskId }) => taskId)).size).toBe(200);
    expect(ledgerViolations(ledger, await readRuns(cluster().observer))).toEqual([]);
    expect(await violations(cluster().observer, at(0).definitions)).toEqual([]);
    expect(await leftovers(cluster().observer)).toEqual([]);
  });

  it('of a limited task never exceed its limit of 5 under ten dispatchers, and none starves', async () => {
    await registerTask(at(0), { name: 'limited', concurrentExecLimit: 5 });
    await registerWorkflow(at(0), fanOut('limited', 20, 1));
    const ids = await startRuns(at(1), 'limited', 3);
    const first = await Promise.all(
      Array.from({ length: 10 }, (_, index) => leaseFrom(at(index % 2), ['limited'], { count: 5 })),
    );
    expect(first.flat()).toHaveLength(5);
    let [held, most] = [5, 5];
    const handler: typeof completing = (task) => {
      held += 1;
      most = Math.max(most, held);
      return completing(task);
    };
    for (const task of first.flat()) {
      held -= 1;
      expect(await reportOne(at(0), task)).toBe('settled');
    }
    for (const server of cluster().servers) server.startLoops('evaluate', 'wake-polls');
    const workers = Array.from({ length: 10 }, (_, index) =>
      startWorker(at(index % 2), ['limited'], {
        count: 5,
        waitMs: 200,
        handler,
        beforeReport: (count) => {
          held -= count;
        },
      }),
    );
    expect(await endsOf(at(0), ids)).toEqual({ COMPLETED: 3 });
    await Promise.all(workers.map((worker) => worker.stop()));
    await Promise.all(cluster().servers.map((server) => server.stopLoops()));
    expect(held).toBe(0);
    expect(most).toBe(5);
  });
});

describe('a lease', () => {
  const { at, cluster } = useCluster({}, {});

  const givenLease = async (name: string) => {
    await registerWorkflow(at(0), chain(name, 1, name, { retryDelaySeconds: 0 }));
    const id = await startRun(at(0), name);
    return { id, task: await leaseOne(at(0), name, { workerId: 'frozen' }) };
  };

  const reclaim = async () => {
    await at(1).runLoopOnce('deadlines');
    await at(1).evaluateAll();
  };

  it('that expired is lost: another worker gets attempt 2, and only its report counts', async () => {
    const { id, task } = await givenLease('frozen');
    await expireLease(cluster().observer, task);
    await reclaim();
    const second = await leaseOne(at(1), 'frozen', { workerId: 'second' });
    expect([task.attempt, second.attempt]).toEqual([1, 2]);
    expect(await reportOne(at(0), task, { output: { by: 'frozen' } })).toBe('LEASE_LOST');
    expect(await reportOne(at(1), second, { output: { by: 'second' } })).toBe('settled');
    await at(0).evaluateAll();
    expect(await whenEnded(at(0), id)).toBe('COMPLETED');
    const closed = ofType(await eventsOf(at(0), id), 'TaskClosed');
    expect(closed.map(({ attempt, status, workerId }) => ({ attempt, status, workerId }))).toEqual([
      { attempt: 1, status: 'TIMED_OUT', workerId: 'frozen' },
      { attempt: 2, status: 'COMPLETED', workerId: 'second' },
    ]);
    expect(closed[1]?.output).toEqual({ by: 'second' });
  });

  it('is kept by a heartbeat, with the same token', async () => {
    const { id, task } = await givenLease('beating');
    await expireLease(cluster().observer, task);
    const beat = await at(1).useCases.workers.heartbeat(task.namespace, task);
    expect(beat.ok).toBe(true);
    await reclaim();
    expect(await reportOne(at(0), task)).toBe('settled');
    await at(0).evaluateAll();
    expect(await whenEnded(at(0), id)).toBe('COMPLETED');
    expect(ofType(await eventsOf(at(0), id), 'TaskScheduled')).toHaveLength(1);
  });

  it('that was lost takes no heartbeat and no log line any more', async () => {
    const { task } = await givenLease('silent');
    await expireLease(cluster().observer, task);
    await reclaim();
    expect(await at(0).useCases.workers.heartbeat(task.namespace, task)).toMatchObject({
      error: { code: 'LEASE_LOST' },
    });
    expect(await at(0).useCases.workers.appendLogs(task.namespace, task, ['too late'])).toMatchObject({
      error: { code: 'LEASE_LOST' },
    });
  });

  it('that is given back makes the same attempt visible at once, and its old token is worth nothing', async () => {
    const { id, task } = await givenLease('returned');
    expect(await at(1).useCases.workers.release(task.namespace, task)).toEqual({ ok: true, value: null });
    const again = await leaseOne(at(1), 'returned');
    expect([again.taskId, again.attempt]).toEqual([task.taskId, 1]);
    expect(again.leaseToken).not.toBe(task.leaseToken);
    expect(await reportOne(at(0), task)).toBe('LEASE_LOST');
    expect(await reportOne(at(0), again)).toBe('settled');
    await at(0).evaluateAll();
    expect(await whenEnded(at(0), id)).toBe('COMPLETED');
  });
});
