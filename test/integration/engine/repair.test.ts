import { describe, expect, it } from 'vitest';
import type { ExecutionId } from '../../../src/domain/kernel/brand.ts';
import { NAMESPACE, useCluster } from '../../support/engine.ts';
import { violations } from '../../support/invariants.ts';
import { registerWorkflow, startRun, statusOf } from '../../support/runs.ts';
import { leaseOne, reportOne } from '../../support/workers.ts';
import { chain, fanOut, workflow } from './definitions.ts';
import { countOf, everythingStored } from './given.ts';

const STUCK_MAX = 100;

describe('repair', () => {
  const { at, cluster } = useCluster({}, {});

  const stuck = () => at(0).engine.findStuck(0, STUCK_MAX);
  const lose = (query: string, id: ExecutionId) => cluster().observer.query(query, [id]);
  const openAttempts = (id: ExecutionId) =>
    countOf(cluster().observer, 'select count(*) from task_queue where workflow_id = $1', [id]);
  const repaired = async (id: ExecutionId, server = 0) => {
    const answer = await at(server).useCases.executions.decide(NAMESPACE, id);
    if (!answer.ok) throw new Error(answer.error.message);
    return answer.value.repaired;
  };

  it('finds no run that anything could still move', async () => {
    await registerWorkflow(at(0), chain('healthy', 2));
    await registerWorkflow(
      at(0),
      workflow('sleeping', [
        { name: 'w', taskReferenceName: 'w', type: 'WAIT', inputParameters: { duration: '1 hour' } },
      ]),
    );
    const [queued, sleeping] = [await startRun(at(0), 'healthy'), await startRun(at(0), 'sleeping')];
    expect(await stuck()).toEqual([]);
    const task = await leaseOne(at(0), 'healthy');
    expect(await stuck()).toEqual([]);
    await reportOne(at(0), task);
    expect(await stuck()).toEqual([]);
    await at(0).evaluateAll();
    expect(await stuck()).toEqual([]);
    for (const id of [queued, sleeping]) await at(0).useCases.executions.terminate(NAMESPACE, id, 'test');
    expect(await stuck()).toEqual([]);
  });

  it('puts back an attempt whose queue row is gone, once however often and from wherever it is asked', async () => {
    await registerWorkflow(at(0), chain('row_lost', 2));
    const id = await startRun(at(0), 'row_lost');
    await lose('delete from task_queue where workflow_id = $1', id);
    expect(await stuck()).toEqual([id]);
    const asked = await Promise.all(Array.from({ length: 6 }, (_, index) => repaired(id, index % 2)));
    expect(asked.toSorted()).toEqual([0, 0, 0, 0, 0, 1]);
    expect(await openAttempts(id)).toBe(1);
    expect(await stuck()).toEqual([]);
    for (let step = 0; step < 2; step += 1) {
      expect(await reportOne(at(0), await leaseOne(at(0), 'row_lost'))).toBe('settled');
      await at(0).evaluateAll();
    }
    expect(await statusOf(at(0), id)).toBe('COMPLETED');
    expect(await violations(cluster().observer, at(0).definitions)).toEqual([]);
  });

  it('is done by the loop of the sweeper, which shouts of each that it finds, and leaves alone what was busy of late', async () => {
    await registerWorkflow(at(0), chain('swept', 1));
    const [lost, busy] = [await startRun(at(0), 'swept'), await startRun(at(0), 'swept')];
    for (const id of [lost, busy]) await lose('delete from task_queue where workflow_id = $1', id);
    const past = `updated_at = updated_at - interval '10 minutes'`;
    await lose(`update workflow_executions set ${past} where workflow_id = $1`, lost);
    await lose(
      `update workflow_events set data = (
         select json_object_agg(key, case when key in ('at', 'visibleAt', 'firstScheduledAt')
           then to_json(value::text::bigint - 600000) else value end order by place)
         from json_each(data) with ordinality as e (key, value, place)
       ) where workflow_id = $1`,
      lost,
    );
    const shouts = () => at(0).problems.filter((line) => line.includes('stuck'));
    const before = shouts().length;
    await at(0).runLoopOnce('sweep-stuck');
    expect(shouts().slice(before).join()).toContain(lost);
    expect([await openAttempts(lost), await openAttempts(busy)]).toEqual([1, 0]);
    await at(0).runLoopOnce('sweep-stuck');
    expect(shouts()).toHaveLength(before + 1);
    expect(await repaired(busy)).toBe(1);
  });

  it('evaluates a run whose wakeup was lost', async () => {
    await registerWorkflow(at(0), chain('wakeup_lost', 1));
    const id = await startRun(at(0), 'wakeup_lost');
    // By the longer road, as of a lease that another server gave out.
    await reportOne(at(1), await leaseOne(at(0), 'wakeup_lost'));
    await lose('delete from decide_queue where workflow_id = $1', id);
    expect(await stuck()).toEqual([id]);
    expect(await repaired(id)).toBeGreaterThan(0);
    expect(await statusOf(at(0), id)).toBe('COMPLETED');
  });

  it('arms a lost timer of a wait again', async () => {
    await registerWorkflow(
      at(0),
      workflow('timer_lost', [
        { name: 'w', taskReferenceName: 'w', type: 'WAIT', inputParameters: { duration: '1 hour' } },
      ]),
    );
    const id = await startRun(at(0), 'timer_lost');
    await lose('delete from timers where workflow_id = $1', id);
    await repaired(id);
    expect(await countOf(cluster().observer, 'select count(*) from timers where workflow_id = $1', [id])).toBe(1);
    await at(0).useCases.executions.terminate(NAMESPACE, id, 'test');
  });

  it('of a healthy run changes nothing', async () => {
    await registerWorkflow(at(0), fanOut('sound', 3, 2));
    const id = await startRun(at(0), 'sound');
    await reportOne(at(0), await leaseOne(at(0), 'sound'));
    await at(0).evaluateAll();
    const before = await everythingStored(cluster().observer);
    expect(await repaired(id)).toBe(0);
    expect(await repaired(id, 1)).toBe(0);
    expect(await everythingStored(cluster().observer)).toBe(before);
  });

  it('of a run with an unread report takes the report in and puts nothing back twice', async () => {
    await registerWorkflow(at(0), fanOut('unread', 2, 2));
    const id = await startRun(at(0), 'unread');
    await reportOne(at(0), await leaseOne(at(0), 'unread'));
    await repaired(id);
    expect(await openAttempts(id)).toBe(2);
    await at(0).evaluateAll();
    expect(await openAttempts(id)).toBe(2);
    expect(await violations(cluster().observer, at(0).definitions)).toEqual([]);
  });
});
