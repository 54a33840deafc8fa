import { describe, expect, it } from 'vitest';
import { VARIABLES_BYTES_MAX } from '../../../src/domain/tasks/plain-operators.ts';
import { fork, join, loop, noop, setVariable, simple, terminate } from '../../support/builders.ts';
import { Run } from '../../support/drive.ts';

describe('SET_VARIABLE', () => {
  it('merges into the variables, seen by the very next task', () => {
    const run = new Run({
      tasks: [
        setVariable('v', { a: 2, b: '${workflow.variables.a}' }),
        setVariable('w', { c: '${workflow.variables.b}' }),
        simple('x', { inputParameters: { all: '${workflow.variables}' } }),
      ],
      fields: { variables: { a: 1, kept: true } },
    });
    expect(run.task('x').input).toEqual({ all: { a: 2, b: 1, c: 1, kept: true } });
    expect(run.view.variables).toEqual({ a: 2, b: 1, c: 1, kept: true });
  });

  it('is refused beyond the cap of all variables together, and leaves them as they were', () => {
    const half = 'x'.repeat(VARIABLES_BYTES_MAX / 2);
    const run = new Run({ tasks: [setVariable('v', { a: half }), setVariable('w', { b: half })] });
    expect([run.status, run.seen('w').reason]).toEqual([
      'FAILED',
      `The variables would exceed ${VARIABLES_BYTES_MAX} bytes.`,
    ]);
    expect(Object.keys(run.state.variables)).toEqual(['a']);
    const again = new Run({ tasks: [setVariable('v', { a: half }), setVariable('w', { a: half })] });
    expect(again.status).toBe('COMPLETED');
  });

  it('counts in a loop', () => {
    const run = new Run({ tasks: [loop('l', 3, [setVariable('v', { seen: '${l.output.iteration}' })])] });
    expect([run.status, run.state.variables]).toEqual(['COMPLETED', { seen: 3 }]);
  });
});

describe('TERMINATE', () => {
  it.each(['COMPLETED', 'FAILED', 'TERMINATED'])(
    'ends the run %s with its reason and output, and cancels the rest',
    (status) => {
      const run = new Run({
        tasks: [
          fork('f', [
            [
              simple('a'),
              terminate('t', status, { terminationReason: 'enough', workflowOutput: { n: '${a.output.n}' } }),
            ],
            [simple('b')],
          ]),
          join('j'),
          simple('never'),
        ],
        fields: { outputParameters: { declared: true } },
      });
      run.complete('a', { n: 1 });
      expect([run.status, run.reason, run.output]).toEqual([status, 'enough', { n: 1 }]);
      expect([run.seen('b').status, run.seen('t').status, run.view.failedTask]).toEqual([
        'CANCELED',
        'COMPLETED',
        status === 'COMPLETED' ? undefined : 't',
      ]);
    },
  );

  it.each([
    ['FAILED', {}],
    ['TERMINATED', { terminationReason: null }],
    ['FAILED', { terminationReason: '' }],
  ])('names itself when it ends a run %s and is given %j', (status, given) => {
    const run = new Run({ tasks: [terminate('t', status, given)] });
    expect([run.status, run.reason]).toEqual([status, `Task t ended the run with status ${status}.`]);
  });

  it('gives a completed run no reason of its own', () => {
    expect(new Run({ tasks: [terminate('t', 'COMPLETED')] }).reason).toBeUndefined();
  });

  it('keeps a reason that is no text as its JSON', () => {
    expect(new Run({ tasks: [terminate('t', 'FAILED', { terminationReason: { code: 7 } })] }).reason).toBe(
      '{"code":7}',
    );
  });

  it('takes an output that is no object as the value of one, and none as empty', () => {
    expect(new Run({ tasks: [terminate('t', 'COMPLETED', { workflowOutput: 7 })] }).output).toEqual({ output: 7 });
    expect(new Run({ tasks: [terminate('t', 'COMPLETED')] }).output).toEqual({});
  });

  it.each(['DONE', 'TIMED_OUT', '', 7, null])('is refused with the status %j', (status) => {
    const run = new Run({ tasks: [terminate('t', 'x', { terminationStatus: status })] });
    expect(run.seen('t').reason).toBe(
      `terminationStatus ${JSON.stringify(status)} is none of COMPLETED, FAILED, TERMINATED.`,
    );
  });

  it('is reached again when the run it failed is retried', () => {
    const run = new Run({ tasks: [fork('f', [[simple('a'), terminate('t', 'FAILED')], [simple('b')]]), join('j')] });
    run.complete('a').retry();
    expect(run.status).toBe('FAILED');
    expect(run.eventsOf('ExecutionClosed')).toHaveLength(2);
  });
});

describe('NOOP', () => {
  it('goes on at once', () => {
    const run = new Run({ tasks: [noop('n', { inputParameters: { x: '${workflow.input.x}' } })] }, { input: { x: 1 } });
    expect([run.status, run.seen('n').input]).toEqual(['COMPLETED', { x: 1 }]);
  });
});
