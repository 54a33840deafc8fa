import { describe, expect, it } from 'vitest';
import { fork, join, loop, simple, switchOn, wait } from '../../support/builders.ts';
import { Run, START } from '../../support/drive.ts';

const codeOf = (rejection: { code: string } | undefined): string | undefined => rejection?.code;

describe('an outcome', () => {
  it('of an attempt that is no longer open is refused as a lost lease', () => {
    const run = new Run({ tasks: [simple('a'), simple('b')] });
    const first = run.outcomeOf('a', 'COMPLETED');
    run.fail('a');
    expect(codeOf(run.request({ type: 'SettleTask', outcome: first }))).toBe('LEASE_LOST');
    const second = run.outcomeOf('a', 'COMPLETED');
    run.complete('a');
    expect(codeOf(run.request({ type: 'SettleTask', outcome: second }))).toBe('LEASE_LOST');
    expect(run.open()).toEqual(['b']);
  });

  it('of an iteration that is over is refused as a lost lease', () => {
    const run = new Run({ tasks: [loop('l', 2, [simple('a')])] });
    const late = run.outcomeOf('a__1', 'FAILED');
    run.complete('a__1');
    expect(codeOf(run.request({ type: 'SettleTask', outcome: late }))).toBe('LEASE_LOST');
  });

  it('that comes twice in one pass counts once', () => {
    const run = new Run({ tasks: [simple('a'), simple('b')] });
    const outcome = run.outcomeOf('a', 'COMPLETED');
    run.requestAll([
      { type: 'SettleTask', outcome },
      { type: 'SettleTask', outcome },
    ]);
    expect(run.eventsOf('TaskClosed')).toHaveLength(1);
  });

  it('of one branch is kept when another of the same pass fails the run', () => {
    const run = new Run({ tasks: [fork('f', [[simple('a')], [simple('b')]]), join('j')] });
    const outcomes = [run.outcomeOf('a', 'FAILED_WITH_TERMINAL_ERROR'), run.outcomeOf('b', 'COMPLETED')];
    run.requestAll(outcomes.map((outcome) => ({ type: 'SettleTask', outcome })));
    expect([run.status, run.seen('b').status]).toEqual(['FAILED', 'COMPLETED']);
    run.retry().complete('a');
    expect(run.status).toBe('COMPLETED');
  });
});

describe('pause and resume', () => {
  it('let leased work report and schedule nothing new until the resume', () => {
    const run = new Run({
      tasks: [
        fork('f', [
          [simple('a'), simple('a2')],
          [simple('b'), simple('b2')],
        ]),
        join('j'),
      ],
    });
    run.pause().complete('a').fail('b');
    expect([run.status, run.open()]).toEqual(['PAUSED', []]);
    run.resume();
    expect(run.open()).toEqual(['a2', 'b']);
    expect(run.task('b').attempt).toBe(2);
  });

  it('are each refused where the run is in that state already', () => {
    const run = new Run({ tasks: [simple('a')] });
    expect(codeOf(run.request({ type: 'Resume', by: 'x' }))).toBe('INVALID_STATE');
    run.pause();
    expect(codeOf(run.request({ type: 'Pause', by: 'x' }))).toBe('INVALID_STATE');
  });

  it('hold back the end of a run that fails in between', () => {
    const run = new Run({ tasks: [simple('a')] }).pause().failForGood('a');
    expect(run.status).toBe('PAUSED');
    expect(run.resume().status).toBe('FAILED');
  });

  it('work in the middle of loops, switches and waits', () => {
    const body = [switchOn('s', 'x', { x: [simple('a'), wait('w', { duration: '5s' })] })];
    const run = new Run({ tasks: [loop('l', 2, body), simple('after')] });
    run.pause().complete('a__1').resume().pause().advance(5_000);
    expect(run.open()).toEqual([]);
    run.resume().complete('a__2').pause().advance(5_000).resume();
    expect(run.open()).toEqual(['after']);
  });
});

describe('terminate', () => {
  it('cancels all that is open and its timers, with the reason', () => {
    const run = new Run({
      tasks: [fork('f', [[loop('l', 2, [simple('a')])], [wait('w', { duration: '1m' })]]), join('j')],
    }).terminate('enough');
    expect([run.status, run.reason, run.open(), run.timers.size]).toEqual(['TERMINATED', 'enough', [], 0]);
    for (const key of ['a__1', 'w', 'l', 'j']) expect(run.seen(key).status).toBe('CANCELED');
  });

  it('ends a paused run, also one that had failed meanwhile', () => {
    const run = new Run({ tasks: [simple('a')] }).pause().failForGood('a').terminate();
    expect([run.status, run.reason]).toEqual(['TERMINATED', 'terminated by an operator']);
    expect(run.retry().complete('a').status).toBe('COMPLETED');
  });
});

describe('the deadline of a run', () => {
  const timed = (timeoutPolicy: string): Run =>
    new Run({ tasks: [simple('a')], fields: { timeoutSeconds: 60, timeoutPolicy } });

  it('ends it TIMED_OUT under TIME_OUT_WF, and counts anew from a retry', () => {
    const run = timed('TIME_OUT_WF').advance(60_000);
    expect([run.status, run.reason]).toEqual(['TIMED_OUT', 'The execution did not end within 60000 ms.']);
    run.advance(30_000).retry();
    expect([...run.timers.values()].map((timer) => timer.fireAt)).toEqual([START + 150_000]);
    expect(run.complete('a').status).toBe('COMPLETED');
  });

  it('is told once under ALERT_ONLY, and the run goes on', () => {
    const run = timed('ALERT_ONLY').advance(60_000);
    expect(run.eventsOf('ExecutionDeadlineMissed')).toHaveLength(1);
    expect(codeOf(run.request({ type: 'PassExecutionDeadline' }))).toBe('INVALID_STATE');
    expect(run.complete('a').status).toBe('COMPLETED');
  });

  it('passes for a paused run too', () => {
    expect(timed('TIME_OUT_WF').pause().advance(60_000).status).toBe('TIMED_OUT');
  });

  it('never passes where there is none', () => {
    const run = new Run({ tasks: [simple('a')] });
    expect(codeOf(run.request({ type: 'PassExecutionDeadline' }))).toBe('INVALID_STATE');
  });
});

describe('a failure workflow', () => {
  const failing = (status: 'FAILED' | 'TERMINATED', started = {}): Run => {
    const run = new Run(
      { tasks: [simple('a')], fields: { failureWorkflow: 'undo' } },
      { input: { order: 7 }, started },
    );
    return status === 'FAILED' ? run.failForGood('a', 'no') : run.terminate();
  };
  const asked = (run: Run) => run.published.filter(({ type }) => type === 'PublishMessage');

  it('is asked for once when the run fails by itself, with what it has to know', () => {
    const run = failing('FAILED');
    expect(asked(run)).toMatchObject([
      {
        topic: 'start-failure-workflow',
        payload: {
          name: 'undo',
          input: { order: 7, failureStatus: 'FAILED', workflowType: 'flow', reason: run.reason },
        },
      },
    ]);
  });

  it('is not asked for when the run was terminated, or is a failure workflow itself', () => {
    expect(asked(failing('TERMINATED'))).toEqual([]);
    expect(asked(failing('FAILED', { failedExecutionId: '01890000-0000-7000-8000-000000000009' }))).toEqual([]);
  });
});
