import { describe, expect, it } from 'vitest';
import { PAYLOAD_BYTES_MAX } from '../../../src/domain/execution/payload-limit.ts';
import { fork, join, loop, noop, setVariable, simple, switchOn, terminate } from '../../support/builders.ts';
import { Run } from '../../support/drive.ts';

describe('FORK_JOIN and JOIN', () => {
  it('start all branches at once and wait for the last task of each', () => {
    const run = new Run({
      tasks: [fork('f', [[simple('a'), simple('a2')], [simple('b')]]), join('j'), simple('after')],
    });
    expect(run.open()).toEqual(['a', 'b']);
    run.complete('a', { n: 1 }).complete('b', { n: 2 });
    expect(run.open()).toEqual(['a2']);
    run.complete('a2', { n: 3 });
    expect(run.open()).toEqual(['after']);
    expect(run.seen('j').output).toEqual({ a2: { n: 3 }, b: { n: 2 } });
  });

  it('wait for the named tasks only; the run waits for the rest at its end', () => {
    const run = new Run({
      tasks: [fork('f', [[simple('a'), simple('a2')], [simple('b')]]), join('j', ['a']), simple('after')],
    });
    run.complete('a', { n: 1 });
    expect([run.open(), run.seen('j').output]).toEqual([['a2', 'after', 'b'], { a: { n: 1 } }]);
    run.complete('after', { last: true }).complete('b');
    expect(run.status).toBe('RUNNING');
    run.complete('a2');
    expect([run.status, run.output]).toEqual(['COMPLETED', { last: true }]);
  });

  it('count a named task in a case that was not taken as done, as soon as the case is chosen', () => {
    const chooser = switchOn('s', 'y', { x: [simple('x')], y: [simple('y'), simple('y2')] });
    const run = new Run({
      tasks: [fork('f', [[simple('a'), chooser, simple('z')]]), join('j', ['x', 'y']), simple('after')],
    });
    run.complete('a');
    expect(run.open()).toEqual(['y']);
    run.complete('y', { n: 1 });
    expect(run.open()).toEqual(['after', 'y2']);
    expect(run.seen('j').output).toEqual({ y: { n: 1 } });
  });

  it('wait for a switch until its case is over, also for the default', () => {
    const chooser = switchOn('s', 'none', { x: [simple('x')] }, [simple('d'), simple('d2')]);
    const run = new Run({ tasks: [fork('f', [[chooser], [simple('b')]]), join('j', ['s', 'b']), simple('after')] });
    run.complete('b').complete('d');
    expect(run.open()).toEqual(['d2']);
    run.complete('d2');
    expect(run.open()).toEqual(['after']);
    expect(run.seen('j').output).toEqual({ s: { evaluationResult: ['none'], selectedCase: 'none' } });
  });

  it('wait for a loop when a task inside of it is named', () => {
    const run = new Run({
      tasks: [fork('f', [[loop('l', 2, [simple('x')]), simple('y')]]), join('j', ['x']), simple('after')],
    });
    run.complete('x__1');
    expect(run.open()).toEqual(['x__2']);
    run.complete('x__2', { n: 1 });
    expect(run.open()).toEqual(['after', 'y']);
    expect(run.seen('j').output).toEqual({ x: { iteration: 2, '1': { x: {} }, '2': { x: { n: 1 } } } });
  });

  it('can wait, late and again, for a branch of an earlier fork, whatever way that went', () => {
    for (const way of ['x', 'none']) {
      const branch = [simple('b'), switchOn('s', way, { x: [simple('x')] })];
      const run = new Run({
        tasks: [
          fork('f', [[simple('a')], branch]),
          join('j', ['a']),
          simple('c'),
          join('late', ['x']),
          simple('after'),
        ],
      });
      run.complete('a').complete('c');
      expect(run.open()).toEqual(['b']);
      run.complete('b');
      if (way === 'x') run.complete('x');
      expect(run.open()).toEqual(['after']);
    }
  });

  it('can wait in one branch for a task of another', () => {
    const run = new Run({
      tasks: [
        fork('outer', [
          [fork('f', [[simple('a')]]), join('j', ['a', 'b2']), simple('c')],
          [simple('b'), simple('b2'), simple('b3')],
        ]),
        join('all'),
      ],
    });
    run.complete('a').complete('b');
    expect(run.open()).toEqual(['b2']);
    run.complete('b2');
    expect(run.open()).toEqual(['b3', 'c']);
    run.complete('b3').complete('c');
    expect(run.status).toBe('COMPLETED');
  });

  it('wait in a loop for tasks of the same iteration, of the loop before it, and of no loop', () => {
    const run = new Run({
      tasks: [
        simple('first'),
        loop('before', 2, [simple('x')]),
        loop('l', 2, [fork('f', [[simple('a'), simple('a2')], [simple('b')]]), join('j', ['a2', 'b', 'x', 'first'])]),
      ],
    });
    run.complete('first', { n: 1 }).complete('x__1').complete('x__2');
    run.complete('a__1').complete('b__1').complete('a2__1', { k: 1 });
    expect(run.seen('j__1').output).toMatchObject({ a2: { k: 1 }, first: { n: 1 }, x: { iteration: 2 } });
    expect(run.open()).toEqual(['a__2', 'b__2']);
    run.completeAll();
    expect(run.status).toBe('COMPLETED');
  });

  it('never wait for what only comes after them: such a run does not stand still', () => {
    const run = new Run({
      tasks: [fork('f', [[simple('a')]]), join('j', ['a', 'later']), simple('later')],
    });
    run.complete('a');
    expect(run.open()).toEqual(['later']);
    run.complete('later');
    expect(run.status).toBe('COMPLETED');
  });

  it('end the run at the first failure that is neither optional nor permissive, and cancel the rest', () => {
    const run = new Run({ tasks: [fork('f', [[simple('a'), simple('a2')], [simple('b')]]), join('j')] });
    run.failForGood('a', 'no');
    expect([run.status, run.open(), run.seen('b').status, run.seen('j').status]).toEqual([
      'FAILED',
      [],
      'CANCELED',
      'CANCELED',
    ]);
  });

  it('complete with errors when an optional task failed', () => {
    const run = new Run({ tasks: [fork('f', [[simple('a', { optional: true })], [simple('b')]]), join('j')] });
    run.failForGood('a').complete('b', { n: 1 });
    expect([run.status, run.seen('j').status]).toEqual(['COMPLETED', 'COMPLETED_WITH_ERRORS']);
    expect(run.seen('j').output).toEqual({ b: { n: 1 } });
  });

  it('fail when a permissive task failed, also before the task that they name', () => {
    const run = new Run({
      tasks: [fork('f', [[simple('p', { permissive: true }), simple('p2')], [simple('b')]]), join('j', ['p2', 'b'])],
    });
    run.failForGood('p').complete('b');
    expect([run.status, run.view.failedTask]).toEqual(['FAILED', 'j']);
  });

  it('hear of a branch that failed before the task that they name, while others still run', () => {
    const run = new Run({
      tasks: [
        fork('f', [[simple('p', { permissive: true }), simple('p2')], [simple('b')], [simple('c')]]),
        join('j', ['p2', 'b'], { optional: true }),
        simple('after'),
      ],
    });
    run.complete('b').failForGood('p');
    expect([run.open(), run.seen('j').status]).toEqual([['after', 'c'], 'COMPLETED_WITH_ERRORS']);
  });

  it('go on when they are optional themselves; the run still fails at its end for what failed', () => {
    const run = new Run({
      tasks: [
        fork('f', [[simple('p', { permissive: true })], [simple('b')]]),
        join('j', [], { optional: true }),
        simple('c'),
      ],
    });
    run.failForGood('p', 'no').complete('b');
    expect([run.open(), run.seen('j').status]).toEqual([['c'], 'COMPLETED_WITH_ERRORS']);
    run.complete('c');
    expect([run.status, run.view.failedTask]).toEqual(['FAILED', 'p']);
  });

  it('end a branch at its own failed join when that is permissive', () => {
    const inner = [
      fork('g', [[simple('p', { permissive: true })]]),
      join('k', [], { permissive: true }),
      simple('never'),
    ];
    const run = new Run({ tasks: [fork('f', [inner, [simple('b'), simple('b2')]]), join('j')] });
    run.failForGood('p');
    expect(run.open()).toEqual(['b']);
    run.complete('b').complete('b2');
    expect([run.status, run.view.failedTask]).toEqual(['FAILED', 'j']);
  });

  it('fail an iteration when it is over and a permissive task of it failed, though its join went on', () => {
    const run = new Run({
      tasks: [
        loop('l', 3, [
          fork('f', [[simple('p', { permissive: true })], [simple('b'), simple('b2')]]),
          join('j', ['b'], { optional: true }),
          simple('c'),
        ]),
      ],
    });
    run.failForGood('p__1', 'no').complete('b__1').complete('c__1');
    expect(run.open()).toEqual(['b2__1']);
    run.complete('b2__1');
    expect([run.status, run.view.failedTask, run.reason]).toEqual([
      'FAILED',
      'p__1',
      'Task p__1 failed with status FAILED_WITH_TERMINAL_ERROR: no',
    ]);
    run.retry();
    expect(run.open()).toEqual(['p__1']);
    run.complete('p__1').completeAll();
    expect(run.status).toBe('COMPLETED');
  });

  it('work with branches of operators only', () => {
    const run = new Run({ tasks: [fork('f', [[noop('n')], [setVariable('v', { x: 1 }), noop('m')]]), join('j')] });
    expect([run.status, run.state.variables]).toEqual(['COMPLETED', { x: 1 }]);
    expect(run.seen('j').output).toEqual({});
  });

  it('work three deep, with a switch between', () => {
    const deep = [fork('h', [[simple('a'), simple('a2')], [simple('b')]]), join('hj')];
    const middle = [switchOn('s', 'yes', { yes: [fork('g', [deep, [simple('c')]]), join('gj'), simple('d')] })];
    const run = new Run({ tasks: [fork('f', [middle, [simple('e')]]), join('fj')] });
    run.complete('e').complete('c').complete('b').complete('a').complete('a2');
    expect(run.open()).toEqual(['d']);
    run.complete('d');
    expect(run.status).toBe('COMPLETED');
  });

  it('close early by TERMINATE in a branch', () => {
    const run = new Run({
      tasks: [
        fork('f', [[simple('a'), terminate('t', 'COMPLETED', { workflowOutput: { by: 't' } })], [simple('b')]]),
        join('j'),
      ],
    });
    run.complete('a');
    expect([run.status, run.output, run.seen('b').status]).toEqual(['COMPLETED', { by: 't' }, 'CANCELED']);
  });
});

describe('a join script', () => {
  const scripted = (expression: string, fields = {}): Run =>
    new Run({
      tasks: [
        fork('f', [[simple('a'), simple('a2')], [simple('b')]]),
        join('j', ['a2', 'b'], { expression, evaluatorType: 'js', ...fields }),
        simple('after'),
      ],
    });

  it('closes the join when it is true', () => {
    const run = scripted('$.joinOn.some((ref) => $[ref].status === "COMPLETED")');
    expect(run.open()).toEqual(['a', 'b']);
    run.complete('b', { n: 1 });
    expect([run.open(), run.seen('j').output]).toEqual([['a', 'after'], { b: { n: 1 } }]);
  });

  it('closes it with the status, reason and output that it names', () => {
    const run = scripted('$.b.status === "COMPLETED" ? {status: "COMPLETED", outputData: {got: $.b.output.n}} : false');
    run.complete('b', { n: 5 });
    expect(run.seen('j').output).toEqual({ got: 5 });
    const failing = scripted(
      '$.b.status === "COMPLETED" ? {status: "FAILED", reasonForIncompletion: "too few"} : {status: "IN_PROGRESS"}',
    );
    failing.complete('b');
    expect([failing.status, failing.reason]).toEqual(['FAILED', 'Task j failed with status FAILED: too few']);
  });

  it('sees a task that has not begun, is being retried or has failed for now as in progress', () => {
    const run = scripted('$.joinOn.every((ref) => $[ref] && $[ref].status !== "IN_PROGRESS")');
    run.fail('b').complete('a').complete('b');
    expect(run.open()).toEqual(['a2']);
    run.complete('a2');
    expect(run.open()).toEqual(['after']);
  });

  it.each(['false', '({status: "IN_PROGRESS"})', '"no"', '({status: 7})'])(
    'that only ever answers %s lets the join close when all is over',
    (expression) => {
      const run = scripted(expression);
      run.complete('a').complete('b').complete('a2');
      expect(run.open()).toEqual(['after']);
    },
  );

  it('fails the join when it breaks, unless the join is optional', () => {
    expect(scripted('$.none.such').status).toBe('FAILED');
    expect(scripted('$.none.such', { optional: true }).open()).toEqual(['a', 'after', 'b']);
  });

  it('may fail without a reason, may close with errors, and then says so', () => {
    const answer = (status: string): string => `$.b.status === "COMPLETED" ? {status: "${status}"} : false`;
    const failing = scripted(answer('FAILED_WITH_TERMINAL_ERROR'));
    failing.complete('b');
    expect(failing.reason).toBe('Task j failed with status FAILED_WITH_TERMINAL_ERROR: The join script says so.');
    const excusing = scripted(
      '$.b.status === "COMPLETED" ? {status: "COMPLETED_WITH_ERRORS", reasonForIncompletion: "enough"} : false',
    );
    excusing.complete('b', { n: 1 });
    expect(excusing.seen('j')).toMatchObject({
      status: 'COMPLETED_WITH_ERRORS',
      reason: 'enough',
      output: { b: { n: 1 } },
    });
    expect(excusing.open()).toEqual(['a', 'after']);
  });

  it('sees what was never reached as skipped, without an output', () => {
    const run = new Run({
      tasks: [
        fork('f', [[simple('a'), switchOn('s', 'none', { x: [simple('x')] })], [simple('b')]]),
        join('j', ['x', 'b'], { expression: '({status: "COMPLETED", outputData: {x: $.x, b: $.b}})' }),
      ],
    });
    expect(run.seen('j').output).toEqual({
      x: { status: 'IN_PROGRESS', output: {} },
      b: { status: 'IN_PROGRESS', output: {} },
    });
    const late = new Run({
      tasks: [
        fork('f', [[simple('a'), switchOn('s', 'none', { x: [simple('x')] })], [simple('b')]]),
        join('j', ['x', 'b'], {
          expression: '$.x.status === "IN_PROGRESS" ? false : ({status: "COMPLETED", outputData: {x: $.x}})',
        }),
      ],
    });
    late.complete('a');
    expect(late.seen('j').output).toEqual({ x: { status: 'SKIPPED', output: {} } });
  });
});

describe('a JOIN over a task of a branch that failed before it', () => {
  it('names the task that it waited for, and that its branch failed', () => {
    const run = new Run({
      tasks: [fork('f', [[simple('p', { permissive: true }), simple('p2')], [simple('b')]]), join('j', ['p2', 'b'])],
    });
    run.complete('b').failForGood('p', 'no');
    expect(run.seen('j').reason).toBe('p2: a task of its branch failed');
  });

  it('hands on as much as fits, and fails where that is too large', () => {
    const big = { text: 'x'.repeat(PAYLOAD_BYTES_MAX / 2) };
    const run = new Run({ tasks: [fork('f', [[simple('a')], [simple('b')]]), join('j')] }, { checks: false });
    run.complete('a', big).complete('b', big);
    expect(run.seen('j')).toMatchObject({ status: 'FAILED_WITH_TERMINAL_ERROR', output: {} });
    expect(run.reason).toContain('The joined output is');
  });
});
