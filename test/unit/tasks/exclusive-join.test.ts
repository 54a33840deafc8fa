import { describe, expect, it } from 'vitest';
import { exclusiveJoin, fork, join, loop, simple, switchOn } from '../../support/builders.ts';
import { Run } from '../../support/drive.ts';

describe('EXCLUSIVE_JOIN', () => {
  const race = (fields = {}): Run =>
    new Run({
      tasks: [
        simple('start'),
        fork('f', [[simple('a')], [simple('b')], [simple('c', { optional: true })]]),
        exclusiveJoin('x', ['a', 'b', 'c'], fields),
        simple('after', { inputParameters: { got: '${x.output}' } }),
      ],
    }).complete('start', { from: 'start' });

  it('gives the output of the first that completes and goes on; the others run to their end', () => {
    const run = race().complete('b', { n: 2 });
    expect(run.task('after').input).toEqual({ got: { n: 2 } });
    run.complete('after').complete('a', { n: 1 });
    expect(run.status).toBe('RUNNING');
    run.complete('c');
    expect(run.status).toBe('COMPLETED');
  });

  it.each([
    ['a', 'b'],
    ['b', 'a'],
  ])('takes the first of history, %s, where the clock says that %s was as early', (first, second) => {
    const run = race();
    const outcomes = [first, second].map((key) => run.outcomeOf(key, 'COMPLETED', { output: { key } }));
    run.requestAll(outcomes.map((outcome) => ({ type: 'SettleTask', outcome })));
    expect(run.task('after').input).toEqual({ got: { key: first } });
  });

  it('passes over an optional task that failed', () => {
    const run = race().failForGood('c');
    expect(run.open()).toEqual(['a', 'b']);
    run.complete('a', { n: 1 });
    expect(run.task('after').input).toEqual({ got: { n: 1 } });
  });

  it('takes after a switch the case that ran, and else its default tasks', () => {
    const routed = (value: string): Run =>
      new Run({
        tasks: [
          simple('start'),
          switchOn('s', value, { p: [simple('p1'), simple('p2')], q: [simple('q1')] }),
          exclusiveJoin('x', ['p2', 'q1'], { defaultExclusiveJoinTask: ['start'] }),
        ],
      }).complete('start', { from: 'start' });
    expect(routed('p').complete('p1').complete('p2', { n: 2 }).output).toEqual({ n: 2 });
    expect(routed('q').complete('q1', { n: 1 }).output).toEqual({ n: 1 });
    expect(routed('none').output).toEqual({ from: 'start' });
  });

  it('gives nothing when nothing completed and there is no default', () => {
    const run = new Run({ tasks: [switchOn('s', 'none', { p: [simple('p')] }), exclusiveJoin('x', ['p'])] });
    expect([run.status, run.output]).toEqual(['COMPLETED', {}]);
  });

  it('takes a switch when its case is over', () => {
    const chooser = switchOn('s', 'p', { p: [simple('p1'), simple('p2')] });
    const run = new Run({
      tasks: [fork('f', [[chooser], [simple('b')]]), exclusiveJoin('x', ['s', 'b']), simple('after')],
    });
    run.complete('p1');
    expect(run.open()).toEqual(['b', 'p2']);
    run.complete('p2');
    expect(run.seen('x').output).toMatchObject({ selectedCase: 'p' });
  });

  it('right after a fork takes the last tasks of the branches when it names none', () => {
    const run = new Run({ tasks: [fork('f', [[simple('a'), simple('a2')], [simple('b')]]), exclusiveJoin('x', [])] });
    run.complete('a').complete('a2', { n: 2 });
    expect(run.seen('x').output).toEqual({ n: 2 });
  });

  it('ends an iteration only when the losers are over too', () => {
    const run = new Run({
      tasks: [loop('l', 2, [fork('f', [[simple('a')], [simple('b'), simple('b2')]]), exclusiveJoin('x', ['a', 'b2'])])],
    });
    run.complete('a__1');
    expect(run.open()).toEqual(['b__1']);
    run.complete('b__1').complete('b2__1');
    expect(run.open()).toEqual(['a__2', 'b__2']);
    run.completeAll();
    expect(run.status).toBe('COMPLETED');
  });

  it('waits in one branch for tasks of another', () => {
    const run = new Run({
      tasks: [
        fork('f', [
          [simple('a'), exclusiveJoin('x', ['b2', 'c']), simple('d')],
          [simple('b'), simple('b2')],
          [simple('c', { optional: true })],
        ]),
        join('j'),
      ],
    });
    run.complete('a').failForGood('c').complete('b');
    expect(run.open()).toEqual(['b2']);
    run.complete('b2', { n: 1 });
    expect([run.open(), run.seen('x').output]).toEqual([['d'], { n: 1 }]);
  });

  it('and JOIN are refused like any task when their input cannot be evaluated, and entered again by a retry', () => {
    const inputParameters = { x: '${workflow.${workflow.input.path}}' };
    for (const last of [exclusiveJoin('x', ['a'], { inputParameters }), join('x', ['a'], { inputParameters })]) {
      const run = new Run({ tasks: [fork('f', [[simple('a')]]), last] }, { input: { path: 'secrets.key' } });
      expect([run.status, run.seen('x').status]).toEqual(['FAILED', 'FAILED_WITH_TERMINAL_ERROR']);
      expect(run.retry().eventsOf('TaskRefused')).toHaveLength(2);
    }
  });
});
