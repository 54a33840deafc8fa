import { describe, expect, it } from 'vitest';
import { MESSAGES_BYTES_MAX, MESSAGES_WAITING_MAX } from '../../../src/domain/execution/messages.ts';
import type { ExecutionRequest } from '../../../src/domain/execution/requests.ts';
import type { ExecutionId } from '../../../src/domain/kernel/brand.ts';
import { VARIABLES_BYTES_MAX } from '../../../src/domain/tasks/plain-operators.ts';
import { fork, human, join, loop, type Step, simple, switchOn, wait, yieldStep } from '../../support/builders.ts';
import { Run } from '../../support/drive.ts';

type Asked = Readonly<{ by?: string }> & Record<string, unknown>;

const chain = (...refs: string[]): readonly Step[] => refs.map((ref) => simple(ref));

/** Why a request was refused, as its code and what is said to whoever asked. */
const refusal = (run: Run, request: Asked): string => {
  const rejection = run.request({ by: 'anna', ...request } as unknown as ExecutionRequest);
  return rejection === undefined ? 'accepted' : `${rejection.code} ${rejection.message}`;
};

const undone = (): Run =>
  new Run({ tasks: [simple('a', { compensateWith: 'una' }), yieldStep('y')] }).complete('a').failForGood('y');

describe('a run that is going refuses', () => {
  const tasks = [
    simple('a'),
    switchOn('s', 'x', { x: chain('b'), y: chain('c') }),
    loop('l', 2, [simple('d')]),
    fork('f', [chain('p'), chain('q')]),
    join('j'),
  ];

  it.each<[Asked, string]>([
    [{ type: 'Retry' }, 'INVALID_STATE Only an execution that has failed can be retried.'],
    [{ type: 'Rerun' }, 'INVALID_STATE Only an execution that has ended can run again.'],
    [{ type: 'Restart' }, 'INVALID_STATE Only an execution that has ended can be restarted.'],
    [{ type: 'Resume' }, 'INVALID_STATE The execution is not paused.'],
    [{ type: 'Admit' }, 'INVALID_STATE The execution does not await its admission.'],
    [{ type: 'PassExecutionDeadline' }, 'INVALID_STATE The execution has no deadline that could pass.'],
    [
      { type: 'RerunTasks', tasks: ['a'], cascade: false },
      'INVALID_STATE The execution is running; pause it before tasks of it run again.',
    ],
    [
      { type: 'Signal', status: 'COMPLETED', output: {} },
      'INVALID_STATE No task of this execution waits for a signal.',
    ],
    [
      { type: 'Signal', ref: 'a', status: 'COMPLETED', output: {} },
      'NOT_FOUND No task a of this execution waits for signals.',
    ],
    [{ type: 'SkipTask', ref: 'z' }, 'NOT_FOUND This execution has no task z.'],
    [{ type: 'SkipTask', ref: 'd__1__1' }, 'INVALID_STATE Task d__1__1 is in 1 loops; its ref names more iterations.'],
    [{ type: 'SkipTask', ref: 'd__0' }, 'INVALID_STATE Iterations count from 1; there is no d__0.'],
    [{ type: 'CancelTask', ref: 'z' }, 'NOT_FOUND This execution has no task z.'],
    [{ type: 'CancelTask', ref: 'b' }, 'NOT_FOUND No task b of this execution has run.'],
    [{ type: 'Jump', to: 'z' }, 'NOT_FOUND This execution has no task z.'],
    [{ type: 'Jump', to: 'b' }, 'INVALID_STATE Task b is part of s, which has not begun; jump to s.'],
    [{ type: 'Jump', to: 'p' }, 'INVALID_STATE Task p is part of f, which has not begun; jump to f.'],
    [{ type: 'Jump', to: 'd' }, 'INVALID_STATE Task d is in loop l, which is not in that iteration; jump to the loop.'],
  ])('%j, and says why', (request, said) => expect(refusal(new Run({ tasks }), request)).toBe(said));

  it('what is over, went another way, or was asked for before', () => {
    const run = new Run({ tasks }).complete('a');
    expect(refusal(run, { type: 'SkipTask', ref: 'a' })).toBe('INVALID_STATE Task a has ended with status COMPLETED.');
    expect(refusal(run, { type: 'SkipTask', ref: 's' })).toBe(
      'INVALID_STATE Task s has begun; skip the tasks in it, or jump behind it.',
    );
    expect(refusal(run, { type: 'SkipTask', ref: 'c' })).toBe('INVALID_STATE Task c will not be reached any more.');
    expect(refusal(run, { type: 'CancelTask', ref: 'a' })).toBe('INVALID_STATE Task a has no open attempt to cancel.');
    expect(refusal(run, { type: 'Jump', to: 'c' })).toBe(
      'INVALID_STATE Task c is part of s, which chose another case; jump to s.',
    );
    expect(refusal(run, { type: 'SkipTask', ref: 'j' })).toBe('accepted');
    expect(refusal(run, { type: 'SkipTask', ref: 'j' })).toBe('INVALID_STATE Task j is to be skipped already.');
    run.complete('b').complete('d__1');
    expect(refusal(run, { type: 'SkipTask', ref: 'd__1' })).toBe('INVALID_STATE The iteration of d__1 is over.');
    run.pause();
    expect(refusal(run, { type: 'Pause' })).toBe('INVALID_STATE The execution is paused already.');
    expect(refusal(run, { type: 'RerunTasks', tasks: ['l'], cascade: false })).toBe(
      'INVALID_STATE Task l is still open; cancel or skip what is open of it first.',
    );
    expect(refusal(run, { type: 'RerunTasks', tasks: ['d__1'], cascade: false })).toBe(
      'INVALID_STATE Task d__1 ran in an iteration that is over; rerun from it instead.',
    );
    expect(refusal(run, { type: 'RerunTasks', tasks: [], cascade: false })).toBe(
      'VALIDATION_FAILED tasks names no task.',
    );
  });

  it('an outcome of what is not open, and a deadline that has passed', () => {
    const run = new Run({ tasks: [simple('a')], taskDefinitions: [{ name: 'a', timeoutPolicy: 'ALERT_ONLY' }] });
    const outcome = run.outcomeOf('a', 'TIMED_OUT', { deadline: 'START_TO_CLOSE' });
    expect(refusal(run, { type: 'SettleTask', outcome: { ...outcome, attempt: 2 } })).toBe(
      'LEASE_LOST Attempt 2 of a is not open.',
    );
    expect(refusal(run, { type: 'SettleTask', outcome })).toBe('accepted');
    expect(refusal(run, { type: 'SettleTask', outcome })).toBe(
      'INVALID_STATE The deadline START_TO_CLOSE of a has passed already.',
    );
  });

  it('the door of a task that is not open, is not one of those, or has its outcome already', () => {
    const run = new Run({ tasks: [fork('f', [[human('h')], [simple('a')], [wait('w')]]), join('j')] });
    const seqOf = (key: string): number => Number(run.task(key).taskId.split('.')[1]);
    const through = (scheduledSeq: number, ofWorkersToo = false): string =>
      refusal(run, { type: 'CompleteTask', scheduledSeq, status: 'COMPLETED', output: {}, ofWorkersToo });
    const [h, a, w] = [seqOf('h'), seqOf('a'), seqOf('w')];
    expect(through(a)).toBe('INVALID_STATE Tasks of type SIMPLE are not ended from outside.');
    expect(through(99)).toBe('INVALID_STATE The task is not open.');
    expect([through(a, true), through(w), through(h)]).toEqual(['accepted', 'accepted', 'accepted']);
    expect(run.status).toBe('COMPLETED');
    // The same once more is no other answer; another one is.
    expect(through(h)).toBe('accepted');
    const other = { type: 'CompleteTask', scheduledSeq: h, status: 'FAILED', output: {}, ofWorkersToo: false };
    expect(refusal(run, other)).toBe('TERMINAL_STATE The execution has ended: COMPLETED.');
  });

  it('a message beyond the number and the bytes that may wait', () => {
    const run = new Run({ tasks: [simple('a')] }, { checks: false });
    for (let n = 0; n < MESSAGES_WAITING_MAX; n += 1) run.message({ n });
    expect(run.message({ n: -1 })?.message).toBe('1000 messages wait for this execution already.');
    const other = new Run({ tasks: [simple('a')] }, { checks: false });
    const large = { text: 'x'.repeat(MESSAGES_BYTES_MAX / 2 - 11) };
    expect([other.message(large), other.message(large)]).toEqual([undefined, undefined]);
    expect(other.state.messageBytes).toBe(MESSAGES_BYTES_MAX);
    expect(other.message({})?.message).toBe('The messages that wait would be larger than 8388608 bytes as JSON.');
  });
});

describe('variables that an operator sets', () => {
  it('are refused beyond what they may hold together, to the byte', () => {
    const run = new Run({ tasks: chain('a'), fields: { variables: { a: 1 } } }, { checks: false });
    const left = VARIABLES_BYTES_MAX - '{"a":1,"b":""}'.length;
    const said = `PAYLOAD_TOO_LARGE The variables would exceed ${VARIABLES_BYTES_MAX} bytes as JSON.`;
    expect(refusal(run, { type: 'SetVariables', variables: { b: 'x'.repeat(left + 1) } })).toBe(said);
    expect(refusal(run, { type: 'SetVariables', variables: { b: 'x'.repeat(left) } })).toBe('accepted');
    expect(run.view.variables).toEqual({ a: 1, b: 'x'.repeat(left) });
  });
});

describe('a run that has ended refuses', () => {
  it.each<[Asked]>([
    [{ type: 'Pause' }],
    [{ type: 'Signal', ref: 'a', status: 'COMPLETED', output: {} }],
    [{ type: 'SkipTask', ref: 'a' }],
    [{ type: 'Jump', to: 'a' }],
    [{ type: 'SetVariables', variables: {} }],
  ])('%j, and says how it ended', (request) => {
    expect(refusal(new Run({ tasks: chain('a') }).terminate(), request)).toBe(
      'TERMINAL_STATE The execution has ended: TERMINATED.',
    );
  });

  it('a retry where there is nothing to retry, and a rerun of what did not run', () => {
    const run = new Run({ tasks: chain('a', 'b') }).failForGood('a');
    expect(refusal(run, { type: 'Rerun', from: 'b' })).toBe('NOT_FOUND No task b of this execution has run.');
    expect(refusal(run, { type: 'Rerun', taskInput: {} })).toBe(
      'VALIDATION_FAILED taskInput needs the task that it is for.',
    );
    run.retry().completeAll();
    expect(refusal(run, { type: 'Retry' })).toBe('INVALID_STATE A completed execution has nothing to retry.');
  });

  it('the retry of a parent for a child that it did not fail for', () => {
    const child = '01890000-0000-7000-8000-00000000000c' as ExecutionId;
    const link = { executionId: child, taskId: 'x', ref: 'a', iteration: 0, attempt: 1 };
    const run = new Run({ tasks: chain('a') }).failForGood('a');
    expect(refusal(run, { type: 'ReviveFor', child, link })).toBe(
      `INVALID_STATE The execution did not fail because of its child ${child}.`,
    );
  });
});

describe('a run that is undone refuses', () => {
  it.each<[Asked, string]>([
    [{ type: 'Jump', to: 'a' }, 'INVALID_STATE The execution is being compensated.'],
    [{ type: 'SkipTask', ref: 'y' }, 'INVALID_STATE Task y has ended with status FAILED_WITH_TERMINAL_ERROR.'],
    [
      { type: 'Signal', ref: 'y', status: 'COMPLETED', output: {} },
      'INVALID_STATE The execution is being compensated: task y does not run any more.',
    ],
  ])('%j on its way back', (request, said) => expect(refusal(undone(), request)).toBe(said));

  it('to go on by itself once it is back', () => {
    const run = undone().complete('a__compensate');
    const said = 'INVALID_STATE The execution was compensated; it can only begin again as a whole.';
    expect([run.status, refusal(run, { type: 'Rerun', from: 'a' })]).toEqual(['FAILED', said]);
    expect(refusal(run, { type: 'RerunTasks', tasks: ['a'], cascade: true })).toBe(said);
    expect(refusal(run, { type: 'Retry' })).toBe(
      'INVALID_STATE What the execution did was undone by its compensations, so that it can only be restarted.',
    );
    expect(refusal(run, { type: 'Restart' })).toBe('accepted');
  });
});

describe('the compensation that fails', () => {
  it.each([
    [{}, 'Compensation a__compensate failed with status FAILED_WITH_TERMINAL_ERROR'],
    [{ reason: 'no' }, 'Compensation a__compensate failed with status FAILED_WITH_TERMINAL_ERROR: no'],
  ])('with %j says which it was', (rest, said) => {
    const run = undone().settle('a__compensate', 'FAILED_WITH_TERMINAL_ERROR', rest);
    expect(run.reason).toContain(said);
    expect(run.eventsOf('CompensationEnded')[0]).toMatchObject({ status: 'FAILED', reason: said });
  });
});
