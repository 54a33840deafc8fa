import { describe, expect, it } from 'vitest';
import { TASKS_TOLD_MAX } from '../../../src/domain/execution/compensation-text.ts';
import type { WorkflowEvent } from '../../../src/domain/execution/events.ts';
import type { ExecutionRequest } from '../../../src/domain/execution/requests.ts';
import type { JsonObject } from '../../../src/domain/kernel/json.ts';
import {
  dynamicFork,
  fork,
  join,
  loop,
  type Step,
  simple,
  switchOn,
  terminate,
  wait,
  yieldStep,
} from '../../support/builders.ts';
import { Run, START } from '../../support/drive.ts';

/** A task that `un<ref>` undoes. */
const undone = (ref: string, fields: JsonObject = {}): Step => simple(ref, { compensateWith: `un${ref}`, ...fields });

const trip = (fields: JsonObject = {}): Run =>
  new Run({ tasks: [undone('hotel'), undone('flight'), simple('pay')], fields });

/** Lets everything be undone that is open, one after the other; tells what was. */
const unwind = (run: Run): readonly string[] => {
  const keys: string[] = [];
  while (run.status === 'RUNNING') {
    expect(run.open()).toHaveLength(1);
    const [key = ''] = run.open();
    keys.push(key);
    run.complete(key);
  }
  return keys;
};

const variable = (run: Run): unknown => run.view.variables.__compensation;
const codeOf = (rejection: { code: string } | undefined): string | undefined => rejection?.code;

describe('a run that fails', () => {
  it('undoes its completed tasks one at a time, the one that finished last first', () => {
    const run = trip().complete('hotel', { room: 7 }).complete('flight', { seat: '12A' }).failForGood('pay');
    expect([run.status, run.open()]).toEqual(['RUNNING', ['flight__compensate']]);
    expect(run.task('flight__compensate')).toMatchObject({
      queue: 'unflight',
      taskName: 'unflight',
      input: { input: {}, output: { seat: '12A' } },
    });
    expect(run.seen('flight__compensate').compensates).toBe('flight');
    run.complete('flight__compensate');
    expect([run.status, run.open()]).toEqual(['RUNNING', ['hotel__compensate']]);
    run.complete('hotel__compensate');
    expect([run.status, run.view.failedTask]).toEqual(['FAILED', 'pay']);
  });

  it('is not to be jumped, skipped, rerun or upgraded while it is being undone', () => {
    const run = trip().complete('hotel').failForGood('flight').pause();
    const by = 'operator';
    const plan = run.offer({ tasks: [undone('hotel'), simple('pay')], fields: { version: 2 } }, 'hash-2');
    const requests: readonly ExecutionRequest[] = [
      { type: 'Jump', by, to: 'pay' },
      { type: 'SkipTask', by, ref: 'pay' },
      { type: 'RerunTasks', by, tasks: ['hotel'], cascade: true },
      { type: 'Upgrade', by, plan, taskOutputs: {} },
    ];
    expect(requests.map((request) => codeOf(run.request(request)))).toEqual(Array(4).fill('INVALID_STATE'));
    expect(run.open()).toEqual(['hotel__compensate']);
  });

  it('shows how far it is in a variable, and at the end what was undone in its reason', () => {
    const run = trip().complete('hotel').complete('flight').failForGood('pay', 'no money');
    const reason = 'Task pay failed with status FAILED_WITH_TERMINAL_ERROR: no money';
    expect(variable(run)).toEqual({ status: 'RUNNING', reason });
    expect(run.view).toMatchObject({ status: 'RUNNING' });
    unwind(run);
    expect(variable(run)).toEqual({ status: 'COMPLETED', reason });
    expect(run.reason).toBe(`${reason}; compensated: flight, hotel`);
  });

  it('is closed at once where nothing that completed declares how it is undone', () => {
    const run = trip().failForGood('hotel');
    expect([run.status, run.eventsOf('CompensationStarted'), variable(run)]).toEqual(['FAILED', [], undefined]);
  });

  it('does not undo what failed, not even what was forgiven', () => {
    const run = new Run({ tasks: [undone('a', { optional: true }), undone('b'), simple('c')] });
    run.failForGood('a').complete('b').failForGood('c');
    expect(unwind(run)).toEqual(['b__compensate']);
  });

  it('undoes by the order of the ends, not of the starts', () => {
    const run = new Run({ tasks: [fork('f', [[undone('a')], [undone('b')]]), join('j'), simple('c')] });
    run.complete('b').complete('a').failForGood('c');
    expect(unwind(run)).toEqual(['a__compensate', 'b__compensate']);
  });

  it('undoes what completed in the very pass that failed, and cancels what that pass meant to start', () => {
    const run = new Run({
      tasks: [
        fork('f', [
          [undone('a'), simple('a2')],
          [undone('b'), simple('b2')],
          [simple('c'), simple('c2')],
        ]),
        join('j'),
      ],
    });
    const [a, b, c] = [
      run.outcomeOf('a', 'COMPLETED'),
      run.outcomeOf('b', 'COMPLETED'),
      run.outcomeOf('c', 'FAILED_WITH_TERMINAL_ERROR'),
    ];
    run.requestAll([c, a, b].map((outcome) => ({ type: 'SettleTask', outcome })));
    expect(run.eventsOf('TaskScheduled').map(({ ref }) => ref)).toEqual(['a', 'b', 'c', 'b__compensate']);
    expect(unwind(run)).toEqual(['b__compensate', 'a__compensate']);
  });

  it('cancels what is open and what waits for another attempt, with its timers', () => {
    const run = new Run({
      tasks: [
        fork('f', [[undone('a'), wait('w', { duration: '1 hour' })], [simple('b'), simple('b2')], [simple('c')]]),
        join('j'),
      ],
      fields: { timeoutSeconds: 7_200 },
    });
    run.complete('a').fail('b').failForGood('c');
    expect(run.open()).toEqual(['a__compensate']);
    expect(run.timers.size).toBe(0);
    expect(['w', 'b', 'j'].map((key) => run.seen(key).status)).toEqual(['CANCELED', 'CANCELED', 'CANCELED']);
    expect(codeOf(run.signal('w'))).toBe('INVALID_STATE');
  });

  it('ends the children that it still waits for when it turns back, and no completed one', () => {
    const child = (ref: string): Step => ({
      name: ref,
      taskReferenceName: ref,
      type: 'SUB_WORKFLOW',
      subWorkflowParam: { name: ref },
      compensateWith: `un${ref}`,
    });
    const run = new Run({ tasks: [fork('f', [[child('done')], [child('open')], [simple('c')]]), join('j')] });
    const ended = () => run.published.filter((one) => one.type === 'PublishMessage' && one.topic === 'terminate-child');
    const subWorkflowId = run.state.tasks.get('done')?.child?.executionId ?? '';
    run.complete('done', { subWorkflowId }).failForGood('c');
    expect([run.open(), ended().length]).toEqual([['done__compensate'], 1]);
    run.advance(1_000).complete('done__compensate');
    expect([run.status, ended().length]).toEqual(['FAILED', 1]);
  });

  it('lets the compensations of all shapes of a definition see the occurrence they undo', () => {
    const inner = switchOn('s', 'x', {
      x: [fork('f', [[undone('a', { inputParameters: { n: '${l.output.iteration}' } })], [simple('b')]]), join('j')],
    });
    const run = new Run({ tasks: [loop('l', 3, [inner]), simple('end')] });
    for (const n of [1, 2, 3]) run.complete(`a__${n}`, { out: n }).complete(`b__${n}`);
    run.failForGood('end');
    for (const n of [3, 2, 1]) {
      expect(run.task(`a__compensate__${n}`).input).toEqual({ input: { n }, output: { out: n } });
      run.complete(`a__compensate__${n}`);
    }
    expect(run.reason).toMatch(/; compensated: a__3, a__2, a__1$/);
  });

  it('undoes what data brought into iterations that are long over, by the task definitions of run time', () => {
    const tasks = [undone('x'), undone('y')];
    const run = new Run(
      {
        tasks: [loop('l', 2, [dynamicFork('d', '${workflow.input.tasks}'), join('j')]), simple('end')],
        taskDefinitions: [{ name: 'unx', retryCount: 0 }],
      },
      { input: { tasks } },
    );
    run.complete('x__1', { n: 1 }).complete('y__1').complete('y__2').complete('x__2', { n: 2 }).failForGood('end');
    expect(run.state.dynamicNodes.size).toBe(0);
    expect(run.task('x__compensate__2').input).toEqual({ input: {}, output: { n: 2 } });
    run.complete('x__compensate__2').complete('y__compensate__2').complete('y__compensate__1').fail('x__compensate__1');
    expect([run.status, variable(run)]).toMatchObject(['FAILED', { status: 'FAILED' }]);
  });

  it('undoes operators too: a switch when its case is over, a join, a loop as a whole', () => {
    const run = new Run({
      tasks: [
        switchOn('s', 'x', { x: [simple('a')] }, [], { compensateWith: 'uns' }),
        fork('f', [[simple('b')]]),
        join('j', [], { compensateWith: 'unj' }),
        loop('l', 2, [simple('c')], { compensateWith: 'unl' }),
        simple('end'),
      ],
    });
    run.complete('a').complete('b', { n: 1 }).complete('c__1').complete('c__2').failForGood('end');
    expect(run.task('l__compensate').input).toMatchObject({ output: { iteration: 2 } });
    run.complete('l__compensate');
    expect(run.task('j__compensate').input).toMatchObject({ output: { b: { n: 1 } } });
    expect(unwind(run)).toEqual(['j__compensate', 's__compensate']);
  });

  it('is undone when a TERMINATE says FAILED, with the reason and output of that, in every nesting', () => {
    const end = terminate('t', 'FAILED', { terminationReason: 'enough', workflowOutput: { n: 1 } });
    const nestings: readonly (readonly Step[])[] = [
      [undone('a'), end],
      [undone('a'), switchOn('s', 'x', { x: [end] })],
      [fork('f', [[undone('a'), end], [simple('b')]]), join('j')],
      [loop('l', 2, [undone('a'), switchOn('s', 'x', { x: [end] })])],
    ];
    for (const tasks of nestings) {
      const run = new Run({ tasks, fields: { outputParameters: { declared: true } } });
      run.complete(run.open()[0] ?? '');
      expect(unwind(run)).toHaveLength(1);
      expect([run.status, run.output]).toEqual(['FAILED', { n: 1 }]);
      expect(run.reason).toMatch(/^enough; compensated: a(__1)?$/);
    }
  });

  it('is not undone when a TERMINATE says TERMINATED or COMPLETED, or an operator ends it', () => {
    for (const status of ['TERMINATED', 'COMPLETED']) {
      const run = new Run({ tasks: [undone('a'), terminate('t', status)] }).complete('a');
      expect([run.status, run.eventsOf('CompensationStarted')]).toEqual([status, []]);
    }
    expect(trip().complete('hotel').terminate().status).toBe('TERMINATED');
  });

  it('is undone when its output cannot be made', () => {
    const run = new Run({
      tasks: [undone('a')],
      fields: { outputParameters: { big: ['${a.output}', '${a.output}'] } },
    });
    run.complete('a', { text: 'x'.repeat(6 * 1024 * 1024) });
    expect([run.status, run.open()]).toEqual(['RUNNING', ['a__compensate']]);
    expect(unwind(run)).toEqual(['a__compensate']);
    expect([run.status, run.reason]).toEqual(['FAILED', expect.stringContaining('The output of the execution is')]);
  });

  it('is undone when its output does not fit its schema, and shows the output', () => {
    const fields = { outputSchema: { type: 'object', required: ['n'] } };
    const run = new Run({ tasks: [undone('a')], fields }).complete('a', { m: 1 });
    expect(unwind(run)).toEqual(['a__compensate']);
    expect([run.status, run.output]).toEqual(['FAILED', { m: 1 }]);
    expect(run.reason).toMatch(/^The output of the execution does not fit its schema.*; compensated: a$/);
  });

  it('is undone when a permissive failure comes out at the end', () => {
    const run = new Run({
      tasks: [
        fork('f', [[simple('p', { permissive: true })], [undone('a')]]),
        join('j', [], { optional: true }),
        undone('b'),
      ],
    });
    run.failForGood('p').complete('a').complete('b');
    expect(unwind(run)).toEqual(['b__compensate', 'a__compensate']);
    expect(run.view.failedTask).toBe('p');
  });
});

describe('a run that times out', () => {
  it('is undone, and its own deadline counts no more', () => {
    const run = trip({ timeoutSeconds: 60 }).complete('hotel').advance(60_000);
    expect([run.status, run.open(), run.timers.size]).toEqual(['RUNNING', ['hotel__compensate'], 0]);
    expect(codeOf(run.request({ type: 'PassExecutionDeadline' }))).toBe('INVALID_STATE');
    run.complete('hotel__compensate');
    expect([run.status, run.reason]).toEqual([
      'TIMED_OUT',
      'The execution did not end within 60000 ms.; compensated: hotel',
    ]);
  });

  it('while it is paused is undone when it is resumed', () => {
    const run = trip({ timeoutSeconds: 60 }).complete('hotel').pause().advance(60_000);
    expect([run.status, run.open(), run.eventsOf('CompensationStarted').length]).toEqual(['PAUSED', [], 1]);
    expect(unwind(run.resume())).toEqual(['hotel__compensate']);
    expect(run.status).toBe('TIMED_OUT');
  });

  it('by a deadline of a task with TIME_OUT_WF is undone too', () => {
    const run = new Run({
      tasks: [undone('a'), simple('b', { totalTimeout: 5, timeoutPolicy: 'TIME_OUT_WF' })],
    });
    run.complete('a').advance(5_000);
    expect(unwind(run)).toEqual(['a__compensate']);
    expect(run.status).toBe('TIMED_OUT');
  });
});

describe('a compensation', () => {
  const step = (fields: JsonObject): Step => simple('a', { compensateWith: simple('undo', fields) });
  const failing = (fields: JsonObject): Run =>
    new Run({ tasks: [undone('first'), step(fields), simple('end')] })
      .complete('first')
      .complete('a', { id: 'A' })
      .failForGood('end');

  it('that is written out has an input of its own, which reads the task it undoes', () => {
    const run = failing({
      inputParameters: { id: '${a.output.id}', why: '${workflow.variables.__compensation.reason}' },
    });
    expect(run.task('undo').input).toEqual({ id: 'A', why: expect.stringContaining('Task end failed') });
  });

  it('has retries of its own, with their delay', () => {
    const run = failing({ retryCount: 1, retryDelaySeconds: 10, retryLogic: 'FIXED', jitter: 0 });
    run.fail('undo');
    expect(run.task('undo')).toMatchObject({ attempt: 2, visibleAt: START + 10_000 });
    expect(unwind(run)).toEqual(['undo', 'first__compensate']);
  });

  it('that fails for good ends the run with both reasons and what was left as it is', () => {
    const run = failing({ retryCount: 1 }).fail('undo', 'not now').fail('undo', 'not ever');
    const both =
      'Task end failed with status FAILED_WITH_TERMINAL_ERROR: it is broken; ' +
      'Compensation undo failed with status FAILED: not ever';
    expect([run.status, run.reason]).toEqual(['FAILED', `${both}; not compensated: a, first`]);
    expect(variable(run)).toEqual({ status: 'FAILED', reason: both });
    expect(run.view.failedTask).toBe('end');
  });

  it('that is optional lets the others go on when it fails, and is told as not done', () => {
    const run = failing({ retryCount: 0, optional: true }).fail('undo');
    expect(unwind(run)).toEqual(['first__compensate']);
    expect(run.reason).toMatch(/; compensated: first; not compensated: a$/);
  });

  it('times out by its deadlines, with retries or without', () => {
    const run = failing({ totalTimeout: 5, timeoutPolicy: 'TIME_OUT_WF' }).advance(5_000);
    expect([run.status, run.reason]).toEqual([
      'FAILED',
      expect.stringContaining('Compensation undo failed with status TIMED_OUT'),
    ]);
    const again = failing({ scheduleToStartTimeout: 5, retryCount: 1, timeoutPolicy: 'RETRY' }).advance(5_000);
    expect(again.task('undo').attempt).toBe(2);
  });

  it('whose input makes no sense fails with the reason', () => {
    const run = new Run({
      tasks: [simple('a', { compensateWith: wait('undo', { duration: '${a.output.soon}' }) }), simple('end')],
    });
    run.complete('a', { soon: 'one day' }).failForGood('end');
    expect([run.status, run.reason]).toEqual([
      'FAILED',
      expect.stringContaining('WAIT cannot read duration "one day"'),
    ]);
  });

  it('may wait for the clock, or for a signal, which may come before it', () => {
    const run = new Run({
      tasks: [
        simple('a', { compensateWith: yieldStep('approve') }),
        simple('b', { compensateWith: wait('settle', { duration: '5s' }) }),
        simple('end'),
      ],
    });
    run.complete('a').complete('b').failForGood('end');
    expect(run.open()).toEqual(['settle']);
    expect(run.signal('approve', { by: 'Ada' })).toBeUndefined();
    run.advance(5_000);
    expect([run.status, run.seen('approve').output]).toEqual(['FAILED', { by: 'Ada' }]);
  });

  it('may be a whole workflow of its own, and cancels with its run', () => {
    const undo = {
      name: 'undo',
      taskReferenceName: 'undo',
      type: 'SUB_WORKFLOW',
      subWorkflowParam: { name: 'cancel' },
    };
    const given = (): Run =>
      new Run({ tasks: [simple('a', { compensateWith: undo }), simple('end')] }).complete('a').failForGood('end');
    expect(given().open()).toEqual(['undo']);
    expect(given().complete('undo').status).toBe('FAILED');
    expect(given().terminate().seen('undo').status).toBe('CANCELED');
  });

  it('may choose its task by an input', () => {
    const undo = { name: 'x', taskReferenceName: 'undo', type: 'DYNAMIC', dynamicTaskNameParam: 'which' };
    const compensateWith = { ...undo, inputParameters: { which: '${a.output.undoWith}' } };
    const run = new Run({ tasks: [simple('a', { compensateWith }), simple('end')] });
    run.complete('a', { undoWith: 'refund' }).failForGood('end');
    expect(run.task('undo').queue).toBe('refund');
  });
});

describe('while it is undone, a run', () => {
  const compensating = (): Run => trip().complete('hotel').complete('flight').failForGood('pay');

  it('can be paused: what is open may report, and nothing new is undone until the resume', () => {
    const run = compensating().pause().complete('flight__compensate');
    expect([run.status, run.open()]).toEqual(['PAUSED', []]);
    expect(run.resume().open()).toEqual(['hotel__compensate']);
  });

  it('can be terminated: the compensation is canceled, and the reason says how far it came', () => {
    const run = compensating().complete('flight__compensate').terminate('leave it');
    expect([run.status, run.open(), run.seen('hotel__compensate').status]).toEqual(['TERMINATED', [], 'CANCELED']);
    expect(run.reason).toMatch(/^leave it; Task pay failed .*; compensated: flight; not compensated: hotel$/);
    expect(variable(run)).toMatchObject({ status: 'FAILED' });
  });

  it('cannot be retried', () => {
    expect(codeOf(compensating().request({ type: 'Retry', by: 'x' }))).toBe('INVALID_STATE');
  });

  it('refuses what comes late of the tasks it canceled', () => {
    const run = new Run({ tasks: [fork('f', [[undone('a')], [simple('b')], [simple('c')]]), join('j')] });
    const late = run.complete('a').outcomeOf('b', 'COMPLETED');
    run.failForGood('c');
    expect(codeOf(run.request({ type: 'SettleTask', outcome: late }))).toBe('LEASE_LOST');
  });
});

describe('the retry of a run', () => {
  const broken = (): Run =>
    trip().complete('hotel').complete('flight').failForGood('pay').failForGood('flight__compensate');

  it('that was undone is refused: what its tasks did is no longer there', () => {
    const run = trip().complete('hotel').failForGood('flight');
    unwind(run);
    expect(run.request({ type: 'Retry', by: 'x' })).toMatchObject({ code: 'INVALID_STATE' });
  });

  it('whose undoing failed goes on with that, with retries anew, and ends it as it would have ended', () => {
    const run = broken().retry();
    expect([run.status, variable(run)]).toMatchObject(['RUNNING', { status: 'RUNNING' }]);
    expect(run.task('flight__compensate')).toMatchObject({ attempt: 2 });
    run.fail('flight__compensate');
    expect(run.task('flight__compensate').attempt).toBe(3);
    expect(unwind(run)).toEqual(['flight__compensate', 'hotel__compensate']);
    expect([run.status, variable(run)]).toMatchObject(['FAILED', { status: 'COMPLETED' }]);
    expect(run.reason).toMatch(/; compensated: flight, hotel$/);
    expect(codeOf(run.request({ type: 'Retry', by: 'x' }))).toBe('INVALID_STATE');
  });

  it('that was terminated on its way back goes on with that too', () => {
    const run = trip().complete('hotel').complete('flight').failForGood('pay').terminate().retry();
    expect(unwind(run)).toEqual(['flight__compensate', 'hotel__compensate']);
    expect(run.status).toBe('FAILED');
  });

  it('that failed with nothing to undo keeps what completes from then on', () => {
    const run = trip().failForGood('hotel').retry().complete('hotel').complete('flight').failForGood('pay');
    expect(unwind(run)).toEqual(['flight__compensate', 'hotel__compensate']);
  });
});

describe('the state', () => {
  const size = (run: Run): number => run.state.tasks.size + run.state.latest.size + run.state.compensable.length;

  it('remembers completions of a loop only where the definition asks for it', () => {
    const sizes = (body: Step): readonly number[] => {
      const run = new Run({ tasks: [loop('l', 300, [body], { keepLastN: 1 })] }, { checks: false });
      return [2, 299].map((until) => {
        for (let n = Number(run.open()[0]?.split('__')[1]); n <= until; n += 1) run.complete(`a__${n}`);
        return size(run);
      });
    };
    const [early = 0, late = 0] = sizes(simple('a'));
    expect(late).toBe(early);
    const [few = 0, many = 0] = sizes(undone('a'));
    expect(many - few).toBe(297);
  });

  it('tells a hundred tasks in a reason and counts the others', () => {
    const run = new Run({ tasks: [loop('l', 103, [undone('a')]), simple('end')] }, { checks: false });
    for (let n = 1; n <= 103; n += 1) run.complete(`a__${n}`);
    unwind(run.failForGood('end'));
    expect(run.reason).toMatch(/ and 3 more$/);
    expect(run.reason?.match(/a__\d+/g)).toHaveLength(TASKS_TOLD_MAX);
  });

  it('starts the failure workflow when the run has been undone and not before', () => {
    const run = trip({ failureWorkflow: 'cry' }).complete('hotel').failForGood('flight');
    const asked = () => run.published.filter(({ type }) => type === 'PublishMessage');
    expect(asked()).toEqual([]);
    unwind(run);
    expect(asked()).toMatchObject([{ payload: { input: { reason: run.reason } } }]);
  });

  it('is the same however often a fact of the undoing is looked at', () => {
    const facts = (eventsMax?: number): readonly WorkflowEvent['type'][] => {
      const run = new Run(
        { tasks: [undone('a'), undone('b'), simple('c')] },
        eventsMax === undefined ? {} : { eventsMax },
      );
      run.complete('a').complete('b').failForGood('c');
      unwind(run);
      return run.events.map(({ type }) => type);
    };
    expect(facts(1)).toEqual(facts());
  });
});
