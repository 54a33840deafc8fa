import { describe, expect, it } from 'vitest';
import { useCluster } from '../../support/engine.ts';
import { createGate, withTx } from '../../support/faults.ts';
import { violations } from '../../support/invariants.ts';
import { eventsOf, ofType, registerWorkflow, seqsOf, startRun, statusOf } from '../../support/runs.ts';
import { leaseFrom, reportAll, reportOf } from '../../support/workers.ts';
import { fanOut } from './definitions.ts';
import { whenBlocked } from './given.ts';

const DECIDERS = 10;
const BRANCHES = 6;

const afterReading = createGate();

describe('ten deciders over two servers', () => {
  const { at, cluster } = useCluster(
    {},
    {},
    {
      faults: (engine) =>
        withTx(engine, (tx) => ({
          readEvents: async (after) => {
            const events = await tx.readEvents(after);
            await afterReading.pass();
            return events;
          },
        })),
    },
  );

  const decideAtOnce = (id: Awaited<ReturnType<typeof startRun>>) =>
    Promise.all(
      Array.from({ length: DECIDERS }, async (_, index) => {
        const server = at(index % 2);
        // Half of them take what is due, half ask for this very run, as a repair does.
        return index % 4 < 2 ? server.evaluator.runOnce() : server.control.repairAnywhere(id);
      }),
    );

  it('have one winner on one run: no seq twice, each task scheduled once', async () => {
    await registerWorkflow(at(0), fanOut('one_winner', BRANCHES, 2));
    const id = await startRun(at(0), 'one_winner');
    for (let round = 0; round < 2; round += 1) {
      const tasks = await leaseFrom(at(0), ['one_winner'], { count: BRANCHES });
      expect(tasks).toHaveLength(BRANCHES);
      expect(
        await reportAll(
          at(1),
          tasks.map((task) => reportOf(task)),
        ),
      ).toEqual(Array(BRANCHES).fill('settled'));
      await decideAtOnce(id);
    }
    expect(await statusOf(at(0), id)).toBe('COMPLETED');
    const events = await eventsOf(at(0), id);
    expect(await seqsOf(at(0), id)).toEqual(events.map((_, index) => index + 1));
    const scheduled = ofType(events, 'TaskScheduled').map(({ ref, attempt }) => `${ref}/${attempt}`);
    expect(scheduled).toHaveLength(2 * BRANCHES);
    expect(new Set(scheduled).size).toBe(2 * BRANCHES);
    expect(ofType(events, 'TaskClosed')).toHaveLength(2 * BRANCHES);
    expect(ofType(events, 'OperatorClosed').filter(({ ref }) => ref === 'join')).toHaveLength(1);
    expect(cluster().servers.flatMap(({ problems }) => problems)).toEqual([]);
  });

  it('wait for the one that has begun to read, and find its decision made', async () => {
    await registerWorkflow(at(0), fanOut('one_reader', BRANCHES, 2));
    const id = await startRun(at(0), 'one_reader');
    const tasks = await leaseFrom(at(0), ['one_reader'], { count: BRANCHES });
    await reportAll(
      at(1),
      tasks.map((task) => reportOf(task)),
    );
    // Without a wakeup that they could contend for, only the run itself is left to be locked.
    await cluster().observer.query('delete from decide_queue where workflow_id = $1', [id]);
    const held = afterReading.close();
    const first = at(2).control.repairAnywhere(id);
    await held;
    const others = Array.from({ length: DECIDERS - 1 }, (_, index) => at(index % 2).control.repairAnywhere(id));
    await whenBlocked(cluster().observer, DECIDERS - 1);
    expect(await at(0).evaluator.runOnce()).toBe(0);
    afterReading.open();
    expect(await first).toBeGreaterThan(0);
    expect(await Promise.all(others)).toEqual(Array(DECIDERS - 1).fill(0));
    expect(ofType(await eventsOf(at(0), id), 'TaskScheduled')).toHaveLength(2 * BRANCHES);
    expect(await violations(cluster().observer, at(0).definitions)).toEqual([]);
    expect(cluster().servers.flatMap(({ problems }) => problems)).toEqual([]);
  });
});
