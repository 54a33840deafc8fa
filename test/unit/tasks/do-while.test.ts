import { describe, expect, it } from 'vitest';
import type { WorkflowEvent } from '../../../src/domain/execution/events.ts';
import { replayLog } from '../../../src/domain/execution/replay.ts';
import { LOOP_ITERATIONS_VISIBLE_MAX } from '../../../src/domain/execution/scope.ts';
import { emptyState } from '../../../src/domain/execution/state.ts';
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
  wait,
} from '../../support/builders.ts';
import { Run } from '../../support/drive.ts';

/** As the first fact was before there were other rules. */
const withoutSemantics = (event: WorkflowEvent): WorkflowEvent => {
  if (event.type !== 'ExecutionStarted') return event;
  const { semantics: _, ...first } = event;
  return first;
};

describe('DO_WHILE', () => {
  it('runs its body until its condition no longer holds and gives the outputs of each iteration', () => {
    const run = new Run({ tasks: [loop('l', 2, [simple('a'), simple('b')]), simple('after')] });
    run.complete('a__1', { n: 1 });
    expect(run.open()).toEqual(['b__1']);
    run.complete('b__1').complete('a__2', { n: 2 }).complete('b__2', { m: 2 });
    expect(run.open()).toEqual(['after']);
    expect(run.seen('l').output).toEqual({
      iteration: 2,
      '1': { a: { n: 1 }, b: {} },
      '2': { a: { n: 2 }, b: { m: 2 } },
    });
  });

  it('with nothing after it ends the run', () => {
    const run = new Run({ tasks: [loop('l', 1, [simple('a')])] });
    run.complete('a__1', { n: 1 });
    expect([run.status, run.output]).toEqual(['COMPLETED', { iteration: 1, '1': { a: { n: 1 } } }]);
  });

  it('tells its tasks the number of the iteration and each its own', () => {
    const inputParameters = { passes: '${l.output.iteration}', before: '${a.iteration}', out: '${a.output.n}' };
    const run = new Run({ tasks: [loop('l', 3, [simple('a', { inputParameters })])] });
    expect(run.task('a__1').input).toEqual({ passes: 1, before: null, out: null });
    run.complete('a__1', { n: 10 });
    expect(run.task('a__2').input).toEqual({ passes: 2, before: 1, out: 10 });
    run.complete('a__2', { n: 20 });
    expect(run.task('a__3').input).toEqual({ passes: 3, before: 2, out: 20 });
  });

  it('gives a retried attempt the same earlier iteration as the first', () => {
    const run = new Run({ tasks: [loop('l', 2, [simple('a', { inputParameters: { last: '${a.output.n}' } })])] });
    run.complete('a__1', { n: 10 }).settle('a__2', 'FAILED', { output: { n: -1 } });
    expect(run.task('a__2')).toMatchObject({ attempt: 2, input: { last: 10 } });
    run.failForGood('a__2').retry();
    expect(run.task('a__2')).toMatchObject({ attempt: 3, input: { last: 10 } });
  });

  it('lets tasks read what last ran, of this iteration or of whichever it last ran in', () => {
    const body = [
      switchOn('s', '${l.output.iteration}', { '1': [simple('once')] }),
      simple('a', { inputParameters: { once: '${once.output.n}' } }),
    ];
    const run = new Run({
      tasks: [
        loop('l', 3, body),
        simple('after', { inputParameters: { once: '${once.output.n}', a: '${a.output.n}' } }),
      ],
    });
    run.complete('once__1', { n: 7 });
    for (const iteration of [1, 2, 3]) {
      expect(run.task(`a__${iteration}`).input).toEqual({ once: 7 });
      run.complete(`a__${iteration}`, { n: iteration });
    }
    expect(run.task('after').input).toEqual({ once: 7, a: 3 });
  });

  it.each([
    ['$.a.n < 3', 3],
    ['if ($.l.iteration < $.max) { true } else { false }', 4],
    ['$.l["iteration"] < $.max', 4],
    ['${a.output.n} < 3', 3],
    ['${l.output.iteration} < ${workflow.input.max} && ${a.output.n} != 2', 2],
    ['$.l["1"] && $.l["1"].a.n === 1 && $.l.iteration < 2', 2],
    ['"true".length === 4 && $.a.n < 2 ? "true" : "false"', 2],
    ['$.a.n < 2 ? 1 : 0', 2],
  ])('goes on while %s', (condition, iterations) => {
    const run = new Run(
      { tasks: [loop('l', condition, [simple('a')], { inputParameters: { max: '${workflow.input.max}' } })] },
      { input: { max: 4 } },
    );
    for (let n = 1; run.status === 'RUNNING'; n += 1) run.complete(`a__${n}`, { n });
    expect([run.status, run.output.iteration]).toEqual(['COMPLETED', iterations]);
  });

  it('shows its condition every task of the iteration, those without output too', () => {
    const run = new Run({ tasks: [loop('l', '$.a.n === undefined && $.l.iteration < 2', [simple('a')])] });
    run.complete('a__1').complete('a__2');
    expect(run.status).toBe('COMPLETED');
  });

  it('tells of every task of an iteration, those without output too; runs of the first rules do not, and replay as they were', () => {
    const tasks = [loop('l', '$.l.iteration < 2', [fork('f', [[noop('n'), simple('a')], [noop('m')]]), join('j')])];
    const now = new Run({ tasks }).complete('a__1', { n: 1 }).complete('a__2');
    expect(now.eventsOf('ExecutionStarted')).toMatchObject([{ semantics: 2 }]);
    const { output } = now.seen('l');
    expect(output?.['1']).toMatchObject({ n: {}, m: {}, a: { n: 1 } });
    expect(output?.['2']).toMatchObject({ n: {}, m: {}, a: {} });
    const before = new Run({ tasks }, { started: { semantics: 1 } }).complete('a__1', { n: 1 }).complete('a__2');
    expect(before.seen('l').output?.['1']).toMatchObject({ a: { n: 1 } });
    expect(Object.keys(before.seen('l').output?.['2'] as object)).not.toContain('a');
    const log = before.log.map(({ seq, event }) => ({ seq, event: withoutSemantics(event) }));
    expect(replayLog(emptyState(before.state.executionId, before.state.plan), log, before.environment)).toEqual({
      kind: 'same',
    });
  });

  it('fails with the reason when its condition cannot be evaluated; optional, it goes on with errors', () => {
    const run = new Run({ tasks: [loop('l', '$.none.such', [simple('a')])] }).complete('a__1', { n: 1 });
    expect([run.status, run.seen('l').status]).toEqual(['FAILED', 'FAILED_WITH_TERMINAL_ERROR']);
    expect(run.reason).toContain('The loop condition failed: ');
    expect(run.seen('l').output).toEqual({ iteration: 1, '1': { a: { n: 1 } } });
    const optional = new Run({ tasks: [loop('l', '$.none.such', [simple('a')], { optional: true }), simple('after')] });
    optional.complete('a__1');
    expect([optional.open(), optional.seen('l').status]).toEqual([['after'], 'COMPLETED_WITH_ERRORS']);
  });

  it('walks over a list, telling the item and its place', () => {
    const inputParameters = { item: '${l.output.loopItem}', at: '${l.output.loopIndex}' };
    const run = new Run(
      { tasks: [loopOverItems('l', '${workflow.input.list}', [simple('a', { inputParameters })])] },
      { input: { list: ['x', { y: 1 }] } },
    );
    expect(run.task('a__1').input).toEqual({ item: 'x', at: 0 });
    run.complete('a__1', { n: 1 });
    expect(run.task('a__2').input).toEqual({ item: { y: 1 }, at: 1 });
    run.complete('a__2');
    expect(run.output).toEqual({
      iteration: 2,
      loopIndex: 1,
      loopItem: { y: 1 },
      '1': { a: { n: 1 } },
      '2': { a: {} },
    });
  });

  it('does nothing over an empty list, and is refused over what is none', () => {
    const over = (list: unknown): Run =>
      new Run(
        { tasks: [loopOverItems('l', '${workflow.input.list}', [simple('a')])] },
        { input: { list: list as never } },
      );
    expect([over([]).status, over([]).output]).toEqual(['COMPLETED', { iteration: 0 }]);
    expect(over({ a: 1 }).reason).toContain('items must be a list; it is {"a":1}.');
    expect(over(null).status).toBe('FAILED');
  });

  it('stops early over a list when its condition says so', () => {
    const run = new Run({
      tasks: [loopOverItems('l', [1, 2, 3], [simple('a')], { loopCondition: '$.a.more === true' })],
    });
    run.complete('a__1', { more: true }).complete('a__2', { more: false });
    expect([run.status, run.output.iteration]).toEqual(['COMPLETED', 2]);
  });

  it.each([
    [{ keepLastN: 1 }, ['5']],
    [{ keepLastN: 2 }, ['4', '5']],
    [{ keepLastN: 9 }, ['1', '2', '3', '4', '5']],
    [{ inputParameters: { keepLastN: '${workflow.input.keep}' } }, ['3', '4', '5']],
    [{ inputParameters: { keepLastN: '${workflow.input.none}' } }, ['1', '2', '3', '4', '5']],
  ])('keeps with %j the outputs of the last iterations', (fields, kept) => {
    const run = new Run({ tasks: [loop('l', 5, [simple('a')], fields)] }, { input: { keep: 3 } });
    run.completeAll(() => ({ n: 1 }));
    expect(Object.keys(run.output).sort()).toEqual([...kept, 'iteration']);
  });

  it('works three deep with forks and switches inside, the innermost with nothing after it', () => {
    const innermost = loop('l3', 2, [
      fork('f', [[simple('a'), simple('a2')], [switchOn('s', '${l3.output.iteration}', { '1': [simple('b')] })]]),
      join('j'),
    ]);
    const run = new Run({
      tasks: [
        loop('l1', 2, [simple('x'), loop('l2', 2, [switchOn('t', 'go', { go: [simple('y'), innermost] })])]),
        simple('after'),
      ],
    });
    run.complete('x__1').complete('y__1__1').complete('a__1__1__1').complete('b__1__1__1');
    expect(run.task('a2__1__1__1')).toMatchObject({ ref: 'a2__1__1', iteration: 1 });
    run.complete('a2__1__1__1').complete('a__1__1__2').complete('a2__1__1__2').complete('y__1__2');
    run.completeAll((task) => ({ is: task.taskName }));
    expect(run.status).toBe('COMPLETED');
    expect(run.completed().filter((key) => key.startsWith('b__'))).toEqual([
      'b__1__1__1',
      'b__1__2__1',
      'b__2__1__1',
      'b__2__2__1',
    ]);
    expect(run.seen('l1').output).toMatchObject({ '2': { l2: { '2': { l3: { '2': { a2: { is: 'a2' } } } } } } });
  });

  it('runs in one fork branch beside another loop, each at its own pace', () => {
    const run = new Run({
      tasks: [fork('f', [[loop('l', 2, [simple('a')]), simple('a2')], [loop('m', 3, [simple('b')])]]), join('j')],
    });
    run.complete('b__1').complete('b__2').complete('a__1').complete('b__3').complete('a__2').complete('a2');
    expect([run.status, Object.keys(run.seen('j').output ?? {})]).toEqual(['COMPLETED', ['m']]);
  });

  it('fails permissively where a permissive task in it failed inside of a fork, even if it is optional', () => {
    const run = new Run({
      tasks: [
        fork('f', [
          [loop('l', 2, [simple('p', { permissive: true })], { optional: true }), simple('never')],
          [simple('b')],
        ]),
        join('j'),
      ],
    });
    run.failForGood('p__1');
    expect([run.open(), run.seen('l').status]).toEqual([['b'], 'FAILED_WITH_TERMINAL_ERROR']);
    run.complete('b');
    expect(run.status).toBe('FAILED');
    run.retry();
    expect(run.open()).toEqual(['p__1']);
    run.complete('p__1').complete('p__2').complete('never');
    expect(run.status).toBe('COMPLETED');
  });

  it('is left by TERMINATE', () => {
    const body = [simple('a'), switchOn('s', '${l.output.iteration}', { '2': [terminate('t', 'COMPLETED')] })];
    const run = new Run({ tasks: [loop('l', 5, body)] });
    run.complete('a__1').complete('a__2');
    expect([run.status, run.seen('l').status]).toEqual(['COMPLETED', 'CANCELED']);
  });

  it('chains iterations that need no outside work in one decision, and in several where the bound is reached', () => {
    const whole = new Run({ tasks: [loop('l', 50, [noop('n')])] });
    const pieces = new Run({ tasks: [loop('l', 50, [noop('n')])] }, { eventsMax: 3 });
    expect(whole.status).toBe('COMPLETED');
    expect(pieces.log).toEqual(whole.log);
  });

  it('fails where the values of its condition do not fit together', () => {
    const run = new Run({ tasks: [loop('l', '${a.output.n} < 3', [simple('a')])] }).complete('a__1', { n: [1] });
    expect(run.reason).toContain('The loop condition failed: a list and a number have no order for "<"');
  });

  it('shows expressions no more than its last hundred iterations while it runs, and gives all at its end', () => {
    const look = switchOn('s', '${l.output.iteration}', {
      '150': [simple('look', { inputParameters: { seen: '${l.output}' } })],
    });
    const run = new Run({ tasks: [loop('l', 150, [setVariable('v', { n: '${l.output.iteration}' }), look])] });
    const { seen } = run.task('look__150').input as { seen: Record<string, unknown> };
    expect(Object.keys(seen)).toHaveLength(LOOP_ITERATIONS_VISIBLE_MAX + 1);
    expect(seen).toMatchObject({ iteration: 150, '50': { v: { n: 50 } }, '149': { v: { n: 149 } } });
    run.complete('look__150');
    expect(Object.keys(run.output)).toHaveLength(151);
  });
});

describe('loops three deep', () => {
  const child = (ref: string): Step => ({
    name: ref,
    taskReferenceName: ref,
    type: 'SUB_WORKFLOW',
    subWorkflowParam: { name: 'other', version: 1 },
    inputParameters: { at: '${inner.output.iteration}' },
  });
  const body = [
    fork('f', [
      [
        wait('w', { duration: '1 second' }),
        switchOn('s', '${inner.output.iteration}', { 1: [simple('one')] }, [child('c')]),
      ],
      [dynamicFork('d', '${workflow.input.tasks}'), join('dj'), simple('after')],
    ]),
    join('j', ['s', 'after']),
  ];
  const tasks = [loop('outer', 2, [loopOverItems('middle', ['x', 'y'], [loop('inner', 2, body)])]), noop('end')];
  const input = {
    tasks: [
      { name: 'x', taskReferenceName: 'x' },
      { name: 'v', taskReferenceName: 'v', type: 'WAIT' },
    ],
  };

  it('run forks, switches, dynamic forks, waits and sub-workflows in each iteration, each its own', () => {
    const run = new Run({ tasks }, { input });
    for (const outer of [1, 2]) {
      for (const middle of [1, 2]) {
        for (const inner of [1, 2]) {
          const at = (ref: string) => `${ref}__${outer}__${middle}__${inner}`;
          expect(run.open()).toEqual([at('v'), at('w'), at('x')]);
          run.advance(1_000).complete(at('x'), { n: inner });
          run.signal(at('v'));
          const chosen = inner === 1 ? 'one' : 'c';
          expect(run.open()).toEqual([at('after'), at(chosen)].sort());
          run.complete(at('after')).complete(at(chosen), { of: chosen });
        }
      }
    }
    expect(run.status).toBe('COMPLETED');
    expect(run.seen('c__2__2__2').input).toEqual({ at: 2 });
    expect([...run.state.tasks.keys()]).toEqual(['outer', 'end']);
  });

  it('fail where a branch deep inside fails, go on there when the run is retried, and stop when it is terminated', () => {
    const run = new Run({ tasks }, { input });
    run.advance(1_000).failForGood('one__1__1__1');
    expect([run.status, run.reason]).toEqual(['FAILED', expect.stringContaining('one__1__1__1')]);
    run.retry();
    expect(run.open()).toEqual(['one__1__1__1', 'v__1__1__1', 'x__1__1__1']);
    run.pause().complete('one__1__1__1').complete('x__1__1__1').resume();
    expect(run.open()).toEqual(['v__1__1__1']);
    expect(run.terminate('enough').status).toBe('TERMINATED');
    expect(run.open()).toEqual([]);
  });
});
