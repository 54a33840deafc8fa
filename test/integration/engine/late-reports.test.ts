import { describe, expect, it } from 'vitest';
import { NAMESPACE, useCluster } from '../../support/engine.ts';
import { createGate, withTx } from '../../support/faults.ts';
import { violations } from '../../support/invariants.ts';
import { eventsOf, ofType, registerWorkflow, startRun, statusOf } from '../../support/runs.ts';
import { leaseOne, reportAll, reportOf, reportOne } from '../../support/workers.ts';
import { chain } from './definitions.ts';
import { everythingStored, passDeadlines, whenBlocked } from './given.ts';

const afterReading = createGate();

describe('a report', () => {
  const { at, cluster } = useCluster(
    {},
    {
      faults: (engine) =>
        withTx(engine, (tx) => ({
          readOutcomes: async (ids) => {
            const outcomes = await tx.readOutcomes(ids);
            await afterReading.pass();
            return outcomes;
          },
        })),
    },
  );

  const givenLease = async (name: string, change = {}) => {
    await registerWorkflow(at(0), chain(name, 1, name, { retryDelaySeconds: 0, ...change }));
    const id = await startRun(at(0), name);
    return { id, task: await leaseOne(at(0), name) };
  };

  const expectRefused = async (report: () => Promise<string>) => {
    const before = await everythingStored(cluster().observer);
    expect(await report()).toBe('LEASE_LOST');
    await at(0).evaluateAll();
    expect(await everythingStored(cluster().observer)).toBe(before);
  };

  it('after the deadline of its attempt is refused and changes nothing, before and after the pass', async () => {
    const { id, task } = await givenLease('timed_out', { startToCloseTimeout: 60, heartbeatTimeout: 60 });
    await passDeadlines(cluster().observer, id);
    await at(1).runLoopOnce('deadlines');
    expect(await reportOne(at(0), task)).toBe('LEASE_LOST');
    await at(0).evaluateAll();
    expect(ofType(await eventsOf(at(0), id), 'TaskClosed')).toMatchObject([
      { status: 'TIMED_OUT', deadline: 'START_TO_CLOSE', disposition: { kind: 'retry' } },
    ]);
    await expectRefused(() => reportOne(at(0), task));
  });

  it('after its run was terminated is refused and changes nothing', async () => {
    const { id, task } = await givenLease('terminated');
    const ended = await at(1).useCases.executions.terminate(NAMESPACE, id, 'test', 'enough');
    expect(ended).toMatchObject({ ok: true, value: { status: 'TERMINATED' } });
    await expectRefused(() => reportOne(at(0), task));
    expect(await statusOf(at(0), id)).toBe('TERMINATED');
  });

  it('that comes while its run is being terminated is not accepted and then forgotten', async () => {
    const { id, task } = await givenLease('terminating');
    const held = afterReading.close();
    const termination = at(1).useCases.executions.terminate(NAMESPACE, id, 'test');
    await held;
    const answer = reportOne(at(0), task);
    const first = await Promise.race([answer, whenBlocked(cluster().observer)]);
    afterReading.open();
    await termination;
    expect(first).toBe(true);
    expect(await answer).toBe('LEASE_LOST');
    await at(0).evaluateAll();
    expect(ofType(await eventsOf(at(0), id), 'TaskClosed')).toEqual([]);
  });

  it('with the token of an earlier lease is refused and changes nothing', async () => {
    const { task } = await givenLease('old_token');
    await at(0).useCases.workers.release(NAMESPACE, task);
    const again = await leaseOne(at(1), 'old_token');
    expect(again.taskId).toBe(task.taskId);
    await expectRefused(() => reportOne(at(0), task));
    expect(await reportOne(at(0), again)).toBe('settled');
  });

  it('made twice with the same token and body is repeated, with another body refused', async () => {
    const { id, task } = await givenLease('twice');
    expect(await reportOne(at(0), task, { output: { n: 1 } })).toBe('settled');
    expect(await reportOne(at(1), task, { output: { n: 1 } })).toBe('repeated');
    expect(await reportOne(at(1), task, { output: { n: 2 } })).toBe('LEASE_LOST');
    expect(await reportOne(at(1), task, { status: 'FAILED', output: { n: 1 } })).toBe('LEASE_LOST');
    await at(0).evaluateAll();
    expect(ofType(await eventsOf(at(0), id), 'TaskClosed')).toMatchObject([{ status: 'COMPLETED', output: { n: 1 } }]);
  });

  it('made twice at the same moment over two servers is settled once', async () => {
    const { id, task } = await givenLease('both');
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, index) => reportOne(at(index % 2), task, { output: { n: 1 } })),
    );
    expect(answers.filter((answer) => answer === 'settled')).toHaveLength(1);
    expect(answers.filter((answer) => answer === 'repeated')).toHaveLength(7);
    await at(0).evaluateAll();
    expect(ofType(await eventsOf(at(0), id), 'TaskClosed')).toHaveLength(1);
  });

  it('beside others in one call does not take them down with it', async () => {
    const lost = await givenLease('beside_lost');
    const held = await givenLease('beside_held');
    await at(0).useCases.executions.terminate(NAMESPACE, lost.id, 'test');
    expect(await reportAll(at(0), [reportOf(lost.task), reportOf(held.task)])).toEqual(['LEASE_LOST', 'settled']);
    await at(0).evaluateAll();
    expect(await statusOf(at(0), held.id)).toBe('COMPLETED');
    expect(await violations(cluster().observer, at(0).definitions)).toEqual([]);
  });
});
