import { describe, expect, it } from 'vitest';
import { type ServerOptions, useCluster } from '../../support/engine.ts';
import { deafWake } from '../../support/faults.ts';
import { leftovers, violations } from '../../support/invariants.ts';
import { endsOf, registerWorkflow, startRuns } from '../../support/runs.ts';
import { startWorker } from '../../support/workers.ts';
import { step, workflow } from './definitions.ts';

/** Every kind of waiting: for a worker, for the clock, for a system task, for branches. */
const everything = workflow('everything', [
  step('everything', 'first'),
  {
    name: 'fork',
    taskReferenceName: 'fork',
    type: 'FORK_JOIN',
    forkTasks: [
      [step('everything', 'left')],
      [{ name: 'pause', taskReferenceName: 'pause', type: 'WAIT', inputParameters: { duration: '1 second' } }],
      [{ name: 'sum', taskReferenceName: 'sum', type: 'INLINE', inputParameters: { expression: '1 + 1' } }],
    ],
  },
  { name: 'join', taskReferenceName: 'join', type: 'JOIN', joinOn: ['left', 'pause', 'sum'] },
  step('everything', 'last'),
]);

const OPTIONS: Readonly<Record<string, ServerOptions>> = {
  'without NOTIFY': { notify: false },
  'when every hint is lost, those inside a process included': { wake: deafWake },
};

describe.each(Object.entries(OPTIONS))('%s', (_name, options) => {
  const { at, cluster } = useCluster(options, options);

  it('runs complete by backstops alone, with the loops on another server than the workers', async () => {
    await registerWorkflow(at(0), everything);
    const ids = await startRuns(at(0), 'everything', 5);
    at(0).startLoops('wake-polls');
    at(1).startLoops('evaluate', 'deadlines', 'system-tasks');
    // A deaf server answers a parked poll when its time is up, and not before.
    const waitMs = options.wake === undefined ? 25_000 : 300;
    const workers = [0, 1].map(() => startWorker(at(0), ['everything'], { waitMs }));
    expect(await endsOf(at(0), ids)).toEqual({ COMPLETED: 5 });
    await Promise.all(workers.map((worker) => worker.stop()));
    await Promise.all(cluster().servers.map((server) => server.stopLoops()));
    expect(await violations(cluster().observer, at(0).definitions)).toEqual([]);
    expect(await leftovers(cluster().observer)).toEqual([]);
  });
});
