import { describe, expect, it } from 'vitest';
import { UPGRADE_REASONS_MAX } from '../../../src/domain/execution/upgrade-check.ts';
import type { JsonObject } from '../../../src/domain/kernel/json.ts';
import {
  dynamicFork,
  fork,
  human,
  join,
  loop,
  loopOverItems,
  noop,
  pull,
  type Step,
  simple,
  switchOn,
  wait,
} from '../../support/builders.ts';
import { Run } from '../../support/drive.ts';

const chain = (...refs: string[]) => refs.map((ref) => simple(ref));
const numbered = (ref: string, n: string) => simple(ref, { inputParameters: { n } });

describe('a jump', () => {
  it('goes forward over what is open and what has not begun', () => {
    const run = new Run({ tasks: [...chain('a', 'b'), fork('f', [chain('p'), chain('q')]), join('j'), simple('z')] });
    run.complete('a').complete('b').jump('z', { given: 1 });
    expect([run.open(), run.task('z').input]).toEqual([['z'], { given: 1 }]);
    expect(['p', 'q', 'f', 'j'].map((ref) => run.seen(ref).status)).toEqual([
      'CANCELED',
      'CANCELED',
      'SKIPPED',
      'SKIPPED',
    ]);
    run.complete('z');
    expect(run.status).toBe('COMPLETED');
  });

  it('goes back to a task that ran, which runs again with all behind it', () => {
    const run = new Run({ tasks: chain('a', 'b', 'c') });
    run.complete('a').complete('b').jump('a');
    expect([run.open(), run.task('a').attempt]).toEqual([['a'], 2]);
    run.completeAll();
    expect(run.completed()).toEqual(['a', 'b', 'a', 'b', 'c']);
  });

  it('in a branch leaves the other branches alone, and in a pause waits for the resume', () => {
    const run = new Run({ tasks: [fork('f', [chain('a', 'a2', 'a3'), chain('b')]), join('j')] });
    run.pause().jump('a3');
    expect([run.status, run.open()]).toEqual(['PAUSED', ['b']]);
    run.resume();
    expect(run.open()).toEqual(['a3', 'b']);
    run.completeAll();
    expect(run.status).toBe('COMPLETED');
  });

  it('in a loop stays in its iteration', () => {
    const run = new Run({ tasks: [loop('l', 2, chain('a', 'b', 'c'))] });
    run.complete('a__1').complete('b__1').complete('c__1').jump('c');
    expect(run.open()).toEqual(['c__2']);
    run.jump('a__2');
    expect(run.open()).toEqual(['a__2']);
    expect(run.request({ type: 'Jump', by: 'x', to: 'a__1' })?.code).toBe('INVALID_STATE');
  });

  it('is refused into what has not begun or went another way', () => {
    const run = new Run({
      tasks: [simple('a'), switchOn('s', 'x', { x: chain('b'), y: chain('c') }), loop('l', 1, chain('d'))],
    });
    const jump = (to: string) => run.request({ type: 'Jump', by: 'x', to })?.code;
    expect([jump('b'), jump('d'), jump('zz')]).toEqual(['INVALID_STATE', 'INVALID_STATE', 'NOT_FOUND']);
    run.complete('a');
    expect([jump('c'), jump('b')]).toEqual(['INVALID_STATE', undefined]);
  });

  it('is refused by a ref with an iteration where there is no loop, and into a fork that has not begun', () => {
    const run = new Run({ tasks: [simple('a'), fork('f', [chain('b'), chain('c')]), join('j')] });
    const jump = (to: string) => run.request({ type: 'Jump', by: 'x', to });
    expect(jump('a__1')?.code).toBe('NOT_FOUND');
    expect(jump('b')).toMatchObject({ code: 'INVALID_STATE', message: expect.stringContaining('jump to f') });
  });
});

describe('a jump into a fork that was refused', () => {
  it('is refused, as its branches have not begun', () => {
    const inputParameters = { x: '${workflow.${workflow.input.p}}' };
    const tasks = [fork('f', [chain('a'), chain('b')], { optional: true, inputParameters }), join('j'), simple('z')];
    const run = new Run({ tasks }, { input: { p: 'secrets.x' } });
    expect([run.open(), run.seen('f').status]).toEqual([['z'], 'COMPLETED_WITH_ERRORS']);
    expect(run.request({ type: 'Jump', by: 'x', to: 'a' })?.message).toBe(
      'Task a is part of f, which has not begun; jump to f.',
    );
  });
});

describe('an upgrade', () => {
  const upgraded = (before: readonly Step[], after: readonly Step[], fields = {}) => {
    const run = new Run({ tasks: before });
    return { run, plan: run.offer({ tasks: after, fields: { version: 2, ...fields } }, 'hash-2') };
  };

  it('keeps what ran and runs, skips new tasks that the run is past, and enters those to come', () => {
    const { run, plan } = upgraded(chain('a', 'c'), [
      simple('new'),
      simple('a'),
      simple('b'),
      simple('c'),
      numbered('d', '${new.output.n}'),
    ]);
    run.complete('a').upgrade(plan, { new: { n: 7 }, b: {} });
    expect([run.view.version, run.open()]).toEqual([2, ['c']]);
    expect(['new', 'b'].map((ref) => run.seen(ref).status)).toEqual(['SKIPPED', 'SKIPPED']);
    run.complete('c');
    expect(run.task('d').input).toEqual({ n: 7 });
    run.complete('d');
    expect(run.status).toBe('COMPLETED');
  });

  it('goes on inside of forks, switches and loops', () => {
    const tasks = (extra: readonly string[]) => [
      fork('f', [chain('a', ...extra), [switchOn('s', 'x', { x: chain('b', ...extra.map((ref) => `${ref}b`)) })]]),
      join('j'),
      loop('l', 2, chain('c', ...extra.map((ref) => `${ref}c`))),
    ];
    const { run, plan } = upgraded(tasks([]), tasks(['more']));
    run.upgrade(plan).complete('a').complete('b');
    expect(run.open()).toEqual(['more', 'moreb']);
    run.complete('more').complete('moreb').complete('c__1').complete('morec__1');
    expect(run.open()).toEqual(['c__2']);
  });

  it('skips new tasks that the run is past inside of cases, branches and loops too, each where it is', () => {
    const tasks = (...extra: readonly string[]) => [
      fork('f', [
        [...chain(...extra.map((ref) => `${ref}1`)), ...chain('a', 'a2')],
        [switchOn('s', 'x', { x: [...chain(...extra.map((ref) => `${ref}2`)), ...chain('b', 'b2')] })],
        [loop('l', 2, [...chain(...extra.map((ref) => `${ref}3`)), ...chain('c', 'c2')])],
      ]),
      join('j'),
    ];
    const { run, plan } = upgraded(tasks(), tasks('new'));
    run
      .complete('c__1')
      .complete('c2__1')
      .upgrade(plan, { new2: { n: 2 } });
    expect(run.eventsOf('TaskSkipped').map(({ ref, iteration, output }) => [ref, iteration, output])).toEqual([
      ['new1', 0, {}],
      ['new2', 0, { n: 2 }],
      ['new3', 2, {}],
    ]);
    expect(run.open()).toEqual(['a', 'b', 'c__2']);
    run.completeAll();
    expect(run.status).toBe('COMPLETED');
  });

  it('is refused with every reason where what has begun is not there as it was', () => {
    const { run, plan } = upgraded(
      [...chain('a', 'b'), switchOn('s', 'x', { x: chain('p') })],
      [simple('b'), switchOn('s', 'x', { y: chain('p') })],
    );
    run.complete('a').complete('b');
    const rejection = run.request({ type: 'Upgrade', by: 'x', plan, taskOutputs: {} });
    expect(rejection?.code).toBe('INVALID_STATE');
    expect(rejection?.details).toEqual({
      reasons: [
        'Task a has begun and is gone.',
        'The case that s chose is gone or empty.',
        'Task p has begun and stands in another place now.',
      ],
    });
  });

  it('is refused for the same definition, for outputs of no such task, and for another order', () => {
    const { run, plan } = upgraded(chain('a', 'b'), chain('b', 'a'));
    const request = { type: 'Upgrade', by: 'x', plan, taskOutputs: {} } as const;
    run.complete('a');
    expect(run.request(request)?.message).toContain('comes before it now');
    expect(run.request({ ...request, plan: run.state.plan })?.code).toBe('INVALID_STATE');
    const same = run.offer({ tasks: chain('a', 'b', 'c') }, 'hash-3');
    expect(run.request({ ...request, plan: same, taskOutputs: { c: {} } })?.code).toBe('VALIDATION_FAILED');
  });

  it('is refused for another type, for a fork with more branches, and for a ref that data brought in', () => {
    const flow = (first: readonly Step[]) => [
      ...first,
      fork('f', [chain('p'), chain('q')]),
      join('j'),
      dynamicFork('d', [simple('brought')]),
      join('k'),
    ];
    const { run, plan } = upgraded(flow([simple('a')]), [
      human('a'),
      fork('f', [chain('p'), chain('q'), chain('r')]),
      join('j'),
      dynamicFork('d', []),
      join('k'),
      simple('brought'),
    ]);
    run.complete('a').complete('p').complete('q');
    expect(run.open()).toEqual(['brought']);
    const rejection = run.request({ type: 'Upgrade', by: 'x', plan, taskOutputs: {} });
    expect(rejection?.details).toEqual({
      reasons: [
        'Task a has begun as SIMPLE and is HUMAN now.',
        'Fork f has begun with 2 branches and has 3 now.',
        'Task brought was brought in by data and is a task of the definition now.',
      ],
    });
    const same = run.offer({ tasks: flow([simple('a')]), fields: { version: 2 } }, 'hash-3');
    run.upgrade(same).complete('brought');
    expect(run.status).toBe('COMPLETED');
  });

  it('goes on in the default case of a switch, unless the task went to a case of its own', () => {
    const before = [switchOn('s', 'other', { x: chain('p') }, chain('q')), simple('z')];
    const kept = upgraded(before, [switchOn('s', 'other', {}, [...chain('q'), simple('q2')]), simple('z')]);
    kept.run.upgrade(kept.plan).complete('q');
    expect(kept.run.open()).toEqual(['q2']);
    const moved = upgraded(before, [switchOn('s', 'other', { y: chain('q') }, chain('n')), simple('z')]);
    const rejection = moved.run.request({ type: 'Upgrade', by: 'x', plan: moved.plan, taskOutputs: {} });
    expect(rejection?.details).toEqual({ reasons: ['Task q has begun and stands in another place now.'] });
  });

  it('keeps what a DECISION chose, and is refused where that is gone', () => {
    const decision = (cases: JsonObject): Step => ({
      name: 'd',
      taskReferenceName: 'd',
      type: 'DECISION',
      caseValueParam: 'way',
      inputParameters: { way: 'x' },
      decisionCases: cases,
    });
    const run = new Run({ tasks: [decision({ x: chain('p') })], door: 'conductor' });
    const offer = (hash: string, first: Step) =>
      run.offer({ tasks: [first, simple('z')], door: 'conductor', fields: { version: 2 } }, hash);
    const without = offer('hash-2', decision({ y: chain('q') }));
    const asSwitch = offer('hash-3', switchOn('d', 'x', { x: chain('p') }));
    const detailsOf = (plan: typeof without) =>
      run.request({ type: 'Upgrade', by: 'x', plan, taskOutputs: {} })?.details;
    expect(detailsOf(without)).toEqual({
      reasons: ['The case that d chose is gone or empty.', 'Task p has begun and is gone.'],
    });
    expect(detailsOf(asSwitch)).toEqual({ reasons: ['Task d has begun as DECISION and is SWITCH now.'] });
    run.upgrade(offer('hash-4', decision({ x: chain('p', 'p2') }))).complete('p');
    expect(run.open()).toEqual(['p2']);
  });

  it('in a later iteration keeps what expressions read of the ones before, of tasks that are gone too', () => {
    const way = '${l.output.loopItem}';
    const body = (cases: Readonly<Record<string, readonly Step[]>>) => [
      loopOverItems('l', ['x', 'y'], [numbered('a', '${a.output.n}'), switchOn('s', way, cases), simple('b')]),
      numbered('z', '${p.output.n}'),
    ];
    const { run, plan } = upgraded(body({ x: chain('p'), y: chain('q') }), [
      ...body({ y: chain('q') }).slice(0, 1),
      numbered('z', '${b.output.n}'),
    ]);
    run.complete('a__1', { n: 1 }).complete('p__1', { n: 2 }).complete('b__1', { n: 3 });
    run.upgrade(plan).fail('a__2');
    expect(run.task('a__2').input).toEqual({ n: 1 });
    run.complete('a__2').complete('q__2').complete('b__2', { n: 7 });
    expect(run.task('z').input).toEqual({ n: 7 });
  });

  it('gives a new task that the run is past no output where none is given', () => {
    const { run, plan } = upgraded(chain('a', 'c'), [...chain('a', 'b', 'c'), numbered('d', '${b.output.n}')]);
    run.complete('a').upgrade(plan).complete('c');
    expect([run.seen('b').status, run.seen('b').output, run.task('d').input]).toEqual(['SKIPPED', {}, { n: null }]);
  });

  it('is refused while the run is undone', () => {
    const { run, plan } = upgraded([simple('a', { compensateWith: 'una' }), simple('b')], chain('a', 'b'));
    run.complete('a').failForGood('b');
    expect(run.request({ type: 'Upgrade', by: 'x', plan, taskOutputs: {} })?.message).toContain('compensated');
  });

  it('tells no more reasons than it may', () => {
    const many = Array.from({ length: UPGRADE_REASONS_MAX + 1 }, (_, index) => noop(`n${index}`));
    const { run, plan } = upgraded([...many, simple('a')], chain('a'));
    const rejection = run.request({ type: 'Upgrade', by: 'x', plan, taskOutputs: {} });
    const reasons = many.slice(0, UPGRADE_REASONS_MAX).map(({ name }) => `Task ${name} has begun and is gone.`);
    expect(rejection?.details).toEqual({ reasons });
  });

  it('adds variables and input that only the new version has', () => {
    const { run, plan } = upgraded(chain('a', 'b'), chain('a', 'b'), { variables: { v: 1 }, inputTemplate: { x: 1 } });
    run.request({ type: 'Upgrade', by: 'x', plan, taskOutputs: {}, input: { y: 2 } });
    expect(run.view).toMatchObject({ variables: { v: 1 }, input: { x: 1, y: 2 }, definitionHash: 'hash-2' });
  });
});

describe('a restart', () => {
  it('begins again with the same input, attempts that nobody used, and the definition it is given', () => {
    const run = new Run({ tasks: chain('a', 'b') }, { input: { x: 1 } });
    run.complete('a').failForGood('b').restart();
    expect([run.open(), run.task('a').attempt, run.view.input]).toEqual([['a'], 2, { x: 1 }]);
    const plan = run.offer({ tasks: chain('b', 'a'), fields: { version: 2 } }, 'hash-2');
    run.terminate().restart(plan);
    expect([run.open(), run.task('b').attempt, run.view.version]).toEqual([['b'], 2, 2]);
    run.complete('b');
    expect(run.task('a').attempt).toBe(3);
  });

  it('knows nothing of what came to the run before', () => {
    const tasks = [
      fork('f', [
        [simple('p', { permissive: true }), pull('m'), wait('w')],
        [simple('a', { compensateWith: 'una' }), simple('s')],
      ]),
      join('j', [], { optional: true }),
      simple('z'),
    ];
    const fields = { timeoutSeconds: 60, timeoutPolicy: 'ALERT_ONLY' };
    const run = new Run({ tasks, fields }).pause();
    run.message({ n: 1 });
    run.signal('w');
    run.skip('s');
    run.resume().advance(60_000).failForGood('p').complete('a');
    expect(run.seen('s').status).toBe('SKIPPED');
    run.terminate().restart();
    const { state } = run;
    expect([state.signals, state.messages, state.messageBytes, state.compensable]).toEqual([[], [], 0, []]);
    expect([state.permissiveFailure, state.patched, state.executionDeadlineMissed]).toEqual([undefined, false, false]);
    run.complete('p').complete('a');
    expect(run.open()).toEqual(['m', 's']);
    run.advance(60_000);
    expect(run.eventsOf('ExecutionDeadlineMissed')).toHaveLength(2);
    run.message({ n: 2 });
    run.signal('w');
    run.complete('s').complete('z');
    expect(run.status).toBe('COMPLETED');
  });

  it('undoes again what it did again', () => {
    const run = new Run({ tasks: [simple('a', { compensateWith: 'una' }), simple('b')] });
    run.complete('a').failForGood('b').complete('a__compensate').restart();
    expect([run.state.compensation, run.view.variables]).toEqual([undefined, {}]);
    run.complete('a').failForGood('b');
    expect([run.open(), run.task('a__compensate').attempt]).toEqual([['a__compensate'], 2]);
  });

  it('is refused while the run is open, and for a completed run of a definition that says so', () => {
    const run = new Run({ tasks: chain('a'), fields: { restartable: false } });
    const restart = () => run.request({ type: 'Restart', by: 'x' })?.code;
    expect(restart()).toBe('INVALID_STATE');
    run.failForGood('a');
    expect(restart()).toBeUndefined();
    run.complete('a');
    expect(restart()).toBe('INVALID_STATE');
  });
});

describe('a rerun of named tasks', () => {
  it('keeps what follows and tells that it is stale, or runs it too', () => {
    const run = new Run({ tasks: [...chain('a', 'b'), numbered('c', '${a.output.n}')] });
    run.completeAll().rerunTasks(['a'], false);
    expect([run.open(), run.eventsOf('TasksRerun')[0]?.stale]).toEqual([['a'], ['b', 'c']]);
    run.complete('a');
    expect(run.status).toBe('COMPLETED');
    run.rerunTasks(['b'], true).completeAll();
    expect(run.completed()).toEqual(['a', 'b', 'c', 'a', 'b', 'c']);
  });

  it('of one sequence run in their order, and a loop or a fork with all in it', () => {
    const run = new Run({
      tasks: [
        ...chain('a', 'b'),
        fork('f', [chain('p'), chain('q')]),
        join('j'),
        loop('l', 2, chain('t')),
        simple('z'),
      ],
    });
    run.completeAll().rerunTasks(['l', 't__2', 'a', 'f', 'p'], false);
    expect(run.eventsOf('TasksRerun')[0]).toMatchObject({ resets: ['a', 'f', 'l'], stale: ['b', 'j', 'z'] });
    expect(run.open()).toEqual(['a']);
    run.complete('a');
    expect(run.open()).toEqual(['p', 'q', 't__1']);
    run.completeAll();
    expect(run.status).toBe('COMPLETED');
    expect(run.seen('z').attempt).toBe(1);
  });

  it('waits in a paused run, and is refused in a running one, for what is open, and for what did not run', () => {
    const run = new Run({ tasks: chain('a', 'b', 'c') });
    run.complete('a');
    const rerun = (...tasks: string[]) => run.request({ type: 'RerunTasks', by: 'x', tasks, cascade: true })?.code;
    expect(rerun('a')).toBe('INVALID_STATE');
    run.pause();
    expect([rerun('b'), rerun('c'), rerun('zz'), rerun()]).toEqual([
      'INVALID_STATE',
      'NOT_FOUND',
      'NOT_FOUND',
      'VALIDATION_FAILED',
    ]);
    expect(rerun('a')).toBeUndefined();
    expect([run.status, run.open(), run.seen('b').status]).toEqual(['PAUSED', [], 'CANCELED']);
    run.resume();
    expect(run.open()).toEqual(['a']);
  });
});
