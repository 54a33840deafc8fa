import { describe, expect, it } from 'vitest';
import { dynamicFork, fork, join, loop, noop, simple, terminate, wait, yieldStep } from '../../support/builders.ts';
import { Run } from '../../support/drive.ts';

const ORDER = { type: 'object', required: ['id'], properties: { id: { type: 'integer' } } };
const taking = (name: string, fields = {}) => ({ name, inputSchema: ORDER, ...fields });
const giving = (name: string, fields = {}) => ({ name, outputSchema: ORDER, retryDelaySeconds: 0, ...fields });
const INPUT = { inputParameters: { id: '${workflow.input.id}' } };

describe('the input schema of a task', () => {
  it('lets through what fits it', () => {
    const run = new Run({ tasks: [simple('a', INPUT)], taskDefinitions: [taking('a')] }, { input: { id: 1 } });
    expect(run.complete('a').status).toBe('COMPLETED');
  });

  it('fails the task before anybody gets it, naming the field', () => {
    const run = new Run({ tasks: [simple('a', INPUT)], taskDefinitions: [taking('a')] }, { input: { id: 'x' } });
    expect([run.status, run.open()]).toEqual(['FAILED', []]);
    expect(run.seen('a')).toMatchObject({
      status: 'FAILED_WITH_TERMINAL_ERROR',
      input: { id: 'x' },
      reason: 'The input does not fit its schema: input.id must be integer',
    });
  });

  it('lets an optional task go on with errors, in a branch and in a loop', () => {
    const tasks = [
      fork('f', [
        [simple('a', { ...INPUT, optional: true }), simple('b')],
        [loop('l', 2, [simple('a2', { name: 'a', optional: true })])],
      ]),
      join('j'),
    ];
    const run = new Run({ tasks, taskDefinitions: [taking('a')] }, { input: { id: 'x' } });
    run.complete('b');
    expect(run.status).toBe('COMPLETED');
    expect(run.seen('a2__2').status).toBe('COMPLETED_WITH_ERRORS');
  });

  it('holds for a task written in place, one named by data, and one in a dynamic fork', () => {
    const inline = new Run({ tasks: [simple('a', { taskDefinition: { inputSchema: ORDER } })] });
    expect(inline.seen('a').status).toBe('FAILED_WITH_TERMINAL_ERROR');
    const dynamic = new Run({
      tasks: [
        { name: 'd', taskReferenceName: 'd', type: 'DYNAMIC', dynamicTaskNameParam: 'n', inputParameters: { n: 'a' } },
      ],
      taskDefinitions: [taking('a')],
    });
    expect(dynamic.seen('d').reason).toContain('input must have required property');
    const forked = new Run({
      tasks: [dynamicFork('f', [{ name: 'a', taskReferenceName: 'x' }], { x: { id: 'no' } }), join('j')],
      taskDefinitions: [taking('a')],
    });
    expect(forked.seen('x').reason).toContain('input.id must be integer');
  });

  it('is not looked at where it is not enforced', () => {
    const run = new Run({ tasks: [simple('a')], taskDefinitions: [taking('a', { enforceSchema: false })] });
    expect(run.open()).toEqual(['a']);
    const conductor = new Run({ tasks: [simple('a')], door: 'conductor', taskDefinitions: [taking('a')] });
    expect(conductor.open()).toEqual(['a']);
  });

  it('may refuse the next attempt, when a retried input no longer fits', () => {
    const tasks = [fork('f', [[simple('a', { inputParameters: { id: '${b.output.id}' } })], [simple('b')]]), join('j')];
    const definition = {
      name: 'a',
      inputSchema: { properties: { id: { type: ['integer', 'null'] } } },
      retryDelaySeconds: 0,
    };
    const run = new Run({ tasks, taskDefinitions: [definition] });
    run.complete('b', { id: 'no number' }).fail('a').advance(1);
    expect([run.status, run.seen('a').attempt]).toEqual(['FAILED', 2]);
  });
});

describe('the output schema of a task', () => {
  it('lets through what fits it', () => {
    const run = new Run({ tasks: [simple('a')], taskDefinitions: [giving('a')] });
    expect(run.complete('a', { id: 1 }).output).toEqual({ id: 1 });
  });

  it('fails a task for good that does not give what it promised, and keeps the output for who looks', () => {
    const run = new Run({ tasks: [simple('a')], taskDefinitions: [giving('a')] });
    run.complete('a', { id: 'x' });
    expect(run.status).toBe('FAILED');
    expect(run.seen('a')).toMatchObject({
      status: 'FAILED_WITH_TERMINAL_ERROR',
      output: { id: 'x' },
      reason: 'The output does not fit its schema: output.id must be integer',
    });
  });

  it('lets an optional task go on with errors, and another attempt begin when the run is retried', () => {
    const optional = new Run({ tasks: [simple('a', { optional: true }), noop('n')], taskDefinitions: [giving('a')] });
    expect(optional.complete('a', {}).status).toBe('COMPLETED');
    const run = new Run({ tasks: [simple('a')], taskDefinitions: [giving('a')] });
    expect(run.complete('a', {}).retry().complete('a', { id: 2 }).status).toBe('COMPLETED');
  });

  it('says nothing about failures', () => {
    const run = new Run({ tasks: [simple('a')], taskDefinitions: [giving('a')] });
    expect(run.fail('a').advance(10_000).open()).toEqual(['a']);
  });

  it('holds for a task whose name only data gives', () => {
    const run = new Run({
      tasks: [dynamicFork('f', [{ name: 'a', taskReferenceName: 'x' }]), join('j')],
      taskDefinitions: [giving('a')],
    });
    run.complete('x', { id: 'x' });
    expect(run.seen('x').reason).toContain('output.id must be integer');
  });

  it('holds for signals, those too that come before their wait', () => {
    const tasks = [wait('first', { duration: '10 seconds' }), yieldStep('y')];
    const run = new Run({ tasks, taskDefinitions: [giving('y')] });
    run.signal('y', { id: 'early' });
    expect(run.advance(10_000).seen('y').reason).toContain('output.id must be integer');
  });
});

describe('the output schema of a workflow', () => {
  const fields = { outputSchema: ORDER, outputParameters: { id: '${a.output.id}' } };

  it('completes a run whose output fits it', () => {
    expect(new Run({ tasks: [simple('a')], fields }).complete('a', { id: 1 }).status).toBe('COMPLETED');
  });

  it('fails a run whose output does not, with the reason and the output', () => {
    const run = new Run({ tasks: [simple('a')], fields }).complete('a', { id: 'x' });
    expect([run.status, run.output, run.reason]).toEqual([
      'FAILED',
      { id: 'x' },
      'The output of the execution does not fit its schema: output.id must be integer',
    ]);
  });

  it('holds for a TERMINATE that completes the run, and for no other end', () => {
    const completed = new Run({ tasks: [terminate('t', 'COMPLETED', { workflowOutput: {} })], fields });
    expect([completed.status, completed.reason]).toEqual(['FAILED', expect.stringContaining('output must have')]);
    const failed = new Run({ tasks: [terminate('t', 'FAILED', { terminationReason: 'so' })], fields });
    expect([failed.status, failed.reason]).toEqual(['FAILED', 'so']);
  });

  it('is not looked at where it is not enforced', () => {
    const run = new Run({ tasks: [simple('a')], fields: { ...fields, enforceSchema: false } });
    expect(run.complete('a', { id: 'x' }).status).toBe('COMPLETED');
  });
});
