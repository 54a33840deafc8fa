import { describe, expect, it } from 'vitest';
import { PAYLOAD_BYTES_MAX } from '../../../src/domain/execution/payload-limit.ts';
import { SKIPS_MAX } from '../../../src/domain/execution/skip-task.ts';
import { fork, join, loop, simple, switchOn, wait } from '../../support/builders.ts';
import { Run } from '../../support/drive.ts';

const chain = (...refs: string[]) => refs.map((ref) => simple(ref));
const skipOf = (run: Run, ref: string) => run.request({ type: 'SkipTask', by: 'x', ref });

describe('a skip', () => {
  it('ends the open task SKIPPED with the given output, and its worker is refused', () => {
    const run = new Run({ tasks: [simple('a'), simple('b', { inputParameters: { x: '${a.output.x}' } })] });
    const late = run.outcomeOf('a', 'COMPLETED');
    run.skip('a', { x: 1 });
    expect(run.seen('a')).toMatchObject({ status: 'SKIPPED', output: { x: 1 } });
    expect(run.task('b').input).toEqual({ x: 1 });
    expect(run.request({ type: 'SettleTask', outcome: late })?.code).toBe('LEASE_LOST');
    expect(run.eventsOf('TaskSkipped')[0]).toMatchObject({ by: 'operator', attempt: 1 });
  });

  it('passes over a task that has not begun when it is reached, in a pause too', () => {
    const run = new Run({ tasks: chain('a', 'b', 'c') });
    run.skip('b', { y: 2 }).pause().complete('a');
    expect(run.open()).toEqual([]);
    run.resume();
    expect([run.open(), run.seen('b').status]).toEqual([['c'], 'SKIPPED']);
  });

  it('of a fork, a switch or a loop takes all in it, and joins do not wait for it', () => {
    const run = new Run({
      tasks: [
        simple('a'),
        fork('f', [chain('p'), chain('q')]),
        join('j', ['p', 'q']),
        switchOn('s', 'x', { x: chain('r') }),
        loop('l', 3, chain('t')),
        simple('z'),
      ],
    });
    for (const ref of ['f', 's', 'l']) run.skip(ref);
    run.complete('a');
    expect(run.open()).toEqual(['z']);
  });

  it('names one iteration of a loop, or the next that comes', () => {
    const run = new Run({ tasks: [loop('l', 3, chain('a', 'b'))] });
    run.skip('b__2').skip('a__3').complete('a__1').complete('b__1').complete('a__2');
    expect(run.status).toBe('RUNNING');
    expect(run.open()).toEqual(['b__3']);
    const next = new Run({ tasks: [loop('l', 2, chain('a', 'b'))] });
    next.skip('b').complete('a__1');
    expect(next.open()).toEqual(['a__2']);
    next.complete('a__2');
    expect(next.open()).toEqual(['b__2']);
  });

  it('keeps its reason and its input for the task that it will pass over', () => {
    const run = new Run({ tasks: chain('a', 'b') });
    run.request({ type: 'SkipTask', by: 'x', ref: 'b', input: { i: 1 }, output: { o: 1 }, reason: 'known' });
    run.complete('a');
    expect(run.eventsOf('TaskSkipped')[0]).toMatchObject({
      ref: 'b',
      input: { i: 1 },
      output: { o: 1 },
      reason: 'known',
    });
  });

  it('is refused for a ref with too few or too many iterations, and for one that is over', () => {
    const run = new Run({ tasks: [loop('o', 2, [loop('i', 2, chain('a', 'b'))]), simple('z')] });
    run.complete('a__1__1').complete('b__1__1');
    const messages = ['a__1', 'z__1', 'b__1__1', 'a__1__1'].map((ref) => skipOf(run, ref)?.message);
    expect(messages).toEqual([
      'Task a__1 is in 2 loops; its ref names fewer iterations.',
      'Task z__1 is in 0 loops; its ref names more iterations.',
      expect.stringMatching(/is over|has ended/),
      expect.stringMatching(/is over|has ended/),
    ]);
  });

  it('is refused when too much is given or too many are asked for', () => {
    const run = new Run({ tasks: [loop('l', SKIPS_MAX + 2, [simple('a')])] }, { checks: false });
    for (let next = 2; next < SKIPS_MAX + 2; next += 1) run.skip(`a__${next}`);
    expect(skipOf(run, `a__${SKIPS_MAX + 2}`)?.code).toBe('LIMIT_EXCEEDED');
    const output = { x: 'x'.repeat(PAYLOAD_BYTES_MAX) };
    expect(run.request({ type: 'SkipTask', by: 'x', ref: 'a__1', output })?.code).toBe('PAYLOAD_TOO_LARGE');
  });

  it('of a join lets the run go on while its branches do', () => {
    const run = new Run({ tasks: [fork('f', [chain('a'), chain('b')]), join('j'), simple('z')] });
    run.skip('j');
    expect(run.open()).toEqual(['a', 'b', 'z']);
    run.completeAll();
    expect(run.status).toBe('COMPLETED');
  });

  it('is refused for what is not there, has ended, has begun with tasks in it, or is never reached', () => {
    const run = new Run({
      tasks: [simple('a'), switchOn('s', 'x', { x: chain('b'), y: chain('c') }), loop('l', 1, chain('d'))],
    });
    run.complete('a');
    expect(
      [skipOf(run, 'zz'), skipOf(run, 'a'), skipOf(run, 's'), skipOf(run, 'c'), skipOf(run, 'd__0')].map(
        (r) => r?.code,
      ),
    ).toEqual(['NOT_FOUND', 'INVALID_STATE', 'INVALID_STATE', 'INVALID_STATE', 'INVALID_STATE']);
    expect(skipOf(run, 'd')).toBeUndefined();
    expect(skipOf(run, 'd')?.message).toContain('already');
    run.terminate();
    expect(skipOf(run, 'd')?.code).toBe('TERMINAL_STATE');
  });

  it('ends a task that waits for its next attempt, and one that waits for the clock', () => {
    const run = new Run({ tasks: [simple('a'), wait('w', { duration: '1 hour' }), simple('b')] });
    run.pause().fail('a').skip('a').resume();
    expect(run.open()).toEqual(['w']);
    run.skip('w');
    expect([run.open(), run.timers.size]).toEqual([['b'], 0]);
  });
});

describe('canceling a task', () => {
  it('pauses the run, and the task has another attempt with all its retries when it is resumed', () => {
    const run = new Run({ tasks: [fork('f', [[simple('a', { retryCount: 1 })], chain('b')]), join('j')] });
    const late = run.outcomeOf('a', 'COMPLETED');
    run.cancelTask('a');
    expect([run.status, run.open(), run.seen('a').status]).toEqual(['PAUSED', ['b'], 'CANCELED']);
    expect(run.request({ type: 'SettleTask', outcome: late })?.code).toBe('LEASE_LOST');
    run.complete('b').resume();
    expect(run.task('a').attempt).toBe(2);
    run.fail('a').complete('a');
    expect(run.status).toBe('COMPLETED');
  });

  it('takes its deadlines with it, and is refused where nothing is open', () => {
    const run = new Run({ tasks: [simple('a', { totalTimeout: 60 }), simple('b')] });
    run.cancelTask('a');
    expect(run.timers.size).toBe(0);
    const cancel = (ref: string) => run.request({ type: 'CancelTask', by: 'x', ref })?.code;
    expect([cancel('a'), cancel('b'), cancel('zz')]).toEqual(['INVALID_STATE', 'NOT_FOUND', 'NOT_FOUND']);
    run.skip('a').resume();
    expect(run.open()).toEqual(['b']);
  });
});

describe('setting variables', () => {
  it('merges them, is seen by what is entered next, and has a limit', () => {
    const run = new Run({
      tasks: [simple('a'), simple('b', { inputParameters: { x: '${workflow.variables.x}' } })],
      fields: { variables: { x: 0, y: 0 } },
    });
    expect(run.request({ type: 'SetVariables', by: 'x', variables: { x: 1 } })).toBeUndefined();
    run.complete('a');
    expect([run.task('b').input, run.view.variables]).toEqual([{ x: 1 }, { x: 1, y: 0 }]);
    const big = { type: 'SetVariables', by: 'x', variables: { big: 'x'.repeat(256 * 1024) } } as const;
    expect(run.request(big)?.code).toBe('PAYLOAD_TOO_LARGE');
  });
});
