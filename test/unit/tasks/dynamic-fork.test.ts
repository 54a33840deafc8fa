import { describe, expect, it } from 'vitest';
import type { JsonObject, JsonValue } from '../../../src/domain/kernel/json.ts';
import {
  dynamicFork,
  exclusiveJoin,
  fork,
  join,
  loop,
  loopOverItems,
  type Step,
  simple,
  switchOn,
  wait,
} from '../../support/builders.ts';
import { Run } from '../../support/drive.ts';

const forked = (tasks: JsonValue, inputs: JsonValue = {}, rest: readonly Step[] = []): Run =>
  new Run(
    { tasks: [dynamicFork('d', '${workflow.input.tasks}', '${workflow.input.inputs}'), join('j'), ...rest] },
    { input: { tasks, inputs } },
  );

const fromInputs = (inputParameters: JsonObject, ref = 'd'): Step => ({
  name: ref,
  taskReferenceName: ref,
  type: 'FORK_JOIN_DYNAMIC',
  inputParameters,
});

describe('FORK_JOIN_DYNAMIC', () => {
  it('runs the tasks of one input, each with its own input, and joins them all', () => {
    const run = forked([simple('a'), simple('b', { name: 'other' })], { a: { x: 1 } }, [simple('after')]);
    expect(run.open()).toEqual(['a', 'b']);
    expect(run.task('a').input).toEqual({ x: 1 });
    expect(run.task('b').queue).toBe('other');
    run.complete('a', { n: 1 }).complete('b', { n: 2 });
    expect([run.open(), run.seen('j').output]).toEqual([['after'], { a: { n: 1 }, b: { n: 2 } }]);
  });

  it('never evaluates the inputs that data gave, but the inputs that a task brings are expressions', () => {
    const run = forked([simple('a', { inputParameters: { mine: '${workflow.input.inputs.a.x}' } })], {
      a: { x: '${workflow.workflowId}' },
    });
    expect(run.task('a').input).toEqual({ mine: '${workflow.workflowId}', x: '${workflow.workflowId}' });
  });

  it('takes the older form', () => {
    const dynamicTasks = [
      { taskName: 'ship', referenceName: 's1', type: 'SIMPLE', input: { to: 'x' } },
      { taskName: 'bill', referenceName: 'b1' },
    ];
    for (const list of [{ dynamicTasks }, dynamicTasks]) {
      const step = { ...fromInputs({ list: '${workflow.input.list}' }), dynamicForkJoinTasksParam: 'list' };
      const run = new Run({ tasks: [step, join('j')] }, { input: { list: list as JsonValue } });
      expect(run.open()).toEqual(['b1', 's1']);
      expect(run.task('s1')).toMatchObject({ queue: 'ship', input: { to: 'x' } });
    }
  });

  it('takes the older form with the names of the newer one, and refuses what is no task in it', () => {
    const step = { ...fromInputs({ list: '${workflow.input.list}' }), dynamicForkJoinTasksParam: 'list' };
    const given = (list: JsonValue) => new Run({ tasks: [step, join('j')] }, { input: { list } });
    expect(given([{ name: 'ship', taskReferenceName: 's1' }]).task('s1').queue).toBe('ship');
    expect(['none', [7], [{ taskName: 'x' }], [{ referenceName: 'x' }]].map((list) => given(list).reason)).toEqual([
      expect.stringContaining('must hold a list dynamicTasks'),
      expect.stringContaining('list.dynamicTasks[0] is no object'),
      expect.stringContaining('list.dynamicTasks[0]'),
      expect.stringContaining('list.dynamicTasks[0]'),
    ]);
  });

  it('gives no inputs where no parameter names them', () => {
    const step = { ...fromInputs({ tasks: [simple('a')] }), dynamicForkTasksParam: 'tasks' };
    expect(new Run({ tasks: [step, join('j')] }).task('a').input).toEqual({});
  });

  it('starts one child over a list of inputs, and says what is missing of a list', () => {
    const given = (inputs: JsonObject) => new Run({ tasks: [fromInputs(inputs), join('j')] });
    const children = given({ forkTaskWorkflow: 'kid', forkTaskWorkflowVersion: 3, forkTaskInputs: [{ n: 1 }] });
    expect(children.open()).toEqual(['_kid_0']);
    expect(children.eventsOf('TaskScheduled')).toMatchObject([
      { taskType: 'SUB_WORKFLOW', input: { n: 1, __index: 0 } },
    ]);
    expect(given({ forkTaskInputs: [{}] }).open()).toEqual(['_SIMPLE_0']);
    const refused = [
      { forkTaskInputs: 7 },
      { forkTaskName: 7, forkTaskInputs: [] },
      { forkTaskType: 'NONE', forkTaskInputs: [] },
    ];
    expect(refused.map((inputs) => given(inputs).reason)).toEqual([
      expect.stringContaining('forkTaskInputs must be a list'),
      expect.stringContaining('forkTaskName must be the name of a task'),
      expect.stringContaining('forkTask'),
    ]);
  });

  it('runs one task over a list of inputs, numbered', () => {
    const run = new Run({ tasks: [fromInputs({ forkTaskName: 'resize', forkTaskInputs: [{ w: 1 }, 7] }), join('j')] });
    expect(run.open()).toEqual(['_resize_0', '_resize_1']);
    expect(run.task('_resize_0')).toMatchObject({ queue: 'resize', input: { w: 1, __index: 0 } });
    expect(run.task('_resize_1').input).toEqual({ input: 7, __index: 1 });
  });

  it('tells the refs of several such forks apart', () => {
    const inputs = { forkTaskName: 'x_', forkTaskInputs: [{}] };
    const run = new Run({ tasks: [fromInputs(inputs, 'one'), join('j'), fromInputs(inputs, 'two'), join('k')] });
    expect(run.open()).toEqual(['_one_x_0']);
    run.complete('_one_x_0');
    expect(run.open()).toEqual(['_two_x_0']);
  });

  it('completes at once over an empty list', () => {
    const run = forked([], {}, [simple('after')]);
    expect([run.open(), run.seen('j').output]).toEqual([['after'], {}]);
  });

  it.each([
    ['no list', 'Input tasks must be a list of tasks.'],
    [[simple('a'), simple('a')], 'is used more than once'],
    [[simple('d')], 'is used more than once'],
    [[{ name: 'a' }], 'tasks[0].taskReferenceName'],
    [[{ ...simple('a'), type: 'NONE' }], 'tasks[0].type: this task type is not known'],
    [[fork('f', [[simple('x')]])], 'must be followed by its JOIN'],
    [[simple('a__1')], 'must not end with "__" and digits'],
    [[7], 'a step is an object'],
  ])('is refused over %j, saying why', (tasks, reason) => {
    const run = forked(tasks as JsonValue);
    expect(run.status).toBe('FAILED');
    expect(run.seen('d').reason).toContain(reason);
  });

  it('is refused over more branches than it may have, before it looks at them', () => {
    const run = new Run(
      { tasks: [fromInputs({ forkTaskName: 'x', forkTaskInputs: '${workflow.input.l}' }), join('j')] },
      { input: { l: Array(10_001).fill(1) } },
    );
    expect(run.seen('d').reason).toBe('A dynamic fork has at most 10000 branches.');
  });

  it('refuses refs that another such fork has brought in', () => {
    const run = new Run({
      tasks: [dynamicFork('d', [simple('a')]), join('j'), dynamicFork('e', [simple('a')]), join('k')],
    });
    run.complete('a');
    expect(run.seen('e').reason).toBe('The ref a is taken by another dynamic fork.');
  });

  it('joins nothing when it is optional and was refused', () => {
    const run = new Run({ tasks: [dynamicFork('d', 'none', {}, { optional: true }), join('j'), simple('after')] });
    expect(run.open()).toEqual(['after']);
  });

  it('runs whole tasks of any type, with cases, loops, forks and waits of their own', () => {
    const branches = [
      switchOn('s', 'x', {
        x: [fork('f', [[simple('a'), simple('a2')], [simple('b')]]), join('fj', ['a2', 'b']), simple('c')],
      }),
      loop('l', 2, [simple('x', { inputParameters: { n: '${x.output.n}', of: '${l.output.iteration}' } }), wait('w')]),
      simple('o', { optional: true }),
    ];
    const run = forked(branches, {}, [simple('after')]);
    expect(run.open()).toEqual(['a', 'b', 'o', 'x__1']);
    run.complete('x__1', { n: 1 });
    run.signal('w');
    expect(run.task('x__2').input).toEqual({ n: 1, of: 2 });
    run.complete('x__2').signal('w');
    run.failForGood('o').complete('a').complete('b');
    expect(run.open()).toEqual(['a2']);
    run.complete('a2').complete('c');
    expect([run.open(), run.seen('j').status]).toEqual([['after'], 'COMPLETED_WITH_ERRORS']);
  });

  it('counts a named task as done in a branch of its own that did not come to it', () => {
    const chooser = switchOn('s', 'none', { x: [simple('x')] });
    const holder = switchOn('h', 'go', {
      go: [fork('f', [[simple('a'), chooser], [simple('b')]]), join('fj', ['x', 'b']), simple('c')],
    });
    const run = forked([holder, simple('other')]);
    run.complete('b').complete('a');
    expect(run.open()).toEqual(['c', 'other']);
  });

  it('has the settings of the task definitions that it names at run time', () => {
    const run = new Run({
      tasks: [dynamicFork('d', [simple('a', { retryDelaySeconds: 3 })]), join('j')],
      taskDefinitions: [{ name: 'a', retryCount: 1, jitter: 0, inputTemplate: { from: 'template' } }],
    });
    expect(run.task('a').input).toEqual({ from: 'template' });
    run.fail('a');
    expect(run.task('a').visibleAt - run.now).toBe(3_000);
    expect(run.fail('a').status).toBe('FAILED');
  });

  it('runs again in every iteration, with other tasks each time, and leaves nothing of them behind', () => {
    const nested = switchOn('s${l.output.iteration}', 'x', {
      x: [loop('m${l.output.iteration}', 1, [simple('x${l.output.iteration}')])],
    });
    const tasks = [simple('t${l.output.iteration}'), nested];
    const scripted = { loopCondition: '$.l.iteration < 4' };
    const run = new Run({ tasks: [loop('l', 4, [dynamicFork('d', tasks), join('j')], scripted), simple('after')] });
    for (const n of [1, 2, 3, 4]) {
      expect(run.open()).toEqual([`t${n}__${n}`, `x${n}__${n}__1`]);
      run.complete(`t${n}__${n}`).complete(`x${n}__${n}__1`);
    }
    expect([run.open(), run.state.dynamicNodes.size]).toEqual([['after'], 0]);
    expect([...run.state.latest.keys()].sort()).toEqual(['after', 'd', 'j', 'l']);
  });

  it('fails the run when a branch fails, and goes on at that branch when the run is retried', () => {
    const run = forked([simple('a'), switchOn('s', 'x', { x: [simple('b'), simple('b2')] })], {}, [simple('after')]);
    run.complete('a').failForGood('b');
    expect(run.status).toBe('FAILED');
    run.retry();
    expect(run.open()).toEqual(['b']);
    run.complete('b').complete('b2').complete('after');
    expect(run.status).toBe('COMPLETED');
  });

  it('has entries with flags of their own: an optional one that fails leaves errors, a permissive one lets the others end', () => {
    const entries = (flag: string) => [
      { name: 'a', taskReferenceName: 'a', [flag]: true, retryCount: 0 },
      { name: 'b', taskReferenceName: 'b' },
    ];
    const start = (flag: string) =>
      new Run({ tasks: [dynamicFork('d', '${workflow.input.tasks}'), join('j')] }, { input: { tasks: entries(flag) } });
    const optional = start('optional').fail('a').complete('b', { done: true });
    expect([optional.status, optional.seen('j').status]).toEqual(['COMPLETED', 'COMPLETED_WITH_ERRORS']);
    const permissive = start('permissive').fail('a');
    expect(permissive.open()).toEqual(['b']);
    expect([permissive.complete('b').status, permissive.seen('j').status]).toEqual(['FAILED', 'FAILED']);
  });
});

describe('the input of a branch that data brought in', () => {
  it.each([
    ['all of it constant', { a: 1, b: 1 }, { a: 1, b: 2, c: '${workflow.input.x}' }],
    ['some of it read from the run', { a: '${workflow.input.x}', b: 1 }, { a: 7, b: 2, c: '${workflow.input.x}' }],
  ])('is what its task says, %s, and over it what was given for it, which is data', (_, inputParameters, input) => {
    const task = { name: 'p', taskReferenceName: 'p', type: 'SIMPLE', inputParameters };
    const run = new Run(
      { tasks: [dynamicFork('d', [task], '${workflow.input.inputs}'), join('j')] },
      { input: { x: 7, inputs: { p: { b: 2, c: '${workflow.input.x}' } } } },
    );
    expect(run.task('p').input).toEqual(input);
  });
});

describe('a ref that data brings in, in each iteration of a loop anew', () => {
  it('is that of its own iteration for whoever waits for it, whatever it was in the one before', () => {
    const brought = (type: string) => [{ name: 'p', taskReferenceName: 'p', type }];
    const run = new Run({
      tasks: [
        loopOverItems(
          'l',
          [brought('SIMPLE'), brought('HUMAN'), brought('SIMPLE')],
          [
            dynamicFork('d', '${l.output.loopItem}'),
            join('j'),
            exclusiveJoin('x', ['p']),
            simple('a', { inputParameters: { got: '${x.output.n}', of: '${p.taskType}' } }),
          ],
        ),
      ],
    });
    for (const [iteration, of] of [
      [1, 'SIMPLE'],
      [2, 'HUMAN'],
      [3, 'SIMPLE'],
    ] as const) {
      run.complete(`p__${iteration}`, { n: iteration });
      expect(run.task(`a__${iteration}`).input).toEqual({ got: iteration, of });
      run.complete(`a__${iteration}`);
    }
    expect(run.status).toBe('COMPLETED');
  });
});
