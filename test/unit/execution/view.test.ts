import { describe, expect, it } from 'vitest';
import { skippedTasks } from '../../../src/domain/execution/skipped-tasks.ts';
import { keyOf } from '../../../src/domain/execution/task-key.ts';
import { fork, join, loop, noop, setVariable, simple, switchOn, wait } from '../../support/builders.ts';
import { Run, START } from '../../support/drive.ts';

describe('the view of a run', () => {
  it('tells every attempt, and which of them another one followed', () => {
    const run = new Run({ tasks: [simple('a', { retryCount: 1 })] });
    run.fail('a', 'busy').fail('a').retry().complete('a');
    expect(run.view.tasks.map(({ attempt, status, retried }) => [attempt, status, retried])).toEqual([
      [1, 'FAILED', true],
      [2, 'FAILED', true],
      [3, 'COMPLETED', false],
    ]);
    expect(run.view.tasks[0]).toMatchObject({ reason: 'busy', workerId: 'worker', startedAt: START, endedAt: START });
  });

  it('says when a wait ends, and that it is in progress', () => {
    const run = new Run({
      tasks: [fork('f', [[wait('w', { duration: '5s' })], [wait('v')], [simple('a')]]), join('j')],
    });
    expect(['w', 'v', 'a', 'j'].map((key) => run.seen(key).status)).toEqual([
      'IN_PROGRESS',
      'IN_PROGRESS',
      'SCHEDULED',
      'IN_PROGRESS',
    ]);
    expect(run.seen('w').fireAt).toBe(START + 5_000);
  });

  it('tells the pause, the end and the reason of a run, and takes the end back when it is retried', () => {
    const run = new Run({ tasks: [loop('l', 2, [simple('a')]), simple('b')] }).pause();
    expect(run.view.status).toBe('PAUSED');
    run.resume().failForGood('a__1', 'no');
    expect(run.view).toMatchObject({ status: 'FAILED', failedTask: 'a__1', endedAt: START, output: {} });
    run.retry();
    expect(run.view.status).toBe('RUNNING');
    for (const field of ['output', 'endedAt', 'reason', 'failedTask']) expect(run.view).not.toHaveProperty(field);
    expect(run.seen('l')).toMatchObject({ status: 'IN_PROGRESS' });
    expect(run.seen('l')).not.toHaveProperty('endedAt');
    run.completeAll();
    expect(run.view.tasks.map((task) => task.status)).not.toContain('IN_PROGRESS');
  });

  it('never shows as open what was refused and is entered again', () => {
    const run = new Run(
      { tasks: [loop('l', 1, [simple('a')], { inputParameters: { x: '${workflow.${workflow.input.p}}' } })] },
      { input: { p: 'secrets.x' } },
    );
    run.retry();
    expect(run.view.tasks.map(({ status, retried }) => [status, retried])).toEqual([
      ['FAILED_WITH_TERMINAL_ERROR', true],
      ['FAILED_WITH_TERMINAL_ERROR', false],
    ]);
  });

  it('agrees with the state on what is open, at every prefix of the log', () => {
    const run = new Run({
      tasks: [setVariable('v', { x: 1 }), fork('f', [[simple('a')], [noop('n'), simple('b')]]), join('j')],
    });
    expect(run.view.tasks.filter((task) => task.queue !== undefined).map(keyOf)).toEqual(run.open());
    expect(run.view.variables).toEqual({ x: 1 });
  });
});

describe('skipped tasks', () => {
  const skipped = (run: Run): readonly string[] =>
    skippedTasks(run.state.plan, run.view).map((task) => `${keyOf(task)} ${task.status}`);

  it('are those of the cases that were not taken, at any depth', () => {
    const cases = {
      a: [simple('a1')],
      b: [simple('b1'), switchOn('t', 'x', { x: [simple('x1')] })],
      c: [fork('f', [[simple('f1')]]), join('j')],
    };
    const run = new Run({ tasks: [switchOn('s', 'a', cases, [simple('d1')])] });
    expect(skipped(run)).toEqual([
      'b1 SKIPPED',
      't SKIPPED',
      'x1 SKIPPED',
      'f SKIPPED',
      'f1 SKIPPED',
      'j SKIPPED',
      'd1 SKIPPED',
    ]);
    expect(skippedTasks(run.state.plan, run.view)[0]).toMatchObject({
      taskId: run.seen('s').taskId,
      type: 'SIMPLE',
      endedAt: START,
    });
  });

  it('are those of every case when the default is taken, and of the default when an empty case is', () => {
    expect(skipped(new Run({ tasks: [switchOn('s', 'none', { a: [simple('a1')] }, [simple('d1')])] }))).toEqual([
      'a1 SKIPPED',
    ]);
    expect(skipped(new Run({ tasks: [switchOn('s', 'a', { a: [] }, [simple('d1')])] }))).toEqual(['d1 SKIPPED']);
    const decision = {
      ...simple('s', { inputParameters: { v: 'b' } }),
      type: 'DECISION',
      caseValueParam: 'v',
      decisionCases: { a: [simple('a1')], b: [simple('b1')] },
    };
    expect(skipped(new Run({ tasks: [decision] }))).toEqual(['a1 SKIPPED']);
  });

  it('are told in each iteration', () => {
    const chooser = switchOn('s', '${m.output.iteration}', { '1': [simple('one')], '2': [simple('two')] });
    const run = new Run({ tasks: [loop('l', 1, [loop('m', 2, [chooser])])] });
    run.complete('one__1__1').complete('two__1__2');
    expect(skipped(run)).toEqual(['two__1__1 SKIPPED', 'one__1__2 SKIPPED']);
  });

  it('are not those of a switch that failed or was not reached', () => {
    const broken = switchOn('s', 1, { a: [simple('a1')] }, [], {
      evaluatorType: 'javascript',
      expression: '$.none.such',
    });
    expect(skipped(new Run({ tasks: [broken] }))).toEqual([]);
    expect(skipped(new Run({ tasks: [simple('a'), switchOn('s', 'a', { b: [simple('b')] })] }))).toEqual([]);
  });
});
