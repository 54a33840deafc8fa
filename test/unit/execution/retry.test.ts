import { describe, expect, it } from 'vitest';
import { RETRY_AFTER_MS_MAX } from '../../../src/domain/execution/outcome.ts';
import type { JsonObject } from '../../../src/domain/kernel/json.ts';
import {
  exclusiveJoin,
  fork,
  join,
  loop,
  type Step,
  setVariable,
  simple,
  switchOn,
  terminate,
  wait,
} from '../../support/builders.ts';
import { Run, START } from '../../support/drive.ts';

/** Retries a closed run, completes whatever is open then, and gives what was open first. */
const retried = (run: Run): readonly string[] => {
  run.retry();
  const open = run.open();
  run.completeAll();
  expect(run.status).toBe('COMPLETED');
  return open;
};

describe('a retry of a run', () => {
  it('gives the failed task another attempt with all its retries, and not the tasks before it', () => {
    const run = new Run({ tasks: [simple('a'), simple('b', { retryCount: 1 })] });
    run.complete('a').fail('b').fail('b');
    expect(run.status).toBe('FAILED');
    run.retry();
    expect(run.task('b')).toMatchObject({ attempt: 3, visibleAt: run.now });
    run.fail('b');
    expect(run.task('b').attempt).toBe(4);
    run.complete('b');
    expect(run.status).toBe('COMPLETED');
  });

  it('is refused for a run that is open or has completed', () => {
    const run = new Run({ tasks: [simple('a')] });
    expect(run.request({ type: 'Retry', by: 'x' })?.code).toBe('INVALID_STATE');
    run.complete('a');
    expect(run.request({ type: 'Retry', by: 'x' })?.code).toBe('INVALID_STATE');
  });

  it('goes on in a fork at the failed branch and at those that were canceled', () => {
    const run = new Run({
      tasks: [
        fork('f', [[simple('a'), simple('a2')], [simple('b'), simple('b2')], [simple('c')]]),
        join('j'),
        simple('d'),
      ],
    });
    run.complete('c').complete('a').failForGood('a2');
    expect(retried(run)).toEqual(['a2', 'b']);
  });

  it('goes on in a switch, in a loop and in a loop in a branch', () => {
    const inSwitch = new Run({ tasks: [switchOn('s', 'x', { x: [simple('a'), simple('b')] }), simple('c')] });
    inSwitch.complete('a').failForGood('b');
    expect(retried(inSwitch)).toEqual(['b']);
    const inLoop = new Run({ tasks: [loop('l', 3, [simple('a'), simple('b')])] });
    inLoop.complete('a__1').complete('b__1').complete('a__2').failForGood('b__2');
    expect(retried(inLoop)).toEqual(['b__2']);
    expect(inLoop.output.iteration).toBe(3);
    const nested = new Run({
      tasks: [fork('f', [[loop('l', 2, [loop('m', 2, [simple('a')])])], [simple('b')]]), join('j')],
    });
    nested.complete('a__1__1').complete('a__1__2').complete('a__2__1').failForGood('a__2__2');
    expect(retried(nested)).toEqual(['a__2__2', 'b']);
  });

  it('revives every level that a permissive failure ended', () => {
    const inner = [
      switchOn('s', 'x', {
        x: [
          loop('l', 2, [
            fork('g', [[simple('p', { permissive: true })], [simple('q')]]),
            join('k', [], { permissive: true }),
          ]),
        ],
      }),
      simple('after'),
    ];
    const run = new Run({ tasks: [fork('f', [inner, [simple('b'), simple('b2')]]), join('j')] });
    run.failForGood('p__1').complete('q__1').complete('b').complete('b2');
    expect([run.status, run.view.failedTask]).toEqual(['FAILED', 'j']);
    expect(retried(run)).toEqual(['p__1']);
    expect(run.completed()).toEqual(expect.arrayContaining(['p__2', 'q__2', 'after', 'j']));
  });

  it('gives every task that failed another attempt, in branches, cases and loops at once', () => {
    const run = new Run({
      tasks: [
        fork('f', [
          [simple('a', { permissive: true, retryCount: 0 }), simple('a2')],
          [switchOn('s', 'x', { x: [simple('b', { permissive: true, retryCount: 0 }), simple('b2')] })],
          [loop('l', 2, [simple('c', { permissive: true, retryCount: 0 }), simple('c2')])],
          [simple('d')],
        ]),
        join('j'),
      ],
    });
    run.complete('c__1').complete('c2__1').fail('a').fail('b').fail('c__2').complete('d');
    expect(run.status).toBe('FAILED');
    run.retry();
    expect(run.open()).toEqual(['a', 'b', 'c__2']);
    run.complete('a').complete('b').complete('c__2');
    expect(run.open()).toEqual(['a2', 'b2', 'c2__2']);
    run.completeAll();
    expect(run.status).toBe('COMPLETED');
  });

  it('goes on after the run itself timed out and no task had failed, with the whole of its time', () => {
    const run = new Run({
      tasks: [fork('f', [[simple('a'), simple('a2')], [wait('w')]]), join('j')],
      fields: { timeoutSeconds: 60 },
    });
    run.complete('a').advance(60_000);
    expect([run.status, run.open()]).toEqual(['TIMED_OUT', []]);
    run.advance(30_000).retry();
    expect([run.status, run.open()]).toEqual(['RUNNING', ['a2', 'w']]);
    run.advance(59_999);
    expect(run.status).toBe('RUNNING');
    run.complete('a2').complete('w');
    expect(run.status).toBe('COMPLETED');
    const again = new Run({ tasks: [simple('a')], fields: { timeoutSeconds: 60 } }).advance(60_000).retry();
    expect(again.advance(60_000).status).toBe('TIMED_OUT');
  });

  it('lets a join wait again for all that it named, in whatever order it is revived', () => {
    const run = new Run({
      tasks: [
        fork('f', [[simple('p'), simple('p2', { permissive: true })], [simple('b')]]),
        join('j', ['p2', 'b']),
        simple('after'),
      ],
    });
    run.complete('p').failForGood('p2').complete('b');
    expect(run.status).toBe('FAILED');
    run.retry();
    expect([run.open(), run.seen('j').status]).toEqual([['p2'], 'IN_PROGRESS']);
    run.complete('p2', { n: 1 });
    expect([run.open(), run.seen('j').output]).toEqual([['after'], { p2: { n: 1 } }]);
  });

  it('asks a failed join script, a failed condition and a failed switch again', () => {
    const script =
      'if ($.b.status === "FAILED_WITH_TERMINAL_ERROR") throw new Error("b"); $.b.status !== "IN_PROGRESS"';
    const joined = new Run({
      tasks: [fork('f', [[simple('b', { permissive: true })]]), join('j', ['b'], { expression: script })],
    });
    joined.failForGood('b');
    expect(joined.reason).toContain('The join script failed');
    expect(retried(joined)).toEqual(['b']);
    const condition = 'if ($.a.n === 1 && $.l.iteration < 2) throw new Error("one"); false';
    const looped = new Run({ tasks: [loop('l', condition, [simple('a')]), simple('after')] });
    looped.complete('a__1', { n: 1 });
    expect(looped.status).toBe('FAILED');
    looped.retry();
    // Nothing of the iteration failed, so it stands, and its condition fails as it did.
    expect([looped.status, looped.eventsOf('OperatorClosed').length]).toEqual(['FAILED', 2]);
    const chosen = new Run({
      tasks: [switchOn('s', 1, { a: [simple('a')] }, [], { evaluatorType: 'javascript', expression: '$.none.such' })],
    });
    expect(chosen.retry().eventsOf('TaskRefused')).toHaveLength(2);
  });

  it('enters an operator again that was refused, wherever it stands', () => {
    const big = 'x'.repeat(200_000);
    const full = setVariable('v', { a: '${workflow.input.big}', b: '${workflow.variables.size}' });
    for (const tasks of [
      [full, simple('after')],
      [fork('f', [[simple('a')], [full, simple('after')]]), join('j')],
      [switchOn('s', 'x', { x: [full, simple('after')] })],
      [loop('l', 1, [full, simple('after')])],
    ]) {
      const run = new Run({ tasks, fields: { variables: { size: big } } }, { input: { big } });
      expect(run.status).toBe('FAILED');
      run.retry();
      expect([run.status, run.eventsOf('TaskRefused').length]).toEqual(['FAILED', 2]);
    }
  });

  it('tells of an operator that is refused again under an attempt of its own, after a rerun too', () => {
    const run = new Run({ tasks: [simple('a'), terminate('t', '${a.output.status}')] });
    run.complete('a', { status: 'DONE' }).retry().retry();
    run.rerunTasks(['t'], false).rerunTasks(['a'], false).complete('a', { status: 'GONE' }).retry();
    const attempts = run.eventsOf('TaskRefused').map(({ attempt }) => attempt);
    expect(attempts).toEqual([...attempts.keys()].map((index) => index + 1));
    expect(attempts).toHaveLength(6);
  });

  it('of an operator in a loop sees again what it gave in the iteration before', () => {
    const v = setVariable('v', { n: '${a.output.n}', before: '${v.output.n}', size: '${a.output.size}' });
    const run = new Run({ tasks: [loop('l', 2, [simple('a'), v])] });
    run.complete('a__1', { n: 1, size: 'small' }).complete('a__2', { n: 2, size: 'x'.repeat(300_000) });
    expect([run.status, run.seen('v__2').status]).toEqual(['FAILED', 'FAILED_WITH_TERMINAL_ERROR']);
    run.rerunTasks(['a__2'], false).complete('a__2', { n: 2, size: 'small' });
    expect([run.status, run.seen('v__2').output]).toEqual(['COMPLETED', { n: 2, before: 1, size: 'small' }]);
  });

  it('goes on after it was terminated, where it was', () => {
    const run = new Run({
      tasks: [fork('f', [[loop('l', 2, [simple('a'), wait('w', { duration: '1m' })])], [simple('b')]]), join('j')],
    });
    run.complete('a__1').advance(30_000).terminate().advance(3_600_000).retry();
    expect(run.open()).toEqual(['b', 'w__1']);
    run.advance(60_000).complete('a__2').advance(60_000).complete('b');
    expect(run.status).toBe('COMPLETED');
  });

  it('goes on after a task timed out for good, with a total deadline that counts anew', () => {
    const run = new Run({ tasks: [simple('a', { totalTimeout: 60, retryCount: 5 })] }).advance(60_000);
    expect(run.status).toBe('TIMED_OUT');
    run.advance(60_000).retry();
    expect([...run.timers.values()].map((timer) => timer.fireAt)).toEqual([START + 180_000]);
    expect(run.complete('a').status).toBe('COMPLETED');
  });

  it('goes on with an exclusive join that was still open', () => {
    const run = new Run({
      tasks: [fork('f', [[simple('a')], [simple('b')]]), exclusiveJoin('x', ['a', 'b']), simple('c')],
    });
    run.failForGood('a').retry();
    expect(run.open()).toEqual(['a', 'b']);
    run.complete('b').complete('c').complete('a');
    expect(run.status).toBe('COMPLETED');
  });

  it('goes on at a branch that had ended beside a join which was done', () => {
    const run = new Run({
      tasks: [fork('f', [[simple('p', { permissive: true })], [simple('b')]]), join('j', ['b']), simple('after')],
    });
    run.failForGood('p').complete('b').complete('after');
    expect([run.status, run.view.failedTask]).toEqual(['FAILED', 'p']);
    expect(retried(run)).toEqual(['p']);
  });

  it('keeps signals that came before their wait', () => {
    const run = new Run({ tasks: [simple('a'), wait('w')] });
    run.signal('w', { n: 1 });
    run.failForGood('a').retry().complete('a');
    expect([run.status, run.output]).toEqual(['COMPLETED', { n: 1 }]);
  });

  it('finds the output of the run again when only that had failed', () => {
    const run = new Run(
      { tasks: [simple('a')], fields: { outputParameters: { x: '${workflow.${workflow.input.path}}' } } },
      { input: { path: 'secrets.x' } },
    ).complete('a');
    expect(run.reason).toContain('FORBIDDEN_REFERENCE');
    expect(run.retry().status).toBe('FAILED');
  });
});

describe('the retry of a call whose host said when to come again', () => {
  const call = (fields = {}): Step => ({
    name: 'h',
    taskReferenceName: 'h',
    type: 'HTTP',
    inputParameters: { http_request: { uri: 'https://api.example.com/', method: 'GET' } },
    retryCount: 1,
    retryDelaySeconds: 2,
    jitter: 0,
    ...fields,
  });
  const retriedAfter = (step: Step, output: JsonObject): number => {
    const run = new Run({ tasks: [step, simple('b')] });
    const key = String(step.taskReferenceName);
    run.settle(key, 'FAILED', { output });
    return run.task(key).visibleAt - START;
  };

  it.each<[string, JsonObject, JsonObject, number]>([
    ['waits as long as that', {}, { retryAfterSeconds: 30 }, 30_000],
    ['and a fraction of a second', {}, { retryAfterSeconds: 2.5004 }, 2_500],
    ['never less than its policy says', {}, { retryAfterSeconds: 1 }, 2_000],
    ['never longer than its policy lets it', { maxRetryDelaySeconds: 10 }, { retryAfterSeconds: 30 }, 10_000],
    ['never longer than an hour without such a bound', {}, { retryAfterSeconds: 1e9 }, RETRY_AFTER_MS_MAX],
    ['as its policy says where that is no time to come', {}, { retryAfterSeconds: -5 }, 2_000],
    ['nor a number', {}, { retryAfterSeconds: '30' }, 2_000],
    ['nor said at all', {}, {}, 2_000],
  ])('%s', (_, fields, output, ms) => expect(retriedAfter(call(fields), output)).toBe(ms));

  it('is a matter of calls only: what a worker tells in its output is its own', () => {
    const own = simple('a', { retryCount: 1, retryDelaySeconds: 2, jitter: 0 });
    expect(retriedAfter(own, { retryAfterSeconds: 30 })).toBe(2_000);
  });
});

describe('a task whose deadline ends the run', () => {
  const timed = (fields = {}) => simple('a', { timeoutPolicy: 'TIME_OUT_WF', retryCount: 5, ...fields });

  it('has another attempt when the run is retried', () => {
    const run = new Run({ tasks: [timed(), simple('b')] }).timeOut('a', 'START_TO_CLOSE');
    expect([run.status, run.view.failedTask]).toEqual(['TIMED_OUT', 'a']);
    run.retry();
    expect([run.open(), run.task('a').attempt]).toEqual([['a'], 2]);
    run.completeAll();
    expect(run.status).toBe('COMPLETED');
  });

  it('ends it at once in a fork too, whether it is permissive or optional', () => {
    for (const fields of [{ permissive: true }, { optional: true }]) {
      const run = new Run({ tasks: [fork('f', [[timed(fields)], [simple('b'), simple('b2')]]), join('j')] });
      run.timeOut('a', 'START_TO_CLOSE');
      expect([run.status, run.open(), run.seen('b').status]).toEqual(['TIMED_OUT', [], 'CANCELED']);
    }
  });
});

describe('a task that ends TIMED_OUT by no deadline of its own policy', () => {
  it('is excused where it is optional: its worker was lost, or its child ran out of time', () => {
    const fields = { timeoutPolicy: 'TIME_OUT_WF', retryCount: 0, optional: true };
    const lost = new Run({ tasks: [simple('a', fields), simple('b')] }).timeOut('a', 'HEARTBEAT');
    const child: Step = { ...simple('a', fields), type: 'SUB_WORKFLOW', subWorkflowParam: { name: 'x' } };
    const late = new Run({ tasks: [child, simple('b')] }).settle('a', 'TIMED_OUT');
    for (const run of [lost, late])
      expect([run.open(), run.seen('a').status]).toEqual([['b'], 'COMPLETED_WITH_ERRORS']);
  });
});

describe('what is told of a task that failed', () => {
  it('is its status alone where it gave no reason', () => {
    const run = new Run({ tasks: [simple('a')] }).settle('a', 'FAILED_WITH_TERMINAL_ERROR');
    expect([run.reason, run.view.failedTask]).toEqual(['Task a failed with status FAILED_WITH_TERMINAL_ERROR', 'a']);
  });

  it('is its reason as its output where its input could not be made, for whoever goes on without it', () => {
    const inputParameters = { x: '${workflow.${workflow.input.p}}' };
    const after = simple('b', { inputParameters: { error: '${a.output.error}', status: '${a.status}' } });
    const run = new Run(
      { tasks: [simple('a', { inputParameters, optional: true }), after] },
      { input: { p: 'secrets.x' } },
    );
    expect(run.task('b').input).toEqual({ error: run.seen('a').reason, status: 'COMPLETED_WITH_ERRORS' });
    expect(run.seen('a').reason).toContain('inputParameters: FORBIDDEN_REFERENCE');
  });
});
