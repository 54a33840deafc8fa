import { afterEach, describe, expect, it } from 'vitest';
import { STEP_RUNS_MAX } from '../../../src/application/advance-runs.ts';
import type { EngineStore, LeasedTask } from '../../../src/ports/engine-store.ts';
import { connect, NAMESPACE, useCluster } from '../../support/engine.ts';
import { createGate } from '../../support/faults.ts';
import { leftovers, violations } from '../../support/invariants.ts';
import {
  endsOf,
  eventsOf,
  ofType,
  registerTask,
  registerWorkflow,
  startRun,
  startRuns,
  statusOf,
} from '../../support/runs.ts';
import { leaseFrom, leaseOne, reportAll, reportOf, reportOne, startWorker } from '../../support/workers.ts';
import { chain, fanOut } from './definitions.ts';
import { countOf } from './given.ts';

const beforeStep = createGate();
const steps = { written: 0, leased: 0, failsAfter: false };

/** Counts what takes the short road, and lets a test hold it or cut it off. */
const watched = (engine: EngineStore): EngineStore => ({
  ...engine,
  stepRuns: async (of) => {
    await beforeStep.pass();
    const written = await engine.stepRuns(of);
    steps.written += written.stepped.size;
    steps.leased += written.leased.length;
    if (steps.failsAfter) throw new Error('the answer was lost');
    return written;
  },
});

describe('the short road of a report', () => {
  const { at, cluster } = useCluster({ faults: watched }, {});

  afterEach(() => {
    Object.assign(steps, { written: 0, leased: 0, failsAfter: false });
  });

  const decideRows = () => countOf(cluster().observer, 'select count(*) from decide_queue');

  it('takes a run to its end without a pass, and hands each task to the poll that waits for it', async () => {
    await registerWorkflow(at(0), chain('handed', 3));
    const id = await startRun(at(0), 'handed');
    let task = await leaseOne(at(0), 'handed');
    for (const ref of ['s2', 's3']) {
      const poll = leaseFrom(at(0), ['handed'], { waitMs: 30_000, workerId: 'patient' });
      await whenParked();
      expect(await reportOne(at(0), task)).toBe('settled');
      const [handed] = await poll;
      if (handed === undefined) throw new Error('expected a task');
      expect(handed).toMatchObject({ ref, workerId: 'patient', executionId: id });
      task = handed;
    }
    expect(await reportOne(at(0), task)).toBe('settled');
    expect(await statusOf(at(0), id)).toBe('COMPLETED');
    expect(steps).toMatchObject({ written: 3, leased: 2 });
    expect(await decideRows()).toBe(0);
    expect(ofType(await eventsOf(at(0), id), 'TaskClosed')).toMatchObject([
      { ref: 's1', workerId: 'worker' },
      { ref: 's2', workerId: 'patient' },
      { ref: 's3', workerId: 'patient' },
    ]);
    expect(await leftovers(cluster().observer)).toEqual([]);
  });

  it('and the longer one together take many runs to their ends, with workers and loops on two servers', async () => {
    await registerWorkflow(at(0), fanOut('mixed', 5, 3));
    for (const server of cluster().servers) server.startLoops();
    const workers = cluster().servers.map((server) => startWorker(server, ['mixed']));
    const ids = [...(await startRuns(at(0), 'mixed', 20)), ...(await startRuns(at(1), 'mixed', 20))];
    expect(await endsOf(at(0), ids)).toEqual({ COMPLETED: 40 });
    await Promise.all(workers.map((worker) => worker.stop()));
    await Promise.all(cluster().servers.map((server) => server.stopLoops()));
    expect(await violations(cluster().observer, at(0).definitions)).toEqual([]);
    expect(await leftovers(cluster().observer)).toEqual([]);
  });

  /** The poll before has looked, found nothing and is parked once the queue has been asked for. */
  const whenParked = async (): Promise<void> => {
    expect(await leaseFrom(at(0), ['handed'], { waitMs: 0 })).toEqual([]);
  };

  it('is for few runs at a time: where more are reported at once they share a pass', async () => {
    await registerWorkflow(at(0), chain('many', 2));
    const ids = await startRuns(at(0), 'many', 2 * STEP_RUNS_MAX + 1);
    const tasks = await leaseFrom(at(0), ['many'], { count: ids.length });
    const few = tasks.slice(0, STEP_RUNS_MAX).map((task) => reportOf(task));
    const many = tasks.slice(STEP_RUNS_MAX).map((task) => reportOf(task));
    expect(new Set(await reportAll(at(0), few))).toEqual(new Set(['settled']));
    expect(steps.written).toBe(STEP_RUNS_MAX);
    expect(new Set(await reportAll(at(0), many))).toEqual(new Set(['settled']));
    expect(steps.written).toBe(STEP_RUNS_MAX);
    expect(await decideRows()).toBe(STEP_RUNS_MAX + 1);
    await at(0).evaluateAll();
    expect(await leaseFrom(at(0), ['many'], { count: ids.length })).toHaveLength(ids.length);
  });

  it('counts an attempt once for the retry budget, also where a step that was decided is not written', async () => {
    await registerTask(at(0), { name: 'tallied', retryCount: 3, retryDelaySeconds: 0, retryBudget: 0.5 });
    await registerWorkflow(at(0), chain('tallied', 1));
    const id = await startRun(at(0), 'tallied');
    const task = await leaseOne(at(0), 'tallied');
    // Another holds the run: the step leaves it alone, and the report takes the longer road.
    const other = await connect(cluster().url);
    await other.query('begin');
    await other.query('select from workflow_executions where workflow_id = $1 for update', [id]);
    expect(await reportOne(at(0), task, { status: 'FAILED' })).toBe('settled');
    await other.query('rollback');
    await other.end();
    expect(steps.written).toBe(0);
    await at(0).evaluateAll();
    await reportOne(at(0), await leaseOne(at(0), 'tallied'), { status: 'FAILED' });
    expect(steps.written).toBe(1);
    await at(0).runLoopOnce('retry-counts');
    const counts = await at(0).engine.retryCounts(NAMESPACE, ['tallied']);
    expect(counts.get('tallied')).toMatchObject({ attempts: 2, retries: 2 });
  });

  it('answers the same report again, and refuses another one under its token', async () => {
    await registerWorkflow(at(0), chain('repeated', 2));
    await startRun(at(0), 'repeated');
    const task = await leaseOne(at(0), 'repeated');
    expect(await reportOne(at(0), task)).toBe('settled');
    expect(steps.written).toBe(1);
    expect(await reportOne(at(0), task)).toBe('repeated');
    expect(await reportOne(at(0), task, { output: { other: true } })).toBe('LEASE_LOST');
    expect(await reportAll(at(0), [reportOf(await leaseOne(at(0), 'repeated'))])).toEqual(['settled']);
  });

  it('is not for a lease that another server gave out: the longer road is', async () => {
    await registerWorkflow(at(0), chain('foreign', 2));
    const id = await startRun(at(0), 'foreign');
    expect(await reportOne(at(0), await leaseOne(at(1), 'foreign'))).toBe('settled');
    expect(steps.written).toBe(0);
    expect(await decideRows()).toBe(1);
    await at(0).evaluateAll();
    expect(ofType(await eventsOf(at(0), id), 'TaskScheduled')).toHaveLength(2);
  });

  it('writes nothing over what another server decided meanwhile', async () => {
    await registerWorkflow(at(0), fanOut('raced', 2, 2));
    const id = await startRun(at(0), 'raced');
    const [first, second] = await leaseFrom(at(0), ['raced'], { count: 2 });
    if (first === undefined || second === undefined) throw new Error('expected two tasks');
    // Server 0 decides the first report from its fold; before it writes, server 1 takes the second one through a pass.
    const held = beforeStep.close();
    const report = reportOne(at(0), first);
    await held;
    expect(await reportOne(at(1), second)).toBe('settled');
    await at(1).evaluateAll();
    beforeStep.open();
    expect(await report).toBe('settled');
    expect(steps.written).toBe(0);
    await at(1).evaluateAll();
    expect(ofType(await eventsOf(at(0), id), 'TaskClosed').map(({ ref }) => ref)).toEqual([second.ref, first.ref]);
  });

  it('of a run that was terminated meanwhile is refused, and nothing of it is written', async () => {
    await registerWorkflow(at(0), chain('ended', 2));
    const id = await startRun(at(0), 'ended');
    const task = await leaseOne(at(0), 'ended');
    const held = beforeStep.close();
    const report = reportOne(at(0), task);
    await held;
    await at(1).useCases.executions.terminate(NAMESPACE, id, 'test', 'enough');
    beforeStep.open();
    expect(await report).toBe('LEASE_LOST');
    expect(await statusOf(at(0), id)).toBe('TERMINATED');
    expect(ofType(await eventsOf(at(0), id), 'TaskClosed')).toEqual([]);
  });

  it('whose answer was lost is told when it is reported again, and the next pass starts from what is stored', async () => {
    await registerWorkflow(at(0), chain('lost', 2));
    const id = await startRun(at(0), 'lost');
    const task = await leaseOne(at(0), 'lost');
    steps.failsAfter = true;
    await expect(reportOne(at(0), task)).rejects.toThrow('the answer was lost');
    steps.failsAfter = false;
    expect(await reportOne(at(0), task)).toBe('repeated');
    expect(await reportOne(at(0), await leaseOne(at(0), 'lost'))).toBe('settled');
    await at(0).evaluateAll();
    expect(await statusOf(at(0), id)).toBe('COMPLETED');
  });

  it('gives back what it leased to a poll whose client has gone', async () => {
    await registerWorkflow(at(0), chain('gone', 2));
    await startRun(at(0), 'gone');
    const task = await leaseOne(at(0), 'gone');
    const client = new AbortController();
    const poll = leaseFrom(at(0), ['gone'], { waitMs: 30_000, signal: client.signal });
    expect(await leaseFrom(at(0), ['gone'])).toEqual([]);
    const held = beforeStep.close();
    const report = reportOne(at(0), task);
    await held;
    client.abort();
    beforeStep.open();
    expect(await report).toBe('settled');
    expect(await poll).toEqual([]);
    expect(steps.leased).toBe(1);
    expect(await leaseOne(at(0), 'gone')).toMatchObject({ ref: 's2', attempt: 1 });
  });

  it('leaves a task with a limit to the lease that counts', async () => {
    await registerTask(at(0), { name: 'counted', concurrentExecLimit: 1 });
    await registerWorkflow(at(0), chain('counted', 2));
    await startRun(at(0), 'counted');
    const task = await leaseOne(at(0), 'counted');
    const poll = leaseFrom(at(0), ['counted'], { waitMs: 30_000 });
    expect(await leaseFrom(at(0), ['counted'])).toEqual([]);
    expect(await reportOne(at(0), task)).toBe('settled');
    expect(steps).toMatchObject({ written: 1, leased: 0 });
    expect((await poll).map(({ ref }: LeasedTask) => ref)).toEqual(['s2']);
  });

  it('retries, times and ends runs as the longer road does', async () => {
    await registerWorkflow(
      at(0),
      chain('timed', 2, 'timed', { retryCount: 1, retryDelaySeconds: 0, totalTimeout: 3_600 }),
    );
    const id = await startRun(at(0), 'timed');
    expect(await reportOne(at(0), await leaseOne(at(0), 'timed'), { status: 'FAILED' })).toBe('settled');
    expect(await reportOne(at(0), await leaseOne(at(0), 'timed'))).toBe('settled');
    expect(await reportOne(at(0), await leaseOne(at(0), 'timed'), { status: 'FAILED_WITH_TERMINAL_ERROR' })).toBe(
      'settled',
    );
    await at(0).evaluateAll();
    expect(await statusOf(at(0), id)).toBe('FAILED');
    expect(steps.written).toBe(3);
    expect(await countOf(cluster().observer, 'select count(*) from timers where workflow_id = $1', [id])).toBe(0);
  });
});
