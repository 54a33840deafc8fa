import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/domain/kernel/json.ts';
import { fork, join, loop, type Step, setVariable, simple, terminate } from '../../support/builders.ts';
import { Run, START } from '../../support/drive.ts';

const WORKFLOW_FIELDS = {
  input: '${workflow.input}',
  variables: '${workflow.variables}',
  output: '${workflow.output}',
  status: '${workflow.status}',
  workflowId: '${workflow.workflowId}',
  workflowType: '${workflow.workflowType}',
  version: '${workflow.version}',
  correlationId: '${workflow.correlationId}',
  parentWorkflowId: '${workflow.parentWorkflowId}',
  parentWorkflowTaskId: '${workflow.parentWorkflowTaskId}',
  reasonForIncompletion: '${workflow.reasonForIncompletion}',
  startTime: '${workflow.startTime}',
  createTime: '${workflow.createTime}',
  priority: '${workflow.priority}',
  schemaVersion: '${workflow.schemaVersion}',
  unknown: '${workflow.unknown}',
};

const reading = (ref: string, inputParameters: JsonObject): Step => simple(ref, { inputParameters });

/** What a listener to the end of a task is told of the run. */
const toldAtTheEnd = (run: Run): JsonObject | undefined => {
  const sent = run.published.flatMap((command) => (command.type === 'PublishMessage' ? [command.payload] : []));
  return (sent.at(-1) as { payload?: { payload?: JsonObject } } | undefined)?.payload?.payload;
};

const hearing = (payload: JsonObject): Step => ({
  ...simple('a'),
  onStateChange: { onCancelled: [{ type: 'seen', payload }] },
});

describe('what expressions read of the run', () => {
  it('is what it was started with, and null for what it has not', () => {
    const run = new Run(
      { tasks: [setVariable('v', { x: 1 }), reading('a', WORKFLOW_FIELDS)] },
      { input: { n: 1 }, started: { priority: 7 } },
    );
    expect(run.task('a').input).toEqual({
      input: { n: 1 },
      variables: { x: 1 },
      output: {},
      status: 'RUNNING',
      workflowId: run.state.executionId,
      workflowType: 'flow',
      version: 1,
      correlationId: null,
      parentWorkflowId: null,
      parentWorkflowTaskId: null,
      reasonForIncompletion: null,
      startTime: START,
      createTime: START,
      priority: 7,
      schemaVersion: 2,
      unknown: null,
    });
  });

  it('is the correlation id that it was given, also as a field of a task', () => {
    const run = new Run(
      { tasks: [simple('a'), reading('b', { run: '${workflow.correlationId}', task: '${a.correlationId}' })] },
      { started: { correlationId: 'c-1' } },
    );
    expect(run.complete('a').task('b').input).toEqual({ run: 'c-1', task: 'c-1' });
  });

  it('as a whole holds each field once', () => {
    const run = new Run({ tasks: [reading('a', { all: '${workflow}' })] });
    const { createTime: _createTime, unknown: _unknown, ...fields } = WORKFLOW_FIELDS;
    const all = (run.task('a').input as { all: JsonObject }).all;
    expect(Object.keys(all).sort()).toEqual(Object.keys(fields).sort());
  });

  it('after its end is how it ended', () => {
    const payload = { output: '${workflow.output}', reason: '${workflow.reasonForIncompletion}' };
    expect(toldAtTheEnd(new Run({ tasks: [hearing(payload)] }).terminate('enough'))).toEqual({
      output: {},
      reason: 'enough',
    });
    const ended = new Run({
      tasks: [
        fork('f', [[hearing(payload)], [simple('b'), terminate('t', 'COMPLETED', { workflowOutput: { by: 't' } })]]),
        join('j'),
      ],
    });
    expect(toldAtTheEnd(ended.complete('b'))).toEqual({ output: { by: 't' }, reason: null });
  });
});

describe('what expressions read of a task', () => {
  const ofTask = (ref: string, names: readonly string[]): JsonObject =>
    Object.fromEntries(names.map((name) => [name, `\${${ref}.${name}}`]));

  const NAMES = [
    'input',
    'output',
    'status',
    'taskId',
    'taskType',
    'taskDefName',
    'referenceTaskName',
    'iteration',
    'attempt',
    'callbackAfterSeconds',
    'pollCount',
    'retryCount',
    'scheduledTime',
    'startTime',
    'endTime',
    'workerId',
    'reasonForIncompletion',
    'correlationId',
    'workflowInstanceId',
  ];

  it('tells how it ended, and which attempt it was', () => {
    const tasks = [
      simple('a', { name: 'work', optional: true, retryCount: 1, retryDelaySeconds: 0 }),
      reading('b', { ...ofTask('a', NAMES), unknown: '${a.unknown}' }),
    ];
    const run = new Run({ tasks }).fail('a');
    const { taskId } = run.task('a');
    run.advance(10).fail('a', 'twice');
    expect(run.task('b').input).toEqual({
      input: {},
      output: {},
      status: 'COMPLETED_WITH_ERRORS',
      taskId,
      taskType: 'SIMPLE',
      taskDefName: 'work',
      referenceTaskName: 'a',
      iteration: 0,
      attempt: 2,
      retryCount: 1,
      scheduledTime: START,
      startTime: START + 10,
      endTime: START + 10,
      workerId: 'worker',
      pollCount: 1,
      callbackAfterSeconds: 0,
      reasonForIncompletion: 'twice',
      correlationId: null,
      workflowInstanceId: run.state.executionId,
      unknown: null,
    });
  });

  it('tells of one that is open that it has neither started nor ended, and nobody has it', () => {
    const names = ['status', 'startTime', 'endTime', 'workerId', 'reasonForIncompletion'];
    const run = new Run({
      tasks: [fork('f', [[simple('a')], [simple('x'), reading('b', ofTask('a', names))]]), join('j')],
    });
    expect(run.complete('x').task('b').input).toEqual({
      status: 'SCHEDULED',
      startTime: null,
      endTime: null,
      workerId: null,
      reasonForIncompletion: null,
    });
  });

  it('as a whole holds all of it, in a loop with the iteration it ran in', () => {
    const run = new Run({ tasks: [loop('l', 1, [simple('a'), reading('b', { all: '${a}' })])] }).complete('a__1', {
      n: 1,
    });
    const { all } = run.task('b__1').input as { all: JsonObject };
    expect(Object.keys(all).sort()).toEqual([...NAMES].sort());
    expect(all).toMatchObject({ iteration: 1, referenceTaskName: 'a__1', output: { n: 1 } });
  });
});
