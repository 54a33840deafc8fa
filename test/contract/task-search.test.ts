import { describe, expect, it } from 'vitest';
import { addMs, type Instant, type TaskId } from '../../src/domain/kernel/brand.ts';
import type { EnqueueTask } from '../../src/ports/engine-store.ts';
import type { TaskFilter } from '../../src/ports/execution-index.ts';
import { ALPHA, BETA, closeOf, givenExecution, givenTask, ids, inTx, leaseOne, owed } from './given.ts';
import { harnesses, useHarness } from './harness.ts';

const COUNT_MAX = 100;

describe.each(harnesses)('the search of tasks over $name', (harness) => {
  const open = useHarness(harness);
  const search = (
    filter: TaskFilter = {},
    page: Partial<Readonly<{ offset: number; limit: number; countMax: number }>> = {},
  ) => open().index.searchTasks(ALPHA, filter, { offset: 0, limit: 10, countMax: COUNT_MAX, ...page });
  const found = async (filter: TaskFilter = {}) => (await search(filter)).taskIds;

  const closed = async (task: EnqueueTask, endedAt: Instant, status: 'COMPLETED' | 'FAILED' = 'COMPLETED') => {
    const executionId = task.taskId.slice(0, task.taskId.indexOf('.')) as Parameters<typeof owed>[0];
    await inTx(open().engine, (tx) => tx.closeTasks([owed(executionId, closeOf(task, endedAt, { status }))]));
  };

  it('finds open and closed attempts, those of the newest runs first, in pages', async () => {
    const [older, newer] = [await givenExecution(open()), await givenExecution(open())];
    const one = await givenTask(open(), older, { seq: 2 });
    const two = await givenTask(open(), older, { seq: 5 });
    const three = await givenTask(open(), newer, { seq: 2 });
    await closed(two, await open().engine.now());
    const all = [three.taskId, two.taskId, one.taskId];
    expect(await search()).toEqual({ taskIds: all, total: 3 });
    expect(await search({}, { offset: 1, limit: 1 })).toEqual({ taskIds: [two.taskId], total: 3 });
    expect(await search({}, { offset: 3 })).toEqual({ taskIds: [], total: 3 });
  });

  it('stops to count at the bound', async () => {
    const run = await givenExecution(open());
    for (let seq = 2; seq < 7; seq += 1) await givenTask(open(), run, { seq });
    expect((await search({}, { limit: 1, countMax: 3 })).total).toBe(3);
  });

  it('shows nothing of another namespace', async () => {
    await givenTask(open(), await givenExecution(open(), { namespace: BETA }), { namespace: BETA });
    expect(await search()).toEqual({ taskIds: [], total: 0 });
  });

  it('goes by run, by task, by name, by type and by status', async () => {
    const [run, other] = [
      await givenExecution(open(), { name: 'ship', correlationId: 'c-7' }),
      await givenExecution(open()),
    ];
    const simple = await givenTask(open(), run, { seq: 2, taskName: 'pack', queue: 'pack' });
    const waiting = await givenTask(open(), run, {
      seq: 3,
      family: 'waiting',
      taskType: 'WAIT',
      taskName: 'hold',
      queue: '$waiting',
    });
    const charge = await givenTask(open(), other, { seq: 2 });
    const failed = await givenTask(open(), other, { seq: 4, taskName: 'refund', queue: 'refund' });
    await closed(failed, await open().engine.now(), 'FAILED');
    expect(await found({ executionIds: [run] })).toEqual([waiting.taskId, simple.taskId]);
    expect(await found({ executionIds: [] })).toEqual([]);
    expect(await found({ taskIds: [charge.taskId, `${ids.executionId()}.2` as TaskId, 'x' as TaskId] })).toEqual([
      charge.taskId,
    ]);
    expect(await found({ workflowNames: ['ship'] })).toEqual([waiting.taskId, simple.taskId]);
    expect(await found({ correlationIds: ['c-7'], taskNames: ['pack'] })).toEqual([simple.taskId]);
    expect(await found({ types: ['WAIT'] })).toEqual([waiting.taskId]);
    expect(await found({ types: ['pack'] })).toEqual([simple.taskId]);
    expect(await found({ types: ['SIMPLE'] })).toEqual([]);
    expect(await found({ statuses: ['FAILED'] })).toEqual([failed.taskId]);
    expect(await found({ statuses: ['IN_PROGRESS'] })).toEqual([waiting.taskId]);
    await leaseOne(open());
    expect(await found({ statuses: ['IN_PROGRESS'], taskNames: ['charge'] })).toEqual([charge.taskId]);
    expect(await found({ statuses: ['SCHEDULED'] })).toEqual([simple.taskId]);
  });

  it('goes by when a task was scheduled, began and ended', async () => {
    const run = await givenExecution(open());
    const task = await givenTask(open(), run, { seq: 2 });
    const idle = await givenTask(open(), run, { seq: 3, taskName: 'idle', queue: 'idle' });
    const { startedAt } = await leaseOne(open());
    const endedAt = addMs(startedAt, 5);
    const executionId = run;
    const close = closeOf(task, endedAt, { startedAt });
    await inTx(open().engine, (tx) => tx.closeTasks([owed(executionId, close)]));
    const past = addMs(task.scheduledAt, -1);
    expect(await found({ scheduledAfter: past, scheduledBefore: addMs(idle.scheduledAt, 1) })).toHaveLength(2);
    expect(await found({ scheduledBefore: past })).toEqual([]);
    expect(await found({ startedAfter: startedAt })).toEqual([task.taskId]);
    expect(await found({ startedBefore: startedAt })).toEqual([]);
    expect(await found({ endedAfter: endedAt, endedBefore: addMs(endedAt, 1) })).toEqual([task.taskId]);
    expect(await found({ endedAfter: addMs(endedAt, 1) })).toEqual([]);
  });
});
