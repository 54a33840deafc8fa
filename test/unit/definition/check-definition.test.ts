import { describe, expect, it } from 'vitest';
import { parseTaskDefinition } from '../../../src/domain/definition/parse-task-definition.ts';
import type { Dialect } from '../../../src/domain/definition/workflow-definition.ts';
import type { JsonObject, JsonValue } from '../../../src/domain/kernel/json.ts';
import { node, problemsOf, simple, workflow } from './given-definitions.ts';

type Row = readonly [what: string, tasks: readonly JsonValue[], problems: readonly string[]];

const input = (inputParameters: JsonObject): JsonObject => ({ inputParameters });
const reading = (ref: string, expression: string): JsonObject => simple(ref, input({ x: expression }));
const choose = (fields: JsonObject): JsonObject =>
  node('SWITCH', 's', { decisionCases: { a: [simple('a')] }, ...fields });
const loop = (fields: JsonObject): JsonObject => node('DO_WHILE', 'l', { loopOver: [simple('a')], ...fields });
const fork = (...branches: readonly (readonly JsonValue[])[]): JsonObject =>
  node('FORK_JOIN', 'f', { forkTasks: branches });
const join = (joinOn: readonly string[] = []): JsonObject => node('JOIN', 'j', { joinOn });

const expectRows = (rows: readonly Row[], door: Dialect): void => {
  it.each(rows)('%s', (_, tasks, problems) => {
    expect(problemsOf(workflow(tasks), door)).toEqual(problems);
  });
};

describe('references, on /v1', () => {
  expectRows(
    [
      ['used twice', [simple('a'), simple('a')], ['DUPLICATE_REFERENCE tasks[1].taskReferenceName']],
      [
        'used again inside a branch',
        [simple('a'), fork([simple('b')], [simple('a')]), join()],
        ['DUPLICATE_REFERENCE tasks[1].forkTasks[1][0].taskReferenceName'],
      ],
      [
        'used again by a parent',
        [loop({ loopCondition: '$.l.iteration < 1', loopOver: [simple('l')] })],
        ['DUPLICATE_REFERENCE tasks[0].loopOver[0].taskReferenceName'],
      ],
    ],
    'v1',
  );
});

describe('compensations, on /v1', () => {
  const undone = (compensateWith: JsonValue, fields: JsonObject = {}): JsonObject =>
    simple('a', { compensateWith, ...fields });
  expectRows(
    [
      ['one by the name of a task definition', [undone('refund')], []],
      ['one written out', [undone(simple('undo', input({ id: '${a.output.id}' })))], []],
      ['one that waits', [undone(node('WAIT', 'undo', input({ duration: '5s' })))], []],
      ['in loops and branches', [loop({ loopCondition: '$.l.iteration < 1', loopOver: [undone('refund')] })], []],
      ['one that is an operator', [undone(node('NOOP', 'undo'))], ['INVALID_GRAPH tasks[0].compensateWith']],
      [
        'one that is compensated itself',
        [undone(simple('undo', { compensateWith: 'redo' }))],
        ['INVALID_GRAPH tasks[0].compensateWith'],
      ],
      ['one by the name of the task itself', [undone('a')], ['INVALID_GRAPH tasks[0].compensateWith']],
      [
        'one with the ref of the task itself',
        [undone(simple('a'))],
        ['DUPLICATE_REFERENCE tasks[0].compensateWith.taskReferenceName'],
      ],
      [
        'one whose ref is taken',
        [undone('refund'), simple('a__compensate')],
        ['DUPLICATE_REFERENCE tasks[1].taskReferenceName'],
      ],
      ['one without a name', [undone('')], ['INVALID_NAME tasks[0].compensateWith']],
      [
        'one of a fork',
        [node('FORK_JOIN', 'f', { forkTasks: [[simple('a')]], compensateWith: 'refund' }), join()],
        ['INVALID_GRAPH tasks[0].compensateWith'],
      ],
      [
        'one that lacks what its type needs',
        [undone(node('INLINE', 'undo'))],
        ['VALIDATION_FAILED tasks[0].compensateWith.inputParameters.expression'],
      ],
      [
        'one that reads a task which is not there',
        [undone(simple('undo', input({ x: '${zz.output}' })))],
        ['EXPRESSION_INVALID tasks[0].compensateWith.inputParameters.x'],
      ],
      [
        'a join on one',
        [undone('refund'), fork([simple('b')]), join(['a__compensate'])],
        ['INVALID_GRAPH tasks[2].joinOn[0]'],
      ],
      [
        'a loop in which nothing else takes time',
        [loop({ loopCondition: 'true', loopOver: [node('NOOP', 'n', { compensateWith: 'refund' })] })],
        ['INVALID_GRAPH tasks[0].loopCondition'],
      ],
    ],
    'v1',
  );
});

describe('forks and joins, on /v1', () => {
  expectRows(
    [
      ['a fork with its join', [fork([simple('a')], [simple('b')]), join(['a', 'b'])], []],
      ['a fork that takes the first branch', [fork([simple('a')], [simple('b')]), node('EXCLUSIVE_JOIN', 'j')], []],
      ['a fork of empty branches', [fork([], []), join()], []],
      ['a fork without a join', [fork([simple('a')])], ['INVALID_GRAPH tasks[0]']],
      [
        'a fork with something before its join',
        [fork([simple('a')]), simple('b'), join(['a'])],
        ['INVALID_GRAPH tasks[0]'],
      ],
      [
        'a dynamic fork without a join',
        [node('FORK_JOIN_DYNAMIC', 'd', { dynamicForkTasksParam: 'p', ...input({ p: [] }) })],
        ['INVALID_GRAPH tasks[0]'],
      ],
      ['a fork of nothing', [node('FORK_JOIN', 'f'), join()], ['INVALID_GRAPH tasks[0].forkTasks']],
      ['a join on an unknown task', [fork([simple('a')]), join(['a', 'zz'])], ['INVALID_GRAPH tasks[1].joinOn[1]']],
      ['a join on nothing', [simple('a'), join()], ['INVALID_GRAPH tasks[1]']],
      ['a join on itself', [fork([simple('a')]), join(['j'])], ['INVALID_GRAPH tasks[1].joinOn[0]']],
      ['a join on what follows', [fork([simple('a')]), join(['z']), simple('z')], ['INVALID_GRAPH tasks[1].joinOn[0]']],
      [
        'a join on the loop around it',
        [loop({ loopCondition: '$.l.iteration < 1', loopOver: [fork([simple('a')]), join(['l'])] })],
        ['INVALID_GRAPH tasks[0].loopOver[1].joinOn[0]'],
      ],
      ['an exclusive join on nothing', [simple('a'), node('EXCLUSIVE_JOIN', 'e')], ['INVALID_GRAPH tasks[1]']],
      [
        'an exclusive join with an unknown default',
        [simple('a'), node('EXCLUSIVE_JOIN', 'e', { joinOn: ['a'], defaultExclusiveJoinTask: ['q'] })],
        ['INVALID_GRAPH tasks[1].defaultExclusiveJoinTask[0]'],
      ],
      [
        'joinOn after a dynamic fork',
        [node('FORK_JOIN_DYNAMIC', 'd', { dynamicForkTasksParam: 'p', ...input({ p: [] }) }), join(['d'])],
        ['INVALID_GRAPH tasks[1].joinOn'],
      ],
      [
        'a step after TERMINATE',
        [node('TERMINATE', 't', input({ terminationStatus: 'COMPLETED' })), simple('a')],
        ['INVALID_GRAPH tasks[1]'],
      ],
    ],
    'v1',
  );
});

describe('expressions, on /v1', () => {
  expectRows(
    [
      ['a task, a root, an escape', [simple('a'), reading('b', 'x ${a.output.y} ${workflow.input.z} $${q.w}')], []],
      ['a task that comes later', [reading('a', '${b.output.y}'), simple('b')], []],
      ['a secret as input', [reading('a', '${workflow.secrets.key} ${secrets.key}')], []],
      ['the environment', [reading('a', '${env.region} ${workflow.env.region} ${CPEWF_TASK_ID} ${global.x}')], []],
      ['no such task', [reading('a', '${nobody.output.y}')], ['EXPRESSION_INVALID tasks[0].inputParameters.x']],
      [
        'no such task, deep inside',
        [simple('a', input({ list: [{ 'a b': '${nobody.output}' }] }))],
        ['EXPRESSION_INVALID tasks[0].inputParameters.list[0]["a b"]'],
      ],
      ['unclosed', [reading('a', '${workflow.input.x')], ['EXPRESSION_INVALID tasks[0].inputParameters.x']],
      ['a prototype key', [reading('a', '${workflow.__proto__}')], ['EXPRESSION_INVALID tasks[0].inputParameters.x']],
      [
        'a filter that does not parse',
        [reading('a', '${workflow.input[?(@.x ==)]}')],
        ['EXPRESSION_INVALID tasks[0].inputParameters.x'],
      ],
      [
        'a path of 10 KB',
        [reading('a', `\${workflow.${'x'.repeat(10_240)}}`)],
        ['EXPRESSION_INVALID tasks[0].inputParameters.x'],
      ],
      [
        "another namespace's secret",
        [reading('a', '${secrets.other/x}')],
        ['EXPRESSION_INVALID tasks[0].inputParameters.x'],
      ],
      [
        'a secret that chooses a case',
        [choose({ expression: '${secrets.key}' })],
        ['EXPRESSION_INVALID tasks[0].expression'],
      ],
      [
        'an unknown task that chooses a case',
        [choose({ expression: '${nobody.output.x}' })],
        ['EXPRESSION_INVALID tasks[0].expression'],
      ],
      [
        'an unknown task in a condition',
        [loop({ loopCondition: '${nobody.output.x} < 3' })],
        ['EXPRESSION_INVALID tasks[0].loopCondition'],
      ],
      ['an unknown task as items', [loop({ items: '${nobody.output.x}' })], ['EXPRESSION_INVALID tasks[0].items']],
      [
        'an unknown task in a path that chooses a case',
        [choose({ evaluatorType: 'jsonpath', expression: 'nobody.output.x' })],
        ['EXPRESSION_INVALID tasks[0].expression'],
      ],
      [
        'a secret in a path that chooses a case',
        [choose({ evaluatorType: 'jsonpath', expression: '$.workflow.secrets.key' })],
        ['EXPRESSION_INVALID tasks[0].expression'],
      ],
      [
        'literal text as the path that chooses a case',
        [choose({ evaluatorType: 'jsonpath', expression: 'gold' })],
        ['EXPRESSION_INVALID tasks[0].expression'],
      ],
      [
        'the bare name of an input, an input and another task as paths',
        [
          choose({ evaluatorType: 'jsonpath', expression: 'tier', ...input({ tier: 'x' }) }),
          node('SWITCH', 's2', { evaluatorType: 'jsonpath', expression: '$.t.x', decisionCases: { b: [simple('b')] } }),
          node('SWITCH', 's3', { evaluatorType: 'jsonpath', expression: 'a.output.x', decisionCases: { c: [] } }),
        ],
        [],
      ],
      [
        'an unknown task in a path that is a condition',
        [loop({ evaluatorType: 'jsonpath', loopCondition: 'nobody.output.x' })],
        ['EXPRESSION_INVALID tasks[0].loopCondition'],
      ],
      [
        'an unknown task in a sink',
        [node('EVENT', 'e', { sink: 'conductor:${nobody.output.x}' })],
        ['EXPRESSION_INVALID tasks[0].sink'],
      ],
      [
        'a secret in a sink',
        [node('EVENT', 'e', { sink: 'conductor:${secrets.x}' })],
        ['EXPRESSION_INVALID tasks[0].sink'],
      ],
      [
        'an unknown task in the template of a task definition written in place',
        [simple('a', { taskDefinition: { inputTemplate: { list: [{ x: '${nobody.output.x}' }] } } })],
        ['EXPRESSION_INVALID tasks[0].taskDefinition.inputTemplate.list[0].x'],
      ],
      [
        'an unknown task in what a listener is told',
        [simple('a', { onStateChange: { onSuccess: [{ type: 's', payload: { x: '${nobody.output.x}' } }] } })],
        ['EXPRESSION_INVALID tasks[0].onStateChange.onSuccess[0].payload.x'],
      ],
      [
        'a task in what a listener is told',
        [simple('a', { onStateChange: { onSuccess: [{ type: 's', payload: { x: '${a.output.x}' } }] } })],
        [],
      ],
    ],
    'v1',
  );

  it('the listeners of a whole workflow with an unknown task', () => {
    const onStateChange = { onFailed: [{ type: 's', payload: { x: '${nobody.output.x}' } }] };
    expect(problemsOf(workflow([simple('a')], { onStateChange }))).toEqual([
      'EXPRESSION_INVALID onStateChange.onFailed[0].payload.x',
    ]);
  });

  it.each([
    ['an unknown task', '${nobody.output.x}', ['EXPRESSION_INVALID outputParameters.x']],
    ['a secret', '${workflow.secrets.key}', ['EXPRESSION_INVALID outputParameters.x']],
    ['an expression that does not parse', '${', ['EXPRESSION_INVALID outputParameters.x']],
    ['a task', '${a.output.x}', []],
  ])('outputParameters with %s', (_, x, problems) => {
    expect(problemsOf(workflow([simple('a')], { outputParameters: { x } }))).toEqual(problems);
  });
});

describe('choices, on /v1', () => {
  expectRows(
    [
      ['an input', [choose({ expression: 'tier', ...input({ tier: '${workflow.input.tier}' }) })], []],
      ['a template', [choose({ expression: '${workflow.input.tier}' })], []],
      ['a path', [choose({ evaluatorType: 'jsonpath', expression: '$.workflow.input.tier' })], []],
      ['a script', [choose({ evaluatorType: 'graaljs', expression: "$.x > 1 ? 'a' : 'b'", ...input({ x: 1 }) })], []],
      [
        'a script that reads what is not given',
        [choose({ evaluatorType: 'graaljs', expression: "$.x > 1 ? 'a' : $.y", ...input({ x: 1 }) })],
        ['EXPRESSION_INVALID tasks[0].expression'],
      ],
      ['no expression', [choose({})], ['VALIDATION_FAILED tasks[0].expression']],
      [
        'no case',
        [choose({ expression: '${workflow.input.x}', decisionCases: {}, defaultCase: [simple('d')] })],
        ['VALIDATION_FAILED tasks[0].decisionCases'],
      ],
      ['a case without steps', [choose({ expression: '${workflow.input.x}', decisionCases: { a: [] } })], []],
      ['an input that is not given', [choose({ expression: 'tier' })], ['EXPRESSION_INVALID tasks[0].expression']],
      [
        'an unknown evaluator',
        [choose({ evaluatorType: 'python', expression: 'x' })],
        ['VALIDATION_FAILED tasks[0].evaluatorType'],
      ],
      [
        'a script that does not parse',
        [choose({ evaluatorType: 'javascript', expression: '$.x >' })],
        ['EXPRESSION_INVALID tasks[0].expression'],
      ],
      [
        'a script that reads nothing',
        [choose({ evaluatorType: 'javascript', expression: "'gold'" })],
        ['EXPRESSION_INVALID tasks[0].expression'],
      ],
      [
        'a decision without a choice',
        [node('DECISION', 's', { decisionCases: { a: [simple('a')] } })],
        ['VALIDATION_FAILED tasks[0].caseValueParam'],
      ],
      [
        'a decision on an input that is not given',
        [node('DECISION', 's', { caseValueParam: 'x', decisionCases: { a: [simple('a')] } })],
        ['EXPRESSION_INVALID tasks[0].caseValueParam'],
      ],
    ],
    'v1',
  );
});

describe('loops, on /v1', () => {
  expectRows(
    [
      ['a script', [loop({ loopCondition: "$.l['iteration'] < 3" })], []],
      [
        'a script that reads what is never there',
        [loop({ loopCondition: "$.nobody.x < 3 && $['none'] && $.l.iteration < 9" })],
        ['EXPRESSION_INVALID tasks[0].loopCondition', 'EXPRESSION_INVALID tasks[0].loopCondition'],
      ],
      [
        'a script over an input, a task of a branch and a name of its own, and what only looks like a name',
        [
          loop({
            loopCondition:
              "$.i > 1 && $.b.x && ($.tmp = 1) && $.tmp && 'no $.a' /* $.b */ && my$.c // $.d\n && $.l.iteration < 3",
            loopOver: [fork([simple('b')]), join(['b'])],
            ...input({ i: 1 }),
          }),
        ],
        [],
      ],
      ['the grammar', [loop({ loopCondition: '${l.output.iteration} < 3' })], []],
      ['items', [loop({ items: '${workflow.input.list}' })], []],
      ['items among the inputs', [loop(input({ items: ['a'] }))], []],
      ['once', [loop({ loopCondition: 'false' })], []],
      ['for ever, with a worker', [loop({ loopCondition: 'true' })], []],
      [
        'nothing to do',
        [loop({ loopCondition: '$.l.iteration < 1', loopOver: [] })],
        ['INVALID_GRAPH tasks[0].loopOver'],
      ],
      ['no condition', [loop({})], ['VALIDATION_FAILED tasks[0].loopCondition']],
      [
        'bare words',
        [loop({ loopCondition: 'l.output.iteration < 3' })],
        ['EXPRESSION_INVALID tasks[0].loopCondition'],
      ],
      [
        'a script that does not parse',
        [loop({ loopCondition: '$.x <' })],
        ['EXPRESSION_INVALID tasks[0].loopCondition'],
      ],
      ['items that are text', [loop({ items: 'abc' })], ['EXPRESSION_INVALID tasks[0].items']],
      [
        'items among the inputs that are text',
        [loop(input({ items: 'abc' }))],
        ['EXPRESSION_INVALID tasks[0].inputParameters.items'],
      ],
      [
        'spinning for ever',
        [loop({ loopCondition: 'true', loopOver: [node('NOOP', 'n')] })],
        ['INVALID_GRAPH tasks[0].loopCondition'],
      ],
      [
        'keepLastN of 0',
        [loop({ loopCondition: '$.l.iteration < 1', keepLastN: 0 })],
        ['VALIDATION_FAILED tasks[0].keepLastN'],
      ],
    ],
    'v1',
  );
});

describe('the parameters of each type, on /v1', () => {
  const dynamic = (fields: JsonObject) => [node('FORK_JOIN_DYNAMIC', 'd', fields), join()];
  const terminate = (fields: JsonObject) => [node('TERMINATE', 't', fields)];
  const wait = (inputs: JsonObject) => [node('WAIT', 'w', input(inputs))];
  expectRows(
    [
      ['TERMINATE', terminate(input({ terminationStatus: 'FAILED' })), []],
      ['TERMINATE by expression', terminate(input({ terminationStatus: '${workflow.input.s}' })), []],
      ['TERMINATE without status', terminate({}), ['VALIDATION_FAILED tasks[0].inputParameters.terminationStatus']],
      [
        'TERMINATE with another status',
        terminate(input({ terminationStatus: 'PAUSED' })),
        ['VALIDATION_FAILED tasks[0].inputParameters.terminationStatus'],
      ],
      [
        'an optional TERMINATE',
        terminate({ optional: true, ...input({ terminationStatus: 'FAILED' }) }),
        ['VALIDATION_FAILED tasks[0].optional'],
      ],
      ['WAIT for a signal', wait({}), []],
      ['WAIT for a while', wait({ duration: '1 day 4 hours' }), []],
      ['WAIT for seconds', wait({ duration: 30 }), []],
      ['WAIT until a day', wait({ until: '2026-01-31 09:30 UTC' }), []],
      ['WAIT by expression', wait({ duration: '${workflow.input.d}' }), []],
      [
        'WAIT both ways',
        wait({ duration: '1s', until: '2026-01-31' }),
        ['VALIDATION_FAILED tasks[0].inputParameters.until'],
      ],
      ['WAIT for nonsense', wait({ duration: 'soon' }), ['VALIDATION_FAILED tasks[0].inputParameters.duration']],
      ['WAIT for a negative time', wait({ duration: -1 }), ['VALIDATION_FAILED tasks[0].inputParameters.duration']],
      ['WAIT for an object', wait({ duration: { s: 1 } }), ['VALIDATION_FAILED tasks[0].inputParameters.duration']],
      [
        'WAIT until a day that is none',
        wait({ until: '2026-02-30' }),
        ['VALIDATION_FAILED tasks[0].inputParameters.until'],
      ],
      ['DYNAMIC', [node('DYNAMIC', 'd', { dynamicTaskNameParam: 'n', ...input({ n: '${workflow.input.n}' }) })], []],
      ['DYNAMIC without its parameter', [node('DYNAMIC', 'd')], ['VALIDATION_FAILED tasks[0].dynamicTaskNameParam']],
      [
        'DYNAMIC with an input that is not given',
        [node('DYNAMIC', 'd', { dynamicTaskNameParam: 'n' })],
        ['EXPRESSION_INVALID tasks[0].dynamicTaskNameParam'],
      ],
      [
        'a dynamic fork',
        dynamic({ dynamicForkTasksParam: 'p', dynamicForkTasksInputParamName: 'q', ...input({ p: [], q: {} }) }),
        [],
      ],
      [
        'a dynamic fork over one task',
        dynamic(input({ forkTaskName: 'x', forkTaskInputs: '${workflow.input.l}' })),
        [],
      ],
      [
        'a dynamic fork over no task',
        dynamic(input({ forkTaskInputs: [1] })),
        ['VALIDATION_FAILED tasks[0].inputParameters.forkTaskName'],
      ],
      ['a dynamic fork over nothing', dynamic({}), ['VALIDATION_FAILED tasks[0].dynamicForkTasksParam']],
      [
        'a dynamic fork in two forms',
        dynamic({ dynamicForkTasksParam: 'p', dynamicForkJoinTasksParam: 'q', ...input({ p: [], q: {} }) }),
        ['VALIDATION_FAILED tasks[0].dynamicForkJoinTasksParam'],
      ],
      [
        'a dynamic fork over an input that is not given',
        dynamic({ dynamicForkTasksParam: 'p' }),
        ['EXPRESSION_INVALID tasks[0].dynamicForkTasksParam'],
      ],
      ['INLINE', [node('INLINE', 'i', input({ expression: '1 + $.x' }))], []],
      ['INLINE that returns', [node('INLINE', 'i', input({ expression: 'return $.x' }))], []],
      [
        'INLINE that an expression completes',
        [node('INLINE', 'i', input({ expression: '${workflow.input.js}(' }))],
        [],
      ],
      ['INLINE without a script', [node('INLINE', 'i')], ['VALIDATION_FAILED tasks[0].inputParameters.expression']],
      [
        'INLINE that does not parse',
        [node('INLINE', 'i', input({ expression: '(' }))],
        ['EXPRESSION_INVALID tasks[0].inputParameters.expression'],
      ],
      ['LAMBDA with its script beside the input', [node('LAMBDA', 'i', { scriptExpression: 'return 1' })], []],
      [
        'LAMBDA that does not parse',
        [node('LAMBDA', 'i', input({ scriptExpression: 'return (' }))],
        ['EXPRESSION_INVALID tasks[0].inputParameters.scriptExpression'],
      ],
      [
        'jq without a query',
        [node('JSON_JQ_TRANSFORM', 'i')],
        ['VALIDATION_FAILED tasks[0].inputParameters.queryExpression'],
      ],
      [
        'a JOIN script that does not parse',
        [fork([simple('a')]), node('JOIN', 'j', { expression: '{' })],
        ['EXPRESSION_INVALID tasks[1].expression'],
      ],
    ],
    'v1',
  );
});

describe('what Conductor accepts, on /api', () => {
  expectRows(
    [
      ['an unknown task inside a branch', [fork([reading('a', '${nobody.output.x}')]), join()], []],
      [
        'an unknown task at the top',
        [reading('a', '${nobody.output.x}')],
        ['EXPRESSION_INVALID tasks[0].inputParameters.x'],
      ],
      ['an unknown task in a sink', [node('EVENT', 'e', { sink: 'conductor:${nobody.output.x}' })], []],
      ['names of the environment', [reading('a', '${NETFLIX_ENV} ${NETFLIX_STACK} ${CPEWF_TASK_ID}')], []],
      ['a step after TERMINATE', [node('TERMINATE', 't', input({ terminationStatus: 'FAILED' })), simple('a')], []],
      ['a choice by an input that is not given', [choose({ evaluatorType: 'value-param', expression: 'x' })], []],
      ['an evaluator that only it has', [choose({ evaluatorType: 'python', expression: 'x' })], []],
      ['a constant script', [choose({ evaluatorType: 'javascript', expression: "'a'" })], []],
      ['a join of its own', [simple('a'), join(['a'])], []],
      ['types that only it executes', [node('HUMAN', 'h'), node('LLM_CHAT_COMPLETE', 'm'), node('JDBC', 'q')], []],
      ['a dangling join', [fork([simple('a')]), join(['zz'])], ['INVALID_GRAPH tasks[1].joinOn[0]']],
      ['EVENT without sink', [node('EVENT', 'e')], ['VALIDATION_FAILED tasks[0].sink']],
      ['SUB_WORKFLOW without parameters', [node('SUB_WORKFLOW', 'e')], ['VALIDATION_FAILED tasks[0].subWorkflowParam']],
      [
        'SUB_WORKFLOW without a name',
        [node('SUB_WORKFLOW', 'e', { subWorkflowParam: {} })],
        ['VALIDATION_FAILED tasks[0].subWorkflowParam.name'],
      ],
      [
        'KAFKA_PUBLISH without request',
        [node('KAFKA_PUBLISH', 'e')],
        ['VALIDATION_FAILED tasks[0].inputParameters.kafka_request'],
      ],
      ['HTTP without request', [node('HTTP', 'e')], ['VALIDATION_FAILED tasks[0].inputParameters.http_request']],
      [
        'a dynamic fork with half of its parameters',
        [node('FORK_JOIN_DYNAMIC', 'd', { dynamicForkTasksParam: 'p' }), join()],
        ['VALIDATION_FAILED tasks[0].dynamicForkTasksInputParamName'],
      ],
    ],
    'conductor',
  );

  it('takes the request of an HTTP task from its task definition', () => {
    const definition = parseTaskDefinition({ name: 'e', inputTemplate: { http_request: { uri: 'u' } } }, 'conductor');
    if (!definition.ok) throw new Error('does not parse');
    expect(problemsOf(workflow([node('HTTP', 'e')]), 'conductor', { e: definition.value })).toEqual([]);
  });
});

describe('what registration finds beside, on /v1', () => {
  const loop = (fields: JsonObject) => [
    {
      name: 'l',
      taskReferenceName: 'l',
      type: 'DO_WHILE',
      loopCondition: '$.l.iteration < 2',
      loopOver: [simple('x')],
      ...fields,
    },
  ];
  const joined = (fields: JsonObject) => [
    { name: 'f', taskReferenceName: 'f', type: 'FORK_JOIN', forkTasks: [[simple('a')]] },
    { name: 'j', taskReferenceName: 'j', type: 'JOIN', ...fields },
  ];
  const cached = (key: string, fields: JsonObject = {}) => [
    simple('a', { cacheConfig: { key, ttlInSecond: 5 }, ...fields }),
  ];
  expectRows(
    [
      [
        'a loop with an evaluator that nobody knows',
        loop({ evaluatorType: 'python' }),
        ['VALIDATION_FAILED tasks[0].evaluatorType'],
      ],
      ['a loop in graaljs', loop({ evaluatorType: 'graaljs' }), []],
      ['a join that is asynchronous', joined({ joinMode: 'ASYNC' }), []],
      ['a join of no known mode', joined({ joinMode: 'LATER' }), ['VALIDATION_FAILED tasks[1].joinMode']],
      ['a join script in js', joined({ evaluatorType: 'js', expression: '$.a.status === "COMPLETED"' }), []],
      ['a cache key of its inputs', cached('${uri}-x', input({ uri: 'u' })), []],
      ['a cache key of its template', cached('${uri}', { taskDefinition: { inputTemplate: { uri: 'u' } } }), []],
      [
        'a cache key of something else',
        cached('${other}', input({ uri: 'u' })),
        ['EXPRESSION_INVALID tasks[0].cacheConfig.key'],
      ],
      ['a cache key that does not parse', cached('${'), ['EXPRESSION_INVALID tasks[0].cacheConfig.key']],
    ],
    'v1',
  );
});
