import { describe, expect, it } from 'vitest';
import type { EngineStore } from '../../../src/ports/engine-store.ts';
import { completed, givenTasks, ids, leaseOne, NAMESPACE, outcomesOf } from './given.ts';
import { barrier, useTwoServers, whenBlocked } from './sessions.ts';

describe('the fence of a lease', () => {
  const servers = useTwoServers();

  it('refuses a report whose token is replaced while it waits for the row (promise 7)', async () => {
    const { one, two, observer } = servers();
    const run = await givenTasks(one.engine, 1);
    const task = await leaseOne(one.engine);
    await observer.query('begin');
    await observer.query('update task_queue set lease_token = $1 where workflow_id = $2', [ids.leaseToken(), run]);
    const report = two.engine.transaction((tx) => tx.settleTasks(NAMESPACE, [completed(task, 'the late worker')]));
    await whenBlocked(observer);
    await observer.query('commit');
    expect(await report).toEqual(['leaseLost']);
    expect(await outcomesOf(one.engine, run)).toEqual([]);
  });

  it('refuses a report for an attempt that ended while it waited for the row', async () => {
    const { one, two, observer } = servers();
    const run = await givenTasks(one.engine, 1);
    const task = await leaseOne(one.engine);
    await observer.query('begin');
    await observer.query(
      `update task_queue set outcome = 'TIMED_OUT', outcome_output = '{}', outcome_at = now() where workflow_id = $1`,
      [run],
    );
    const report = two.engine.transaction((tx) => tx.settleTasks(NAMESPACE, [completed(task, 'the late worker')]));
    await whenBlocked(observer);
    await observer.query('commit');
    expect(await report).toEqual(['leaseLost']);
    expect(await outcomesOf(one.engine, run)).toMatchObject([{ status: 'TIMED_OUT' }]);
  });

  it('refuses a heartbeat whose token is replaced while it waits for the row', async () => {
    const { one, two, observer } = servers();
    const run = await givenTasks(one.engine, 1);
    const { taskId, leaseToken } = await leaseOne(one.engine);
    await observer.query('begin');
    await observer.query('update task_queue set lease_token = $1 where workflow_id = $2', [ids.leaseToken(), run]);
    const beat = two.engine.transaction((tx) => tx.heartbeat(NAMESPACE, [{ taskId, leaseToken, progress: 'late' }]));
    await whenBlocked(observer);
    await observer.query('commit');
    expect(await beat).toEqual([{ kind: 'leaseLost' }]);
    const [row] = await one.index.openTasks(NAMESPACE, run);
    expect(row).not.toHaveProperty('progress');
  });

  it('makes a report wait for a pass over its run, and refuses it once the pass closed the attempt', async () => {
    const { one, two, observer } = servers();
    const run = await givenTasks(one.engine, 1);
    const task = await leaseOne(one.engine);
    await one.engine.transaction((tx) => tx.requestEvaluations([run]));
    const step = barrier();
    const pass = one.engine.transaction(async (tx) => {
      const { now } = await tx.claimEvaluationsOf([run]);
      await step.stop();
      await tx.cancelOpenWork([{ executionId: run, at: now }]);
    });
    await step.reached;
    const report = two.engine.transaction((tx) => tx.settleTasks(NAMESPACE, [completed(task, 'the late worker')]));
    await whenBlocked(observer);
    // The report holds nothing of the task while it waits, or this would be a deadlock.
    step.go();
    await pass;
    expect(await report).toEqual(['leaseLost']);
  });

  it('settles one of two reports that race under the same token, and tells the other', async () => {
    const { one, two } = servers();
    await givenTasks(one.engine, 1);
    const task = await leaseOne(one.engine);
    const report = (engine: EngineStore, by: string) =>
      engine.transaction((tx) => tx.settleTasks(NAMESPACE, [completed(task, by)]));
    const answers = await Promise.all([report(one.engine, 'a'), report(two.engine, 'b')]);
    expect(answers.flat().sort()).toEqual(['leaseLost', 'settled']);
  });
});

describe('the end of a lease', () => {
  const servers = useTwoServers();

  const expireNow = (taskRun: string) =>
    servers().observer.query(
      `update task_queue set lease_expires_at = clock_timestamp() - interval '1 second' where workflow_id = $1`,
      [taskRun],
    );

  it('does not come when a heartbeat commits between the look and the lock', async () => {
    const { one, two, observer } = servers();
    const run = await givenTasks(one.engine, 1);
    const { taskId, leaseToken } = await leaseOne(one.engine);
    await expireNow(run);
    const step = barrier();
    const beat = one.engine.transaction(async (tx) => {
      const outcome = await tx.heartbeat(NAMESPACE, [{ taskId, leaseToken }]);
      await step.stop();
      return outcome;
    });
    await step.reached;
    const sweep = two.engine.transaction((tx) => tx.expireLeases(10));
    await whenBlocked(observer);
    step.go();
    expect(await beat).toMatchObject([{ kind: 'extended' }]);
    expect(await sweep).toEqual([]);
    expect(await outcomesOf(one.engine, run)).toEqual([]);
  });

  it('is final for a heartbeat that comes after it', async () => {
    const { one, two, observer } = servers();
    const run = await givenTasks(one.engine, 1);
    const { taskId, leaseToken } = await leaseOne(one.engine);
    await expireNow(run);
    const step = barrier();
    const sweep = two.engine.transaction(async (tx) => {
      const expired = await tx.expireLeases(10);
      await step.stop();
      return expired;
    });
    await step.reached;
    const beat = one.engine.transaction((tx) => tx.heartbeat(NAMESPACE, [{ taskId, leaseToken }]));
    await whenBlocked(observer);
    step.go();
    expect(await sweep).toEqual([run]);
    expect(await beat).toEqual([{ kind: 'leaseLost' }]);
    expect(await outcomesOf(one.engine, run)).toMatchObject([{ status: 'TIMED_OUT', deadline: 'HEARTBEAT' }]);
  });
});
