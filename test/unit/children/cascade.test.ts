import { describe, expect, it } from 'vitest';
import type { ExecutionId } from '../../../src/domain/kernel/brand.ts';
import { fork, join, loop, simple, terminate } from '../../support/builders.ts';
import { NAMESPACE } from '../../support/engine.ts';
import { startRun, statusOf } from '../../support/runs.ts';
import { childOf, orphans, register, runsOf, statuses, sub, taskOf, useMemoryServer, viewOf, work } from './given.ts';

describe('the end of a run', () => {
  const open = useMemoryServer();

  const givenTree = async (name: string, fields = {}) => {
    const server = open();
    await register(server, `${name}_leaf`, [simple(`${name}_work`)]);
    await register(server, `${name}_middle`, [
      fork('split', [
        [sub('a', { name: `${name}_leaf` }), simple('after_a')],
        [sub('b', { name: `${name}_leaf` }), simple('after_b')],
      ]),
      join('joined'),
    ]);
    await register(server, name, [loop('rounds', 2, [sub('middle', { name: `${name}_middle` })])], fields);
    const id = await startRun(server, name);
    await server.settle();
    const all = async () => [...(await runsOf(server, `${name}_middle`)), ...(await runsOf(server, `${name}_leaf`))];
    return { server, id, all: async () => (await all()).map(({ executionId }) => executionId) };
  };

  const terminateRun = async (id: ExecutionId) => {
    const answer = await open().useCases.executions.terminate(NAMESPACE, id, 'operator', 'enough');
    expect(answer.ok).toBe(true);
  };

  it('terminates its children at every depth, inside loops and forks, each with the reason', async () => {
    const { server, id, all } = await givenTree('deep');
    expect(await statuses(server, await all())).toEqual(['RUNNING', 'RUNNING', 'RUNNING']);
    await terminateRun(id);
    await server.settle();
    expect(await statuses(server, await all())).toEqual(['TERMINATED', 'TERMINATED', 'TERMINATED']);
    const [middle] = await runsOf(server, 'deep_middle');
    expect(middle?.reason).toBe(`Execution ${id}: it ended with status TERMINATED.`);
    expect(await orphans(server)).toEqual([]);
  });

  it('by its deadline terminates them too', async () => {
    const { server, id, all } = await givenTree('late', { timeoutSeconds: 60 });
    await server.later(60_001);
    expect(await statusOf(server, id)).toBe('TIMED_OUT');
    expect(await statuses(server, await all())).toEqual(['TERMINATED', 'TERMINATED', 'TERMINATED']);
  });

  it('by a TERMINATE in another branch terminates them, whatever status it gives', async () => {
    const server = open();
    await register(server, 'left_alone', [simple('left_alone_work')]);
    for (const status of ['COMPLETED', 'FAILED', 'TERMINATED']) {
      await register(server, `cut_${status}`, [
        fork('split', [
          [sub('child', { name: 'left_alone' }), simple('x')],
          [simple('gate'), terminate('end', status)],
        ]),
        join('joined'),
      ]);
      const id = await startRun(server, `cut_${status}`);
      await server.settle();
      const child = await childOf(server, id, 'child');
      await work(server, 'gate');
      expect(await statuses(server, [id, child])).toEqual([status, 'TERMINATED']);
    }
  });

  it('before a child was started starts none', async () => {
    const server = open();
    await register(server, 'never_started', [simple('never_work')]);
    await register(server, 'ends_first', [sub('child', { name: 'never_started' })]);
    const id = await startRun(server, 'ends_first');
    await terminateRun(id);
    await server.settle();
    expect(await runsOf(server, 'never_started')).toEqual([]);
    expect((await server.engine.nextDueInMs()).message).toBeUndefined();
  });

  it('with an outcome that waits for its pass starts no child any more', async () => {
    const server = open();
    await register(server, 'also_never', [simple('also_work')]);
    await register(server, 'out_of_time', [sub('child', { name: 'also_never' }, { totalTimeout: 1, optional: true })]);
    const id = await startRun(server, 'out_of_time');
    server.clock.advance(1_001);
    await server.runLoopOnce('deadlines');
    await server.runLoopOnce('relay-outbox');
    await server.settle();
    expect(await statusOf(server, id)).toBe('COMPLETED');
    expect(await runsOf(server, 'also_never')).toEqual([]);
  });

  it('of a child by an operator cancels the task that waits for it, without a retry, and with it the run', async () => {
    const server = open();
    await register(server, 'stopped', [simple('stopped_work')]);
    await register(server, 'waits_for_stopped', [sub('child', { name: 'stopped' }, { retryCount: 3 })]);
    const id = await startRun(server, 'waits_for_stopped');
    await server.settle();
    await terminateRun(await childOf(server, id, 'child'));
    await server.settle();
    expect(await taskOf(server, id, 'child')).toMatchObject({ status: 'CANCELED', attempt: 1 });
    expect(await viewOf(server, id)).toMatchObject({ status: 'TERMINATED', reason: expect.stringContaining('enough') });
  });
});

describe('the undoing of a run', () => {
  const open = useMemoryServer();

  it('terminates its open children before it begins, and may itself be a child', async () => {
    const server = open();
    await register(server, 'canceled_child', [simple('canceled_work')]);
    await register(server, 'undo_child', [simple('undo_work')]);
    await register(server, 'undone', [
      fork('split', [
        [sub('open', { name: 'canceled_child' }), simple('never')],
        [simple('done', { compensateWith: sub('undo', { name: 'undo_child' }) }), simple('breaks', { retryCount: 0 })],
      ]),
      join('joined'),
    ]);
    const id = await startRun(server, 'undone');
    await server.settle();
    const child = await childOf(server, id, 'open');
    await work(server, 'done');
    await work(server, 'breaks', { status: 'FAILED' });
    expect(await statuses(server, [id, child])).toEqual(['RUNNING', 'TERMINATED']);
    expect((await runsOf(server, 'undo_child')).map(({ status }) => status)).toEqual(['RUNNING']);
    await work(server, 'undo_work');
    expect(await statusOf(server, id)).toBe('FAILED');
    expect(await orphans(server)).toEqual([]);
  });
});
