import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/domain/kernel/json.ts';
import { replay } from '../../../src/testing/replay.ts';
import { SimulationError, simulate } from '../../../src/testing/simulate.ts';
import { fork, join, loop, type Step, setVariable, simple, switchOn, wait, yieldStep } from '../../support/builders.ts';

const flow = (tasks: readonly Step[], fields: JsonObject = {}): JsonObject => ({
  name: 'flow',
  version: 1,
  tasks,
  ...fields,
});

describe('a simulation', () => {
  it('calls nobody: a call is mocked like any task, or completes with nothing and is told', async () => {
    const call = (ref: string, type: string): Step => ({
      ...simple(ref, { inputParameters: { uri: 'https://api.example.com/' } }),
      type,
    });
    const run = await simulate(flow([call('a', 'HTTP'), call('b', 'HTTP_POLL'), call('c', 'HTTP')]), {
      mocks: {
        a: [
          { status: 'FAILED', reason: 'down' },
          { output: { response: { statusCode: 200 } }, afterSeconds: 3_600 },
        ],
        b: { output: { pollCount: 3 } },
      },
      taskDefs: [{ name: 'a', retryCount: 1 }],
    });
    expect([run.status, run.unmocked, run.tasks.map(({ attempt }) => attempt)]).toEqual([
      'COMPLETED',
      ['c'],
      [1, 2, 1, 1],
    ]);
    expect(run.tasks[1]?.output).toEqual({ response: { statusCode: 200 } });
  });

  it('has the environment that it is given, and a secret by the name of each', async () => {
    const inputParameters = { region: '${workflow.env.REGION}', token: '${workflow.secrets.api}', expression: '$' };
    const script = { ...simple('i', { inputParameters }), type: 'INLINE' };
    const run = await simulate(flow([script]), { environment: { REGION: 'north' } });
    expect([run.status, run.tasks[0]?.input]).toMatchObject([
      'COMPLETED',
      { region: 'north', token: '${workflow.secrets.api}' },
    ]);
    expect(run.output).toMatchObject({ result: { region: 'north', token: '***' } });
  });

  it('lets mocks answer by ref, by iteration, by workflow and by the name of the task', async () => {
    const run = await simulate(flow([loop('l', 2, [simple('a')]), simple('b', { name: 'bee' })]), {
      mocks: {
        a: { output: { n: 1 } },
        a__2: { output: { n: 2 } },
        bee: { output: { n: 3 } },
        'flow/b': { output: { n: 4 } },
      },
    });
    expect(run.tasks.filter(({ type }) => type === 'SIMPLE').map(({ ref, output }) => [ref, output.n])).toEqual([
      ['a__1', 1],
      ['a__2', 2],
      ['b', 4],
    ]);
    expect([run.status, run.unmocked]).toEqual(['COMPLETED', []]);
  });

  it('gives the answers of a list one after the other, so that retries can be played', async () => {
    const run = await simulate(
      flow([simple('a', { retryCount: 2, retryLogic: 'FIXED', retryDelaySeconds: 60, jitter: 0 })]),
      {
        mocks: {
          a: [{ status: 'FAILED', reason: 'once' }, { status: 'FAILED', reason: 'twice' }, { output: { ok: true } }],
        },
      },
    );
    expect(run.tasks.map(({ attempt, status, reason }) => [attempt, status, reason])).toEqual([
      [1, 'FAILED', 'once'],
      [2, 'FAILED', 'twice'],
      [3, 'COMPLETED', undefined],
    ]);
    expect(run.elapsedMs).toBe(120_000);
  });

  it('asks functions with the attempt', async () => {
    const run = await simulate(flow([simple('a', { inputParameters: { n: '${workflow.input.n}' } })]), {
      input: { n: 20 },
      mocks: { a: ({ input, attempt }) => ({ output: { n: (input as { n: number }).n + attempt } }) },
    });
    expect(run.output).toEqual({ n: 21 });
  });

  it('lists what no mock names, and completes it with nothing', async () => {
    const run = await simulate(flow([simple('a', { name: 'bee' }), simple('b', { name: 'ant' })]));
    expect([run.status, run.unmocked]).toEqual(['COMPLETED', ['ant', 'bee']]);
  });

  it('lets a year pass at once, and takes the time that tasks take', async () => {
    const run = await simulate(flow([wait('w', { duration: '300 days' }), simple('a')]), {
      mocks: { a: { afterSeconds: 30 } },
    });
    expect([run.status, run.elapsedMs]).toEqual(['COMPLETED', 300 * 24 * 3_600_000 + 30_000]);
  });

  it('passes deadlines: of the run, of a task that takes too long, of a worker that is gone', async () => {
    const late = await simulate(flow([simple('a')], { timeoutSeconds: 60 }), { mocks: { a: { afterSeconds: 61 } } });
    expect([late.status, late.elapsedMs]).toEqual(['TIMED_OUT', 60_000]);
    const slow = await simulate(flow([simple('a', { startToCloseTimeout: 10, retryCount: 0 })]), {
      mocks: { a: { afterSeconds: 11 } },
    });
    expect([slow.status, slow.elapsedMs]).toEqual(['TIMED_OUT', 10_000]);
    const gone = await simulate(flow([simple('a', { heartbeatTimeout: 30, retryCount: 1, retryDelaySeconds: 0 })]), {
      mocks: { a: [{ never: true }, { output: { n: 1 } }] },
    });
    expect([gone.status, gone.tasks.map(({ status }) => status)]).toEqual(['COMPLETED', ['TIMED_OUT', 'COMPLETED']]);
  });

  it('says what a run waits for that nothing moves any more', async () => {
    const run = await simulate(flow([yieldStep('y')]));
    expect([run.status, run.waitingFor]).toEqual(['RUNNING', [expect.stringContaining('y: ')]]);
  });

  it('ends waits by mocks, early or late', async () => {
    const run = await simulate(flow([yieldStep('y'), wait('w', { duration: '1 day' })]), {
      mocks: { y: { output: { by: 'Ada' }, afterSeconds: 5 }, w: { output: { early: true } } },
    });
    expect([run.status, run.elapsedMs]).toEqual(['COMPLETED', 5_000]);
    expect(run.tasks.map(({ output }) => output)).toEqual([{ by: 'Ada' }, { early: true }]);
  });

  it('runs scripts, operators and variables for real, unless a mock names the script', async () => {
    const script = { name: 'i', taskReferenceName: 'i', type: 'INLINE', inputParameters: { expression: '6 * 7' } };
    const tasks = [
      script,
      setVariable('v', { answer: '${i.output.result}' }),
      switchOn('s', '${workflow.variables.answer}', { 42: [fork('f', [[simple('a')], [simple('b')]]), join('j')] }),
    ];
    const real = await simulate(flow(tasks));
    expect([real.variables, real.tasks.map(({ ref }) => ref)]).toEqual([
      { answer: 42 },
      ['i', 'v', 's', 'f', 'a', 'b', 'j'],
    ]);
    const mocked = await simulate(flow(tasks), { mocks: { i: { output: { result: 1 } } } });
    const skipped = mocked.tasks.filter(({ status }) => status === 'SKIPPED').map(({ ref }) => ref);
    expect([mocked.variables, skipped]).toEqual([{ answer: 1 }, ['f', 'a', 'b', 'j']]);
  });

  it('undoes what completed, and starts the failure workflow that is given', async () => {
    const tasks = [simple('a', { compensateWith: 'undo_a' }), simple('b', { retryCount: 0 })];
    const mocks = { a: {}, b: { status: 'FAILED' as const }, undo_a: {}, tell: {} };
    const run = await simulate(flow(tasks, { failureWorkflow: 'tell_all' }), {
      mocks,
      subWorkflows: [{ name: 'tell_all', version: 1, tasks: [simple('tell')] }],
    });
    expect([run.status, run.otherRuns]).toEqual(['FAILED', [{ workflow: 'tell_all', status: 'COMPLETED' }]]);
    expect(run.reason).toMatch(/; compensated: a$/);
    const lost = await simulate(flow(tasks, { failureWorkflow: 'tell_all' }), { mocks });
    expect(lost.problems).toEqual([expect.stringContaining('tell_all')]);
  });

  it('runs children for real, or answers for them where a mock names the step', async () => {
    const parent = flow([
      { name: 'c', taskReferenceName: 'c', type: 'SUB_WORKFLOW', subWorkflowParam: { name: 'child' } },
    ]);
    const child = {
      name: 'child',
      version: 1,
      tasks: [wait('w', { duration: '1 hour' }), simple('a', { retryCount: 0 })],
    };
    const real = await simulate(parent, { subWorkflows: [child], mocks: { 'child/a': { output: { n: 1 } } } });
    expect([real.status, real.output.n, real.elapsedMs]).toEqual(['COMPLETED', 1, 3_600_000]);
    expect(real.otherRuns).toEqual([{ workflow: 'child', status: 'COMPLETED' }]);
    const failed = await simulate(parent, { subWorkflows: [child], mocks: { a: { status: 'FAILED', reason: 'no' } } });
    expect([failed.status, failed.reason]).toEqual(['FAILED', expect.stringContaining('no')]);
    const mocked = await simulate(parent, { subWorkflows: [child], mocks: { c: { output: { n: 2 } } } });
    expect([mocked.status, mocked.output.n, mocked.unmocked]).toEqual(['COMPLETED', 2, []]);
  });

  it('answers for people by mocks', async () => {
    const human = { name: 'approve', taskReferenceName: 'approve', type: 'HUMAN' };
    const run = await simulate(flow([human]), { mocks: { approve: { output: { by: 'Ada' }, afterSeconds: 86_400 } } });
    expect([run.status, run.output.by, run.elapsedMs]).toEqual(['COMPLETED', 'Ada', 86_400_000]);
  });

  it('stops a run that would never end at its virtual time', async () => {
    const body = [wait('w', { duration: '1 hour' })];
    const run = await simulate(flow([loop('l', '$.l.iteration > 0', body)]), { virtualSecondsMax: 36_000 });
    expect([run.status, run.elapsedMs]).toEqual(['RUNNING', 36_000_000]);
  });

  it('refuses what the engine refuses, with code and path', async () => {
    await expect(simulate(flow([simple('a'), simple('a')]))).rejects.toThrow(SimulationError);
    await expect(simulate(flow([simple('a'), simple('a')]))).rejects.toMatchObject({ code: 'DUPLICATE_REFERENCE' });
    const schema = { type: 'object', required: ['n'] };
    await expect(simulate(flow([simple('a')], { inputSchema: schema }))).rejects.toMatchObject({
      code: 'INPUT_SCHEMA_VIOLATION',
    });
  });
});

describe('a replay', () => {
  const tasks = [
    fork('f', [[simple('a', { compensateWith: 'undo' }), wait('w', { duration: '5s' })], [simple('b')]]),
    join('j'),
    loop('l', 2, [simple('c')]),
    simple('d', { retryCount: 1 }),
  ];

  it('derives the log again, retries, waits and undoing included', async () => {
    const run = await simulate(flow(tasks), { mocks: { d: { status: 'FAILED' } } });
    const again = await replay(run.history, flow(tasks), { workflowId: run.workflowId });
    expect(again).toMatchObject({ ok: true, view: { status: 'FAILED', reason: run.reason } });
  });

  it('tells where another version would have gone another way', async () => {
    const run = await simulate(flow(tasks));
    const other = flow([...tasks.slice(0, 2), simple('new'), ...tasks.slice(2)]);
    const again = await replay(run.history, other, { workflowId: run.workflowId });
    expect(again).toMatchObject({
      ok: false,
      recorded: { type: 'OperatorOpened', ref: 'l' },
      derived: { type: 'TaskScheduled', ref: 'new' },
    });
  });
});
