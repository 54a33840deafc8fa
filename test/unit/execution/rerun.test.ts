import { describe, expect, it } from 'vitest';
import { RERUN_TASKS_MAX } from '../../../src/domain/execution/rerun-tasks.ts';
import type { JsonObject } from '../../../src/domain/kernel/json.ts';
import {
  dynamicFork,
  fork,
  join,
  loop,
  loopOverItems,
  noop,
  type Step,
  setVariable,
  simple,
  switchOn,
  terminate,
  type Workflow,
  wait,
} from '../../support/builders.ts';
import { Run } from '../../support/drive.ts';

const chain = (...refs: string[]) => refs.map((ref) => simple(ref));

/** Completes what is open with a number that grows with every task. */
const finish = (run: Run): Run => {
  let n = 0;
  return run.completeAll(() => {
    n += 1;
    return { n };
  });
};

describe('a rerun from a task', () => {
  it('runs it and all behind it again, and keeps what came before', () => {
    const run = finish(new Run({ tasks: chain('a', 'b', 'c') }));
    expect(run.status).toBe('COMPLETED');
    run.rerun('b');
    expect([run.status, run.open()]).toEqual(['RUNNING', ['b']]);
    expect(run.task('b').attempt).toBe(2);
    run.complete('b');
    expect(run.task('c').attempt).toBe(2);
    run.complete('c');
    expect(run.eventsOf('TaskScheduled').map(({ ref, attempt }) => `${ref}/${attempt}`)).toEqual([
      'a/1',
      'b/1',
      'c/1',
      'b/2',
      'c/2',
    ]);
  });

  it('takes an attempt above all that were used, and has all retries again', () => {
    const run = new Run({ tasks: [simple('a', { retryCount: 1 }), simple('b')] });
    run.fail('a').complete('a').complete('b').rerun('a');
    expect(run.task('a').attempt).toBe(3);
    run.fail('a').fail('a');
    expect([run.status, run.eventsOf('TaskScheduled').at(-1)?.attempt]).toEqual(['FAILED', 4]);
    run.rerun('a');
    expect(run.task('a').attempt).toBe(5);
  });

  it('is refused while the run is open, for a task that did not run, and for one that is not there', () => {
    const run = new Run({ tasks: chain('a', 'b') });
    const rerun = (from: string) => run.request({ type: 'Rerun', by: 'x', from })?.code;
    expect(rerun('a')).toBe('INVALID_STATE');
    run.failForGood('a');
    expect([rerun('b'), rerun('zz'), rerun('a__1'), rerun('a')]).toEqual([
      'NOT_FOUND',
      'NOT_FOUND',
      'NOT_FOUND',
      undefined,
    ]);
  });

  it('gives the task another input, at each of its attempts, and the run another one', () => {
    const inputParameters = { x: '${workflow.input.x}' };
    const run = new Run(
      { tasks: [simple('a', { inputParameters }), simple('b', { inputParameters })] },
      { input: { x: 1 } },
    );
    finish(run).rerun('a', { taskInput: { own: true }, input: { x: 2 }, correlationId: 'c-2' });
    expect(run.task('a').input).toEqual({ own: true });
    run.fail('a');
    expect(run.task('a').input).toEqual({ own: true });
    run.complete('a');
    expect(run.task('b').input).toEqual({ x: 2 });
    expect(run.view).toMatchObject({ input: { x: 2 }, correlationId: 'c-2' });
    run.complete('b').rerun('a');
    expect(run.task('a').input).toEqual({ x: 2 });
    expect(run.published).toContainEqual(expect.objectContaining({ type: 'ReviseExecution', input: { x: 2 } }));
  });

  it('in a branch leaves the other branches alone, and joins them again', () => {
    const run = new Run({
      tasks: [fork('f', [chain('a', 'a2'), chain('b', 'b2')]), join('j'), simple('d')],
    });
    finish(run).rerun('a');
    expect([run.open(), run.seen('j').status]).toEqual([['a'], 'IN_PROGRESS']);
    run.complete('a', { x: 1 }).complete('a2', { y: 1 });
    expect(run.seen('j')).toMatchObject({ status: 'COMPLETED', attempt: 1 });
    expect(run.seen('j').output).toMatchObject({ a2: { y: 1 }, b2: expect.anything() });
    expect(run.open()).toEqual(['d']);
    run.complete('d');
    expect(run.status).toBe('COMPLETED');
  });

  it('runs what read its output again, in another branch too, and not before it has another', () => {
    const run = new Run({
      tasks: [
        fork('f', [
          chain('a', 'a2'),
          [wait('w'), simple('b', { inputParameters: { x: '${a.output.x}' } })],
          [simple('c')],
        ]),
        join('j'),
      ],
    });
    run.complete('a').complete('a2').complete('c').complete('w').complete('b').rerun('a');
    expect(run.open()).toEqual(['a']);
    run.complete('a', { x: 2 });
    expect(run.open()).toEqual(['a2', 'b']);
    expect(run.task('b').input).toEqual({ x: 2 });
    run.complete('b').complete('a2');
    expect(run.status).toBe('COMPLETED');
  });

  it('in a switch keeps the choice, and from the switch chooses again', () => {
    const run = new Run(
      { tasks: [switchOn('s', '${workflow.input.case}', { x: chain('a', 'b'), y: chain('c') }), simple('d')] },
      { input: { case: 'x' } },
    );
    finish(run).rerun('b');
    expect(run.open()).toEqual(['b']);
    finish(run).rerun('s', { input: { case: 'y' } });
    expect(run.open()).toEqual(['c']);
    finish(run);
    expect([run.status, run.seen('d').attempt]).toEqual(['COMPLETED', 3]);
  });

  it('in a loop goes on in the iteration that ran last', () => {
    const run = new Run({ tasks: [loop('l', 2, chain('a', 'b')), simple('c')] });
    finish(run).rerun('b');
    expect([run.open(), run.seen('l').status]).toEqual([['b__2'], 'IN_PROGRESS']);
    run.complete('b__2', { n: 9 });
    expect(run.seen('l').output).toMatchObject({ iteration: 2, 2: { b: { n: 9 } } });
    expect([run.open(), run.task('c').attempt]).toEqual([['c'], 2]);
  });

  it('from an earlier iteration goes back to the beginning of it', () => {
    const run = new Run({ tasks: [loop('l', 3, chain('a', 'b')), simple('c')] });
    finish(run).rerun('b__2');
    expect(run.open()).toEqual(['a__2']);
    finish(run);
    expect(run.status).toBe('COMPLETED');
    expect(run.eventsOf('LoopIterated').map(({ next }) => next)).toEqual([2, 3, 3]);
    expect(run.seen('a__1').attempt).toBe(1);
    expect(run.seen('a__3').attempt).toBe(2);
  });

  it('lets a task of a loop see the iteration before the one it goes back to', () => {
    const count = simple('a', { inputParameters: { n: '${a.output.n}' } });
    const run = new Run({ tasks: [loop('o', 2, [simple('u'), loop('l', 2, [count])])] });
    const answer = (task: { input: unknown; taskName: string }) => ({
      n: (((task.input as { n?: number | null }).n ?? 0) as number) + 1,
    });
    run.completeAll(answer);
    const end = run.output;
    for (const from of ['u__2', 'l__2', 'a__2__2', 'a__2__1', 'u__1', 'a__1__1', 'l']) {
      run.rerun(from).completeAll(answer);
      expect([from, run.output]).toEqual([from, end]);
    }
  });

  it('is refused where the loop no longer keeps what the iteration before gave', () => {
    const run = finish(new Run({ tasks: [loop('l', 4, chain('a'), { keepLastN: 1 })] }));
    expect(run.request({ type: 'Rerun', by: 'x', from: 'a__2' })?.message).toContain('no longer keeps');
    expect(run.request({ type: 'Rerun', by: 'x', from: 'a__4' })).toBeUndefined();
  });

  it('goes on with all that failed, and forgets how the run ended', () => {
    const run = new Run({ tasks: [fork('f', [chain('a', 'a2'), chain('b')]), join('j')] });
    run.complete('a').failForGood('a2');
    expect([run.status, run.open()]).toEqual(['FAILED', []]);
    run.rerun('a');
    expect(run.open()).toEqual(['a', 'b']);
    expect(run.view.failedTask).toBeUndefined();
    finish(run);
    expect(run.status).toBe('COMPLETED');
  });

  it('enters a dynamic fork again with the branches that data asks for now', () => {
    const tasks = [{ name: 'p', taskReferenceName: 'p', type: 'SIMPLE' }];
    const run = new Run(
      { tasks: [simple('a'), dynamicFork('f', '${workflow.input.tasks}'), join('j'), simple('d')] },
      { input: { tasks } },
    );
    finish(run).rerun('p');
    expect([run.open(), run.task('p').attempt]).toEqual([['p'], 2]);
    finish(run).rerun('f', { input: { tasks: [...tasks, { name: 'q', taskReferenceName: 'q', type: 'SIMPLE' }] } });
    expect(run.open()).toEqual(['p', 'q']);
    expect(run.task('p').attempt).toBe(3);
    finish(run);
    expect(run.status).toBe('COMPLETED');
  });

  it('needs the task that an input is for, and no more tasks than it may name', () => {
    const run = new Run({ tasks: [simple('a')] }).complete('a');
    expect(run.request({ type: 'Rerun', by: 'x', taskInput: {} })?.code).toBe('VALIDATION_FAILED');
    const tasks = Array.from({ length: RERUN_TASKS_MAX + 1 }, () => 'a');
    expect(run.request({ type: 'RerunTasks', by: 'x', tasks, cascade: true })?.code).toBe('VALIDATION_FAILED');
    expect(run.request({ type: 'RerunTasks', by: 'x', tasks: [], cascade: true })?.code).toBe('VALIDATION_FAILED');
  });

  it('of a run that a TERMINATE ended comes to it again', () => {
    const run = new Run({
      tasks: [fork('f', [[simple('a'), terminate('t', 'COMPLETED')], chain('b', 'b2')]), join('j'), simple('d')],
    });
    run.complete('a');
    expect(run.status).toBe('COMPLETED');
    run.rerun('b');
    expect([run.status, run.eventsOf('OperatorResolved').filter(({ ref }) => ref === 't').length]).toEqual([
      'COMPLETED',
      2,
    ]);
  });

  it('keeps the variables, and of the whole run begins with those of the definition', () => {
    const run = new Run({ tasks: [setVariable('v', { x: 1 }), simple('a')], fields: { variables: { x: 0, y: 0 } } });
    run.complete('a').rerun('a');
    expect(run.view.variables).toEqual({ x: 1, y: 0 });
    run.terminate().rerun();
    expect(run.view.variables).toEqual({ x: 1, y: 0 });
    expect(run.eventsOf('ExecutionRerun').at(-1)).toMatchObject({ variables: { x: 0, y: 0 } });
    expect([run.open(), run.task('a').attempt]).toEqual([['a'], 3]);
  });

  it('begins a loop again from its first iteration, with attempts that nobody used', () => {
    const run = finish(new Run({ tasks: [loopOverItems('l', [1, 2, 3], chain('a'))] }));
    run.rerun('l');
    finish(run);
    expect(run.eventsOf('TaskScheduled').map(({ iteration, attempt }) => `${iteration}/${attempt}`)).toEqual([
      '1/1',
      '2/1',
      '3/1',
      '1/2',
      '2/2',
      '3/2',
    ]);
  });
});

describe('what reads of a task runs again with it, wherever it stands', () => {
  const value = (ref: string): Step => simple(ref);
  const reads = (text: string): Step => simple('r', { inputParameters: { x: text } });
  const templated = { name: 'r', inputTemplate: { x: '${a.output.n}' } };

  /** The reader is in another branch, behind a wait, so that it begins after all of the first branch is over. */
  const ran = (first: readonly Step[], reader: readonly Step[], rest: Partial<Workflow> = {}, input = {}): Run => {
    const tasks = [fork('f', [first, [wait('w'), ...reader]]), join('j')];
    const run = new Run({ tasks, ...rest }, { input });
    for (const task of run.open()) if (task !== 'w') run.complete(task, { n: 1, list: [1] });
    while (run.open().some((key) => key !== 'w')) run.complete(run.open().find((key) => key !== 'w') ?? '', { n: 1 });
    return run.completeAll(() => ({ n: 1, list: [1] }));
  };

  const cases: [string, readonly Step[], readonly Step[], string, string, Partial<Workflow>?, JsonObject?][] = [
    ['the template of its task definition', [value('a')], [value('r')], 'a', 'r', { taskDefinitions: [templated] }],
    [
      'its inputs, by a ref that data names',
      [value('a')],
      [reads('${${workflow.input.ref}.output.n}')],
      'a',
      'r',
      {},
      { ref: 'a' },
    ],
    ['the variables', [setVariable('v', { n: 1 })], [reads('${workflow.variables.n}')], 'v', 'r'],
    ['a loop condition', [value('a')], [loop('r', '${a.output.n} > 9', [noop('n')])], 'a', 'r'],
    ['the list of a loop', [value('a')], [loopOverItems('r', '${a.output.list}', [noop('n')])], 'a', 'r'],
    [
      'the choice of a switch',
      [value('a')],
      [switchOn('r', 'unused', {}, [], { expression: '${a.output.n}', decisionCases: { 1: [noop('n')] } })],
      'a',
      'r',
    ],
    ['a loop, when the whole loop is named', [loop('l', 2, [value('a')])], [reads('${a.output.n}')], 'l', 'r'],
    [
      'a loop in a switch, when the switch is named',
      [switchOn('s', 'x', { x: [loop('l', 2, [value('a')]), value('b')] })],
      [reads('${a.output.n}')],
      's',
      'r',
    ],
  ];

  it.each(cases)('through %s', (_, first, reader, from, ref, rest = {}, input = {}) => {
    const run = ran(first, reader, rest, input);
    expect(run.status).toBe('COMPLETED');
    const before = run.view.tasks.filter((task) => task.ref === ref).length;
    run.rerun(from);
    run.completeAll(() => ({ n: 2, list: [1, 2] }));
    expect(run.status).toBe('COMPLETED');
    expect(run.view.tasks.filter((task) => task.ref === ref).length).toBeGreaterThan(before);
    const [rerun] = run.eventsOf('ExecutionRerun');
    expect(rerun?.resets).toContain(ref);
    // A task in a loop may not come again, so whoever read it waits for the loop.
    expect(rerun?.waits).toContainEqual({ ref, on: [first[0]?.type === 'SIMPLE' || from === 'v' ? from : 'l'] });
  });

  it('though data names what it reads, before the join that waits for it is over', () => {
    const tasks = [
      fork('f', [[value('a')], [wait('w'), reads('${${workflow.input.ref}.output.n}')]]),
      join('j'),
      value('z'),
    ];
    const run = new Run({ tasks }, { input: { ref: 'a' } });
    run.complete('a', { n: 1 }).complete('w').complete('r').complete('z');
    run.rerun('a').complete('a', { n: 2 });
    expect([run.open(), run.task('r').input]).toEqual([['r'], { x: 2 }]);
    run.complete('r', { n: 3 });
    expect([run.open(), run.seen('j').output]).toEqual([['z'], { a: { n: 2 }, r: { n: 3 } }]);
  });

  it('but not what reads only the variables, when a task runs again that sets none', () => {
    const run = ran([value('a')], [simple('r', { inputParameters: { x: '${workflow.variables.n}' } })]);
    run.rerun('a');
    expect(run.eventsOf('ExecutionRerun')[0]).toMatchObject({ resets: ['a', 'j'] });
    expect(run.eventsOf('ExecutionRerun')[0]).not.toHaveProperty('waits');
    run.completeAll();
    expect([run.status, run.seen('r').attempt]).toEqual(['COMPLETED', 1]);
  });

  it('and waits for all that it reads and that runs again, but not for what never ran', () => {
    const both = simple('r', { inputParameters: { x: '${a.output.n}', y: '${b.output.n}' } });
    const never = switchOn('s', 'none', { x: [simple('n', { inputParameters: { x: '${a.output.n}' } })] });
    const run = new Run({
      tasks: [
        fork('f', [
          [value('a'), value('b'), never],
          [wait('w'), both],
        ]),
        join('j'),
      ],
    });
    run.complete('a', { n: 1 }).complete('b', { n: 1 }).complete('w').complete('r');
    run.rerun('a').complete('a', { n: 2 });
    expect(run.open()).toEqual(['b']);
    run.complete('b', { n: 3 });
    expect(run.task('r').input).toEqual({ x: 2, y: 3 });
    run.complete('r');
    expect([run.status, run.view.tasks.filter(({ ref }) => ref === 'n')]).toEqual(['COMPLETED', []]);
  });

  it('is told by its name, whatever order it ran in', () => {
    const reader = (ref: string) => simple(ref, { inputParameters: { x: '${a.output.n}', y: '${b.output.n}' } });
    const branch = [wait('w'), reader('r2'), reader('r1')];
    const run = new Run({ tasks: [fork('f', [[value('a'), value('b')], branch]), join('j')] });
    run.complete('a').complete('b').complete('w').complete('r2').complete('r1');
    run.rerun('a');
    expect(run.eventsOf('ExecutionRerun')[0]).toMatchObject({
      resets: ['a', 'j', 'b', 'r2', 'r1'],
      waits: [
        { ref: 'r1', on: ['a', 'b'] },
        { ref: 'r2', on: ['a', 'b'] },
      ],
    });
    run.completeAll();
    expect(run.status).toBe('COMPLETED');
  });

  it('is not told apart from the whole that it is part of', () => {
    const inner = [value('a'), simple('b', { inputParameters: { x: '${a.output.n}' } })];
    const run = new Run({ tasks: [loop('l', 2, inner), simple('z')] }).completeAll(() => ({ n: 1 }));
    run.rerun('l');
    expect(run.eventsOf('ExecutionRerun')[0]).toMatchObject({ resets: ['l', 'z'] });
    expect(run.eventsOf('ExecutionRerun')[0]).not.toHaveProperty('waits');
    run.completeAll(() => ({ n: 2 }));
    expect(run.status).toBe('COMPLETED');
    run.rerunTasks(['a__2', 'l'], false);
    expect(run.open()).toEqual(['a__1']);
  });
});

describe('a rerun into an iteration that is over', () => {
  /** Which way each iteration goes stands in the input. */
  const ways = (list: readonly string[], inner: Readonly<Record<string, readonly Step[]>>, fields = {}): Run =>
    new Run({
      tasks: [
        loopOverItems('l', list, [simple('a'), switchOn('s', '${l.output.loopItem}', inner), simple('b')], fields),
      ],
    });

  it('finds a task by its plain ref where it ran last, though the loop went on without it', () => {
    const run = finish(ways(['x', 'y', 'y'], { x: chain('p'), y: chain('q') }));
    run.rerun('p');
    expect(run.open()).toEqual(['a__1']);
    finish(run);
    expect([run.status, run.seen('p__1').attempt]).toEqual(['COMPLETED', 2]);
  });

  it('is refused for an iteration that never was, and for a task that did not run in it', () => {
    const run = finish(ways(['x', 'y'], { x: chain('p'), y: chain('q') }));
    const rerun = (from: string) => run.request({ type: 'Rerun', by: 'x', from })?.code;
    expect(['a__3', 'a__0', 'a__9', 'p__2'].map(rerun)).toEqual(Array(4).fill('NOT_FOUND'));
    expect(rerun('a__2')).toBeUndefined();
  });

  it('drops an input that an operator had given to a later iteration', () => {
    const run = finish(ways(['x', 'y'], { x: chain('p'), y: chain('q') }));
    run.rerun('a__2', { taskInput: { given: true } });
    expect(run.task('a__2').input).toEqual({ given: true });
    finish(run);
    finish(run.rerun('b__1'));
    expect([run.status, run.seen('a__2').input]).toEqual(['COMPLETED', {}]);
  });

  it('lets expressions see again what came last before, in loops that ran in some iterations only', () => {
    const count = simple('a', { inputParameters: { n: '${a.output.n}' } });
    const run = new Run({
      tasks: [
        loopOverItems(
          'o',
          ['x', 'y', 'x', 'y'],
          [switchOn('s', '${o.output.loopItem}', { x: [loop('l', 2, [count])], y: chain('u') })],
        ),
      ],
    });
    const answer = (task: { input: unknown }) => ({ n: ((task.input as { n?: number | null }).n ?? 0) + 1 });
    run.completeAll(answer);
    const inputs = () => run.view.tasks.filter(({ ref }) => ref.startsWith('a__')).map(({ input }) => input);
    expect(inputs()).toEqual([{ n: null }, { n: 1 }, { n: 2 }, { n: 3 }]);
    run.rerun('a__3__1').completeAll(answer);
    expect(inputs().slice(4)).toEqual([{ n: 2 }, { n: 3 }]);
    run.rerun('u__4').completeAll(answer);
    expect(inputs()).toHaveLength(6);
  });

  it('sees only iterations that the loop has kept', () => {
    const count = simple('a', { inputParameters: { n: '${a.output.n}' } });
    const run = new Run({ tasks: [loop('l', 4, [count, simple('b')], { keepLastN: 2 })] });
    const answer = (task: { input: unknown }) => ({ n: ((task.input as { n?: number | null }).n ?? 0) + 1 });
    run.completeAll(answer);
    run.rerun('a__4').completeAll(answer);
    expect(run.seen('a__4').input).toEqual({ n: 3 });
  });
});
