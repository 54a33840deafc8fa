import { describe, expect, it } from 'vitest';
import { NAMESPACE, useCluster } from '../../support/engine.ts';
import { eventually } from '../../support/eventually.ts';
import { leftovers, violations } from '../../support/invariants.ts';
import { endsOf, eventsOf, ofType, registerWorkflow, startRuns, statusOf } from '../../support/runs.ts';
import { leaseFrom, leaseOne, reportAll, reportOf, reportOne, startWorker } from '../../support/workers.ts';
import { chain, fanOut, step, workflow } from './definitions.ts';

const RUNS = 40;

/** What was reported of other engines over a database, as promises of this one; others stand in the files named after them. */
describe('kinds of faults that were reported of other engines, over two servers', () => {
  const { at, cluster } = useCluster({ poolMax: 3 }, { poolMax: 3 });

  const startAll = (): void => {
    for (const server of cluster().servers) server.startLoops();
  };
  const stopAll = () => Promise.all(cluster().servers.map((server) => server.stopLoops()));

  it('no run stays open, or in the list of the open ones, once all of its tasks are over, and no end is written over', async () => {
    await registerWorkflow(at(0), fanOut('ends', 3, 2));
    const ids = await startRuns(at(0), 'ends', RUNS);
    const workers = [0, 1, 0, 1].map((server) => startWorker(at(server), ['ends'], { count: 5 }));
    startAll();
    expect(await endsOf(at(1), ids)).toEqual({ COMPLETED: RUNS });
    await Promise.all(workers.map((worker) => worker.stop()));
    // Whoever asks for a pass of an ended run, at once and from both sides, changes nothing.
    const passes = ids.flatMap((id) =>
      [at(0), at(1)].map((server) => server.useCases.executions.decide(NAMESPACE, id)),
    );
    await Promise.all(passes);
    await stopAll();
    expect(
      await at(0).index.search(NAMESPACE, { name: 'ends', statuses: ['RUNNING', 'PAUSED'] }, { limit: RUNS }),
    ).toEqual([]);
    for (const id of ids) expect(ofType(await eventsOf(at(0), id), 'ExecutionClosed')).toHaveLength(1);
    expect(await violations(cluster().observer, at(0).definitions)).toEqual([]);
    expect(await leftovers(cluster().observer)).toEqual([]);
  });

  it('a run goes on after a child, with underscores in every name and hardly a connection to spare', async () => {
    await registerWorkflow(at(0), workflow('be__low', [step('be__low', 'its__own')]));
    const child = (ref: string) => ({
      name: ref,
      taskReferenceName: ref,
      type: 'SUB_WORKFLOW',
      subWorkflowParam: { name: 'be__low' },
    });
    await registerWorkflow(
      at(0),
      workflow('a__bove', [
        {
          name: 'fork',
          taskReferenceName: 'the__fork',
          type: 'FORK_JOIN',
          forkTasks: [
            [child('one__child'), step('be__low', 'after__one')],
            [child('other__child'), step('be__low', 'after__other')],
          ],
        },
        { name: 'join', taskReferenceName: 'the__join', type: 'JOIN', joinOn: ['after__one', 'after__other'] },
        child('last__child'),
      ]),
    );
    const ids = await startRuns(at(0), 'a__bove', 10);
    startAll();
    const workers = [0, 1].map((server) => startWorker(at(server), ['be__low'], { count: 5 }));
    expect(await endsOf(at(1), ids)).toEqual({ COMPLETED: 10 });
    await Promise.all(workers.map((worker) => worker.stop()));
    await stopAll();
    expect(await violations(cluster().observer, at(0).definitions)).toEqual([]);
    expect(await leftovers(cluster().observer)).toEqual([]);
  });

  it('a poll is given what lies in its queue, as many as it asks for, and nobody is given the same again', async () => {
    await registerWorkflow(at(0), fanOut('asked', 6, 1));
    await registerWorkflow(at(0), fanOut('not_asked', 6, 1));
    await startRuns(at(0), 'asked', 1);
    const [other] = await startRuns(at(0), 'not_asked', 1);
    const one = await leaseFrom(at(0), ['asked'], { count: 1 });
    const more = await Promise.all([0, 1, 0, 1].map((server) => leaseFrom(at(server), ['asked'], { count: 2 })));
    const leased = [...one, ...more.flat()];
    expect([one.length, leased.length, new Set(leased.map(({ taskId }) => taskId)).size]).toEqual([1, 6, 6]);
    expect(new Set(leased.map(({ taskName }) => taskName))).toEqual(new Set(['asked']));
    // That a worker is at it puts nothing back into its queue.
    for (const { taskId, leaseToken } of leased) {
      expect((await at(1).useCases.workers.heartbeat(NAMESPACE, { taskId, leaseToken, progress: 1 })).ok).toBe(true);
    }
    expect(await leaseFrom(at(1), ['asked'], { count: 10 })).toEqual([]);
    expect(
      await reportAll(
        at(1),
        leased.map((task) => reportOf(task)),
      ),
    ).toEqual(leased.map(() => 'settled'));
    await at(0).evaluateAll();
    if (other === undefined) throw new Error('no run was started');
    expect((await at(0).useCases.executions.terminate(NAMESPACE, other, 'operator', 'enough')).ok).toBe(true);
    expect(await leftovers(cluster().observer)).toEqual([]);
  });

  it('a failure workflow that completes is COMPLETED, and leaves the run that failed as it is', async () => {
    await registerWorkflow(at(0), chain('mends', 2));
    await registerWorkflow(at(0), {
      ...chain('breaks', 1, 'breaks', { retryCount: 0 }),
      failureWorkflow: 'mends',
    });
    const [id] = await startRuns(at(0), 'breaks', 1);
    if (id === undefined) throw new Error('no run was started');
    expect(await reportOne(at(0), await leaseOne(at(0), 'breaks'), { status: 'FAILED' })).toBe('settled');
    startAll();
    const worker = startWorker(at(1), ['mends']);
    const [failure] = ofType(await eventsOf(at(0), id), 'ExecutionClosed');
    expect(failure?.status).toBe('FAILED');
    const mended = async () => at(0).index.search(NAMESPACE, { name: 'mends' }, { limit: 10 });
    await eventually('the failure workflow is there', async () => (await mended()).length === 1);
    const [mending] = await mended();
    if (mending === undefined) throw new Error('there is no failure workflow');
    expect(await endsOf(at(1), [mending.executionId])).toEqual({ COMPLETED: 1 });
    await worker.stop();
    await stopAll();
    expect([await statusOf(at(0), id), await statusOf(at(0), mending.executionId)]).toEqual(['FAILED', 'COMPLETED']);
  });

  it('a message of a refusal repeats what was sent, and evaluates none of it', async () => {
    for (const name of ['${7*7}', '#{7*7}', '${T(java.lang.Runtime).getRuntime()}', '{{7*7}}', '<%= 7*7 %>']) {
      const document = { name, version: 1, tasks: [{ name, taskReferenceName: name, type: name }] };
      const answer = await at(0).useCases.definitions.registerWorkflow(NAMESPACE, document, 'v1', false);
      expect(answer.ok).toBe(false);
      expect(JSON.stringify(answer)).not.toContain('49');
    }
  });
});
