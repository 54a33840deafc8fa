import { describe, expect, it } from 'vitest';
import type { ExecutionId } from '../../../src/domain/kernel/brand.ts';
import type { JsonObject } from '../../../src/domain/kernel/json.ts';
import { NAMESPACE, useCluster } from '../../support/engine.ts';
import { leftovers, violations } from '../../support/invariants.ts';
import { eventsOf, ofType, registerTask, registerWorkflow, startRun, statusOf } from '../../support/runs.ts';
import { leaseFrom, leaseOne, reportOf, reportOne } from '../../support/workers.ts';
import { step, workflow } from './definitions.ts';
import { passDeadlines } from './given.ts';

const undone = (name: string, ref: string): JsonObject => ({ ...step(name, ref), compensateWith: `undo_${name}` });

describe('a saga', () => {
  const { at, cluster } = useCluster({}, {});

  const detail = async (id: ExecutionId) => {
    const found = await at(1).useCases.executions.get(NAMESPACE, id);
    if (!found.ok) throw new Error(found.error.message);
    return found.value;
  };

  const undo = async (name: string): Promise<string> => {
    const task = await leaseOne(at(1), `undo_${name}`);
    expect(await reportOne(at(0), task)).toBe('settled');
    await at(1).evaluateAll();
    return task.ref;
  };

  const sound = async () => expect(await violations(cluster().observer, at(0).definitions)).toEqual([]);

  const forked = (name: string, fields: JsonObject = {}) => ({
    ...workflow(name, [
      {
        name: 'fork',
        taskReferenceName: 'fork',
        type: 'FORK_JOIN',
        forkTasks: [[undone(name, 'a'), step(name, 'a2')], [undone(name, 'b'), step(name, 'b2')], [step(name, 'c')]],
      },
      { name: 'join', taskReferenceName: 'join', type: 'JOIN' },
    ]),
    ...fields,
  });

  it('undoes over two servers what one pass completed and failed, and leaves nothing of what it canceled', async () => {
    await registerTask(at(0), { name: 'race', retryCount: 0 });
    await registerWorkflow(at(0), forked('race'));
    const id = await startRun(at(0), 'race');
    const tasks = await leaseFrom(at(0), ['race'], { count: 3 });
    const reports = tasks.map((task) => reportOf(task, { status: task.ref === 'c' ? 'FAILED' : 'COMPLETED' }));
    await at(1).useCases.workers.report(NAMESPACE, reports);
    await at(0).evaluateAll();
    expect(await statusOf(at(0), id)).toBe('RUNNING');
    expect((await detail(id)).view.variables).toMatchObject({ __compensation: { status: 'RUNNING' } });
    await sound();
    const first = await undo('race');
    const second = await undo('race');
    expect([first, second].sort()).toEqual(['a__compensate', 'b__compensate']);
    expect(await statusOf(at(0), id)).toBe('FAILED');
    const { reason } = (await detail(id)).row;
    expect(reason).toBe(
      `Task c failed with status FAILED; compensated: ${[first, second].map((ref) => ref.slice(0, 1)).join(', ')}`,
    );
    await sound();
  });

  it('turns back at its deadline and is then bound by none', async () => {
    await registerWorkflow(at(0), forked('late', { timeoutSeconds: 3_600 }));
    const id = await startRun(at(0), 'late');
    const task = await leaseOne(at(0), 'late');
    expect(await reportOne(at(0), task)).toBe('settled');
    await at(0).evaluateAll();
    await passDeadlines(cluster().observer, id);
    await at(1).runLoopOnce('deadlines');
    await at(0).evaluateAll();
    expect(ofType(await eventsOf(at(0), id), 'CompensationStarted')).toMatchObject([{ status: 'TIMED_OUT' }]);
    expect((await at(0).engine.nextDueInMs()).timer).toBeUndefined();
    expect(await undo('late')).toBe(`${task.ref}__compensate`);
    expect(await statusOf(at(0), id)).toBe('TIMED_OUT');
    await sound();
  });

  it('goes on undoing after its state was forgotten and after its open compensation was lost', async () => {
    await registerTask(at(0), { name: 'lost', retryCount: 0 });
    await registerWorkflow(at(0), workflow('lost', [undone('lost', 'a'), undone('lost', 'b'), step('lost', 'c')]));
    const id = await startRun(at(0), 'lost');
    for (const status of ['COMPLETED', 'COMPLETED', 'FAILED'] as const) {
      expect(await reportOne(at(0), await leaseOne(at(0), 'lost'), { status })).toBe('settled');
      await at(0).evaluateAll();
    }
    await cluster().observer.query('delete from task_queue where workflow_id = $1', [id]);
    const repaired = await at(1).useCases.executions.decide(NAMESPACE, id);
    expect(repaired).toMatchObject({ ok: true, value: { repaired: 1 } });
    expect([await undo('lost'), await undo('lost')]).toEqual(['b__compensate', 'a__compensate']);
    expect(await statusOf(at(0), id)).toBe('FAILED');
    await sound();
    expect(await leftovers(cluster().observer)).toEqual([]);
  });

  it('says why it is not retried when it was undone', async () => {
    const [row] = await at(0).index.search(NAMESPACE, { name: 'lost' }, { limit: 1 });
    const retried = await at(0).useCases.executions.retry(NAMESPACE, row?.executionId as ExecutionId, 'test');
    expect(retried).toMatchObject({ ok: false, error: { code: 'INVALID_STATE' } });
  });
});
