import { describe, expect, it } from 'vitest';
import type { ExecutionId, TaskId } from '../../../src/domain/kernel/brand.ts';
import { fork, join, loop, noop, simple, switchOn } from '../../support/builders.ts';
import { Run, START } from '../../support/drive.ts';

describe('the output of a run', () => {
  it('is what the definition declares, null for what never ran', () => {
    const run = new Run({
      tasks: [switchOn('s', 'x', { y: [simple('skipped')] }), simple('a')],
      fields: {
        outputParameters: {
          a: '${a.output.n}',
          skipped: '${skipped.output.n}',
          text: 'n=${a.output.n}',
          list: ['${a.status}'],
        },
      },
    }).complete('a', { n: 1 });
    expect(run.output).toEqual({ a: 1, skipped: null, text: 'n=1', list: ['COMPLETED'] });
  });

  it('is without a declaration that of the last task, in a case as well', () => {
    expect(
      new Run({ tasks: [switchOn('s', 'x', { x: [simple('a'), simple('b')] })] }).complete('a').complete('b', { n: 1 })
        .output,
    ).toEqual({ n: 1 });
    expect(new Run({ tasks: [switchOn('s', 'x', {})] }).output).toEqual({ evaluationResult: ['x'], selectedCase: 'x' });
    expect(new Run({ tasks: [noop('n')] }).output).toEqual({});
  });

  it('does not depend on which branch was last', () => {
    const run = new Run({ tasks: [fork('f', [[simple('a')], [simple('b')]]), join('j', ['a']), simple('last')] });
    run.complete('a').complete('last', { last: true }).complete('b', { b: true });
    expect(run.output).toEqual({ last: true });
  });

  it('shows of a failed run what it had come to', () => {
    const run = new Run({
      tasks: [simple('a'), simple('b')],
      fields: { outputParameters: { a: '${a.output.n}', b: '${b.output.n}' } },
    });
    run.complete('a', { n: 1 }).failForGood('b');
    expect([run.status, run.output]).toEqual(['FAILED', { a: 1, b: null }]);
    expect(new Run({ tasks: [simple('a')] }).failForGood('a').output).toEqual({});
  });
});

describe('expressions', () => {
  it('read all that there is to know of a run', () => {
    const inputParameters = {
      input: '${workflow.input.x}',
      variables: '${workflow.variables.v}',
      status: '${workflow.status}',
      id: '${workflow.workflowId}',
      type: '${workflow.workflowType}',
      version: '${workflow.version}',
      correlation: '${workflow.correlationId}',
      parent: '${workflow.parentWorkflowId}',
      parentTask: '${workflow.parentWorkflowTaskId}',
      reason: '${workflow.reasonForIncompletion}',
      start: '${workflow.startTime}',
      created: '${workflow.createTime}',
      priority: '${workflow.priority}',
      schema: '${workflow.schemaVersion}',
      output: '${workflow.output}',
      none: '${workflow.none}',
      taskId: '${CPEWF_TASK_ID}',
    };
    const run = new Run(
      { tasks: [simple('a', { inputParameters })], fields: { variables: { v: 1 } } },
      { input: { x: [1] }, started: { correlationId: 'order-7', priority: 5 } },
    );
    const task = run.task('a');
    expect(task.input).toEqual({
      input: [1],
      variables: 1,
      status: 'RUNNING',
      id: run.state.executionId,
      type: 'flow',
      version: 1,
      correlation: 'order-7',
      parent: null,
      parentTask: null,
      reason: null,
      start: START,
      created: START,
      priority: 5,
      schema: 2,
      output: {},
      none: null,
      taskId: task.taskId,
    });
    expect(task.priority).toBe(5);
  });

  it('of a child read which task of which run waits for it', () => {
    const inputParameters = { run: '${workflow.parentWorkflowId}', task: '${workflow.parentWorkflowTaskId}' };
    const parent = { executionId: 'p' as ExecutionId, taskId: 'p.2' as TaskId, ref: 's', iteration: 0, attempt: 1 };
    const run = new Run({ tasks: [simple('a', { inputParameters })] }, { started: { parent } });
    expect(run.task('a').input).toEqual({ run: 'p', task: 'p.2' });
  });

  it('read all that there is to know of a task, of its latest attempt', () => {
    const fields = [
      'input',
      'output',
      'status',
      'taskId',
      'taskType',
      'taskDefName',
      'referenceTaskName',
      'iteration',
      'attempt',
      'retryCount',
      'scheduledTime',
      'startTime',
      'endTime',
      'workerId',
      'reasonForIncompletion',
      'correlationId',
      'workflowInstanceId',
      'none',
    ];
    const inputParameters = Object.fromEntries(fields.map((field) => [field, `\${a.${field}}`]));
    const run = new Run(
      {
        tasks: [
          loop('l', 1, [simple('a', { name: 'work', inputParameters: { x: 1 } })]),
          simple('b', { inputParameters }),
          simple('c', { inputParameters: { whole: '${a}', flow: '${workflow}' } }),
        ],
      },
      { started: { correlationId: 'order-7' } },
    );
    run.fail('a__1').advance(1_000);
    const id = run.task('a__1').taskId;
    run.complete('a__1', { n: 1 });
    expect(run.task('b').input).toEqual({
      input: { x: 1 },
      output: { n: 1 },
      status: 'COMPLETED',
      taskId: id,
      taskType: 'SIMPLE',
      taskDefName: 'work',
      referenceTaskName: 'a__1',
      iteration: 1,
      attempt: 2,
      retryCount: 1,
      scheduledTime: START,
      startTime: START + 1_000,
      endTime: START + 1_000,
      workerId: 'worker',
      reasonForIncompletion: null,
      correlationId: 'order-7',
      workflowInstanceId: run.state.executionId,
      none: null,
    });
    run.complete('b');
    expect(run.task('c').input).toMatchObject({
      whole: { output: { n: 1 }, attempt: 2 },
      flow: { status: 'RUNNING', input: {} },
    });
  });

  it('read null of a task that has not run, and see a task that runs', () => {
    const inputParameters = { later: '${later.output.x}', whole: '${later}', a: '${a.status}' };
    const run = new Run({
      tasks: [fork('f', [[simple('a')], [simple('b', { inputParameters })]]), join('j'), simple('later')],
    });
    expect(run.task('b').input).toEqual({ later: null, whole: null, a: 'SCHEDULED' });
  });

  it('evaluate anew for each attempt', () => {
    const run = new Run({
      tasks: [fork('f', [[simple('a')], [simple('b', { inputParameters: { a: '${a.status}' } })]]), join('j')],
    });
    run.complete('a').fail('b');
    expect(run.task('b').input).toEqual({ a: 'COMPLETED' });
  });
});
