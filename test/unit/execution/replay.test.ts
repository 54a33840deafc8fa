import { describe, expect, it } from 'vitest';
import type { SequencedEvent, WorkflowEvent } from '../../../src/domain/execution/events.ts';
import { PREVIEW_EVENTS_MAX, previewLog } from '../../../src/domain/execution/preview.ts';
import { replayLog } from '../../../src/domain/execution/replay.ts';
import { emptyState } from '../../../src/domain/execution/state.ts';
import { fork, join, loop, noop, planOf, simple, type Workflow, wait } from '../../support/builders.ts';
import { Run } from '../../support/drive.ts';

const replay = (run: Run, log: readonly SequencedEvent[] = run.log) =>
  replayLog(emptyState(run.state.executionId, run.state.plan), log, run.environment);

const preview = (run: Run, workflow: Workflow) => {
  const found = previewLog(emptyState(run.state.executionId, planOf(workflow)), run.log, run.environment);
  if (found.kind === 'needs') throw new Error('expected no need of task definitions');
  return found;
};

const typesOf = (events: readonly SequencedEvent[]) =>
  events.map(({ event }) => ('ref' in event ? `${event.type} ${event.ref}` : event.type));

/** The log with one event changed. */
const forged = (run: Run, type: WorkflowEvent['type'], change: object): readonly SequencedEvent[] => {
  let isDone = false;
  return run.log.map((entry) => {
    if (isDone || entry.event.type !== type) return entry;
    isDone = true;
    return { ...entry, event: { ...entry.event, ...change } as WorkflowEvent };
  });
};

const twoSteps = { tasks: [simple('a'), simple('b')] };

describe('a replay with its own version', () => {
  it('finds every fact again, whatever happened on the way', () => {
    const workflow = {
      tasks: [fork('f', [[simple('a'), simple('a2')], [loop('l', 2, [simple('b')])]]), join('j')],
    };
    const run = new Run(workflow);
    run.pause().complete('a').resume();
    run.fail('b__1').complete('b__1').complete('a2');
    expect(replay(run)).toEqual({ kind: 'same' });
    run.terminate();
    expect(replay(run)).toEqual({ kind: 'same' });
    run.retry().complete('b__2');
    expect(run.status).toBe('COMPLETED');
    expect(replay(run)).toEqual({ kind: 'same' });
  });

  it.each<[WorkflowEvent['type'], object]>([
    ['TaskScheduled', { queue: 'elsewhere' }],
    ['TaskScheduled', { input: { forged: true } }],
    ['TaskClosed', { disposition: { kind: 'fail' } }],
    ['ExecutionClosed', { output: { forged: true } }],
    ['ExecutionClosed', { status: 'FAILED' }],
  ])('names the first fact that does not follow: %s with %j', (type, change) => {
    const run = new Run(twoSteps).complete('a').complete('b');
    const log = forged(run, type, change);
    const seq = run.log.find(({ event }) => event.type === type)?.seq ?? 0;
    const [recorded, derived] = [log[seq - 1]?.event, run.log[seq - 1]?.event];
    expect(replay(run, log)).toEqual({ kind: 'differs', difference: { seq, recorded, derived } });
  });

  it('asks for the task definitions that the run looked up', () => {
    const tasks = [{ ...simple('d'), type: 'DYNAMIC', dynamicTaskNameParam: 'as', inputParameters: { as: 'x' } }];
    const run = new Run({ tasks }).complete('d');
    const found = replayLog(emptyState(run.state.executionId, run.state.plan), run.log, {
      ...run.environment,
      taskDefinition: () => undefined,
    });
    expect(found).toEqual({ kind: 'needs', names: ['x'] });
  });

  it('takes a task definition that has changed since for no difference, but what was done with it for one', () => {
    const tasks = [{ ...simple('d'), type: 'DYNAMIC', dynamicTaskNameParam: 'as', inputParameters: { as: 'x' } }];
    const run = new Run({ tasks, taskDefinitions: [{ name: 'x', retryCount: 5 }] }).complete('d');
    const later = { ...run.environment, taskDefinition: () => null };
    const again = (log: readonly SequencedEvent[]) =>
      replayLog(emptyState(run.state.executionId, run.state.plan), log, later).kind;
    expect(run.eventsOf('TaskScheduled')[0]?.policy?.retryCount).toBe(5);
    expect([again(run.log), again(forged(run, 'TaskScheduled', { queue: 'y' }))]).toEqual(['same', 'differs']);
    expect(again(forged(run, 'TaskScheduled', { policy: undefined }))).toBe('differs');
  });

  it('takes from the record which queue had workers', () => {
    const run = new Run({ tasks: [simple('a')] }, { started: { taskToDomain: { a: 'd1,d2,d3' } }, polled: ['d2:a'] });
    run.complete('a');
    expect([run.eventsOf('TaskScheduled')[0]?.queue, replay(run)]).toEqual(['d2:a', { kind: 'same' }]);
  });

  it('knows an outcome of an attempt that was not open, and an end after the end, for forged', () => {
    const run = new Run(twoSteps).complete('a').terminate();
    const closed = forged(run, 'TaskClosed', { attempt: 2 });
    expect(replay(run, closed)).toMatchObject({ kind: 'differs', difference: { recorded: { attempt: 2 } } });
    const end = run.log.at(-1);
    if (end === undefined) throw new Error('expected an end');
    const twice = replay(run, [...run.log, { ...end, seq: end.seq + 1 }]);
    expect(twice).toEqual({ kind: 'differs', difference: { seq: end.seq + 1, recorded: end.event } });
  });

  it('tells of a fact after the end of the run', () => {
    const run = new Run(twoSteps).complete('a').complete('b');
    const [, first] = run.log;
    if (first === undefined) throw new Error('expected a fact');
    const seq = run.log.length + 1;
    expect(replay(run, [...run.log, { ...first, seq }])).toEqual({
      kind: 'differs',
      difference: { seq, recorded: first.event },
    });
  });
});

describe('a preview with another version', () => {
  const run = new Run(twoSteps).complete('a', { n: 1 }).complete('b', { n: 2 });

  it('of the same steps goes the same way', () => {
    const found = preview(run, { ...twoSteps, fields: { version: 2 } });
    expect(found.difference).toBeUndefined();
    expect([typesOf(found.events), found.unused]).toEqual([typesOf(run.log), []]);
  });

  it('shows where it goes another way, and what was told and has no place in it', () => {
    const found = preview(run, { tasks: [simple('a'), simple('c')] });
    expect(typesOf(found.events)).toEqual(['ExecutionStarted', 'TaskScheduled a', 'TaskClosed a', 'TaskScheduled c']);
    expect(found.difference).toMatchObject({ seq: 4, recorded: { ref: 'b' }, derived: { ref: 'c' } });
    expect(found.unused).toEqual([5]);
  });

  it('keeps an outcome for its attempt when the order is another', () => {
    const found = preview(run, { tasks: [simple('b'), simple('a')] });
    expect(typesOf(found.events)).toEqual([
      'ExecutionStarted',
      'TaskScheduled b',
      'TaskClosed b',
      'TaskScheduled a',
      'TaskClosed a',
      'ExecutionClosed',
    ]);
    expect(found.unused).toEqual([]);
  });

  it('is told of pauses, signals and terminations too', () => {
    const ended = new Run(twoSteps).complete('a').pause().resume().terminate();
    const found = preview(ended, { tasks: [simple('a'), simple('c')] });
    expect(typesOf(found.events).slice(-3)).toEqual(['ExecutionPaused', 'ExecutionResumed', 'ExecutionClosed']);
    expect(found.unused).toEqual([]);
  });

  it('is told of deadlines, retries, kept signals and messages too', () => {
    const timed = { fields: { timeoutSeconds: 60, timeoutPolicy: 'TIME_OUT_WF' } };
    const late = new Run({ tasks: [simple('a'), wait('w')], ...timed });
    expect([late.signal('w', { early: true }), late.message({ m: 1 })]).toEqual([undefined, undefined]);
    late.advance(60_000).retry().complete('a');
    expect(late.status).toBe('COMPLETED');
    const found = preview(late, { tasks: [simple('a'), wait('w')], fields: { ...timed.fields, version: 2 } });
    expect(typesOf(found.events)).toEqual(typesOf(late.log));
    expect([found.difference, found.unused]).toEqual([undefined, []]);
  });

  it('undoes what it did when the deadline passes, as the record does', () => {
    const fields = { timeoutSeconds: 60, timeoutPolicy: 'TIME_OUT_WF' };
    const tasks = [simple('a', { compensateWith: 'una' }), simple('b')];
    const undone = new Run({ tasks, fields }).complete('a').advance(60_000).complete('a__compensate');
    expect(undone.status).toBe('TIMED_OUT');
    const found = preview(undone, { tasks, fields: { ...fields, version: 2 } });
    expect([found.difference, found.unused]).toEqual([undefined, []]);
  });

  it('is told of a deadline that only alerts, and of a failure that is undone', () => {
    const fields = { timeoutSeconds: 60, timeoutPolicy: 'ALERT_ONLY' };
    const tasks = [simple('a', { compensateWith: 'una' }), simple('b')];
    const alerted = new Run({ tasks, fields }).complete('a').advance(60_000).failForGood('b').complete('a__compensate');
    expect([alerted.status, alerted.eventsOf('ExecutionDeadlineMissed').length]).toEqual(['FAILED', 1]);
    const found = preview(alerted, { tasks, fields: { ...fields, version: 2 } });
    expect([found.difference, found.unused]).toEqual([undefined, []]);
  });

  it('turns back where the record does, though that is not at its end yet', () => {
    const fields = { timeoutSeconds: 60, timeoutPolicy: 'TIME_OUT_WF' };
    const tasks = [simple('a', { compensateWith: 'una' }), simple('b')];
    const turned = new Run({ tasks, fields }).complete('a').advance(60_000);
    const found = preview(turned, { tasks, fields: { ...fields, version: 2 } });
    expect(typesOf(found.events).slice(-2)).toEqual(['CompensationStarted', 'TaskScheduled a__compensate']);
    expect([found.difference, found.unused]).toEqual([undefined, []]);
  });

  it('is told why, where somebody said so', () => {
    const by = 'anna';
    const told = new Run(twoSteps);
    for (const type of ['Pause', 'Resume', 'Terminate', 'Retry', 'Terminate'] as const) {
      told.request({ type, by, reason: `${type} it` });
    }
    const found = preview(told, { ...twoSteps, fields: { version: 2 } });
    expect([found.difference, found.unused]).toEqual([undefined, []]);
    expect(found.events.filter(({ event }) => 'by' in event)).toHaveLength(5);
  });

  it('is not ended by the end of a record that a task had brought about, which this version excuses', () => {
    const deadline = { timeoutSeconds: 600, timeoutPolicy: 'TIME_OUT_WF' };
    const timed = simple('a', { retryCount: 0, timeoutPolicy: 'TIME_OUT_WF' });
    const ended = new Run({ tasks: [timed, simple('b')], fields: deadline }).timeOut('a', 'START_TO_CLOSE');
    expect([ended.status, ended.view.failedTask]).toEqual(['TIMED_OUT', 'a']);
    const found = preview(ended, {
      tasks: [{ ...timed, timeoutPolicy: 'RETRY', optional: true }, simple('b')],
      fields: deadline,
    });
    expect(typesOf(found.events).at(-1)).toBe('TaskScheduled b');
    expect(found.unused).toEqual([]);
  });

  it('gives what a cache gave to the attempt that it was for', () => {
    const cached = simple('a', { cacheConfig: { key: 'k', ttlInSecond: 60 } });
    const outputs = new Map([[JSON.stringify(['a', 'k']), { from: 'the cache' }]]);
    const taken = new Run({ tasks: [cached, simple('b')] }, { outputs }).complete('b');
    expect(taken.eventsOf('TaskTakenFromCache')).toHaveLength(1);
    const found = preview(taken, { tasks: [simple('a'), simple('b')] });
    expect(found.events.map(({ event }) => event)).toContainEqual(
      expect.objectContaining({ type: 'TaskClosed', ref: 'a', output: { from: 'the cache' } }),
    );
    expect(found.unused).toEqual([]);
  });

  it('shows what it would have done beyond the end of the record', () => {
    const found = previewLog(emptyState(run.state.executionId, run.state.plan), run.log.slice(0, 1), run.environment);
    expect(found).toMatchObject({ difference: { seq: 2, derived: { type: 'TaskScheduled', ref: 'a' } } });
    expect(found).not.toHaveProperty('difference.recorded');
  });

  it('stops at its bound in a loop that this version never leaves', () => {
    const endless = { tasks: [loop('l', PREVIEW_EVENTS_MAX, [noop('n')])] };
    const found = preview(new Run({ tasks: [simple('a')] }), endless);
    expect(found.events).toHaveLength(PREVIEW_EVENTS_MAX);
  });

  it('has no place for what this version refuses', () => {
    const paused = new Run(twoSteps).pause().resume();
    paused.complete('a').pause().rerunTasks(['a'], false);
    const found = preview(paused, { ...twoSteps, fields: { version: 2 } });
    const [rerun] = paused.log.filter(({ event }) => event.type === 'TasksRerun');
    expect(found.unused).toContain(rerun?.seq);
  });

  it('that ends sooner has nothing where the record goes on, and one that goes on has more', () => {
    const short = preview(run, { tasks: [simple('a')] });
    expect(short.difference).toMatchObject({ recorded: { ref: 'b' }, derived: { type: 'ExecutionClosed' } });
    const open = new Run(twoSteps).complete('a', { n: 1 });
    const more = preview(open, { tasks: [simple('a'), fork('f', [[simple('b')], [simple('c')]]), join('j')] });
    expect(more.difference?.seq).toBe(4);
    const same = preview(open, { tasks: [fork('f', [[simple('a')]]), join('j')] });
    expect(same.difference?.seq).toBe(2);
    const longer = preview(open, { tasks: [simple('a'), simple('b'), simple('b2')] });
    expect(longer.difference).toBeUndefined();
  });

  it('asks for a task definition that is named only behind an outcome which came before its attempt', () => {
    const dynamic = { ...simple('d'), type: 'DYNAMIC', dynamicTaskNameParam: 'as', inputParameters: { as: 'x' } };
    const found = previewLog(
      emptyState(run.state.executionId, planOf({ tasks: [simple('b'), simple('a'), dynamic] })),
      run.log,
      { ...run.environment, taskDefinition: () => undefined },
    );
    expect(found).toEqual({ kind: 'needs', names: ['x'] });
  });

  it('asks for the task definitions that another version names at run time', () => {
    const workflow = {
      tasks: [{ ...simple('d'), type: 'DYNAMIC', dynamicTaskNameParam: 'as', inputParameters: { as: 'x' } }],
    };
    const found = previewLog(emptyState(run.state.executionId, planOf(workflow)), run.log, {
      ...run.environment,
      taskDefinition: () => undefined,
    });
    expect(found).toEqual({ kind: 'needs', names: ['x'] });
  });
});

/** What the service puts to a run that is retried while its places are taken. */
const retryQueued = (run: Run): void =>
  run.requestAll([
    { type: 'Retry', by: 'operator' },
    { type: 'AwaitAdmission', key: 'k' },
  ]);

describe('a run that awaits its admission', () => {
  const gated = { ...twoSteps, fields: { maxConcurrentExecutions: 5 } };

  it('decides nothing until it is admitted, can be paused and resumed, and replays itself', () => {
    const run = new Run(gated);
    run.terminate();
    retryQueued(run);
    expect([run.status, run.open(), run.view.awaitingAdmission]).toEqual(['RUNNING', [], true]);
    run.pause().resume();
    expect(run.open()).toEqual([]);
    run.request({ type: 'Admit' });
    expect([run.open(), run.view.awaitingAdmission]).toEqual([['a'], undefined]);
    expect(run.request({ type: 'Admit' })?.code).toBe('INVALID_STATE');
    run.complete('a').complete('b');
    expect(replay(run)).toEqual({ kind: 'same' });
  });

  it('that is terminated meanwhile awaits it no more', () => {
    const run = new Run(gated);
    run.terminate();
    retryQueued(run);
    run.terminate();
    expect([run.status, run.view.awaitingAdmission]).toEqual(['TERMINATED', undefined]);
    expect(run.request({ type: 'Admit' })?.code).toBe('TERMINAL_STATE');
  });
});
