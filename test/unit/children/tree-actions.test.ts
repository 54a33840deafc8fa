import { describe, expect, it } from 'vitest';
import { RelayOutbox } from '../../../src/application/relay-outbox.ts';
import type { OperatorAction } from '../../../src/application/use-cases.ts';
import type { ExecutionId } from '../../../src/domain/kernel/brand.ts';
import { fork, join, loop, simple, wait } from '../../support/builders.ts';
import { NAMESPACE } from '../../support/engine.ts';
import { startRun, statusOf } from '../../support/runs.ts';
import { leaseOne, reportOne } from '../../support/workers.ts';
import { childOf, orphans, register, runsOf, statuses, sub, taskOf, useMemoryServer, viewOf, work } from './given.ts';

describe('a retry in a tree of runs', () => {
  const open = useMemoryServer();

  /** Three runs, one below the other, in a fork inside a loop; the deepest has done one task and failed at the next. */
  const givenFailedTree = async (name: string) => {
    const server = open();
    await register(server, `${name}_leaf`, [simple(`${name}_first`), simple(`${name}_work`, { retryCount: 0 })], {
      outputParameters: { done: `\${${name}_work.output.done}` },
    });
    await register(server, `${name}_other`, [wait('w')]);
    await register(server, `${name}_middle`, [
      fork('split', [
        [sub('leaf', { name: `${name}_leaf` }), simple(`${name}_after`)],
        [sub('other', { name: `${name}_other` }), simple(`${name}_after_other`)],
      ]),
      join('joined'),
    ]);
    await register(server, name, [loop('rounds', 1, [sub('middle', { name: `${name}_middle` })])]);
    const top = await startRun(server, name);
    await server.settle();
    await work(server, `${name}_first`);
    await work(server, `${name}_work`, { status: 'FAILED' });
    const middle = (await runsOf(server, `${name}_middle`))[0]?.executionId as ExecutionId;
    const leaf = await childOf(server, middle, 'leaf');
    const other = await childOf(server, middle, 'other');
    expect(await statuses(server, [top, middle, leaf, other])).toEqual(['FAILED', 'FAILED', 'FAILED', 'TERMINATED']);
    return { server, top, middle, leaf, other };
  };

  const finish = async (
    { server, top, middle, leaf, other }: Awaited<ReturnType<typeof givenFailedTree>>,
    name: string,
  ) => {
    expect(await statuses(server, [top, middle, leaf, other])).toEqual(['RUNNING', 'RUNNING', 'RUNNING', 'RUNNING']);
    expect(await childOf(server, middle, 'leaf')).toBe(leaf);
    expect(await taskOf(server, middle, 'leaf')).toMatchObject({ status: 'IN_PROGRESS', attempt: 2 });
    expect((await viewOf(server, leaf)).parent).toMatchObject({ executionId: middle, attempt: 2 });
    await work(server, `${name}_work`, { output: { done: true } });
    expect(await taskOf(server, middle, 'leaf')).toMatchObject({ status: 'COMPLETED', output: { done: true } });
    await work(server, `${name}_after`);
    await server.useCases.executions.signal(NAMESPACE, other, { status: 'COMPLETED', output: {} }, 'operator');
    await server.settle();
    await work(server, `${name}_after_other`);
    expect(await statuses(server, [top, middle, leaf, other])).toEqual(Array(4).fill('COMPLETED'));
    expect((await runsOf(server, `${name}_leaf`)).length).toBe(1);
    expect(await orphans(server)).toEqual([]);
  };

  it('that resumes children goes on in the deepest that failed, and in what its end had terminated', async () => {
    const tree = await givenFailedTree('resumed');
    await tree.server.useCases.executions.retry(NAMESPACE, tree.top, 'operator', undefined, true);
    await tree.server.settle();
    await finish(tree, 'resumed');
  });

  it('of the deepest child brings back every run above it that failed because of it', async () => {
    const tree = await givenFailedTree('revived');
    await tree.server.useCases.executions.retry(NAMESPACE, tree.leaf, 'operator');
    await tree.server.settle();
    await finish(tree, 'revived');
  });

  it('of a run without resuming starts new children', async () => {
    const { server, top, middle } = await givenFailedTree('renewed');
    await server.useCases.executions.retry(NAMESPACE, top, 'operator');
    await server.settle();
    expect(await statuses(server, [top, middle])).toEqual(['RUNNING', 'FAILED']);
    expect((await runsOf(server, 'renewed_middle')).map(({ status }) => status).sort()).toEqual(['FAILED', 'RUNNING']);
    await server.useCases.executions.terminate(NAMESPACE, top, 'operator');
    await server.settle();
    expect(await orphans(server)).toEqual([]);
  });

  it('of a child takes its parent along even when that has not yet heard of the failure', async () => {
    const server = open();
    await register(server, 'quick_child', [simple('quick_work', { retryCount: 0 })]);
    await register(server, 'quick_parent', [sub('child', { name: 'quick_child' })]);
    const id = await startRun(server, 'quick_parent');
    await server.settle();
    const child = await childOf(server, id, 'child');
    await reportOne(server, await leaseOne(server, 'quick_work'), { status: 'FAILED' });
    await server.evaluateAll();
    expect(await statuses(server, [id, child])).toEqual(['RUNNING', 'FAILED']);
    await server.useCases.executions.retry(NAMESPACE, child, 'operator');
    // The failure and the retry both come before the parent's next pass.
    const relay = new RelayOutbox(server.engine, server.handlers, () => undefined);
    for (let message = 0; message < 2; message += 1) expect(await relay.runOnce()).toBe(1);
    await server.settle();
    expect(await statuses(server, [id, child])).toEqual(['RUNNING', 'RUNNING']);
    await work(server, 'quick_work');
    expect(await statuses(server, [id, child])).toEqual(['COMPLETED', 'COMPLETED']);
  });

  it('that resumes a child which has completed meanwhile takes its end', async () => {
    const server = open();
    await register(server, 'late_child', [simple('late_work', { retryCount: 0 })], { outputParameters: { n: 1 } });
    await register(server, 'late_parent', [
      sub('child', { name: 'late_child' }, { retryCount: 1, retryDelaySeconds: 0, jitter: 0 }),
    ]);
    const id = await startRun(server, 'late_parent');
    await server.settle();
    for (const _ of [1, 2]) await work(server, 'late_work', { status: 'FAILED' });
    const last = await childOf(server, id, 'child');
    expect(await statusOf(server, id)).toBe('FAILED');
    await server.useCases.executions.retry(NAMESPACE, last, 'operator');
    await reportOne(server, await leaseOne(server, 'late_work'), { status: 'COMPLETED' });
    await server.evaluateAll();
    expect(await statuses(server, [id, last])).toEqual(['FAILED', 'COMPLETED']);
    await server.settle();
    expect(await statuses(server, [id, last])).toEqual(['COMPLETED', 'COMPLETED']);
    expect(await taskOf(server, id, 'child')).toMatchObject({
      status: 'COMPLETED',
      output: { n: 1, subWorkflowId: last },
    });
  });
});

describe('a signal to a run', () => {
  const open = useMemoryServer();

  it('is taken by the first of its children that waits, the oldest first, at any depth', async () => {
    const server = open();
    await register(server, 'sig_leaf', [wait('w')], { outputParameters: { by: '${w.output.by}' } });
    await register(server, 'sig_middle', [sub('leaf', { name: 'sig_leaf' })]);
    await register(server, 'sig_top', [
      fork('split', [
        [sub('one', { name: 'sig_middle' }), simple('x')],
        [simple('sig_gate'), sub('two', { name: 'sig_leaf' })],
      ]),
      join('joined'),
    ]);
    const id = await startRun(server, 'sig_top');
    await server.settle();
    server.clock.advance(1_000);
    await work(server, 'sig_gate');
    const signal = async (ref?: string) => {
      const call = {
        status: 'COMPLETED',
        output: { by: ref ?? 'any' },
        ...(ref === undefined ? {} : { ref }),
      } as const;
      const answer = await server.useCases.executions.signal(NAMESPACE, id, call, 'operator');
      await server.settle();
      return answer.ok ? answer.value.summary.name : answer.error.code;
    };
    expect(await signal()).toBe('sig_leaf');
    const one = await childOf(server, id, 'one');
    expect(await statusOf(server, one)).toBe('COMPLETED');
    expect(await taskOf(server, id, 'two')).toMatchObject({ status: 'IN_PROGRESS' });
    expect(await signal('nowhere')).toBe('NOT_FOUND');
    expect(await signal('w')).toBe('sig_leaf');
    expect(await taskOf(server, id, 'two')).toMatchObject({ status: 'COMPLETED', output: { by: 'w' } });
    expect(await signal()).toBe('INVALID_STATE');
  });
});

describe('the tree of a run', () => {
  const open = useMemoryServer();

  it('tells of every run below it, each with its parent, the run itself first', async () => {
    const server = open();
    await register(server, 'shown_leaf', [simple('shown_work')]);
    await register(server, 'shown_middle', [sub('leaf', { name: 'shown_leaf' })]);
    await register(server, 'shown_top', [sub('middle', { name: 'shown_middle' })]);
    const id = await startRun(server, 'shown_top');
    await startRun(server, 'shown_top');
    await server.settle();
    const middle = await childOf(server, id, 'middle');
    const leaf = await childOf(server, middle, 'leaf');
    const tree = await server.useCases.executions.tree(NAMESPACE, id);
    if (!tree.ok) throw new Error(tree.error.message);
    const told = tree.value.executions.map(({ executionId, parentExecutionId }) => [executionId, parentExecutionId]);
    expect(new Map(told as never)).toEqual(
      new Map([
        [id, undefined],
        [middle, id],
        [leaf, middle],
      ]),
    );
    expect(told[0]).toEqual([id, undefined]);
    expect(tree.value.truncated).toBe(false);
    expect(await server.useCases.executions.tree('elsewhere' as never, id)).toMatchObject({
      error: { code: 'NOT_FOUND' },
    });
  });
});

describe('an action on a task that is named by its id', () => {
  const open = useMemoryServer();
  const operate = async (id: ExecutionId, action: OperatorAction) => {
    const done = await open().useCases.executions.operate(NAMESPACE, id, action, { by: 'operator' });
    await open().settle();
    return done.ok ? done.value.summary.executionId : done.error.code;
  };
  const given = async (name: string) => {
    const server = open();
    const leaf = [
      fork('f', [[simple(`${name}_a`), simple(`${name}_b`, { retryCount: 0 })], [simple(`${name}_c`)]]),
      join('j'),
    ];
    await register(server, `${name}_leaf`, leaf);
    await register(server, `${name}_middle`, [sub('leaf', { name: `${name}_leaf` }), simple(`${name}_after`)]);
    await register(server, name, [sub('middle', { name: `${name}_middle` })]);
    const top = await startRun(server, name);
    await server.settle();
    const middle = await childOf(server, top, 'middle');
    const leafRun = await childOf(server, middle, 'leaf');
    const idOf = async (ref: string) => (await taskOf(server, leafRun, ref)).taskId;
    return { server, top, middle, leaf: leafRun, idOf };
  };

  it('of a run below skips it there, cancels it there, and is not found from beside or below', async () => {
    const { server, top, middle, leaf, idOf } = await given('named');
    const { top: other } = await given('beside');
    const a = await idOf('named_a');
    expect(await operate(other, { type: 'skip-task', taskRef: a })).toBe('NOT_FOUND');
    expect(await operate(leaf, { type: 'skip-task', taskRef: (await taskOf(server, top, 'middle')).taskId })).toBe(
      'NOT_FOUND',
    );
    expect(await operate(top, { type: 'skip-task', taskRef: a, taskOutput: { skipped: true } })).toBe(leaf);
    expect(await taskOf(server, leaf, 'named_a')).toMatchObject({ status: 'SKIPPED', output: { skipped: true } });
    expect(await operate(middle, { type: 'cancel-task', taskRef: await idOf('named_b') })).toBe(leaf);
    expect(await statuses(server, [top, middle, leaf])).toEqual(['RUNNING', 'RUNNING', 'PAUSED']);
  });

  it('of a run below runs again there, and the runs above that failed because of it go on', async () => {
    const { server, top, middle, leaf, idOf } = await given('again');
    await work(server, 'again_a');
    await work(server, 'again_b', { status: 'FAILED' });
    expect(await statuses(server, [top, middle, leaf])).toEqual(['FAILED', 'FAILED', 'FAILED']);
    expect(await operate(top, { type: 'rerun', fromTaskId: await idOf('again_a') })).toBe(leaf);
    expect(await statuses(server, [top, middle, leaf])).toEqual(['RUNNING', 'RUNNING', 'RUNNING']);
    for (const queue of ['again_a', 'again_b', 'again_c', 'again_after']) await work(server, queue);
    expect(await statuses(server, [top, middle, leaf])).toEqual(['COMPLETED', 'COMPLETED', 'COMPLETED']);
    expect((await runsOf(server, 'again_leaf')).length).toBe(1);
    expect(await orphans(server)).toEqual([]);
  });
});
