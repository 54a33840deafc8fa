import { describe, expect, it } from 'vitest';
import { isOpenAttempt } from '../../../src/domain/execution/state.ts';
import type { ExecutionId, TaskId } from '../../../src/domain/kernel/brand.ts';
import type { JsonObject } from '../../../src/domain/kernel/json.ts';
import { fork, join, loop, simple, switchOn, wait } from '../../support/builders.ts';
import { Run, type RunOptions, START } from '../../support/drive.ts';

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
  const given = (options: RunOptions = {}, fields: JsonObject = {}): Run =>
    new Run(
      { tasks: [simple('a')], fields: { failureWorkflow: 'undo', ...fields } },
      { input: { order: 7 }, ...options },
    );
  const asked = (run: Run) => run.published.filter((command) => command.type === 'PublishMessage');
  const started = (run: Run) => run.eventsOf('ExecutionClosed').at(-1)?.failureWorkflow;

  it('is asked for once when the run fails by itself, with what it has to know', () => {
    const run = given(
      {
        started: { correlationId: 'c', taskToDomain: { a: 'eu' } },
      },
      { failureWorkflowVersion: 3 },
    ).failForGood('a', 'no');
    expect(asked(run)).toMatchObject([
      {
        topic: 'start-failure-workflow',
        payload: {
          name: 'undo',
          version: 3,
          executionId: started(run)?.executionId,
          seq: run.log.length,
          correlationId: 'c',
          taskToDomain: { a: 'eu' },
          input: {
            order: 7,
            workflowId: run.state.executionId,
            failureStatus: 'FAILED',
            failureTaskId: run.seen('a').taskId,
            workflowType: 'flow',
            workflowVersion: 1,
            reason: run.reason,
          },
        },
      },
    ]);
  });

  it('is told in the output of the run by its id, which is derived from the end', () => {
    const ids = [given().failForGood('a'), given().failForGood('a')].map(
      (run) => run.output['conductor.failure_workflow'],
    );
    expect(ids[0]).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7/);
    expect(ids[0]).toBe(ids[1]);
    const again = given().failForGood('a').retry().failForGood('a');
    expect(again.output['conductor.failure_workflow']).not.toBe(ids[0]);
    expect(asked(again)).toHaveLength(2);
  });

  it('is started when the run times out', () => {
    const run = given({}, { timeoutSeconds: 60 }).advance(60_000);
    expect([run.status, asked(run).length]).toEqual(['TIMED_OUT', 1]);
  });

  it('may be named by an input of the run; where that names none, there is none', () => {
    const dynamic = { failureWorkflow: '$workflow.input.onFailure' };
    const named = given({ input: { onFailure: 'cry' } }, dynamic).failForGood('a');
    expect(started(named)?.name).toBe('cry');
    for (const onFailure of ['', null, 7]) {
      const run = given({ input: { onFailure } }, dynamic).failForGood('a');
      expect([started(run), run.output]).toEqual([undefined, {}]);
    }
    expect(started(given({}, dynamic).failForGood('a'))).toBeUndefined();
  });

  it('is not asked for when the run was terminated, unless who terminates it asks for it', () => {
    expect(asked(given().terminate())).toEqual([]);
    const run = given();
    expect(run.request({ type: 'Terminate', by: 'x', triggerFailureWorkflow: true })).toBeUndefined();
    expect(asked(run)).toMatchObject([{ payload: { input: { failureStatus: 'TERMINATED', failureTaskId: null } } }]);
  });

  it('is not asked for when the run completes, names none, or is a failure workflow itself', () => {
    expect(asked(given().complete('a'))).toEqual([]);
    expect(asked(given({}, { failureWorkflow: '' }).failForGood('a'))).toEqual([]);
    const itself = given({ started: { failedExecutionId: '01890000-0000-7000-8000-000000000009' as ExecutionId } });
    expect(asked(itself.failForGood('a'))).toEqual([]);
  });
});

describe('an attempt by its id', () => {
  it('is open only while it is the one that is, under its own number and its own fact', () => {
    const run = new Run({ tasks: [simple('a', { retryCount: 1, retryDelaySeconds: 0 }), simple('b')] });
    const { taskId } = run.task('a');
    const first = { ref: 'a', iteration: 0, attempt: 1 };
    expect(isOpenAttempt(run.state, taskId, first)).toBe(true);
    expect(isOpenAttempt(run.state, taskId, { ...first, attempt: 2 })).toBe(false);
    expect(isOpenAttempt(run.state, taskId, { ...first, ref: 'b' })).toBe(false);
    expect(isOpenAttempt(run.state, `${run.state.executionId}.99` as TaskId, first)).toBe(false);
    run.fail('a');
    expect(isOpenAttempt(run.state, taskId, first)).toBe(false);
    expect(isOpenAttempt(run.state, run.task('a').taskId, { ...first, attempt: 2 })).toBe(true);
    run.complete('a');
    expect(isOpenAttempt(run.state, taskId, { ...first, attempt: 2 })).toBe(false);
  });
});

describe('a call that somebody else answers later', () => {
  it.each([
    [{ asyncComplete: true }, undefined],
    [{ asyncComplete: 'true' }, 'INVALID_STATE'],
    [{}, 'INVALID_STATE'],
  ])('is ended from outside only where it says so: %j', (input, code) => {
    const http_request = { uri: 'https://api.example.com/', method: 'GET' };
    const call = { ...simple('h'), type: 'HTTP', inputParameters: { http_request, ...input } };
    const run = new Run({ tasks: [call] });
    expect(codeOf(run.completeTask('h'))).toBe(code);
  });
});
