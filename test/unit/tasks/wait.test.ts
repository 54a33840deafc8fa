import { describe, expect, it } from 'vitest';
import { fork, join, loop, simple, wait, yieldStep } from '../../support/builders.ts';
import { Run, START } from '../../support/drive.ts';

describe('WAIT', () => {
  it.each([
    ['1 day 4 hours', 28 * 3_600_000],
    ['10m 30s', 630_000],
    ['45', 45_000],
    [45, 45_000],
  ])('of %j ends by the clock at the very millisecond', (duration, ms) => {
    const run = new Run({ tasks: [wait('w', { duration }), simple('after')] });
    expect(run.task('w')).toMatchObject({ family: 'waiting', queue: '$waiting', heartbeatMs: 0 });
    run.advance(ms - 1);
    expect(run.open()).toEqual(['w']);
    run.advance(1);
    expect(run.open()).toEqual(['after']);
    expect(run.timers.size).toBe(0);
  });

  it.each([
    ['2030-01-02T00:00:00Z', 24 * 3_600_000],
    ['2030-01-02 00:00 UTC', 24 * 3_600_000],
    ['2029-01-01T00:00:00Z', 0],
  ])('until %s ends then, at once when it is past', (until, ms) => {
    const run = new Run({ tasks: [wait('w', { until }), simple('after')] });
    run.advance(ms);
    expect(run.open()).toEqual(['after']);
    expect(run.now).toBe(START + ms);
  });

  it('without duration and until waits for a signal and gives its output', () => {
    const run = new Run({ tasks: [wait('w'), simple('after', { inputParameters: { by: '${w.output.by}' } })] });
    expect([run.timers.size, run.seen('w').status]).toEqual([0, 'IN_PROGRESS']);
    expect(run.signal('w', { by: 'anna' })).toBeUndefined();
    expect(run.task('after').input).toEqual({ by: 'anna' });
  });

  it('can be ended by a signal before its time', () => {
    const run = new Run({ tasks: [wait('w', { duration: '1 day' })] });
    run.signal('w', { early: true });
    expect([run.status, run.timers.size, run.output]).toEqual(['COMPLETED', 0, { early: true }]);
  });

  it.each([
    [{ duration: 'soon' }, 'WAIT cannot read duration "soon".'],
    [{ duration: { a: 1 } }, 'WAIT cannot read duration {"a":1}.'],
    [{ until: 'tomorrow' }, 'WAIT cannot read until "tomorrow".'],
    [{ until: 7 }, 'WAIT cannot read until 7.'],
    [{ duration: '1s', until: '2030-01-02T00:00:00Z' }, 'WAIT takes a duration or an until, not both.'],
  ])('with %j is refused at once, naming what it could not read', (input, reason) => {
    const run = new Run({ tasks: [wait('w', { d: 1, ...input })] });
    expect([run.status, run.seen('w').reason]).toEqual(['FAILED', reason]);
  });

  it('fails by a signal that says so, and goes on with errors when it is optional', () => {
    const run = new Run({ tasks: [wait('w')] });
    run.signal('w', { why: 'declined' }, 'FAILED');
    expect([run.status, run.seen('w').output]).toEqual(['FAILED', { why: 'declined' }]);
    const optional = new Run({ tasks: [wait('w', {}, { optional: true })] });
    optional.signal('w', {}, 'FAILED_WITH_TERMINAL_ERROR');
    expect([optional.status, optional.seen('w').status]).toEqual(['COMPLETED', 'COMPLETED_WITH_ERRORS']);
  });

  it('begins after its start delay', () => {
    const run = new Run({ tasks: [wait('w', { duration: '10s' }, { startDelay: 5 })] });
    run.advance(14_999);
    expect(run.status).toBe('RUNNING');
    run.advance(1);
    expect(run.status).toBe('COMPLETED');
  });

  it('has a total deadline of its own', () => {
    const run = new Run({ tasks: [wait('w', {}, { totalTimeout: 60 })] });
    run.advance(60_000);
    expect([run.status, run.seen('w').deadline]).toEqual(['TIMED_OUT', 'SCHEDULE_TO_CLOSE']);
  });

  it('waits anew in every iteration and in every branch', () => {
    const run = new Run({
      tasks: [
        fork('f', [[loop('l', 2, [wait('w', { duration: '1m' }), simple('x')])], [wait('v'), simple('y')]]),
        join('j'),
      ],
    });
    run.advance(60_000).complete('x__1');
    expect(run.task('w__2').scheduledAt).toBe(START + 60_000);
    run.signal('v');
    run.advance(60_000).complete('x__2').complete('y');
    expect(run.status).toBe('COMPLETED');
  });
});

describe('YIELD', () => {
  it('waits for a signal', () => {
    const run = new Run({ tasks: [yieldStep('y'), simple('after')] });
    expect(run.task('y')).toMatchObject({ family: 'waiting', heartbeatMs: 0 });
    run.signal('y', { n: 1 });
    expect(run.open()).toEqual(['after']);
  });
});
