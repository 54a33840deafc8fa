import { describe, expect, it } from 'vitest';
import { SUB_WORKFLOW_DEPTH_MAX } from '../../../src/application/child-runs.ts';
import { fork, join, loop, setVariable, simple, switchOn, terminate, wait } from '../../support/builders.ts';
import { NAMESPACE } from '../../support/engine.ts';
import { registerTask, startRun, statusOf } from '../../support/runs.ts';
import {
  childOf,
  orphans,
  register,
  runsOf,
  seen,
  statuses,
  sub,
  taskOf,
  useMemoryServer,
  viewOf,
  work,
} from './given.ts';

describe('a SUB_WORKFLOW', () => {
  const open = useMemoryServer();

  it('starts a child with its input, waits for it, and gives its output with its id', async () => {
    const server = open();
    await register(server, 'happy_child', [simple('happy_work', { inputParameters: { n: '${workflow.input.n}' } })], {
      outputParameters: { doubled: '${happy_work.output.doubled}', parent: '${workflow.parentWorkflowId}' },
    });
    await register(server, 'happy', [
      sub('child', { name: 'happy_child' }, { inputParameters: { n: '${workflow.input.n}' } }),
    ]);
    const id = await startRun(server, 'happy', { input: { n: 21 }, correlationId: 'c-1', priority: 7 });
    await server.settle();
    const child = await childOf(server, id, 'child');
    expect(await viewOf(server, child)).toMatchObject({
      name: 'happy_child',
      status: 'RUNNING',
      input: { n: 21 },
      correlationId: 'c-1',
      priority: 7,
      parent: { executionId: id, ref: 'child', iteration: 0, attempt: 1 },
    });
    expect(await taskOf(server, id, 'child')).toMatchObject({ status: 'IN_PROGRESS', type: 'SUB_WORKFLOW' });
    expect((await seen(server, id)).waitingFor).toMatchObject([{ why: `It waits for the execution ${child}.` }]);
    await work(server, 'happy_work', { output: { doubled: 42 } });
    expect(await taskOf(server, id, 'child')).toMatchObject({
      status: 'COMPLETED',
      output: { doubled: 42, parent: id, subWorkflowId: child },
      subWorkflowId: child,
    });
    expect(await statusOf(server, id)).toBe('COMPLETED');
    expect(server.problems).toEqual([]);
  });

  it('starts the latest version when it names none, and takes name and version from expressions', async () => {
    const server = open();
    for (const version of [1, 2]) await register(server, 'versioned', [simple(`versioned_${version}`)], { version });
    await register(server, 'names_version', [
      sub('latest', { name: 'versioned' }),
      sub('zero', { name: '${workflow.input.name}', version: 0 }),
      sub('first', { name: '${workflow.input.name}', version: '${workflow.input.version}' }),
    ]);
    const id = await startRun(server, 'names_version', { input: { name: 'versioned', version: '1' } });
    await server.settle();
    for (const queue of ['versioned_2', 'versioned_2', 'versioned_1']) await work(server, queue);
    expect(await statusOf(server, id)).toBe('COMPLETED');
    expect((await runsOf(server, 'versioned')).map(({ version }) => version).sort()).toEqual([1, 2, 2]);
  });

  it('runs a definition that is written out, whose expressions are the child’s own', async () => {
    const server = open();
    const workflowDefinition = {
      name: 'written_out',
      tasks: [setVariable('set', { seen: '${workflow.input.n}' })],
      outputParameters: { seen: '${workflow.variables.seen}' },
    };
    await register(server, 'writes_out', [
      sub('child', { name: 'ignored', workflowDefinition }, { inputParameters: { n: 5 } }),
    ]);
    const id = await startRun(server, 'writes_out');
    await server.settle();
    expect(await taskOf(server, id, 'child')).toMatchObject({ status: 'COMPLETED', output: { seen: 5 } });
    expect((await runsOf(server, 'written_out')).length).toBe(1);
  });

  it('runs a definition that data gives, and fails with the problem of one that cannot run', async () => {
    const server = open();
    await register(server, 'given_by_data', [
      sub('child', { name: 'anything', workflowDefinition: '${workflow.input.definition}' }, { optional: true }),
    ]);
    const start = async (definition: never) => {
      const id = await startRun(server, 'given_by_data', { input: { definition } });
      await server.settle();
      return taskOf(server, id, 'child');
    };
    const good = { name: 'by_data', version: 1, tasks: [setVariable('set', { a: 1 })] };
    expect(await start(good as never)).toMatchObject({ status: 'COMPLETED' });
    expect(await start({ ...good, tasks: [] } as never)).toMatchObject({
      status: 'COMPLETED_WITH_ERRORS',
      reason: expect.stringContaining('at least one task'),
    });
    expect(await start('no definition' as never)).toMatchObject({
      status: 'COMPLETED_WITH_ERRORS',
      reason: expect.stringContaining('must be a workflow definition'),
    });
  });

  it('fails with the reason when its workflow does not exist, or its input violates the schema, and nothing is a dead letter', async () => {
    const server = open();
    await register(server, 'strict', [simple('strict_work')], {
      inputSchema: { type: 'object', required: ['n'] },
    });
    await register(server, 'starts_nothing', [sub('child', { name: '${workflow.input.name}' })]);
    const ends = async (name: string) => {
      const id = await startRun(server, 'starts_nothing', { input: { name } });
      await server.settle();
      return [await statusOf(server, id), (await taskOf(server, id, 'child')).reason];
    };
    expect(await ends('nowhere')).toEqual(['FAILED', 'NOT_FOUND: There is no workflow definition nowhere.']);
    expect(await ends('strict')).toEqual(['FAILED', expect.stringContaining('INPUT_SCHEMA_VIOLATION')]);
    expect(await ends('')).toEqual(['FAILED', expect.stringContaining('names no workflow')]);
    expect(server.problems).toEqual([]);
    expect((await server.engine.nextDueInMs()).message).toBeUndefined();
  });

  it('that calls itself without end fails at the depth cap, and all above it fail with it', async () => {
    const server = open();
    // By an expression: written out, registration would refuse it.
    const name = '${workflow.input.name}';
    await register(server, 'endless', [sub('again', { name }, { inputParameters: { name } })]);
    const id = await startRun(server, 'endless', { input: { name: 'endless' } });
    await server.settle();
    expect(await statusOf(server, id)).toBe('FAILED');
    const runs = await runsOf(server, 'endless');
    expect(runs.map(({ status }) => status)).toEqual(Array(SUB_WORKFLOW_DEPTH_MAX + 1).fill('FAILED'));
    expect(runs.at(-1)?.reason).toContain(`at most ${SUB_WORKFLOW_DEPTH_MAX} deep`);
  });

  it.each([
    ['FAILED', 'FAILED', 'FAILED'],
    ['TERMINATED', 'CANCELED', 'TERMINATED'],
    ['COMPLETED', 'COMPLETED', 'COMPLETED'],
  ])('whose child ends %s ends %s, and its run %s', async (child, task, parent) => {
    const server = open();
    await register(server, `ends_${child}`, [terminate('end', child, { workflowOutput: { how: child } })]);
    await register(server, `waits_${child}`, [sub('child', { name: `ends_${child}` })]);
    const id = await startRun(server, `waits_${child}`);
    await server.settle();
    expect(await taskOf(server, id, 'child')).toMatchObject({ status: task, output: { how: child } });
    expect(await statusOf(server, id)).toBe(parent);
  });

  it('whose child runs out of time is TIMED_OUT, is retried as its policy says, and ends the run so', async () => {
    const server = open();
    await register(server, 'slow', [simple('slow_work')], { timeoutSeconds: 10 });
    await register(server, 'waits_for_slow', [
      sub('child', { name: 'slow' }, { retryCount: 1, retryDelaySeconds: 0, jitter: 0, timeoutPolicy: 'TIME_OUT_WF' }),
    ]);
    const id = await startRun(server, 'waits_for_slow');
    await server.settle();
    await server.later(10_001);
    expect(await statusOf(server, id)).toBe('RUNNING');
    await server.later(10_001);
    expect(await statusOf(server, id)).toBe('TIMED_OUT');
    expect((await viewOf(server, id)).tasks.map(({ attempt, status }) => [attempt, status])).toEqual([
      [1, 'TIMED_OUT'],
      [2, 'TIMED_OUT'],
    ]);
    expect((await runsOf(server, 'slow')).map(({ status }) => status)).toEqual(['TIMED_OUT', 'TIMED_OUT']);
  });

  it('is retried with a new child, not before its delay, and keeps both in its history', async () => {
    const server = open();
    await registerTask(server, {
      name: 'retried_sub',
      retryCount: 1,
      retryLogic: 'FIXED',
      retryDelaySeconds: 30,
      jitter: 0,
    });
    await register(server, 'fails_once', [simple('fails_once_work', { retryCount: 0 })]);
    await register(server, 'retries', [sub('child', { name: 'fails_once' }, { name: 'retried_sub' })]);
    const id = await startRun(server, 'retries');
    await server.settle();
    const first = await childOf(server, id, 'child');
    await work(server, 'fails_once_work', { status: 'FAILED' });
    const second = await childOf(server, id, 'child');
    expect(second).not.toBe(first);
    expect(await server.index.find(NAMESPACE, second)).toBeUndefined();
    await server.later(30_001);
    expect(await statuses(server, [first, second, id])).toEqual(['FAILED', 'RUNNING', 'RUNNING']);
    await work(server, 'fails_once_work');
    expect(await statuses(server, [second, id])).toEqual(['COMPLETED', 'COMPLETED']);
  });

  it('that is optional lets its run go on when the child fails', async () => {
    const server = open();
    await register(server, 'broken', [terminate('end', 'FAILED')]);
    await register(server, 'does_not_mind', [sub('child', { name: 'broken' }, { optional: true }), simple('after')]);
    const id = await startRun(server, 'does_not_mind');
    await server.settle();
    expect(await taskOf(server, id, 'child')).toMatchObject({ status: 'COMPLETED_WITH_ERRORS' });
    await work(server, 'after');
    expect(await statusOf(server, id)).toBe('COMPLETED');
  });

  it('that is too late by its total deadline ends, and its child with it', async () => {
    const server = open();
    await register(server, 'too_long', [simple('too_long_work')]);
    await register(server, 'has_no_time', [sub('child', { name: 'too_long' }, { totalTimeout: 5 })]);
    const id = await startRun(server, 'has_no_time');
    await server.settle();
    const child = await childOf(server, id, 'child');
    await server.later(5_001);
    expect(await taskOf(server, id, 'child')).toMatchObject({ status: 'TIMED_OUT', deadline: 'SCHEDULE_TO_CLOSE' });
    expect(await statuses(server, [id, child])).toEqual(['TIMED_OUT', 'TERMINATED']);
  });

  it('in a paused run goes on with its child; the run takes the outcome and schedules nothing until it is resumed', async () => {
    const server = open();
    await register(server, 'goes_on', [simple('goes_on_work')]);
    await register(server, 'is_paused', [sub('child', { name: 'goes_on' }), simple('after_pause')]);
    const id = await startRun(server, 'is_paused');
    await server.settle();
    const child = await childOf(server, id, 'child');
    await server.useCases.executions.pause(NAMESPACE, id, 'operator');
    await server.settle();
    expect(await statuses(server, [id, child])).toEqual(['PAUSED', 'RUNNING']);
    await work(server, 'goes_on_work');
    expect(await statuses(server, [id, child])).toEqual(['PAUSED', 'COMPLETED']);
    expect((await viewOf(server, id)).tasks).toMatchObject([{ ref: 'child', status: 'COMPLETED' }]);
    await server.useCases.executions.resume(NAMESPACE, id, 'operator');
    await server.settle();
    await work(server, 'after_pause');
    expect(await statusOf(server, id)).toBe('COMPLETED');
  });

  it('waits as long as its child is paused', async () => {
    const server = open();
    await register(server, 'pausable', [simple('pausable_work')]);
    await register(server, 'waits_for_paused', [sub('child', { name: 'pausable' })]);
    const id = await startRun(server, 'waits_for_paused');
    await server.settle();
    const child = await childOf(server, id, 'child');
    await server.useCases.executions.pause(NAMESPACE, child, 'operator');
    await server.settle();
    expect(await taskOf(server, id, 'child')).toMatchObject({ status: 'IN_PROGRESS' });
    await server.useCases.executions.resume(NAMESPACE, child, 'operator');
    await work(server, 'pausable_work');
    expect(await statusOf(server, id)).toBe('COMPLETED');
  });

  it('runs in branches of two tasks, in loops and in switches', async () => {
    const server = open();
    await register(server, 'small', [setVariable('set', { n: '${workflow.input.n}' })], {
      outputParameters: { n: '${workflow.input.n}' },
    });
    const child = (ref: string, n: string) => sub(ref, { name: 'small' }, { inputParameters: { n } });
    await register(
      server,
      'everywhere',
      [
        fork('split', [
          [child('left', '${workflow.input.n}'), child('left_again', '${left.output.n}')],
          [switchOn('choice', 'a', { a: [child('right', 'r'), simple('right_work')] })],
        ]),
        join('joined'),
        loop('rounds', 3, [
          child('in_loop', '${rounds.output.iteration}'),
          setVariable('tail', { last: '${in_loop.output.n}' }),
        ]),
      ],
      { outputParameters: { left: '${left_again.output.n}', last: '${workflow.variables.last}' } },
    );
    const id = await startRun(server, 'everywhere', { input: { n: 9 } });
    await server.settle();
    await work(server, 'right_work');
    expect(await viewOf(server, id)).toMatchObject({ status: 'COMPLETED', output: { left: 9, last: 3 } });
    const runs = await runsOf(server, 'small');
    expect(runs.map(({ status }) => status)).toEqual(Array(6).fill('COMPLETED'));
    expect(new Set(runs.map(({ executionId }) => executionId)).size).toBe(6);
  });

  it('is run by a dynamic fork over a list of inputs, by the workflow’s name', async () => {
    const server = open();
    await register(server, 'fanned', [setVariable('set', { n: 1 })], {
      outputParameters: { n: '${workflow.input.n}' },
    });
    await register(server, 'fans_out', [
      {
        name: 'fan',
        taskReferenceName: 'fan',
        type: 'FORK_JOIN_DYNAMIC',
        inputParameters: {
          forkTaskWorkflow: 'fanned',
          forkTaskWorkflowVersion: '1',
          forkTaskInputs: [{ n: 1 }, { n: 2 }],
        },
      },
      join('joined'),
    ]);
    const id = await startRun(server, 'fans_out');
    await server.settle();
    expect(await viewOf(server, id)).toMatchObject({
      status: 'COMPLETED',
      output: { _fanned_0: { n: 1 }, _fanned_1: { n: 2 } },
    });
  });

  it('that fails in a branch ends its run and the children of the other branches', async () => {
    const server = open();
    await register(server, 'patient', [wait('w'), simple('x')]);
    await register(server, 'hasty', [simple('hasty_work', { retryCount: 0 })]);
    await register(server, 'forked', [
      fork('split', [
        [sub('one', { name: 'patient' }), simple('unreached')],
        [sub('two', { name: 'hasty' }), simple('unreached_too')],
      ]),
      join('joined'),
    ]);
    const id = await startRun(server, 'forked');
    await server.settle();
    const one = await childOf(server, id, 'one');
    await work(server, 'hasty_work', { status: 'FAILED' });
    expect(await statuses(server, [id, one])).toEqual(['FAILED', 'TERMINATED']);
    expect((await viewOf(server, one)).reason).toContain(id);
    expect(await orphans(server)).toEqual([]);
  });
});
