import { describe, expect, it } from 'vitest';
import { NAME_CHARS_MAX, PROBLEMS_MAX } from '../../../src/domain/definition/limits.ts';
import { parseWorkflowDefinition } from '../../../src/domain/definition/parse-definition.ts';
import { parseTaskNode } from '../../../src/domain/definition/parse-task-node.ts';
import type { JsonObject, JsonValue } from '../../../src/domain/kernel/json.ts';
import { node, parsed, problemsOf, simple, workflow } from './given-definitions.ts';

const nested = (levels: number): JsonObject =>
  levels === 0
    ? simple('leaf')
    : node('DO_WHILE', `loop_${levels}`, {
        loopCondition: `$.loop_${levels}.iteration < 1`,
        loopOver: [nested(levels - 1)],
      });

describe('a workflow document on /v1', () => {
  const refused: readonly (readonly [string, JsonValue, string])[] = [
    ['null', null, 'VALIDATION_FAILED '],
    ['a list', [], 'VALIDATION_FAILED '],
    ['no name', { tasks: [simple('a')] }, 'VALIDATION_FAILED name'],
    ['no tasks', { name: 'x' }, 'VALIDATION_FAILED tasks'],
    ['an empty list of tasks', workflow([]), 'VALIDATION_FAILED tasks'],
    ['a task that is no object', workflow(['a']), 'VALIDATION_FAILED tasks[0]'],
    ['an empty name', workflow([simple('a')], { name: '' }), 'INVALID_NAME name'],
    ['a path as name', workflow([simple('a')], { name: '../x' }), 'INVALID_NAME name'],
    ['a slash in the name', workflow([simple('a')], { name: 'a/b' }), 'INVALID_NAME name'],
    ['a line break in the name', workflow([simple('a')], { name: 'a\nb' }), 'INVALID_NAME name'],
    ['a digit first', workflow([simple('a')], { name: '1a' }), 'INVALID_NAME name'],
    ['256 characters', workflow([simple('a')], { name: 'n'.repeat(256) }), 'INVALID_NAME name'],
    ['a prototype name', workflow([simple('a')], { name: 'constructor' }), 'INVALID_NAME name'],
    ['a name of a task', workflow([simple('a', { name: 'a b' })]), 'INVALID_NAME tasks[0].name'],
    ['an empty reference', workflow([simple('')]), 'INVALID_NAME tasks[0].name'],
    [
      'a loop suffix',
      workflow([simple('a', { taskReferenceName: 'a__1' })]),
      'INVALID_NAME tasks[0].taskReferenceName',
    ],
    [
      'the sign of a branch',
      workflow([simple('a', { taskReferenceName: '#0' })]),
      'INVALID_NAME tasks[0].taskReferenceName',
    ],
    ['a root as reference', workflow([simple('workflow')]), 'INVALID_NAME tasks[0].taskReferenceName'],
    ['an unknown field', workflow([simple('a')], { statuss: 1 }), 'UNKNOWN_FIELD statuss'],
    ['a field of the server', workflow([simple('a')], { createdBy: 'me' }), 'UNKNOWN_FIELD createdBy'],
    ['an unknown field of a task', workflow([simple('a', { retries: 1 })]), 'UNKNOWN_FIELD tasks[0].retries'],
    ['an unknown type', workflow([node('GRPC', 'a')]), 'UNKNOWN_TASK_TYPE tasks[0].type'],
    ['a version of 0', workflow([simple('a')], { version: 0 }), 'VALIDATION_FAILED version'],
    ['a version beyond 2^31', workflow([simple('a')], { version: 2 ** 31 }), 'VALIDATION_FAILED version'],
    ['a version as text', workflow([simple('a')], { version: '1' }), 'VALIDATION_FAILED version'],
    ['a fraction of a second', workflow([simple('a')], { timeoutSeconds: 1.5 }), 'VALIDATION_FAILED timeoutSeconds'],
    ['a negative timeout', workflow([simple('a')], { timeoutSeconds: -1 }), 'VALIDATION_FAILED timeoutSeconds'],
    ['null for a text', workflow([simple('a')], { description: null }), 'VALIDATION_FAILED description'],
    ['a bad policy', workflow([simple('a')], { timeoutPolicy: 'RETRY' }), 'VALIDATION_FAILED timeoutPolicy'],
    ['a tag without a colon', workflow([simple('a')], { tags: ['a:b', 'c'] }), 'VALIDATION_FAILED tags[1]'],
    ['schemaVersion 1', workflow([simple('a')], { schemaVersion: 1 }), 'VALIDATION_FAILED schemaVersion'],
    ['101 retries', workflow([simple('a', { retryCount: 101 })]), 'VALIDATION_FAILED tasks[0].retryCount'],
    [
      'a huge delay',
      workflow([simple('a', { retryDelaySeconds: 2 ** 53 })]),
      'VALIDATION_FAILED tasks[0].retryDelaySeconds',
    ],
    ['jitter above 1', workflow([simple('a', { jitter: 1.1 })]), 'VALIDATION_FAILED tasks[0].jitter'],
    [
      'an empty error',
      workflow([simple('a', { nonRetryableErrors: [''] })]),
      'VALIDATION_FAILED tasks[0].nonRetryableErrors[0]',
    ],
    ['no heartbeat', workflow([simple('a', { heartbeatTimeout: 0 })]), 'VALIDATION_FAILED tasks[0].heartbeatTimeout'],
    ['true for a number', workflow([simple('a', { startDelay: true })]), 'VALIDATION_FAILED tasks[0].startDelay'],
    [
      'two spellings that contradict',
      workflow([simple('a', { totalTimeout: 1, totalTimeoutSeconds: 2 })]),
      'VALIDATION_FAILED tasks[0].totalTimeoutSeconds',
    ],
    [
      'steps in a field that the type never reads',
      workflow([simple('a', { loopOver: [simple('b')] })]),
      'VALIDATION_FAILED tasks[0].loopOver',
    ],
    [
      'a branch that is no list',
      workflow([node('FORK_JOIN', 'f', { forkTasks: [simple('a')] }), node('JOIN', 'j')]),
      'VALIDATION_FAILED tasks[0].forkTasks[0]',
    ],
    [
      'a problem deep inside, with a label that is no plain name',
      workflow([node('SWITCH', 's', { expression: 'x', decisionCases: { 'a b': [simple('a', { x: 1 })] } })]),
      'UNKNOWN_FIELD tasks[0].decisionCases["a b"][0].x',
    ],
    [
      'an inline task definition that does not fit',
      workflow([simple('a', { taskDefinition: { retryCount: -1 } })]),
      'VALIDATION_FAILED tasks[0].taskDefinition.retryCount',
    ],
  ];

  it.each(refused)('is refused with %s', (_, document, problem) => {
    expect(problemsOf(document)).toContain(problem);
  });

  it('lists every problem, not the first alone', () => {
    expect(problemsOf(workflow([simple('a', { retryCount: -1 }), simple('b', { y: 1 })], { name: '' }))).toEqual([
      'INVALID_NAME name',
      'VALIDATION_FAILED tasks[0].retryCount',
      'UNKNOWN_FIELD tasks[1].y',
    ]);
  });

  it('names the known types beside an unknown one', () => {
    const result = parseWorkflowDefinition(workflow([node('NOPE', 'a')]), 'v1');
    expect(result.ok ? '' : result.error[0]?.message).toContain('SIMPLE, DYNAMIC');
  });

  it('is filled with the defaults of the door', () => {
    expect(parsed({ name: 'x', tasks: [{ name: 'a', taskReferenceName: 'r' }] })).toEqual({
      dialect: 'v1',
      name: 'x',
      version: 1,
      tasks: [
        {
          name: 'a',
          taskReferenceName: 'r',
          type: 'SIMPLE',
          inputParameters: {},
          optional: false,
          permissive: false,
          startDelaySeconds: 0,
          overrides: {},
          extra: {},
        },
      ],
      inputParameters: [],
      inputTemplate: {},
      variables: {},
      enforceSchema: true,
      timeoutSeconds: 0,
      timeoutPolicy: 'TIME_OUT_WF',
      failureWorkflow: '',
      restartable: true,
      tags: [],
      metadata: {},
      extra: {},
    });
  });

  it('keeps fields without effect, and outputParameters that are empty on purpose', () => {
    const definition = parsed(
      workflow([simple('a', { asyncComplete: true })], {
        schemaVersion: 2,
        outputParameters: {},
      }),
    );
    expect(definition.extra).toEqual({ schemaVersion: 2 });
    expect(definition.outputParameters).toEqual({});
    expect(definition.tasks[0]?.extra).toEqual({ asyncComplete: true });
  });

  it.each([
    ['scheduleToStartTimeout', 'pollTimeoutSeconds'],
    ['startToCloseTimeout', 'timeoutSeconds'],
    ['totalTimeout', 'totalTimeoutSeconds'],
    ['heartbeatTimeout', 'responseTimeoutSeconds'],
  ])('reads %s in the spelling %s too', (ours, conductors) => {
    expect(parsed(workflow([simple('a', { [conductors]: 7 })])).tasks[0]?.overrides).toEqual({ [ours]: 7 });
  });

  it('takes a failure workflow named by an input', () => {
    expect(problemsOf(workflow([simple('a')], { failureWorkflow: '$workflow.input.handler' }))).toEqual([]);
    expect(problemsOf(workflow([simple('a')], { failureWorkflow: '$x' }))).toEqual(['INVALID_NAME failureWorkflow']);
  });
});

describe('a workflow document on /api', () => {
  it('tolerates nulls, unknown fields and scalars in other clothes', () => {
    const definition = parsed(
      {
        name: 'any name <1>',
        description: null,
        version: '3',
        whatever: 1,
        timeoutSeconds: 2.9,
        restartable: 'false',
        createTime: 1,
        outputParameters: {},
        tags: [{ key: 'team', value: 'a' }, 5],
        tasks: [simple('a', { retryCount: null, optional: 'true', decisionCases: {}, unknown: [] })],
      },
      'conductor',
    );
    expect(definition).toMatchObject({
      name: 'any name <1>',
      version: 3,
      timeoutSeconds: 2,
      restartable: false,
      timeoutPolicy: 'ALERT_ONLY',
      tags: ['team:a'],
      extra: {},
    });
    expect(definition).not.toHaveProperty('description');
    expect(definition).not.toHaveProperty('outputParameters');
    expect(definition.tasks[0]).toMatchObject({ optional: true, overrides: {} });
  });

  it('keeps types that it does not know, and those that this version does not execute', () => {
    const definition = parsed(
      workflow([node('USER_DEFINED', 'a'), node('EVENT', 'b', { sink: 'conductor' })]),
      'conductor',
    );
    expect(definition.tasks.map(({ type, extra }) => [type, extra])).toEqual([
      ['USER_DEFINED', {}],
      ['EVENT', { sink: 'conductor' }],
    ]);
  });

  it('still refuses what no reader could make sense of', () => {
    expect(problemsOf(workflow([simple('a__2')], { name: ' ' }), 'conductor')).toEqual([
      'INVALID_NAME name',
      'INVALID_NAME tasks[0].taskReferenceName',
    ]);
    expect(problemsOf(workflow([simple('a', { retryCount: 'many' })]), 'conductor')).toEqual([
      'VALIDATION_FAILED tasks[0].retryCount',
    ]);
  });
});

describe('the limits of a definition', () => {
  it('are 10,000 steps, nested ones included', () => {
    const steps = Array.from({ length: 9_999 }, (_, index) => simple(`t${index}`));
    const loop = (body: readonly JsonObject[]) =>
      workflow([node('DO_WHILE', 'l', { loopCondition: '$.l.iteration < 1', loopOver: body })]);
    expect(problemsOf(loop(steps))).toEqual([]);
    expect(problemsOf(loop([...steps, simple('more')]))).toEqual(['LIMIT_EXCEEDED tasks[0].loopOver[9999]']);
  });

  it('are 100 levels of nesting', () => {
    expect(problemsOf(workflow([nested(99)]))).toEqual([]);
    expect(problemsOf(workflow([nested(100)])).map((problem) => problem.split(' ')[0])).toContain('LIMIT_EXCEEDED');
  });

  it('are 255 characters of a name and of a reference, and 100 retries', () => {
    const long = 'n'.repeat(255);
    expect(problemsOf(workflow([simple(long, { retryCount: 100 })], { name: long }))).toEqual([]);
  });

  it('are 100 problems in one answer', () => {
    const steps = Array.from({ length: 500 }, (_, index) => simple(`t${index}`, { x: 1 }));
    expect(problemsOf(workflow(steps))).toHaveLength(100);
  });
});

describe('a step that only data names', () => {
  it('is read as registration reads it', () => {
    expect(parseTaskNode(simple('a', { retryCount: 2 }), 'conductor', 'branches[0]')).toMatchObject({
      ok: true,
      value: { taskReferenceName: 'a', overrides: { retryCount: 2 } },
    });
  });

  it('is refused with a path that begins where it stands', () => {
    expect(parseTaskNode(5, 'v1', 'branches[0]')).toMatchObject({ ok: false, error: [{ path: 'branches[0]' }] });
    expect(parseTaskNode(simple('a__1'), 'v1', 'branches[3]')).toMatchObject({
      ok: false,
      error: [{ code: 'INVALID_NAME', path: 'branches[3].taskReferenceName' }],
    });
  });
});

describe('the type of a task', () => {
  it.each(['', '  ', 'T'.repeat(NAME_CHARS_MAX + 1)])('%j is none at either door', (type) => {
    const document = workflow([node(type, 'a')]);
    expect(problemsOf(document, 'conductor')).toEqual(['UNKNOWN_TASK_TYPE tasks[0].type']);
    expect(problemsOf(document, 'v1')).toContain('UNKNOWN_TASK_TYPE tasks[0].type');
  });

  it('that nobody knows is kept at the door of Conductor, and named with those that are known on /v1', () => {
    const type = 'T'.repeat(NAME_CHARS_MAX);
    expect(parsed(workflow([node(type, 'a')]), 'conductor').tasks[0]?.type).toBe(type);
    const refused = parseWorkflowDefinition(workflow([node(type, 'a')]), 'v1');
    expect(refused).toMatchObject({
      error: [{ message: expect.stringMatching(/not known; known types are .*SIMPLE, /) }],
    });
  });
});

describe('a field of nodes that the type has no place for', () => {
  it.each([
    [{ decisionCases: {} }, []],
    [{ forkTasks: [] }, []],
    [{ loopOver: [simple('b')] }, ['VALIDATION_FAILED tasks[0].loopOver']],
    [{ decisionCases: { x: [] } }, ['VALIDATION_FAILED tasks[0].decisionCases']],
    [{ defaultCase: 'x' }, ['VALIDATION_FAILED tasks[0].defaultCase']],
  ])('may be there when it holds nothing: %j', (fields, problems) => {
    expect(problemsOf(workflow([simple('a', fields)]))).toEqual(problems);
  });
});

describe('the problems of one document', () => {
  it('are no more than help, at both steps of registration', () => {
    const many = Array.from({ length: PROBLEMS_MAX + 1 }, (_, index) => index);
    const wrong = workflow(many.map((index) => simple(`a${index}`, { retries: 1 })));
    expect(problemsOf(wrong)).toHaveLength(PROBLEMS_MAX);
    const dangling = workflow(many.map((index) => simple(`a${index}`, { inputParameters: { x: '${none.output}' } })));
    expect(problemsOf(dangling)).toHaveLength(PROBLEMS_MAX);
  });
});

describe('a failure workflow', () => {
  it('may be called at the door of Conductor as a workflow may be there', () => {
    expect(problemsOf(workflow([simple('a')], { failureWorkflow: 'on failure' }), 'conductor')).toEqual([]);
    expect(problemsOf(workflow([simple('a')], { failureWorkflow: 'on failure' }))).toEqual([
      'INVALID_NAME failureWorkflow',
    ]);
  });
});
