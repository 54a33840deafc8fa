import { describe, expect, it } from 'vitest';
import { useCluster } from '../../support/engine.ts';
import { createGate, type Life, mortal, SimulatedCrash, withTx } from '../../support/faults.ts';
import { leftovers, violations } from '../../support/invariants.ts';
import { endsOf, eventsOf, ofType, registerWorkflow, startRun, startRuns, statusOf } from '../../support/runs.ts';
import { leaseFrom, reportAll, reportOf, reportOne } from '../../support/workers.ts';
import { chain, fanOut } from './definitions.ts';
import { everythingStored, whenBlocked } from './given.ts';

const beforeCommit = createGate();
const life: Life = { isDead: false };

describe('a wakeup', () => {
  const { at, cluster } = useCluster(
    {
      faults: (engine) =>
        withTx(engine, (tx) => ({
          settleTasks: async (namespace, reports) => {
            const outcomes = await tx.settleTasks(namespace, reports);
            await beforeCommit.pass();
            return outcomes;
          },
        })),
    },
    {},
    { faults: (engine) => mortal(engine, life) },
  );

  const givenTwoBranches = async (name: string) => {
    await registerWorkflow(at(1), fanOut(name, 2, 1));
    const id = await startRun(at(1), name);
    const [first, second] = await leaseFrom(at(1), [name], { count: 2 });
    if (first === undefined || second === undefined) throw new Error('expected two tasks');
    return { id, first, second };
  };

  it('of a completion that has not committed is not read past: the claim skips the run and finds it afterwards', async () => {
    const { id, first, second } = await givenTwoBranches('skipped');
    expect(await reportOne(at(1), first)).toBe('settled');
    const held = beforeCommit.close();
    const report = reportOne(at(0), second);
    await held;
    expect(await at(1).evaluator.runOnce()).toBe(0);
    beforeCommit.open();
    expect(await report).toBe('settled');
    await at(1).evaluateAll();
    expect(await statusOf(at(1), id)).toBe('COMPLETED');
    expect(ofType(await eventsOf(at(1), id), 'TaskClosed')).toHaveLength(2);
  });

  it('of a completion that has not committed is waited for by whoever asks for this very run', async () => {
    const { id, first, second } = await givenTwoBranches('waited');
    expect(await reportOne(at(1), first)).toBe('settled');
    const held = beforeCommit.close();
    const order: string[] = [];
    const report = reportOne(at(0), second).then(() => order.push('reported'));
    await held;
    const repair = at(1)
      .control.repairAnywhere(id)
      .then(() => order.push('decided'));
    await whenBlocked(cluster().observer);
    beforeCommit.open();
    await Promise.all([report, repair]);
    expect(await statusOf(at(1), id)).toBe('COMPLETED');
    expect(order.toSorted()).toEqual(['decided', 'reported']);
  });

  it('is never lost when the completion comes alone and late: the run is evaluated after the commit', async () => {
    await registerWorkflow(at(1), chain('late', 2));
    const id = await startRun(at(1), 'late');
    for (let step = 0; step < 2; step += 1) {
      const [task] = await leaseFrom(at(1), ['late']);
      if (task === undefined) throw new Error('expected a task');
      const held = beforeCommit.close();
      const report = reportOne(at(0), task);
      await held;
      expect(await at(1).evaluator.runOnce()).toBe(0);
      beforeCommit.open();
      await report;
      expect(await at(1).evaluator.runOnce()).toBe(1);
    }
    expect(await statusOf(at(1), id)).toBe('COMPLETED');
  });

  it.each(['claimEvaluations', 'readEvents', 'readOutcomes', 'appendEvents', 'closeTasks', 'enqueueTasks'] as const)(
    'is back when the process that claimed it dies after %s, and nothing else of the pass is there',
    async (step) => {
      const name = `dies_after_${step}`;
      await registerWorkflow(at(1), chain(name, 2));
      const ids = await startRuns(at(2), name, 3);
      const tasks = await leaseFrom(at(1), [name], { count: 3 });
      expect(
        await reportAll(
          at(1),
          tasks.map((task) => reportOf(task)),
        ),
      ).toEqual(Array(3).fill('settled'));
      const before = await everythingStored(cluster().observer);
      life.diesAfter = step;
      await expect(at(2).evaluator.runOnce()).rejects.toThrow(SimulatedCrash);
      expect(await everythingStored(cluster().observer)).toBe(before);
      // The server comes to life again with all it had in memory, which must not be what its dead pass made of it.
      delete life.diesAfter;
      life.isDead = false;
      expect(await at(2).evaluateAll()).toBe(3);
      const rest = await leaseFrom(at(1), [name], { count: 3 });
      expect(
        await reportAll(
          at(1),
          rest.map((task) => reportOf(task)),
        ),
      ).toEqual(Array(3).fill('settled'));
      expect(await at(2).evaluateAll()).toBe(3);
      expect(await endsOf(at(1), ids)).toEqual({ COMPLETED: 3 });
      expect(await violations(cluster().observer, at(1).definitions)).toEqual([]);
    },
  );

  it('too many changes nothing: redundant passes are free', async () => {
    await registerWorkflow(at(1), fanOut('redundant', 3, 2));
    const ids = await startRuns(at(1), 'redundant', 4);
    const tasks = await leaseFrom(at(1), ['redundant'], { count: 5 });
    await reportAll(
      at(1),
      tasks.map((task) => reportOf(task)),
    );
    await at(1).evaluateAll();
    const before = await everythingStored(cluster().observer);
    for (let round = 0; round < 3; round += 1) {
      await at(1).engine.transaction((tx) => tx.requestEvaluations(ids));
      expect(await at(round % 2).evaluateAll()).toBe(4);
    }
    expect(await everythingStored(cluster().observer)).toBe(before);
    expect(await violations(cluster().observer, at(1).definitions)).toEqual([]);
  });
});

describe('forty fan-outs of ten branches of two steps, reported all at once over two servers', () => {
  const { at, cluster } = useCluster({ poolMax: 24 }, { poolMax: 24 });

  it('all join and none strands, with a history without gaps', async () => {
    await registerWorkflow(at(0), fanOut('storm', 10, 2));
    const ids = await startRuns(at(0), 'storm', 40);
    for (const server of cluster().servers) server.startLoops('evaluate');
    let reported = 0;
    while (reported < 800) {
      const tasks = await leaseFrom(at(0), ['storm'], { count: 1_000, waitMs: 5_000 });
      const answers = await Promise.all(tasks.map((task, index) => reportOne(at(index % 2), task)));
      expect(new Set(answers)).toEqual(new Set(['settled']));
      reported += tasks.length;
    }
    expect(await endsOf(at(0), ids)).toEqual({ COMPLETED: 40 });
    await Promise.all(cluster().servers.map((server) => server.stopLoops()));
    expect(await violations(cluster().observer, at(0).definitions)).toEqual([]);
    expect(await leftovers(cluster().observer)).toEqual([]);
    expect(cluster().servers.flatMap(({ problems }) => problems)).toEqual([]);
  });

  it('six concurrent completions of one run make exactly six closings, without a gap', async () => {
    await registerWorkflow(at(0), fanOut('six', 6, 1));
    const id = await startRun(at(0), 'six');
    const tasks = await leaseFrom(at(0), ['six'], { count: 6 });
    for (const server of cluster().servers) server.startLoops('evaluate');
    const answers = await Promise.all(tasks.map((task, index) => reportOne(at(index % 2), task)));
    expect(answers).toEqual(Array(6).fill('settled'));
    expect(await endsOf(at(0), [id])).toEqual({ COMPLETED: 1 });
    await Promise.all(cluster().servers.map((server) => server.stopLoops()));
    const closed = ofType(await eventsOf(at(0), id), 'TaskClosed');
    expect(closed.map(({ ref }) => ref).toSorted()).toEqual(['b1s1', 'b2s1', 'b3s1', 'b4s1', 'b5s1', 'b6s1']);
    expect(await violations(cluster().observer, at(0).definitions)).toEqual([]);
  });
});
