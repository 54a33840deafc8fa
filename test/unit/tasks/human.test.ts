import { describe, expect, it } from 'vitest';
import { fork, human, join, loop, simple, switchOn } from '../../support/builders.ts';
import { Run } from '../../support/drive.ts';

const seqOf = (run: Run, key: string): number => Number(run.task(key).taskId.split('.')[1]);

describe('HUMAN', () => {
  it('is in progress from the first, leased by nobody, and gives what the person said', () => {
    const run = new Run({
      tasks: [
        human('h', { inputParameters: { ask: 'pay?' } }),
        simple('b', { inputParameters: { got: '${h.output}' } }),
      ],
    });
    expect(run.task('h')).toMatchObject({
      family: 'waiting',
      queue: '$waiting',
      heartbeatMs: 0,
      input: { ask: 'pay?' },
    });
    expect(run.seen('h').status).toBe('IN_PROGRESS');
    expect(run.completeTask('h', { yes: true })).toBeUndefined();
    expect(run.task('b').input).toEqual({ got: { yes: true } });
    expect(run.seen('h')).toMatchObject({ status: 'COMPLETED', workerId: 'anna', output: { yes: true } });
  });

  it.each(['FAILED', 'FAILED_WITH_TERMINAL_ERROR'] as const)('ends the run when the person says %s', (status) => {
    const run = new Run({ tasks: [human('h')] });
    expect(run.completeTask('h', { why: 'no' }, { status, reason: 'not with me' })).toBeUndefined();
    expect([run.status, run.seen('h').reason]).toEqual(['FAILED', 'not with me']);
  });

  it('is asked again after a FAILED when it has a retry left, and a terminal error has none', () => {
    const run = new Run({ tasks: [human('h', { retryCount: 1 })] });
    run.completeTask('h', {}, { status: 'FAILED' });
    expect(run.open()).toEqual(['h']);
    expect(run.task('h').attempt).toBe(2);
    run.completeTask('h', {}, { status: 'FAILED_WITH_TERMINAL_ERROR' });
    expect(run.status).toBe('FAILED');
  });

  it('takes a signal by its ref, by no name, and one that came before it', () => {
    const run = new Run({ tasks: [simple('a'), human('h'), human('g'), simple('b')] });
    run.signal('h', { n: 1 });
    run.complete('a');
    expect(run.seen('h').output).toEqual({ n: 1 });
    run.signal(undefined);
    expect(run.open()).toEqual(['b']);
  });

  it('has the total deadline and no other', () => {
    const deadlines = { scheduleToStartTimeout: 1, startToCloseTimeout: 1, heartbeatTimeout: 1, totalTimeout: 60 };
    const run = new Run({ tasks: [human('h', deadlines)] });
    run.advance(59_999);
    expect(run.open()).toEqual(['h']);
    run.advance(1);
    expect([run.status, run.seen('h').deadline]).toEqual(['TIMED_OUT', 'SCHEDULE_TO_CLOSE']);
  });

  it('is completed while the run is paused, and what follows waits for the resume', () => {
    const run = new Run({ tasks: [human('h'), simple('b')] }).pause();
    expect(run.completeTask('h')).toBeUndefined();
    expect(run.open()).toEqual([]);
    expect(run.resume().open()).toEqual(['b']);
  });

  it('is canceled with the run, and asked again when the run is retried', () => {
    const run = new Run({ tasks: [human('h'), simple('b')] });
    run.terminate();
    expect(run.seen('h').status).toBe('CANCELED');
    expect(run.retry().open()).toEqual(['h']);
    run.completeTask('h');
    expect(run.open()).toEqual(['b']);
  });

  it('waits in branches of forks, in cases of switches and in each iteration of a loop', () => {
    const body = [simple('a'), switchOn('s', 'x', { x: [human('h'), simple('c')] })];
    const run = new Run({
      tasks: [
        fork('f', [
          [loop('l', 2, body), simple('e')],
          [human('g'), simple('d')],
        ]),
        join('j'),
      ],
    });
    run.completeTask('g');
    for (const iteration of [1, 2]) {
      run.complete(`a__${iteration}`);
      expect(run.completeTask(`h__${iteration}`)).toBeUndefined();
      run.complete(`c__${iteration}`);
    }
    expect(run.complete('e').complete('d').status).toBe('COMPLETED');
  });
});

describe('the door of a task', () => {
  it('answers the same call again like the first, and changes nothing', () => {
    const run = new Run({ tasks: [human('h'), simple('b')] });
    const request = { type: 'CompleteTask', scheduledSeq: seqOf(run, 'h'), by: 'anna', ofWorkersToo: false } as const;
    const said = { ...request, status: 'COMPLETED', output: { n: 1, m: 2 } } as const;
    expect(run.request(said)).toBeUndefined();
    const facts = run.log.length;
    expect(run.request({ ...said, output: { m: 2, n: 1 } })).toBeUndefined();
    expect(run.log).toHaveLength(facts);
    expect(run.request({ ...said, output: {} })?.code).toBe('INVALID_STATE');
    expect(run.request({ ...said, by: 'ben' })?.code).toBe('INVALID_STATE');
    run.complete('b');
    expect(run.request(said)).toBeUndefined();
    expect(run.request({ ...said, output: {} })?.code).toBe('TERMINAL_STATE');
  });

  it('is closed for what a worker does, unless it is opened for that too: then the late report is refused', () => {
    const run = new Run({ tasks: [simple('a'), simple('b')] });
    const late = run.outcomeOf('a', 'COMPLETED');
    expect(run.completeTask('a')?.code).toBe('INVALID_STATE');
    expect(run.completeTask('a', { n: 1 }, { ofWorkersToo: true })).toBeUndefined();
    expect(run.request({ type: 'SettleTask', outcome: late })?.code).toBe('LEASE_LOST');
    expect([run.seen('a').output, run.open()]).toEqual([{ n: 1 }, ['b']]);
  });

  it('is closed for what the server does itself', () => {
    const run = new Run({
      tasks: [{ name: 'i', taskReferenceName: 'i', type: 'INLINE', inputParameters: { expression: '1' } }],
    });
    expect(run.completeTask('i', {}, { ofWorkersToo: true })?.code).toBe('INVALID_STATE');
  });

  it('gives way to a signal that was there first', () => {
    const run = new Run(
      { tasks: [simple('a'), human('h'), simple('b')] },
      { eventsMax: 1, decisionsMax: 1, checks: false },
    );
    run.signal('h', { n: 1 });
    run.complete('a');
    expect(run.completeTask('h', { n: 2 })?.code).toBe('INVALID_STATE');
    run.pause().resume();
    expect(run.seen('h').output).toEqual({ n: 1 });
  });
});
