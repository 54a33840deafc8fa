import { describe, expect, it } from 'vitest';
import { compileListeners, listenerProblems } from '../../../src/domain/definition/compile-listeners.ts';
import type { JsonObject } from '../../../src/domain/kernel/json.ts';
import { dynamicFork, fork, human, join, loop, noop, type Step, simple, switchOn } from '../../support/builders.ts';
import { Run, START } from '../../support/drive.ts';

type Sent = Readonly<{ sink: string; payload: JsonObject; topic: string; messageId: string }>;

const sentBy = (run: Run): readonly Sent[] =>
  run.published.flatMap((command) =>
    command.type === 'PublishMessage' && command.topic.startsWith('event/')
      ? [{ ...(command.payload as unknown as Sent), topic: command.topic }]
      : [],
  );

const told = (run: Run): readonly string[] => sentBy(run).map(({ payload }) => `${payload.taskRef} ${payload.state}`);

const EVERYTHING = 'onScheduled, onStart,onSuccess,onFailed,onCancelled';
const heard = (step: Step, key = EVERYTHING, payload: JsonObject = {}): Step => ({
  ...step,
  onStateChange: { [key]: [{ type: 'seen', payload }] },
});

describe('the listeners of a task', () => {
  it('are told of its changes with what the run says then, and of its start with the fact that closes it', () => {
    const run = new Run(
      { tasks: [heard(simple('a'), EVERYTHING, { got: '${a.output.n}', in: '${workflow.input.n}' })] },
      { input: { n: 7 } },
    );
    run.now = (START + 5) as typeof run.now;
    run.complete('a', { n: 1 });
    expect(told(run)).toEqual(['a onScheduled', 'a onStart', 'a onSuccess']);
    const [, , last] = sentBy(run);
    expect(last).toMatchObject({
      topic: 'event/internal',
      sink: 'internal:seen',
      payload: {
        workflowId: run.state.executionId,
        taskRef: 'a',
        status: 'COMPLETED',
        attempt: 1,
        payload: { got: 1, in: 7 },
      },
    });
    expect(new Set(sentBy(run).map(({ messageId }) => messageId)).size).toBe(3);
  });

  it('see no value under a masked key', () => {
    const tasks = [heard(simple('a'), 'onSuccess', { all: '${a.output}', card: '${a.output.card}' })];
    const run = new Run({ tasks, fields: { maskedFields: ['card'] } }).complete('a', { card: '4111', n: 1 });
    expect(sentBy(run).at(-1)?.payload.payload).toEqual({ all: { card: '***', n: 1 }, card: '***' });
    expect(run.output).toEqual({ card: '4111', n: 1 });
  });

  it('are told of each attempt that failed, and which one succeeded', () => {
    const run = new Run({ tasks: [heard(simple('a'), 'onFailed,onSuccess')] });
    run.fail('a');
    run.complete('a');
    expect(sentBy(run).map(({ payload }) => [payload.state, payload.attempt])).toEqual([
      ['onFailed', 1],
      ['onSuccess', 2],
    ]);
  });

  it('are told that a task which nobody leases has started at once, and of a failure that was excused', () => {
    const run = new Run({ tasks: [heard(human('h', { optional: true })), simple('b')] });
    run.signal('h', {}, 'FAILED');
    expect(told(run)).toEqual(['h onScheduled', 'h onStart', 'h onFailed']);
    expect(sentBy(run).at(-1)?.payload.status).toBe('COMPLETED_WITH_ERRORS');
  });

  it('are told of operators, of loops by iteration, and of branches that data brought in', () => {
    const run = new Run({
      tasks: [
        heard(switchOn('s', 'x', { x: [loop('l', 2, [heard(noop('n'), 'onSuccess'), simple('a')])] }), 'onSuccess'),
        dynamicFork('d', [heard(simple('e'), 'onScheduled')]),
        heard(join('j'), 'onStart,onSuccess'),
      ],
    });
    run.completeAll();
    expect(told(run)).toEqual([
      's onSuccess',
      'n__1 onSuccess',
      'n__2 onSuccess',
      'e onScheduled',
      'j onStart',
      'j onSuccess',
    ]);
  });

  it('are told of what the end of the run cancels, once, and of nothing that was over before', () => {
    const run = new Run({
      tasks: [
        fork('f', [
          [heard(simple('a')), simple('x')],
          [heard(simple('b')), simple('y')],
        ]),
        join('j'),
      ],
    });
    run.complete('a');
    run.terminate();
    expect(told(run).filter((line) => line.includes('onCancelled'))).toEqual(['b onCancelled']);
    expect(run.retry().terminate().open()).toEqual([]);
    expect(told(run).filter((line) => line.includes('onCancelled'))).toEqual(['b onCancelled', 'b onCancelled']);
  });

  it('are told once of what was canceled before the run was undone, and not again at its end', () => {
    const undone = simple('a', { compensateWith: 'undo_a' });
    const branches = [
      [undone, simple('x')],
      [heard(simple('b')), simple('y')],
    ];
    const run = new Run({ tasks: [fork('f', branches), join('j')] });
    run.complete('a').failForGood('x');
    run.now = (START + 5) as typeof run.now;
    run.completeAll();
    expect([run.status, told(run).filter((line) => line.includes('onCancelled'))]).toEqual([
      'FAILED',
      ['b onCancelled'],
    ]);
  });

  it('of the whole definition are told of every task', () => {
    const fields = { onStateChange: { onSuccess: { type: 'kafka:tasks' } } };
    const run = new Run({ tasks: [simple('a'), heard(noop('n'), 'onSuccess')], fields });
    run.complete('a');
    expect(sentBy(run).map(({ sink, payload, topic }) => [sink, topic, payload.taskRef])).toEqual([
      ['kafka:tasks', 'event/kafka', 'a'],
      ['kafka:tasks', 'event/kafka', 'n'],
      ['internal:seen', 'event/internal', 'n'],
    ]);
  });

  it('cost the run nothing when what they are told makes no sense', () => {
    const run = new Run({ tasks: [heard(simple('a'), 'onSuccess', { got: '${a.output[?(@.x' })], door: 'conductor' });
    expect(run.complete('a').status).toBe('COMPLETED');
    expect(sentBy(run)).toHaveLength(1);
  });

  it('are told nothing for what cannot be evaluated, and of the task all the same', () => {
    const payload = { got: '${workflow.${workflow.input.p}}' };
    const run = new Run({ tasks: [heard(simple('a'), 'onSuccess', payload)] }, { input: { p: 'secrets.x' } });
    expect(run.complete('a').status).toBe('COMPLETED');
    expect(sentBy(run)[0]?.payload).toMatchObject({ taskRef: 'a', state: 'onSuccess', payload: null });
  });

  it('are told of the task that an operator cancels, or a jump leaves behind', () => {
    const tasks = [fork('f', [[heard(simple('a')), simple('a2')], [simple('b')]]), join('j'), simple('z')];
    const jumped = new Run({ tasks }).jump('z');
    const canceled = new Run({ tasks }).cancelTask('a');
    expect([jumped, canceled].map((run) => told(run).at(-1))).toEqual(['a onCancelled', 'a onCancelled']);
  });

  it('are told of a task whose input cannot be made, as a failure that never began', () => {
    const refused = { ...simple('a', { inputParameters: { x: '${workflow.${workflow.input.p}}' } }) };
    const run = new Run({ tasks: [heard(refused)] }, { input: { p: 'secrets.x' } });
    expect([run.status, told(run)]).toEqual(['FAILED', ['a onFailed']]);
  });

  it('are nobody where the definition names none', () => {
    const run = new Run({ tasks: [simple('a'), human('h')] });
    run.complete('a').terminate();
    expect([run.state.plan.isHeard, sentBy(run)]).toEqual([false, []]);
  });
});

describe('the listeners of a run', () => {
  it('are told of each change of its status, in order', () => {
    const fields = { workflowStatusListenerEnabled: true };
    const run = new Run({ tasks: [simple('a'), simple('b')], fields }, { started: { correlationId: 'c-1' } });
    run.pause().resume().failForGood('a', 'broken');
    run.retry().terminate('enough');
    expect(sentBy(run).map(({ sink, payload }) => [sink, payload.status])).toEqual(
      ['RUNNING', 'PAUSED', 'RUNNING', 'FAILED', 'RUNNING', 'TERMINATED'].map((status) => [
        'internal:workflow-status',
        status,
      ]),
    );
    expect(sentBy(run).at(-1)?.payload).toMatchObject({ workflowType: 'flow', correlationId: 'c-1', reason: 'enough' });
  });

  it('are told when a rerun of tasks or an operator who cancels one changes it, and not where a pause stays', () => {
    const statuses = (run: Run) => sentBy(run).map(({ payload }) => payload.status);
    const fields = { workflowStatusListenerEnabled: true };
    const run = new Run({ tasks: [simple('a'), simple('b')], fields }).completeAll();
    expect(statuses(run.rerunTasks(['b'], false))).toEqual(['RUNNING', 'COMPLETED', 'RUNNING']);
    const paused = new Run({ tasks: [simple('a'), simple('b')], fields }).complete('a').pause();
    expect(statuses(paused.rerunTasks(['a'], true))).toEqual(['RUNNING', 'PAUSED']);
  });

  it.each([
    ['webhook:https://example.org', 'webhook:https://example.org', 'event/webhook'],
    ['audit', 'internal:audit', 'event/internal'],
  ])('at the sink %s are told at %s', (workflowStatusListenerSink, sink, topic) => {
    const fields = { workflowStatusListenerEnabled: true, workflowStatusListenerSink };
    const run = new Run({ tasks: [noop('n')], fields });
    expect(new Set(sentBy(run).map((sent) => `${sent.sink} ${sent.topic}`))).toEqual(new Set([`${sink} ${topic}`]));
  });

  it('are nobody where the sink is named but not enabled', () => {
    expect(sentBy(new Run({ tasks: [noop('n')], fields: { workflowStatusListenerSink: 'x' } }))).toEqual([]);
  });
});

describe('an onStateChange', () => {
  it.each([
    [{ onDone: [{ type: 'x' }] }, 'onStateChange.onDone'],
    [{ onSuccess: [{ type: '' }] }, 'onStateChange.onSuccess[0]'],
    [{ onSuccess: 'x' }, 'onStateChange.onSuccess[0]'],
    [{ onSuccess: [{ type: 'x', payload: { a: '${' } }] }, 'onStateChange.onSuccess[0].payload.a'],
  ])('%j is refused at %s', (given, path) => {
    expect(listenerProblems(given, 'onStateChange').map((problem) => problem.path)).toEqual([path]);
  });

  it('that is stored keeps what makes sense of it', () => {
    const compiled = compileListeners({ 'onSuccess, onDone': [{ type: 'x' }, 7, {}] });
    expect(Object.keys(compiled ?? {})).toEqual(['onSuccess']);
    expect([compiled?.onSuccess?.length, compileListeners({ onDone: [{ type: 'x' }] }), compileListeners('x')]).toEqual(
      [1, undefined, undefined],
    );
  });

  it('may name a sink by its scheme, or one of the internal one by its name', () => {
    const compiled = compileListeners({
      onSuccess: [{ type: 'kafka:t' }, { type: 'seen', payload: { a: 1 } }, { type: ' ' }],
    });
    expect(compiled?.onSuccess?.map(({ sink }) => sink)).toEqual(['kafka:t', 'internal:seen']);
    expect(compiled?.onSuccess?.[1]?.payload).toMatchObject({ kind: 'constant', value: { a: 1 } });
  });

  it('that is stored and does not parse is told as it is written', () => {
    const payload = { a: '${', b: 1 };
    const compiled = compileListeners({ onFailed: { type: 'seen', payload } });
    expect(compiled?.onFailed).toEqual([{ sink: 'internal:seen', payload: { kind: 'constant', value: payload } }]);
  });

  it('is told once for each name of a change, in the order in which they are written', () => {
    const compiled = compileListeners({
      'onSuccess,onFailed': { type: 'a' },
      onSuccess: [{ type: 'b' }],
      onStart: [7],
    });
    expect(compiled?.onSuccess?.map(({ sink }) => sink)).toEqual(['internal:a', 'internal:b']);
    expect(compiled?.onFailed?.map(({ sink }) => sink)).toEqual(['internal:a']);
    expect(compiled).not.toHaveProperty('onStart');
  });
});
