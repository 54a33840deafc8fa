import { describe, expect, it } from 'vitest';
import { claimNow, givenRun } from './given.ts';
import { barrier, useTwoServers, whenBlocked } from './sessions.ts';

describe('the decide queue', () => {
  const servers = useTwoServers();

  it('makes a claim wait until a request that is being made again has committed (promise 2)', async () => {
    const { one, two, observer } = servers();
    const run = await givenRun(one.engine);
    await one.engine.transaction((tx) => tx.requestEvaluations([run]));
    const order: string[] = [];
    const step = barrier();
    const completion = one.engine.transaction(async (tx) => {
      await tx.requestEvaluations([run]);
      await step.stop();
      order.push('request commits');
    });
    await step.reached;
    const claim = two.engine.transaction(async (tx) => {
      const { heads } = await tx.claimEvaluationsOf([run]);
      order.push('claim returns');
      return heads.length;
    });
    await whenBlocked(observer);
    step.go();
    await completion;
    expect(await claim).toBe(1);
    expect(order).toEqual(['request commits', 'claim returns']);
  });

  it('lets no claim pass a request that is being made again: the run is skipped and claimed afterwards', async () => {
    const { one, two } = servers();
    const run = await givenRun(one.engine);
    await one.engine.transaction((tx) => tx.requestEvaluations([run]));
    const step = barrier();
    const completion = one.engine.transaction(async (tx) => {
      await tx.requestEvaluations([run]);
      await step.stop();
    });
    await step.reached;
    expect(await claimNow(two.engine)).toEqual([]);
    step.go();
    await completion;
    expect(await claimNow(two.engine)).toEqual([run]);
  });

  it('keeps a request that comes while a pass is under way, so that it earns another pass (promise 1)', async () => {
    const { one, two, observer } = servers();
    const run = await givenRun(one.engine);
    await one.engine.transaction((tx) => tx.requestEvaluations([run]));
    const step = barrier();
    const pass = one.engine.transaction(async (tx) => {
      await tx.claimEvaluations(1);
      await step.stop();
    });
    await step.reached;
    const request = two.engine.transaction((tx) => tx.requestEvaluations([run]));
    await whenBlocked(observer);
    step.go();
    await Promise.all([pass, request]);
    expect(await claimNow(two.engine)).toEqual([run]);
  });

  it('has the row back when the pass that claimed it rolls back', async () => {
    const { one, two } = servers();
    const run = await givenRun(one.engine);
    await one.engine.transaction((tx) => tx.requestEvaluations([run]));
    const pass = one.engine.transaction(async (tx) => {
      await tx.claimEvaluations(1);
      throw new Error('the decider fell over');
    });
    await expect(pass).rejects.toThrow('the decider fell over');
    expect(await claimNow(two.engine)).toEqual([run]);
    expect(await claimNow(two.engine)).toEqual([]);
  });

  it('has one decider per run: the second waits for the lock on the run (promise 4)', async () => {
    const { one, two, observer } = servers();
    const run = await givenRun(one.engine);
    const order: string[] = [];
    const step = barrier();
    const first = one.engine.transaction(async (tx) => {
      await tx.claimEvaluationsOf([run]);
      await step.stop();
      order.push('first commits');
    });
    await step.reached;
    const second = two.engine.transaction(async (tx) => {
      await tx.claimEvaluationsOf([run]);
      order.push('second holds the run');
    });
    await whenBlocked(observer);
    step.go();
    await Promise.all([first, second]);
    expect(order).toEqual(['first commits', 'second holds the run']);
  });

  it('gives each of many requests to exactly one of many claimers', async () => {
    const { one, two } = servers();
    const runs = await Promise.all(Array.from({ length: 60 }, () => givenRun(one.engine)));
    await one.engine.transaction((tx) => tx.requestEvaluations(runs));
    const claimers = Array.from({ length: 12 }, async (_, index) => {
      const { engine } = index % 2 === 0 ? one : two;
      const claimed = [];
      for (let batch = await claimSome(engine); batch.length > 0; batch = await claimSome(engine))
        claimed.push(...batch);
      return claimed;
    });
    const claimed = (await Promise.all(claimers)).flat();
    const left = await claimNow(one.engine);
    expect([...claimed, ...left].sort()).toEqual([...runs].sort());
  });

  const claimSome = async (engine: ReturnType<typeof servers>['one']['engine']) => {
    const { heads } = await engine.transaction((tx) => tx.claimEvaluations(3));
    return heads.map((head) => head.executionId);
  };
});
