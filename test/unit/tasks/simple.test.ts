import { describe, expect, it } from 'vitest';
import { parseTaskDefinition } from '../../../src/domain/definition/parse-task-definition.ts';
import { resume } from '../../../src/domain/execution/resume.ts';
import { RETRY_DELAY_MS_MAX, retryDelayMs } from '../../../src/domain/execution/retry.ts';
import type { JsonObject } from '../../../src/domain/kernel/json.ts';
import { dynamicFork, fork, join, loop, type Step, simple, switchOn } from '../../support/builders.ts';
import { Run, START } from '../../support/drive.ts';

const withPolicy = (fields: JsonObject, rest: readonly Step[] = [simple('after')], node: JsonObject = {}): Run =>
  new Run({
    tasks: [simple('a', node), ...rest],
    taskDefinitions: [{ name: 'a', jitter: 0, ...fields }],
  });

describe('SIMPLE', () => {
  it('is queued under its name with its resolved input and hands its output on', () => {
    const run = new Run(
      {
        tasks: [
          simple('a', {
            name: 'charge',
            inputParameters: { amount: '${workflow.input.amount}', note: 'n ${workflow.input.amount}' },
          }),
          simple('b', { inputParameters: { paid: '${a.output}' } }),
        ],
      },
      { input: { amount: 7 } },
    );
    expect(run.task('a')).toMatchObject({
      queue: 'charge',
      taskName: 'charge',
      family: 'worker',
      attempt: 1,
      input: { amount: 7, note: 'n 7' },
    });
    run.complete('a', { receipt: 'r' });
    expect(run.task('b').input).toEqual({ paid: { receipt: 'r' } });
    run.complete('b');
    expect(run.status).toBe('COMPLETED');
  });

  it('is not visible before its start delay has passed', () => {
    const run = new Run({ tasks: [simple('a', { startDelay: 90 })] });
    expect(run.task('a').visibleAt).toBe(START + 90_000);
  });

  it('fills what the input leaves out or resolves to null from the template of its definition', () => {
    const run = new Run({
      tasks: [simple('a', { inputParameters: { kept: 1, missing: '${workflow.input.none}' } })],
      taskDefinitions: [
        { name: 'a', inputTemplate: { kept: 0, missing: 'template', more: '${workflow.workflowType}' } },
      ],
    });
    expect(run.task('a').input).toEqual({ kept: 1, missing: 'template', more: 'flow' });
  });

  it.each([
    ['FIXED', [10_000, 10_000, 10_000]],
    ['LINEAR_BACKOFF', [20_000, 40_000, 60_000]],
    ['EXPONENTIAL_BACKOFF', [10_000, 20_000, 40_000]],
  ])('waits between %s retries as long as its definition says, then fails the run', (retryLogic, delays) => {
    const run = withPolicy({ retryCount: 3, retryLogic, retryDelaySeconds: 10, backoffScaleFactor: 2 });
    for (const [index, delay] of delays.entries()) {
      run.fail('a', 'busy');
      expect(run.task('a')).toMatchObject({ attempt: index + 2, visibleAt: run.now + delay });
      run.advance(delay);
    }
    run.fail('a', 'busy');
    expect([run.status, run.reason]).toEqual(['FAILED', 'Task a failed with status FAILED: busy']);
  });

  it.each([
    [{ retryLogic: 'FIXED' }, 3, 0.5, 10_000],
    [{ retryLogic: 'LINEAR_BACKOFF', backoffScaleFactor: 3 }, 2, 0.5, 60_000],
    [{ retryLogic: 'EXPONENTIAL_BACKOFF', backoffScaleFactor: 3 }, 3, 0.5, 90_000],
    [{ jitter: 0.5 }, 1, 0, 5_000],
    [{ jitter: 0.5 }, 1, 0.75, 12_500],
    [{ backoffJitterMs: 1_000 }, 1, 0.25, 10_250],
    [{ jitter: 0.5, backoffJitterMs: 1_000 }, 1, 0.75, 13_250],
    [{ maxRetryDelaySeconds: 4 }, 1, 0.5, 4_000],
    [{ maxRetryDelaySeconds: 12, jitter: 1 }, 1, 0.9, 12_000],
    [{ retryLogic: 'EXPONENTIAL_BACKOFF', backoffScaleFactor: 1000 }, 50, 0.5, RETRY_DELAY_MS_MAX],
  ])('with %j waits before retry %s, by the chance %s, for %s ms', (fields, n, chance, ms) => {
    const given = {
      name: 'a',
      retryDelaySeconds: 10,
      jitter: 0,
      retryLogic: 'FIXED',
      maxRetryDelaySeconds: 0,
      ...fields,
    };
    const parsed = parseTaskDefinition(given, 'v1');
    if (!parsed.ok) throw new Error(JSON.stringify(parsed.error));
    expect(retryDelayMs(parsed.value.policy, n, chance)).toBe(ms);
  });

  it('never waits longer than its cap, whatever chance adds', () => {
    const run = withPolicy({
      retryCount: 100,
      retryDelaySeconds: 10,
      maxRetryDelaySeconds: 15,
      jitter: 1,
      backoffJitterMs: 60_000,
    });
    for (let retry = 1; retry <= 20; retry += 1) {
      run.fail('a');
      expect(run.task('a').visibleAt - run.now).toBeLessThanOrEqual(15_000);
    }
  });

  it('spreads its retries by the jitter', () => {
    const node = withPolicy({ retryDelaySeconds: 10, jitter: 0.2 }).state.plan.nodes.get('a');
    if (node?.type !== 'SIMPLE') throw new Error('no worker task');
    expect([0, 0.5, 0.999_999].map((chance) => retryDelayMs(node.policy, 1, chance))).toEqual([8_000, 10_000, 12_000]);
  });

  it('is not retried when its failure is terminal, or named as one that no retry helps', () => {
    const terminal = withPolicy({}).failForGood('a', 'no such card');
    expect(terminal.reason).toBe('Task a failed with status FAILED_WITH_TERMINAL_ERROR: no such card');
    const named = withPolicy({ nonRetryableErrors: ['no such card'] }).fail('a', 'sorry, no such card today');
    expect([named.status, named.eventsOf('TaskScheduled').length]).toEqual(['FAILED', 1]);
  });

  it('goes on with errors after its last retry when it is optional', () => {
    const run = withPolicy({ retryCount: 1 }, [simple('after', { inputParameters: { was: '${a.status}' } })], {
      optional: true,
    });
    run.fail('a').fail('a');
    expect(run.seen('a').status).toBe('COMPLETED_WITH_ERRORS');
    expect(run.task('after').input).toEqual({ was: 'COMPLETED_WITH_ERRORS' });
    run.complete('after');
    expect(run.status).toBe('COMPLETED');
  });

  it('ends the run at once when it is permissive and in no fork, since there is nobody to wait for', () => {
    const run = withPolicy({ retryCount: 0 }, [simple('after')], { permissive: true }).fail('a');
    expect([run.status, run.view.failedTask]).toEqual(['FAILED', 'a']);
    const inLoop = new Run({ tasks: [loop('l', 2, [simple('x', { permissive: true, retryCount: 0 })])] }).fail('x__1');
    expect(inLoop.status).toBe('FAILED');
  });

  it('lets the other branches finish when it is permissive, then fails the run', () => {
    const run = new Run({
      tasks: [
        fork('f', [
          [simple('p', { permissive: true }), simple('p2')],
          [simple('q'), simple('q2')],
        ]),
        join('j'),
      ],
    });
    run.failForGood('p', 'out of stock');
    expect(run.open()).toEqual(['q']);
    run.complete('q');
    expect(run.status).toBe('RUNNING');
    run.complete('q2');
    expect([run.status, run.reason]).toEqual([
      'FAILED',
      'Task j failed with status FAILED: p2: a task of its branch failed',
    ]);
  });

  it.each(['SCHEDULE_TO_START', 'START_TO_CLOSE'] as const)('is retried when %s passes under RETRY', (deadline) => {
    const run = withPolicy({ timeoutPolicy: 'RETRY', retryCount: 1 }).timeOut('a', deadline);
    expect(run.task('a').attempt).toBe(2);
    run.timeOut('a', deadline);
    expect([run.status, run.seen('a').status, run.seen('a').deadline]).toEqual(['TIMED_OUT', 'TIMED_OUT', deadline]);
  });

  it.each(['SCHEDULE_TO_START', 'START_TO_CLOSE', 'SCHEDULE_TO_CLOSE'] as const)(
    'ends the run with retries left, optional or not, when %s passes under TIME_OUT_WF',
    (deadline) => {
      const run = withPolicy({ timeoutPolicy: 'TIME_OUT_WF', retryCount: 3 }, [], { optional: true });
      run.timeOut('a', deadline);
      expect([run.status, run.eventsOf('TaskScheduled').length]).toEqual(['TIMED_OUT', 1]);
    },
  );

  it.each(['SCHEDULE_TO_START', 'START_TO_CLOSE', 'SCHEDULE_TO_CLOSE'] as const)(
    'stays open when %s passes under ALERT_ONLY, and alerts once',
    (deadline) => {
      const run = withPolicy({ timeoutPolicy: 'ALERT_ONLY' }).timeOut('a', deadline);
      expect(run.eventsOf('TaskDeadlineMissed')).toMatchObject([{ ref: 'a', attempt: 1, deadline }]);
      expect(run.request({ type: 'SettleTask', outcome: run.outcomeOf('a', 'TIMED_OUT', { deadline }) })?.code).toBe(
        'INVALID_STATE',
      );
      run.complete('a').complete('after');
      expect(run.status).toBe('COMPLETED');
    },
  );

  it.each(['RETRY', 'TIME_OUT_WF', 'ALERT_ONLY'])(
    'is retried when its worker is lost, also under %s',
    (timeoutPolicy) => {
      const run = withPolicy({ timeoutPolicy, retryCount: 1 }).timeOut('a', 'HEARTBEAT');
      expect(run.task('a').attempt).toBe(2);
      run.timeOut('a', 'HEARTBEAT');
      expect(run.status).toBe('TIMED_OUT');
    },
  );

  it('has its total deadline over all attempts, and no retry after it', () => {
    const run = withPolicy({ totalTimeout: 100, retryCount: 5, retryDelaySeconds: 30, retryLogic: 'FIXED' });
    run.fail('a').advance(30_000).fail('a').advance(30_000);
    expect([...run.timers.values()].map((timer) => [timer.attempt, timer.fireAt])).toEqual([[3, START + 100_000]]);
    run.advance(39_999);
    expect(run.status).toBe('RUNNING');
    run.advance(1);
    expect([run.status, run.seen('a').deadline]).toEqual(['TIMED_OUT', 'SCHEDULE_TO_CLOSE']);
  });

  it('is timed from when it is visible until it is leased', () => {
    const run = withPolicy({ scheduleToStartTimeout: 10, retryCount: 1 }, [], { startDelay: 5 });
    run.advance(14_999);
    expect(run.task('a').attempt).toBe(1);
    run.advance(1);
    expect(run.task('a').attempt).toBe(2);
  });

  it('is owed no deadline again that has passed and only alerted', () => {
    const run = withPolicy({ timeoutPolicy: 'ALERT_ONLY', totalTimeout: 100, scheduleToStartTimeout: 10 });
    run.advance(10_000);
    expect(resume(run.state)).toHaveLength(2);
    run.advance(90_000);
    expect(resume(run.state)).toMatchObject([{ type: 'EnqueueTask' }]);
    expect(run.eventsOf('TaskDeadlineMissed').map(({ deadline }) => deadline)).toEqual([
      'SCHEDULE_TO_START',
      'SCHEDULE_TO_CLOSE',
    ]);
  });

  it('drops its timers with the attempt', () => {
    const run = withPolicy({ totalTimeout: 100, scheduleToStartTimeout: 10 });
    expect(run.timers.size).toBe(2);
    run.complete('a');
    expect(run.timers.size).toBe(0);
  });

  it('is refused when its input cannot be evaluated, with the reason', () => {
    const run = new Run(
      { tasks: [simple('a', { inputParameters: { x: '${workflow.input.${workflow.input.path}}' } })] },
      { input: { path: '[?(' } },
    );
    expect(run.status).toBe('FAILED');
    expect(run.seen('a')).toMatchObject({ status: 'FAILED_WITH_TERMINAL_ERROR' });
    expect(run.seen('a').reason).toContain('EXPRESSION_INVALID');
  });

  it('is refused when the template of its definition cannot be evaluated, known beforehand or not', () => {
    const taskDefinitions = [{ name: 'a', inputTemplate: { x: '${workflow.${workflow.input.p}}' } }];
    const input = { p: 'secrets.x' };
    const known = new Run({ tasks: [simple('a')], taskDefinitions }, { input });
    const brought = new Run({ tasks: [dynamicFork('d', [simple('a')]), join('j')], taskDefinitions }, { input });
    for (const run of [known, brought]) {
      expect([run.status, run.seen('a').reason]).toEqual(['FAILED', expect.stringContaining('inputTemplate')]);
    }
  });

  it('is refused where data leads its input to a secret', () => {
    const run = new Run(
      { tasks: [simple('a', { inputParameters: { x: '${workflow.${workflow.input.path}}' } })] },
      { input: { path: 'secrets.key' } },
    );
    expect(run.seen('a').reason).toContain('FORBIDDEN_REFERENCE');
    expect(run.status).toBe('FAILED');
  });

  it('begins a branch, a case and a body that go on when it is refused and optional', () => {
    const bad = { optional: true, inputParameters: { x: '${workflow.input.${workflow.input.path}}' } };
    const run = new Run(
      {
        tasks: [
          fork('f', [[simple('a', bad), simple('a2')], [switchOn('s', 'x', { x: [simple('b', bad), simple('b2')] })]]),
          join('j'),
          loop('l', 2, [simple('c', bad), simple('c2')]),
        ],
      },
      { input: { path: '[?(' } },
    );
    expect(run.open()).toEqual(['a2', 'b2']);
    run.complete('a2').complete('b2').complete('c2__1').complete('c2__2');
    expect(run.status).toBe('COMPLETED');
  });

  it('takes the domain that the start names for it, or for all, before its own', () => {
    const queueOf = (taskToDomain: Record<string, string>, domain?: string): string =>
      new Run({ tasks: [simple('a', domain === undefined ? {} : { domain })] }, { started: { taskToDomain } }).task('a')
        .queue;
    expect(queueOf({ a: 'eu,NO_DOMAIN' })).toBe('a');
    expect(queueOf({ '*': 'us' }, 'own')).toBe('us:a');
    expect(queueOf({ a: 'NO_DOMAIN' }, 'own')).toBe('a');
    expect(queueOf({}, 'own')).toBe('own:a');
  });

  it('may have the name of something that every object has', () => {
    const run = new Run({ tasks: [simple('a', { name: 'toString' })] }, { started: { taskToDomain: { b: 'eu' } } });
    expect(run.task('a').queue).toBe('toString');
  });

  it('is canceled with the run when an outcome says so', () => {
    expect(withPolicy({}).settle('a', 'CANCELED', { reason: 'by the owner' }).status).toBe('TERMINATED');
  });
});
