import { describe, expect, it } from 'vitest';
import type { EnqueueTask } from '../../../src/ports/engine-store.ts';
import { givenRun, lease, NAMESPACE, taskOf } from './given.ts';
import { useTwoServers } from './sessions.ts';

const FLOOD = 100_000;
const BATCH = 5_000;

describe('a queue with 100,000 tasks of one definition', () => {
  const servers = useTwoServers();

  /** Twenty runs of the definition, on the first server. */
  const flood = async (overrides: Partial<EnqueueTask>): Promise<void> => {
    const { engine } = servers().one;
    for (let from = 0; from < FLOOD; from += BATCH) {
      const executionId = await givenRun(engine);
      const now = await engine.now();
      const tasks = Array.from({ length: BATCH }, (_, index) =>
        taskOf(executionId, index + 2, now, { workflowName: 'flood', ...overrides }),
      );
      await engine.transaction((tx) => tx.enqueueTasks(tasks));
    }
  };

  it('starts the single task of another, enqueued by another server, next, though it came long after', async () => {
    const { one, two } = servers();
    await flood({ queue: 'shared', taskName: 'shared' });
    await lease(one.engine, { queues: ['shared'], count: 500 });
    const single = await givenRun(two.engine);
    const task = taskOf(single, 2, await two.engine.now(), {
      queue: 'shared',
      taskName: 'shared',
      workflowName: 'single',
    });
    await two.engine.transaction((tx) => tx.enqueueTasks([task]));
    const next = await lease(one.engine, { queues: ['shared'], count: 1 });
    expect(next.map(({ executionId }) => executionId)).toEqual([single]);
    await servers().observer.query('analyze task_queue');
    const { rows } = await servers().observer.query(
      `explain (format json) select q.ctid from task_queue q
        where q.queue = 'shared' and q.namespace = '${NAMESPACE}' and q.family = 'worker' and q.lease_token is null
        and q.outcome is null and q.visible_at <= clock_timestamp()
        order by q.priority desc, q.turn, q.workflow_id, q.scheduled_seq limit 1`,
    );
    // No sort: the index has the order, so a lease costs the same however many wait.
    expect(JSON.stringify(rows)).not.toContain('"Sort"');
    expect(JSON.stringify(rows)).toContain('task_queue_ready');
  });
});
