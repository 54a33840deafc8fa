import { describe, expect, it } from 'vitest';
import { dynamicFork, fork, join, loop, simple, switchOn, wait } from '../../support/builders.ts';
import { Run, type Step } from '../../support/drive.ts';

const limitedRun = (maxConcurrentTasks: number, tasks: readonly Step[], options = {}): Run =>
  new Run({ tasks, fields: { maxConcurrentTasks } }, options);

const inline = (ref: string): Step => ({
  name: ref,
  taskReferenceName: ref,
  type: 'INLINE',
  inputParameters: { expression: '1' },
});

describe('maxConcurrentTasks', () => {
  const branches = (count: number): Step[][] =>
    Array.from({ length: count }, (_, index) => [simple(`a${index}`), simple(`b${index}`)]);

  it('lets so many tasks of a run be open, the branches in their order, and the next one when one has ended', () => {
    const run = limitedRun(2, [fork('f', branches(4)), join('j'), simple('after')]);
    expect(run.open()).toEqual(['a0', 'a1']);
    run.complete('a1');
    expect(run.open()).toEqual(['a0', 'a2']);
    run.complete('a0').complete('a2');
    expect(run.open()).toEqual(['a3', 'b0']);
    run.completeAll();
    expect(run.status).toBe('COMPLETED');
    expect(run.completed()).toEqual(expect.arrayContaining(['b0', 'b1', 'b2', 'b3', 'after']));
  });

  it('counts system tasks with those of workers', () => {
    const run = limitedRun(1, [fork('f', [[inline('i')], [simple('a')]]), join('j')]);
    expect(run.open()).toEqual(['i']);
    run.complete('i');
    expect(run.open()).toEqual(['a']);
  });

  it('counts neither operators nor waiting tasks, and lets them begin behind what is held back', () => {
    const run = limitedRun(1, [
      fork('f', [
        [simple('a')],
        [simple('b')],
        [wait('w1')],
        [switchOn('s', 'x', { x: [wait('w2', { duration: '1m' }), simple('c')] })],
        [simple('d')],
      ]),
      join('j'),
    ]);
    expect(run.open()).toEqual(['a', 'w1', 'w2']);
    run.advance(60_000);
    expect(run.open()).toEqual(['a', 'w1']);
    run.complete('a').complete('b');
    expect(run.open()).toEqual(['d', 'w1']);
    run.signal('w1');
    run.complete('d').complete('c');
    expect(run.status).toBe('COMPLETED');
  });

  it('opens the join of a fork while branches are held back, and the join waits for them', () => {
    const run = limitedRun(1, [fork('f', [[simple('a')], [simple('b')]]), join('j')]);
    expect(run.seen('j').status).toBe('IN_PROGRESS');
    run.complete('a');
    expect([run.status, run.open()]).toEqual(['RUNNING', ['b']]);
    expect(run.complete('b').status).toBe('COMPLETED');
  });

  it('counts a retry like any other task: who has waited longer goes first, and the retry keeps its time', () => {
    const run = limitedRun(1, [fork('f', [[simple('a', { retryDelaySeconds: 600 })], [simple('b')]]), join('j')]);
    run.fail('a');
    // The branch that has waited longer takes the place; the retry keeps its time and takes the next.
    expect(run.open()).toEqual(['b']);
    run.complete('b');
    expect(run.task('a').attempt).toBe(2);
    expect(run.task('a').visibleAt).toBeGreaterThan(run.now);
    run.complete('a');
    expect(run.status).toBe('COMPLETED');
  });

  it('frees the place of a task that timed out, failed permissively or went on with errors', () => {
    const tasks = [
      fork('f', [
        [simple('a', { retryCount: 0, optional: true })],
        [simple('b', { permissive: true, retryCount: 0 })],
        [simple('c', { startToCloseTimeout: 60, retryCount: 0, optional: true })],
        [simple('d')],
      ]),
      join('j', [], { optional: true }),
    ];
    const run = limitedRun(1, tasks).fail('a');
    expect(run.open()).toEqual(['b']);
    run.failForGood('b');
    expect(run.open()).toEqual(['c']);
    run.timeOut('c', 'START_TO_CLOSE');
    expect(run.open()).toEqual(['d']);
  });

  it('holds while the run is paused, is forgotten when it ends, and holds again when it is retried', () => {
    const run = limitedRun(2, [fork('f', branches(3)), join('j')])
      .pause()
      .complete('a0');
    expect(run.open()).toEqual(['a1']);
    run.resume();
    expect(run.open()).toEqual(['a1', 'a2']);
    run.terminate();
    expect([run.open(), run.state.tasksInFlight]).toEqual([[], 0]);
    run.retry();
    expect(run.open()).toEqual(['a1', 'b0']);
    run.completeAll();
    expect(run.status).toBe('COMPLETED');
  });

  it('holds in loops, in the branches that data brought in, and in loops within them', () => {
    const brought = ['x', 'y', 'z'].map((ref) => simple(ref));
    const run = limitedRun(
      2,
      [loop('l', 2, [dynamicFork('f', '${workflow.input.tasks}', '${workflow.input.inputs}'), join('j')])],
      { input: { tasks: brought, inputs: {} } },
    );
    expect(run.open()).toEqual(['x__1', 'y__1']);
    run.complete('x__1');
    expect(run.open()).toEqual(['y__1', 'z__1']);
    run.complete('z__1').complete('y__1');
    expect(run.open()).toEqual(['x__2', 'y__2']);
    run.completeAll();
    expect(run.status).toBe('COMPLETED');
  });

  it('costs a late task of a wide fork what it cost an early one', () => {
    const width = 2_000;
    const tasks = Array.from({ length: width }, (_, index) => [simple(`a${index}`)]);
    const run = limitedRun(1, [fork('f', tasks), join('j')], { checks: false });
    const lookUps: number[] = [];
    const has = run.state.tasks.has.bind(run.state.tasks);
    let count = 0;
    run.state.tasks.has = (key) => {
      count += 1;
      return has(key);
    };
    for (let index = 0; index < width; index += 1) {
      count = 0;
      run.complete(`a${index}`);
      lookUps.push(count);
    }
    expect(run.status).toBe('COMPLETED');
    expect(Math.max(...lookUps.slice(1))).toBeLessThanOrEqual(20);
  });
});
