import { describe, expect, it } from 'vitest';
import { setVariable, simple } from '../../support/builders.ts';
import { NAMESPACE } from '../../support/engine.ts';
import { startRun, statusOf } from '../../support/runs.ts';
import { register, runsOf, seen, startStep, statuses, sub, taskOf, useMemoryServer, viewOf, work } from './given.ts';

describe('a START_WORKFLOW', () => {
  const open = useMemoryServer();

  it('starts a run that belongs to nobody, and goes on with its id', async () => {
    const server = open();
    await register(server, 'free', [simple('free_work')]);
    await register(server, 'starter', [
      startStep('start', {
        name: 'free',
        input: { n: '${workflow.input.n}' },
        correlationId: 'c-${workflow.input.n}',
        priority: 3,
      }),
      setVariable('keep', { id: '${start.output.workflowId}' }),
    ]);
    const id = await startRun(server, 'starter', { input: { n: 1 } });
    expect((await seen(server, id)).waitingFor).toMatchObject([{ why: 'It waits for its execution to be started.' }]);
    await server.settle();
    const [run] = await runsOf(server, 'free');
    expect(run).toMatchObject({ status: 'RUNNING', correlationId: 'c-1', priority: 3 });
    expect(run?.parentExecutionId).toBeUndefined();
    expect(await viewOf(server, id)).toMatchObject({
      status: 'COMPLETED',
      variables: { id: run?.executionId },
      tasks: [{ status: 'COMPLETED', output: { workflowId: run?.executionId } }, {}],
    });
    expect(await taskOf(server, id, 'start')).not.toHaveProperty('subWorkflowId');
  });

  it('starts one run however often its message is delivered, and none for a run that has ended', async () => {
    const server = open();
    await register(server, 'once', [simple('once_work')]);
    await register(server, 'starts_once', [startStep('start', { name: 'once' })]);
    const start = server.handlers.get('start-workflow');
    if (start?.kind !== 'internal') throw new Error('it is handled in the transaction');
    const id = await startRun(server, 'starts_once');
    const [message] = await server.engine.transaction((tx) => tx.claimMessages(10, 0));
    if (message === undefined) throw new Error('the start is owed');
    for (let delivery = 0; delivery < 3; delivery += 1) {
      await server.engine.transaction((tx) => start.handle(tx, message));
      await server.evaluateAll();
    }
    expect(await runsOf(server, 'once')).toHaveLength(1);
    expect(await statusOf(server, id)).toBe('COMPLETED');
    await server.settle();
    const ended = await startRun(server, 'starts_once');
    await server.useCases.executions.terminate(NAMESPACE, ended, 'operator');
    await server.settle();
    expect(await runsOf(server, 'once')).toHaveLength(1);
  });

  it.each([
    [{ name: 'nowhere_to_be_found' }, 'NOT_FOUND'],
    [{ name: 'free', priority: 100 }, 'priority must be'],
    [{}, 'names no workflow'],
    ['text', 'must be an object'],
  ])('that cannot start %j fails visibly', async (startWorkflow, reason) => {
    const server = open();
    await register(server, 'starts_what_it_is_told', [
      { ...startStep('start', {}), inputParameters: { startWorkflow: '${workflow.input.start}' } },
    ]);
    const id = await startRun(server, 'starts_what_it_is_told', { input: { start: startWorkflow } as never });
    await server.settle();
    expect(await viewOf(server, id)).toMatchObject({ status: 'FAILED', reason: expect.stringContaining(reason) });
    expect(server.problems).toEqual([]);
  });

  it('runs a definition that stands in its input', async () => {
    const server = open();
    await register(server, 'starts_inline', [
      startStep('start', { name: 'named', workflowDef: { name: 'in_the_input', tasks: [setVariable('s', { a: 1 })] } }),
    ]);
    await startRun(server, 'starts_inline');
    await server.settle();
    expect((await runsOf(server, 'in_the_input')).map(({ status }) => status)).toEqual(['COMPLETED']);
  });

  it('under an idempotency key names the run that holds it, or fails as its strategy says', async () => {
    const server = open();
    await register(server, 'keyed', [simple('keyed_work')]);
    const keyed = (idempotencyStrategy: string, input = {}) => ({
      name: 'keyed',
      idempotencyKey: 'k-1',
      idempotencyStrategy,
      input,
    });
    const ends = async (name: string, request: ReturnType<typeof keyed>) => {
      await register(server, name, [startStep('start', request)]);
      const id = await startRun(server, name);
      await server.settle();
      return taskOf(server, id, 'start');
    };
    const first = await ends('keyed_first', keyed('RETURN_EXISTING'));
    expect(await ends('keyed_again', keyed('RETURN_EXISTING'))).toMatchObject({ output: first.output });
    expect(await ends('keyed_fail', keyed('FAIL'))).toMatchObject({ reason: expect.stringContaining('CONFLICT') });
    expect(await ends('keyed_running', keyed('FAIL_ON_RUNNING'))).toMatchObject({
      reason: expect.stringContaining('CONFLICT'),
    });
    expect(await ends('keyed_other', keyed('RETURN_EXISTING', { other: 1 }))).toMatchObject({
      reason: expect.stringContaining('IDEMPOTENCY_KEY_REUSED'),
    });
    expect((await runsOf(server, 'keyed')).length).toBe(1);
    await work(server, 'keyed_work');
    expect(await ends('keyed_late', keyed('RETURN_EXISTING'))).toMatchObject({ output: first.output });
    const taken = await ends('keyed_over', keyed('FAIL_ON_RUNNING', { other: 2 }));
    expect(taken.status).toBe('COMPLETED');
    expect(taken.output?.workflowId).not.toBe(first.output?.workflowId);
    expect((await runsOf(server, 'keyed')).length).toBe(2);
    expect(await ends('keyed_beyond', keyed('FAIL_ON_RUNNING', { other: 2 }))).toMatchObject({
      reason: expect.stringContaining('CONFLICT'),
    });
  });

  it('leaves its run alone when its own ends', async () => {
    const server = open();
    await register(server, 'survivor', [simple('survivor_work')]);
    await register(server, 'gone', [startStep('start', { name: 'survivor' }), simple('gone_work')]);
    const id = await startRun(server, 'gone');
    await server.settle();
    await server.useCases.executions.terminate(NAMESPACE, id, 'operator');
    await server.settle();
    const [run] = await runsOf(server, 'survivor');
    expect(await statuses(server, [id, run?.executionId as never])).toEqual(['TERMINATED', 'RUNNING']);
  });
});

describe('a SUB_WORKFLOW under an idempotency key', () => {
  const open = useMemoryServer();

  it('takes the end of the run that holds the key for its own, and fails while that goes on', async () => {
    const server = open();
    await register(server, 'shared', [simple('shared_work')], { outputParameters: { n: '${shared_work.output.n}' } });
    await register(server, 'shares', [sub('child', { name: 'shared', idempotencyKey: 'shared-1' })]);
    const [first, second] = [await startRun(server, 'shares'), await startRun(server, 'shares')];
    await server.settle();
    expect(await taskOf(server, second, 'child')).toMatchObject({ reason: expect.stringContaining('CONFLICT') });
    await work(server, 'shared_work', { output: { n: 4 } });
    expect(await statusOf(server, first)).toBe('COMPLETED');
    const third = await startRun(server, 'shares');
    await server.settle();
    expect(await taskOf(server, third, 'child')).toMatchObject({
      status: 'COMPLETED',
      output: { n: 4, subWorkflowId: (await taskOf(server, first, 'child')).subWorkflowId },
    });
  });
});
