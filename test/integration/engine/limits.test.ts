import { describe, expect, it } from 'vitest';
import type { ExecutionId } from '../../../src/domain/kernel/brand.ts';
import type { JsonObject } from '../../../src/domain/kernel/json.ts';
import type { EngineStore, LeasedTask } from '../../../src/ports/engine-store.ts';
import { NAMESPACE, useCluster } from '../../support/engine.ts';
import { eventually } from '../../support/eventually.ts';
import {
  endsOf,
  eventsOf,
  ofType,
  registerTask,
  registerWorkflow,
  startRequest,
  startRun,
  startRuns,
} from '../../support/runs.ts';
import { leaseFrom, leaseOne, reportOf, reportOne } from '../../support/workers.ts';
import { chain, fanOut, workflow } from './definitions.ts';
import { expireLease, passDeadlines } from './given.ts';

describe('a concurrency limit', () => {
  const { at, cluster } = useCluster({ poolMax: 24, notify: true }, { poolMax: 24, notify: true });

  it('of 5 is never exceeded by 200 pollers over two servers, and none of 120 tasks starves', async () => {
    await registerTask(at(0), { name: 'narrow', concurrentExecLimit: 5 });
    await registerWorkflow(at(0), fanOut('narrow', 40, 1));
    let [held, most] = [0, 0];
    const stopping = new AbortController();
    const { signal } = stopping;
    const poll = async (index: number): Promise<void> => {
      while (!signal.aborted) {
        const options = { workerId: `p${index}`, waitMs: 30_000, signal };
        for (const task of await leaseFrom(at(index % 2), ['narrow'], options)) {
          held += 1;
          most = Math.max(most, held);
          // Held over a trip to the database, in which the others try to get one more.
          await at(index % 2).engine.now();
          held -= 1;
          await reportOne(at(index % 2), task);
        }
      }
    };
    const pollers = Array.from({ length: 200 }, (_, index) => poll(index));
    for (const server of cluster().servers) server.startLoops('evaluate', 'wake-polls');
    const ids = await startRuns(at(0), 'narrow', 3);
    expect(await endsOf(at(0), ids)).toEqual({ COMPLETED: 3 });
    stopping.abort();
    await Promise.all(pollers);
    await Promise.all(cluster().servers.map((server) => server.stopLoops()));
    expect(held).toBe(0);
    expect(most).toBeGreaterThan(1);
    expect(most).toBeLessThanOrEqual(5);
  });
});

describe('a place that comes free', () => {
  let lookups = 0;
  const counting = (engine: EngineStore): EngineStore => ({
    ...engine,
    leaseTasks: (request) => {
      if (request.namespace !== undefined) lookups += 1;
      return engine.leaseTasks(request);
    },
  });
  const { at, cluster } = useCluster({ faults: counting });

  /** One holds the only place, and a poll for the other task is parked. */
  const givenWaiter = async (name: string, settings: JsonObject, change: JsonObject = {}) => {
    await registerTask(at(0), { name, retryDelaySeconds: 0, retryCount: 0, ...settings });
    await registerWorkflow(at(0), chain(name, 1, name, change));
    const holder = await startRun(at(0), name);
    const other = await startRun(at(0), name);
    const task = await leaseOne(at(0), name, { workerId: 'holder' });
    expect(task.executionId).toBe(holder);
    const waiting = leaseFrom(at(0), [name], { workerId: 'waiter', waitMs: 60_000 });
    await at(0).runLoopOnce('wake-polls');
    return { task, other, waiting };
  };

  /** The backstop of parked polls, which comes by every half second at the latest. */
  const woken = async (waiting: Promise<readonly LeasedTask[]>): Promise<readonly ExecutionId[]> => {
    let leased: readonly LeasedTask[] | undefined;
    void waiting.then((tasks) => {
      leased = tasks;
    });
    const found = await eventually('the poll that waits is woken', async () => {
      await at(0).runLoopOnce('wake-polls');
      return leased;
    });
    return found.map(({ executionId }) => executionId);
  };

  const endings: readonly (readonly [string, (task: LeasedTask) => Promise<unknown>])[] = [
    ['reported', (task) => reportOne(at(0), task)],
    ['given back, first for whoever asks', (task) => at(0).useCases.workers.release(NAMESPACE, task)],
    ['ended with its run', (task) => at(0).useCases.executions.terminate(NAMESPACE, task.executionId, 'me')],
    [
      'timed out',
      async (task) => {
        await passDeadlines(cluster().observer, task.executionId);
        await at(0).runLoopOnce('deadlines');
      },
    ],
    [
      'lost with its lease',
      async (task) => {
        await expireLease(cluster().observer, task);
        await at(0).runLoopOnce('deadlines');
      },
    ],
  ];

  for (const [kind, settings] of [
    ['concurrency limit', { concurrentExecLimit: 1 }],
    ['semaphore', { semaphores: ['seat'] }],
  ] as const) {
    it.each(endings)(`of a ${kind} wakes who waits for it: when its holder is %s`, async (how, end) => {
      await at(0).useCases.semaphores.put(NAMESPACE, 'seat', 1);
      const name = `${kind.replace(' ', '_')}_${how.replace(/[^a-z]/g, '')}`;
      const { task, other, waiting } = await givenWaiter(name, settings, { startToCloseTimeout: 3_600 });
      await end(task);
      const leased = await woken(waiting);
      // A task that was given back is older than the one that waits.
      expect(leased).toEqual([how.startsWith('given back') ? task.executionId : other]);
      for (const id of [task.executionId, other]) await at(0).useCases.executions.terminate(NAMESPACE, id, 'me');
    });
  }

  it('is not asked for while it is not free: a poll that waits for it costs no lease', async () => {
    const { waiting, task } = await givenWaiter('quiet', { concurrentExecLimit: 1 });
    await eventually('the poll is parked', () => lookups > 0);
    const before = lookups;
    for (let turn = 0; turn < 10; turn += 1) await at(0).runLoopOnce('wake-polls');
    expect(lookups).toBe(before);
    await reportOne(at(0), task);
    expect(await woken(waiting)).toHaveLength(1);
  });

  it('of a rate window wakes who waits when the window opens, and asks for nothing before: six runs, two a minute', async () => {
    await registerTask(at(0), { name: 'paced', rateLimitPerFrequency: 2, rateLimitFrequencyInSeconds: 60 });
    await registerWorkflow(at(0), chain('paced', 1));
    await startRuns(at(0), 'paced', 6);
    const nextWindow = () =>
      cluster().observer.query(
        `update rate_windows set opened_at = opened_at - interval '1 minute', closes_at = closes_at - interval '1 minute'`,
      );
    const first = await leaseFrom(at(0), ['paced'], { count: 6 });
    const perWindow = [first.length];
    for (let window = 0; window < 2; window += 1) {
      const waiting = leaseFrom(at(0), ['paced'], { count: 6, waitMs: 60_000 });
      const before = lookups;
      for (let turn = 0; turn < 5; turn += 1) await at(0).runLoopOnce('wake-polls');
      // The one look with which the poll began, and none for the five turns.
      expect(lookups - before).toBeLessThanOrEqual(1);
      await nextWindow();
      perWindow.push((await woken(waiting)).length);
    }
    expect(perWindow).toEqual([2, 2, 2]);
  });
});

describe('a retry budget', () => {
  const { at } = useCluster({}, {});

  it('ends a storm of retries over two servers near its share, and says so in history', async () => {
    await registerTask(at(0), { name: 'storm', retryCount: 50, retryDelaySeconds: 0, retryBudget: 0.2 });
    await registerWorkflow(at(0), chain('storm', 1));
    const ids = await startRuns(at(0), 'storm', 100);
    for (let round = 0; round < 60; round += 1) {
      const tasks = await leaseFrom(at(round % 2), ['storm'], { count: 40 });
      if (tasks.length === 0) break;
      for (const task of tasks) await reportOne(at(round % 2), task, { status: 'FAILED', reason: 'no bank' });
      await at(round % 2).evaluateAll();
      await at(round % 2).runLoopOnce('retry-counts');
    }
    expect(await endsOf(at(0), ids)).toEqual({ FAILED: 100 });
    const closed = (await Promise.all(ids.map((id) => eventsOf(at(0), id)))).flatMap((log) =>
      ofType(log, 'TaskClosed'),
    );
    const retries = closed.filter(({ disposition }) => disposition.kind === 'retry').length;
    // Twenty executions are free; a server may be a second behind the other.
    expect(retries).toBeGreaterThanOrEqual(15);
    expect(retries / closed.length).toBeLessThan(0.4);
    expect(closed.some(({ reason }) => reason?.includes('the retry budget of storm is spent'))).toBe(true);
  });

  it('of 1 lets everything be retried', async () => {
    await registerTask(at(0), { name: 'free', retryCount: 2, retryDelaySeconds: 0, retryBudget: 1 });
    await registerWorkflow(at(0), chain('free', 1));
    const ids = await startRuns(at(0), 'free', 30);
    for (let round = 0; round < 3; round += 1) {
      for (const task of await leaseFrom(at(0), ['free'], { count: 30 })) {
        await reportOne(at(0), task, { status: 'FAILED' });
      }
      await at(0).evaluateAll();
    }
    expect(await endsOf(at(0), ids)).toEqual({ FAILED: 30 });
    const logs = await Promise.all(ids.map((id) => eventsOf(at(0), id)));
    expect(logs.map((log) => ofType(log, 'TaskClosed').length)).toEqual(Array(30).fill(3));
  });
});

describe('why a run does not move', () => {
  const { at, cluster } = useCluster({}, {});

  const gates = async (id: ExecutionId) => {
    const detail = await at(0).useCases.executions.get(NAMESPACE, id);
    if (!detail.ok) throw new Error(detail.error.message);
    return detail.value.waitingFor.map(({ ref, gate, why }) => [ref, gate, why] as const);
  };
  const gatesOnly = async (id: ExecutionId) => (await gates(id)).map(([, gate]) => gate);

  const given = async (name: string, settings: JsonObject, change: JsonObject = {}): Promise<ExecutionId> => {
    await registerTask(at(0), { name, ...settings });
    await registerWorkflow(at(0), chain(name, 1, name, change));
    return startRun(at(0), name);
  };

  it('is that nobody serves the queue, then that it waits for its turn, then that a worker holds it, then the evaluation', async () => {
    const id = await given('plain', {});
    expect(await gatesOnly(id)).toEqual(['NO_WORKER']);
    await leaseFrom(at(0), ['plain', 'none'], { count: 1 });
    expect(await gatesOnly(id)).toEqual(['LEASED']);
    const other = await startRun(at(0), 'plain');
    expect(await gatesOnly(other)).toEqual(['QUEUED']);
    const task = await leaseOne(at(0), 'plain');
    // The longer road of a report: the outcome is left on the row of the task, for a pass to come.
    await at(0).engine.settleTasks(NAMESPACE, [reportOf(task)]);
    expect(await gatesOnly(other)).toEqual(['EVALUATION']);
  });

  it('is that nobody serves the queue at whichever server: a poll at another one counts', async () => {
    const id = await given('remote', { concurrentExecLimit: 1 });
    expect(await gatesOnly(id)).toEqual(['NO_WORKER']);
    const task = await leaseOne(at(1), 'remote');
    const other = await startRun(at(0), 'remote');
    await reportOne(at(1), task);
    expect(await gatesOnly(other)).toEqual(['NO_WORKER']);
    await at(1).runLoopOnce('worker-polls');
    expect(await gatesOnly(other)).toEqual(['QUEUED']);
  });

  it('is a start delay, a retry that is not due, or a pause', async () => {
    const id = await given('slow', { retryDelaySeconds: 600 }, { startDelay: 60 });
    expect(await gatesOnly(id)).toEqual(['START_DELAY']);
    await cluster().observer.query(`update task_queue set visible_at = clock_timestamp() where workflow_id = $1`, [id]);
    await reportOne(at(0), await leaseOne(at(0), 'slow'), { status: 'FAILED' });
    await at(0).evaluateAll();
    expect(await gatesOnly(id)).toEqual(['RETRY_BACKOFF']);
    await at(0).useCases.executions.pause(NAMESPACE, id, 'me');
    expect(await gatesOnly(id)).toEqual(['PAUSED', 'RETRY_BACKOFF']);
  });

  it('is the most restrictive of its limits, and the others beside it', async () => {
    await at(0).useCases.semaphores.put(NAMESPACE, 'desk', 1);
    const limits = { concurrentExecLimit: 1, rateLimitPerFrequency: 1, rateLimitFrequencyInSeconds: 86_400 };
    const id = await given('limited', { ...limits, semaphores: ['desk'] });
    const other = await startRun(at(0), 'limited');
    const task = await leaseOne(at(0), 'limited');
    expect(task.executionId).toBe(id);
    const [[, gate, why] = []] = await gates(other);
    expect(gate).toBe('SEMAPHORE');
    expect(why).toMatch(/semaphore desk are taken.*concurrentExecLimit is 1.*rate window are used/);
    await at(0).useCases.semaphores.delete(NAMESPACE, 'desk');
    expect(await gatesOnly(other)).toEqual(['CONCURRENCY_LIMIT']);
    await reportOne(at(0), task);
    expect(await gatesOnly(other)).toEqual(['RATE_LIMIT']);
    await cluster().observer.query(`update rate_windows set closes_at = clock_timestamp()`);
    expect(await gatesOnly(other)).toEqual(['QUEUED']);
  });

  it('is that as many of its tasks are open as it may have', async () => {
    await registerWorkflow(at(0), {
      ...workflow('tight', fanOut('tight', 3, 1).tasks as JsonObject[]),
      maxConcurrentTasks: 2,
    });
    const started = await at(0).useCases.executions.start(NAMESPACE, startRequest('tight'));
    if (!started.ok) throw new Error(started.error.message);
    const [first, ...others] = await gates(started.value.executionId);
    expect(first?.slice(0, 2)).toEqual(['', 'MAX_CONCURRENT_TASKS']);
    expect(others).toHaveLength(2);
  });
});
