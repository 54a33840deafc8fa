import { describe, expect, it } from 'vitest';
import { parseTaskDefinition } from '../../../src/domain/definition/parse-task-definition.ts';
import type { Plan, PlanNode, PlanNodeType } from '../../../src/domain/definition/plan.ts';
import type { JsonObject } from '../../../src/domain/kernel/json.ts';
import { node, planOf, simple, workflow } from './given-definitions.ts';

/** The member of the union that may have this type; SWITCH and DECISION share one. */
type NodeOf<T extends PlanNodeType> = PlanNode extends infer N
  ? N extends PlanNode
    ? T extends N['type']
      ? N
      : never
    : never
  : never;

const nodeIn = <T extends PlanNodeType>(plan: Plan, ref: string, type: T): NodeOf<T> => {
  const found = plan.nodes.get(ref);
  if (found?.type !== type) throw new Error(`${ref} is ${found?.type}, not ${type}`);
  return found as NodeOf<T>;
};

const refsIn = (nodes: readonly PlanNode[]): readonly string[] => nodes.map(({ ref }) => ref);
const loopWith = (fields: JsonObject, door: 'v1' | 'conductor' = 'v1') =>
  nodeIn(planOf(workflow([node('DO_WHILE', 'l', { loopOver: [simple('a')], ...fields })]), door), 'l', 'DO_WHILE');

describe('a plan', () => {
  it('knows every node at any depth, its place, its owner and the loops around it', () => {
    const plan = planOf(
      workflow([
        simple('first'),
        node('DO_WHILE', 'outer', {
          loopCondition: '$.x < 1',
          loopOver: [
            node('DO_WHILE', 'inner', { loopCondition: '$.x < 1', loopOver: [simple('deep'), simple('deeper')] }),
          ],
        }),
      ]),
    );
    expect([...plan.nodes.keys()].sort()).toEqual(['deep', 'deeper', 'first', 'inner', 'outer']);
    expect(refsIn(plan.root.nodes)).toEqual(['first', 'outer']);
    const deeper = plan.nodes.get('deeper');
    expect(deeper?.loops).toEqual(['outer', 'inner']);
    expect(deeper?.index).toBe(1);
    expect(deeper?.sequence.owner).toEqual({ kind: 'body', node: 'inner' });
    expect(deeper?.sequence).toBe(nodeIn(plan, 'inner', 'DO_WHILE').body);
    expect(plan.nodes.get('inner')?.loops).toEqual(['outer']);
    expect(plan.nodes.get('outer')?.sequence).toBe(plan.root);
  });

  it('carries the durations of the run in milliseconds', () => {
    const plan = planOf(workflow([simple('a', { startDelay: 2 })], { timeoutSeconds: 5, timeoutPolicy: 'ALERT_ONLY' }));
    expect(plan).toMatchObject({ hash: 'hash-1', timeoutMs: 5_000, timeoutPolicy: 'ALERT_ONLY' });
    expect(plan.nodes.get('a')?.startDelayMs).toBe(2_000);
  });

  it('gives a worker task the policy and the input template of its task definition', () => {
    const definition = parseTaskDefinition(
      { name: 'a', retryCount: 8, inputTemplate: { k: '${workflow.input.k}' } },
      'v1',
    );
    if (!definition.ok) throw new Error('does not parse');
    const plan = planOf(workflow([simple('a'), simple('b')]), 'v1', { a: definition.value });
    expect(nodeIn(plan, 'a', 'SIMPLE')).toMatchObject({ policy: { retryCount: 8 }, inputTemplate: { kind: 'object' } });
    expect(nodeIn(plan, 'b', 'SIMPLE')).toMatchObject({ policy: { retryCount: 3 }, inputTemplate: undefined });
  });

  it('makes a worker task of a type that Conductor does not know, and marks one that this version does not execute', () => {
    const plan = planOf(workflow([node('MY_TYPE', 'a'), node('GRPC', 'b')]), 'conductor');
    expect(nodeIn(plan, 'a', 'SIMPLE').definition.type).toBe('MY_TYPE');
    expect(nodeIn(plan, 'b', 'UNSUPPORTED').declaredType).toBe('GRPC');
  });
});

describe('a compiled choice', () => {
  const chooserOf = (fields: JsonObject) =>
    nodeIn(
      planOf(workflow([node('SWITCH', 's', { decisionCases: { a: [simple('a')], b: [] }, ...fields })])),
      's',
      'SWITCH',
    ).chooser;

  it('keeps a case without steps, and the default', () => {
    const plan = planOf(
      workflow([
        node('SWITCH', 's', {
          expression: 'x',
          decisionCases: { a: [simple('a')], b: [] },
          defaultCase: [simple('d')],
        }),
      ]),
    );
    const { cases, fallback } = nodeIn(plan, 's', 'SWITCH');
    expect([...cases].map(([label, sequence]) => [label, sequence && refsIn(sequence.nodes)])).toEqual([
      ['a', ['a']],
      ['b', undefined],
    ]);
    expect(fallback?.owner).toEqual({ kind: 'case', node: 's' });
  });

  it('reads an input, a template, a path or a script', () => {
    expect(chooserOf({ expression: 'x' })).toEqual({ kind: 'input', name: 'x' });
    expect(chooserOf({ expression: '${workflow.input.x}' })).toMatchObject({ kind: 'template' });
    const path = { evaluatorType: 'jsonpath', expression: '$.workflow.input.x' };
    expect(chooserOf(path)).toEqual(chooserOf({ expression: '${workflow.input.x}' }));
    expect(chooserOf({ ...path, expression: 'x', inputParameters: { x: 1 } })).toEqual({ kind: 'input', name: 'x' });
    expect(chooserOf({ ...path, expression: '$.x.y', inputParameters: { x: {} } })).toMatchObject({ kind: 'path' });
    expect(chooserOf({ evaluatorType: 'javascript', expression: '$.x' })).toEqual({ kind: 'script', source: '$.x' });
  });

  it('of a DECISION prefers the script', () => {
    const decision = { decisionCases: { a: [simple('a')] }, caseValueParam: 'x' };
    const plan = planOf(workflow([node('DECISION', 'd', decision)]));
    expect(nodeIn(plan, 'd', 'DECISION').chooser).toEqual({ kind: 'input', name: 'x' });
    const scripted = planOf(workflow([node('DECISION', 'd', { ...decision, caseExpression: '$.x' })]));
    expect(nodeIn(scripted, 'd', 'DECISION').chooser).toEqual({ kind: 'script', source: '$.x' });
  });
});

describe('compiled forks and joins', () => {
  const branches = (...lists: readonly (readonly string[])[]) => ({
    forkTasks: lists.map((refs) => refs.map((ref) => simple(ref))),
  });

  it('drop empty branches and number the others', () => {
    const plan = planOf(workflow([node('FORK_JOIN', 'f', branches(['a'], [], ['b', 'c'])), node('JOIN', 'j')]));
    const fork = nodeIn(plan, 'f', 'FORK_JOIN');
    expect(fork.join).toBe('j');
    expect(fork.branches.map(({ nodes, owner }) => [refsIn(nodes), owner])).toEqual([
      [['a'], { kind: 'branch', node: 'f', index: 0 }],
      [['b', 'c'], { kind: 'branch', node: 'f', index: 1 }],
    ]);
  });

  it('ignore joinOn after a dynamic fork', () => {
    const fork = node('FORK_JOIN_DYNAMIC', 'f', { dynamicForkTasksParam: 'p', dynamicForkTasksInputParamName: 'q' });
    const plan = planOf(workflow([fork, node('JOIN', 'j', { joinOn: ['x'] })]), 'conductor');
    expect(nodeIn(plan, 'j', 'JOIN')).toMatchObject({ joinOn: [], fork: 'f', script: undefined });
    expect(nodeIn(plan, 'f', 'FORK_JOIN_DYNAMIC').join).toBe('j');
  });

  it('of an exclusive join without joinOn name the last step of each branch', () => {
    const plan = planOf(
      workflow([
        node('FORK_JOIN', 'f', branches(['a', 'b'], ['c'])),
        node('EXCLUSIVE_JOIN', 'j', { defaultExclusiveJoinTask: ['a'] }),
      ]),
    );
    expect(nodeIn(plan, 'j', 'EXCLUSIVE_JOIN')).toMatchObject({ joinOn: ['b', 'c'], fallbacks: ['a'], fork: 'f' });
  });

  it('may stand alone where joinOn names what is waited for', () => {
    const plan = planOf(workflow([simple('a'), node('JOIN', 'j', { joinOn: ['a'], expression: 'true' })]));
    expect(nodeIn(plan, 'j', 'JOIN')).toMatchObject({ joinOn: ['a'], fork: undefined, script: 'true' });
  });
});

describe('a compiled loop', () => {
  it('decides by a script, the comparison grammar, an input or its items', () => {
    expect(loopWith({ loopCondition: "$.l['iteration'] < 2" }).condition).toMatchObject({ kind: 'script' });
    expect(loopWith({ loopCondition: '${l.output.iteration} < 2' }).condition).toMatchObject({ kind: 'condition' });
    const byInput = loopWith({ loopCondition: 'more', evaluatorType: 'value-param', inputParameters: { more: 1 } });
    expect(byInput.condition).toEqual({ kind: 'input', name: 'more' });
    expect(loopWith({ items: [1, 2] })).toMatchObject({
      condition: undefined,
      items: { kind: 'constant', value: [1, 2] },
    });
  });

  it('takes items from its inputs, but with a condition only under the name _items', () => {
    expect(loopWith({ inputParameters: { items: [1] } }).items).toMatchObject({ value: [1] });
    const conditional = { loopCondition: '$.items.length > 0' };
    expect(loopWith({ ...conditional, inputParameters: { items: [1] } }).items).toBeUndefined();
    expect(loopWith({ ...conditional, inputParameters: { _items: [1] } }).items).toMatchObject({ value: [1] });
  });

  it('keeps the last iterations that the field or the input names', () => {
    expect(loopWith({ loopCondition: '$.x', keepLastN: 3 }).keepLastN).toBe(3);
    expect(loopWith({ loopCondition: '$.x', inputParameters: { keepLastN: 4 } }).keepLastN).toBe(4);
    expect(
      loopWith({ loopCondition: '$.x', inputParameters: { keepLastN: '${workflow.input.n}' } }).keepLastN,
    ).toBeUndefined();
  });

  it.each([
    ['$.l.iteration', false],
    ['$.l.output.x', true],
    ["$['l']['iteration']", false],
    ['$.other.x', false],
    ['$..x', true],
    ['${l.output.x}', true],
    ['${l.output.iteration}', false],
  ])('keeps outputs of iterations for the path %s: %s', (loopCondition, readsHistory) => {
    expect(loopWith({ evaluatorType: 'jsonpath', loopCondition }).readsHistory).toBe(readsHistory);
  });

  it.each([
    ['$.l.iteration < 3', false],
    ["$.l['iteration'] < 3", false],
    ['$.l["iteration"] < 3 && $.a.done !== true', false],
    ["if ($['l'].iteration < 3) { true } else { false }", false],
    ['$.l.iterations < 3', true],
    ["$.l['1'].a.done", true],
    ['$.l.iteration < 3 || $.l[2]', true],
    ['JSON.stringify($).length < 9', true],
    ['var all = $; all.l', true],
    ['$[name]', true],
    ['${l.output.iteration} < 3', false],
    ['${l.iteration} < 3', false],
    ['${l.output.1.a.done} == true', true],
    ['${a.output.done} != true', false],
  ])('reads history with %s: %s', (loopCondition, readsHistory) => {
    expect(loopWith({ loopCondition }).readsHistory).toBe(readsHistory);
  });

  it('reads history through its inputs', () => {
    const loopCondition = '$.all.length < 3';
    expect(loopWith({ loopCondition, inputParameters: { all: '${l.output}' } }).readsHistory).toBe(true);
    expect(loopWith({ loopCondition, inputParameters: { all: '${${workflow.input.x}.output}' } }).readsHistory).toBe(
      true,
    );
    expect(loopWith({ loopCondition, inputParameters: { all: '${l.output.iteration}' } }).readsHistory).toBe(false);
  });
});
