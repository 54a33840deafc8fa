import { describe, expect, it } from 'vitest';
import { KEY_CHARS_MAX, readChildFields } from '../../../src/domain/definition/child-fields.ts';
import type { ExecutionId, TaskId } from '../../../src/domain/kernel/brand.ts';
import type { JsonObject, JsonValue } from '../../../src/domain/kernel/json.ts';
import { fork, join, type Step, simple } from '../../support/builders.ts';
import { Run, START } from '../../support/drive.ts';

const sub = (subWorkflowParam: JsonValue, fields: JsonObject = {}): Step => ({
  name: 'child',
  taskReferenceName: 'c',
  type: 'SUB_WORKFLOW',
  subWorkflowParam,
  ...fields,
});

const start = (startWorkflow: JsonValue): Step => ({
  name: 'child',
  taskReferenceName: 'c',
  type: 'START_WORKFLOW',
  inputParameters: { startWorkflow },
});

const given = (step: Step, input: JsonObject = {}, started = {}): Run => new Run({ tasks: [step] }, { input, started });

/** What the message says that starts the child. */
const startOf = (run: Run): JsonObject | undefined =>
  run.published.flatMap((command) => (command.type === 'PublishMessage' ? [command.payload] : []))[0];

describe('SUB_WORKFLOW', () => {
  it.each<[string, JsonValue, JsonObject, string]>([
    ['a priority out of range', { name: 'x', priority: '${workflow.input.p}' }, { p: 100 }, 'priority must be'],
    [
      'a correlation id that is no text',
      { name: 'x', correlationId: '${workflow.input.p}' },
      { p: {} },
      'correlationId',
    ],
    ['domains that are no texts', { name: 'x', taskToDomain: '${workflow.input.p}' }, { p: { a: 1 } }, 'taskToDomain'],
    ['a name that is none', { name: '${workflow.input.p}' }, {}, 'names no workflow'],
    ['a definition that is none', { name: 'x', workflowDefinition: '${workflow.input.p}' }, { p: 7 }, 'it is 7'],
    [
      'what data leads to a secret',
      { name: '${workflow.${workflow.input.p}}' },
      { p: 'secrets.x' },
      'subWorkflowParam',
    ],
  ])('with %s fails at once and starts nothing', (_, param, input, reason) => {
    const run = given(sub(param), input);
    expect([run.status, startOf(run)]).toEqual(['FAILED', undefined]);
    expect(run.seen('c').reason).toContain(reason);
  });

  it('starts its child with what its run was started with where it says nothing else', () => {
    const started = { priority: 7, correlationId: 'c-1', taskToDomain: { a: 'd' }, depth: 2 };
    const run = given(sub({ name: 'x', version: 3 }, { inputParameters: { n: 1 } }), {}, started);
    expect(startOf(run)).toMatchObject({
      name: 'x',
      version: 3,
      definition: null,
      dialect: 'v1',
      input: { n: 1 },
      priority: 7,
      correlationId: 'c-1',
      taskToDomain: { a: 'd' },
      idempotencyKey: null,
      idempotencyStrategy: null,
      depth: 3,
    });
  });

  it('starts it with what it says itself, and with nothing where its run has nothing', () => {
    const own = { name: 'x', priority: 9, correlationId: 'own', taskToDomain: { a: 'e' }, idempotencyKey: 'k' };
    expect(startOf(given(sub({ ...own, idempotencyStrategy: 'FAIL' })))).toMatchObject({
      ...own,
      idempotencyStrategy: 'FAIL',
      depth: 1,
    });
    expect(startOf(given(sub({ name: 'x' })))).toMatchObject({ priority: 0, correlationId: null, taskToDomain: null });
  });

  it('calls a child that is written out by the name of its task', () => {
    const definition = { name: 'inner', version: 1, tasks: [{ name: 'n', taskReferenceName: 'n', type: 'NOOP' }] };
    const run = given(sub({ workflowDefinition: definition }));
    expect(startOf(run)).toMatchObject({ name: 'child', version: null, definition: { name: 'inner' } });
  });
});

describe('the fields of a child', () => {
  it.each<[JsonObject, string]>([
    [{ correlationId: [1] }, `correlationId must be a text of at most ${KEY_CHARS_MAX} characters; it is [1]`],
    [{ idempotencyKey: 'k'.repeat(KEY_CHARS_MAX + 1) }, 'idempotencyKey must be a text of at most'],
    [{ version: 2 ** 31 }, 'version must be a whole number from 0; it is 2147483648'],
    [{ version: 1.5 }, 'version must be a whole number from 0; it is 1.5'],
    [{ version: '1.5' }, 'version must be a whole number from 0; it is "1.5"'],
    [{ priority: -1 }, 'priority must be a whole number from 0 to 99; it is -1'],
    [{ taskToDomain: ['d'] }, 'taskToDomain must be an object of texts; it is ["d"]'],
    [{ idempotencyStrategy: 'SOMETIMES' }, 'idempotencyStrategy must be one of '],
  ])('%j are refused', (given, message) => {
    const [field] = Object.keys(given);
    expect(readChildFields(given)).toMatchObject({ ok: false, error: { field } });
    const found = readChildFields(given);
    expect(found.ok ? '' : found.error.message).toContain(message);
  });

  it.each<[JsonObject, JsonObject]>([
    [
      { name: 'x', version: ' 7 ' },
      { name: 'x', version: 7 },
    ],
    [{ name: 'x', version: '0' }, { name: 'x' }],
    [{ name: '', version: null, correlationId: '' }, {}],
    [
      { version: 2 ** 31 - 1, priority: 99 },
      { version: 2 ** 31 - 1, priority: 99 },
    ],
    [{ priority: 0, other: 1 }, { priority: 0 }],
    [{ correlationId: 'k'.repeat(KEY_CHARS_MAX) }, { correlationId: 'k'.repeat(KEY_CHARS_MAX) }],
  ])('%j are read', (given, fields) => expect(readChildFields(given)).toStrictEqual({ ok: true, value: fields }));
});

describe('messages about children', () => {
  const topics = (run: Run): readonly string[] =>
    run.published.flatMap((command) =>
      command.type === 'PublishMessage' ? [`${command.topic} ${command.orderingKey}`] : [],
    );
  const childOf = (run: Run, key: string): string =>
    run.eventsOf('TaskScheduled').findLast(({ ref }) => ref === key)?.child?.executionId ?? '';

  it('start each attempt anew, and end only the child that somebody still waits for', () => {
    const flow = (ref: string): Step => ({ ...sub({ name: 'x' }), taskReferenceName: ref });
    const tasks = [fork('f', [[flow('c1')], [flow('c2'), simple('a')], [simple('b')]]), join('j')];
    const run = new Run({ tasks });
    const [first, second] = [childOf(run, 'c1'), childOf(run, 'c2')];
    expect(topics(run)).toEqual([`start-child ${first}`, `start-child ${second}`]);
    run.complete('c2', { subWorkflowId: second });
    run.now = (START + 5) as typeof run.now;
    run.terminate('enough');
    expect(topics(run).slice(2)).toEqual([`terminate-child ${first}`]);
    expect(run.published.findLast(({ type }) => type === 'PublishMessage')).toMatchObject({
      payload: {
        executionId: first,
        reason: `Execution ${run.state.executionId}: it ended with status TERMINATED.`,
      },
    });
  });

  it('wait for the delay of a retry, and name the attempt that waits', () => {
    const run = new Run({ tasks: [sub({ name: 'x' }, { retryCount: 1, retryDelaySeconds: 5, startDelay: 2 })] });
    const messages = () => run.published.flatMap((command) => (command.type === 'PublishMessage' ? [command] : []));
    expect(messages()[0]).toMatchObject({
      dedupKey: `${run.task('c').taskId}/start`,
      visibleAt: START + 2_000,
      payload: { parent: { taskId: run.task('c').taskId, ref: 'c', iteration: 0, attempt: 1 } },
    });
    run.settle('c', 'FAILED', { output: { subWorkflowId: childOf(run, 'c') } });
    expect(messages().map(({ topic }) => topic)).toEqual(['start-child', 'start-child']);
    expect(messages()[1]).toMatchObject({ payload: { parent: { attempt: 2 } } });
  });

  it('tell a parent how its child ended, and that somebody retried it', () => {
    const parent = {
      executionId: '01890000-0000-7000-8000-00000000000a' as ExecutionId,
      taskId: 'p.3' as TaskId,
      ref: 'c',
      iteration: 0,
      attempt: 1,
    };
    const run = new Run({ tasks: [simple('a')] }, { started: { parent } }).failForGood('a', 'no');
    const last = () => run.published.findLast((command) => command.type === 'PublishMessage');
    expect(last()).toMatchObject({
      topic: 'child-ended',
      dedupKey: `${run.state.executionId}/ended/${run.state.seq}`,
      orderingKey: run.state.executionId,
      payload: {
        taskId: 'p.3',
        status: 'FAILED',
        output: {},
        reason: 'Task a failed with status FAILED_WITH_TERMINAL_ERROR: no',
      },
    });
    run.retry();
    expect(last()).toMatchObject({ topic: 'child-revived', payload: { parent, by: 'operator' } });
    run.complete('a');
    expect(last()).toMatchObject({ topic: 'child-ended', payload: { status: 'COMPLETED', reason: null } });
  });
});

describe('a child that somebody retried', () => {
  const failed = () => {
    const run = new Run({ tasks: [simple('a'), sub({ name: 'x' })] }).complete('a');
    const [scheduled] = run.eventsOf('TaskScheduled').slice(-1);
    const child = scheduled?.child?.executionId as ExecutionId;
    const link = {
      executionId: run.state.executionId,
      taskId: run.task('c').taskId,
      ref: 'c',
      iteration: 0,
      attempt: 1,
    };
    const revive = (change: object = {}, of = child) =>
      run.request({ type: 'ReviveFor', child: of, link: { ...link, ...change }, by: 'anna' });
    return { run, child, revive };
  };

  it('brings back the run that failed because of it, which waits for the same child again', () => {
    const { run, child, revive } = failed();
    run.settle('c', 'FAILED', { output: { subWorkflowId: child } });
    expect([run.status, revive()]).toEqual(['FAILED', undefined]);
    expect(run.eventsOf('ExecutionRetried')[0]).toMatchObject({
      by: 'anna',
      reason: `its child ${child} was retried`,
      resumesChildren: true,
    });
    expect(run.eventsOf('TaskScheduled').at(-1)).toMatchObject({
      attempt: 2,
      child: { executionId: child, resumed: true },
    });
    const sent = run.published.findLast(({ type }) => type === 'PublishMessage');
    expect(sent).toMatchObject({ topic: 'resume-child', orderingKey: child });
  });

  it('brings back no run that goes on, that did well, that waited for another child, or with another attempt', () => {
    const { run, child, revive } = failed();
    expect(revive()?.code).toBe('INVALID_STATE');
    run.settle('c', 'FAILED', { output: { subWorkflowId: child } });
    expect(revive({ attempt: 2 })?.code).toBe('INVALID_STATE');
    expect(revive({ ref: 'a' })?.code).toBe('INVALID_STATE');
    expect(revive({}, run.state.executionId)?.code).toBe('INVALID_STATE');
    run.retry().complete('c', { subWorkflowId: child });
    expect([run.status, revive({ attempt: 2 })?.code]).toEqual(['COMPLETED', 'INVALID_STATE']);
  });
});

describe('START_WORKFLOW', () => {
  it.each<[JsonValue, string]>([
    [{ name: 'x', input: [1] }, 'the input of startWorkflow must be an object'],
    [{ name: 'x', workflowDef: 'text' }, 'workflowDef must be a workflow definition'],
    [{ name: 'x', version: -1 }, 'version must be a whole number from 0'],
    [{ version: 1 }, 'startWorkflow names no workflow'],
    [[], 'the input "startWorkflow" must be an object'],
  ])('with %j fails at once and starts nothing', (request, reason) => {
    const run = given(start('${workflow.input.start}'), { start: request });
    expect([run.status, startOf(run), run.seen('c').reason]).toEqual([
      'FAILED',
      undefined,
      expect.stringContaining(reason),
    ]);
  });

  it('starts a run at no depth, with the input that it says, or none', () => {
    expect(startOf(given(start({ name: 'x', input: { n: 1 } }), {}, { depth: 5 }))).toMatchObject({
      input: { n: 1 },
      depth: 0,
      definition: null,
    });
    expect(startOf(given(start({ name: 'x' })))).toMatchObject({ input: {} });
  });
});
