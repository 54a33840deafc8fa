import { describe, expect, it } from 'vitest';
import { SIGNALS_BUFFERED_MAX } from '../../../src/domain/execution/accept.ts';
import { dynamicFork, fork, join, loop, simple, switchOn, wait, yieldStep } from '../../support/builders.ts';
import { Run } from '../../support/drive.ts';

describe('a signal', () => {
  it('that comes before its wait is kept, and taken the moment the wait begins', () => {
    const run = new Run({
      tasks: [simple('a'), wait('w'), simple('after', { inputParameters: { got: '${w.output}' } })],
    });
    expect(run.signal('w', { n: 1 })).toBeUndefined();
    expect(run.state.signals).toHaveLength(1);
    run.complete('a');
    expect(run.task('after').input).toEqual({ got: { n: 1 } });
    expect(run.state.signals).toEqual([]);
  });

  it('that comes before a wait of a loop goes to the next iterations, in order', () => {
    const body = [simple('a'), wait('w'), simple('b', { inputParameters: { got: '${w.output.n}' } })];
    const run = new Run({ tasks: [loop('l', 3, body)] });
    run.signal('w', { n: 1 });
    run.signal('w', { n: 2 });
    run.complete('a__1');
    expect(run.task('b__1').input).toEqual({ got: 1 });
    run.complete('b__1').complete('a__2');
    expect(run.task('b__2').input).toEqual({ got: 2 });
    run.complete('b__2').complete('a__3');
    expect(run.open()).toEqual(['w__3']);
    run.signal('w__3', { n: 3 });
    expect(run.task('b__3').input).toEqual({ got: 3 });
  });

  it('of any name ends the oldest wait; by the ref of a branch its own', () => {
    const waits = new Run({ tasks: [fork('f', [[simple('a'), wait('w')], [yieldStep('y')], [wait('v')]]), join('j')] });
    waits.complete('a');
    waits.signal(undefined);
    expect(waits.open()).toEqual(['v', 'w']);
    waits.signal('w');
    expect(waits.open()).toEqual(['v']);
  });

  it('may say that the wait failed, also before it began', () => {
    const run = new Run({ tasks: [simple('a'), wait('w')] });
    run.signal('w', { why: 'no' }, 'FAILED_WITH_TERMINAL_ERROR');
    run.complete('a');
    expect([run.status, run.seen('w').output]).toEqual(['FAILED', { why: 'no' }]);
  });

  it('reaches a wait that data brought in', () => {
    const run = new Run({
      tasks: [dynamicFork('d', [switchOn('s', 'x', { x: [simple('a'), wait('w')] })]), join('j')],
    });
    expect(run.signal('w')).toBeUndefined();
    expect(run.complete('a').status).toBe('COMPLETED');
  });

  it('is taken while the run is paused, and what follows waits for the resume', () => {
    const run = new Run({ tasks: [wait('w'), wait('v'), simple('after')] }).pause();
    run.signal('w');
    run.signal('v');
    expect(run.open()).toEqual([]);
    expect(run.resume().open()).toEqual(['after']);
  });

  it.each([
    [undefined, 'INVALID_STATE'],
    ['a', 'NOT_FOUND'],
    ['none', 'NOT_FOUND'],
    ['done', 'INVALID_STATE'],
    ['in__1', 'INVALID_STATE'],
    ['in__7', 'INVALID_STATE'],
  ])('to %j is refused with %s when nothing there waits or will wait', (ref, code) => {
    const run = new Run({ tasks: [wait('done'), loop('l', 1, [wait('in')]), simple('a')] });
    run.signal('done');
    run.signal('in');
    expect(run.signal(ref)?.code).toBe(code);
  });

  /** One fact a step, so that a pass ends between a wait and the signal that is kept for it. */
  const cutShort = (): Run => {
    const run = new Run(
      { tasks: [loop('l', 2, [simple('a'), wait('w', { duration: '1s' }), simple('b')])] },
      { eventsMax: 1, decisionsMax: 1, checks: false },
    );
    run.pause().resume();
    run.signal('w', { n: 1 });
    run.complete('a__1');
    expect([run.open(), run.state.signals.length]).toEqual([['w__1'], 1]);
    return run;
  };

  it('that was kept for a wait goes before the clock, also where a pass ended between the two', () => {
    const run = cutShort().complete('w__1', { by: 'the clock' });
    expect([run.seen('w__1').output, run.state.signals]).toEqual([{ n: 1 }, []]);
  });

  it('that was kept for a wait goes before one that comes later', () => {
    const run = cutShort();
    run.signal('w', { n: 2 });
    expect([run.seen('w__1').output, run.state.signals.map(({ output }) => output)]).toEqual([{ n: 1 }, [{ n: 2 }]]);
  });

  it('is refused when too many are kept already', () => {
    const run = new Run({ tasks: [simple('a'), wait('w')] }, { checks: false });
    for (let kept = 0; kept < SIGNALS_BUFFERED_MAX; kept += 1) expect(run.signal('w')).toBeUndefined();
    expect(run.signal('w')?.code).toBe('LIMIT_EXCEEDED');
  });
});
