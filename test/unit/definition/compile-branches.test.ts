import { describe, expect, it } from 'vitest';
import { compileBranches } from '../../../src/domain/definition/compile-branches.ts';
import { parseTaskNode } from '../../../src/domain/definition/parse-task-node.ts';
import type { DynamicForkNode, Plan } from '../../../src/domain/definition/plan.ts';
import type { TaskNodeDefinition } from '../../../src/domain/definition/workflow-definition.ts';
import { evaluateTemplate, V1_MODE } from '../../../src/domain/expression/evaluate.ts';
import { scopeOf } from '../../../src/domain/expression/scope.ts';
import type { JsonObject } from '../../../src/domain/kernel/json.ts';
import { node, planOf, simple, workflow } from './given-definitions.ts';

const plan: Plan = planOf(
  workflow([
    node('DO_WHILE', 'loop', {
      loopCondition: '$.x < 1',
      loopOver: [
        node('FORK_JOIN_DYNAMIC', 'fork', { dynamicForkTasksParam: 'p', inputParameters: { p: [] } }),
        node('JOIN', 'join'),
      ],
    }),
    simple('after'),
  ]),
);

const fork = plan.nodes.get('fork') as DynamicForkNode;

const step = (document: JsonObject, literalInput?: JsonObject): TaskNodeDefinition => {
  const parsed = parseTaskNode(document, 'v1', 'step');
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.error));
  return literalInput === undefined ? parsed.value : { ...parsed.value, literalInput };
};

const problemsOf = (branches: readonly (readonly TaskNodeDefinition[])[]): readonly string[] => {
  const compiled = compileBranches(fork, branches, plan);
  return compiled.ok ? [] : compiled.error.map(({ code, path }) => `${code} ${path}`);
};

describe('branches that data gave a dynamic fork', () => {
  it('belong to the fork and stand in its loops', () => {
    const compiled = compileBranches(fork, [[step(simple('a')), step(simple('b'))], [step(simple('c'))]], plan);
    if (!compiled.ok) throw new Error('does not compile');
    const { sequences, nodes } = compiled.value;
    expect(sequences.map(({ owner }) => owner)).toEqual([
      { kind: 'branch', node: 'fork', index: 0 },
      { kind: 'branch', node: 'fork', index: 1 },
    ]);
    expect([...nodes.keys()]).toEqual(['a', 'b', 'c']);
    expect(nodes.get('b')).toMatchObject({ loops: ['loop'], index: 1 });
    expect(nodes.get('b')?.sequence).toBe(sequences[0]);
  });

  it('evaluate their inputParameters and take their literal input as it is', () => {
    const document = simple('a', { inputParameters: { x: '${workflow.input.x}', y: 'mine' } });
    const compiled = compileBranches(fork, [[step(document, { y: '${workflow.input.x}', z: 1 })]], plan);
    if (!compiled.ok) throw new Error('does not compile');
    const template = compiled.value.nodes.get('a')?.input;
    if (template === undefined) throw new Error('no node');
    const scope = scopeOf({ workflow: { input: { x: 7 } } });
    expect(evaluateTemplate(template, scope, V1_MODE)).toMatchObject({
      ok: true,
      value: { value: { x: 7, y: '${workflow.input.x}', z: 1 } },
    });
  });

  it('may hold operators with branches of their own', () => {
    const inner = step(node('FORK_JOIN', 'inner', { forkTasks: [[simple('x')], [simple('y')]] }));
    const compiled = compileBranches(fork, [[inner, step(node('JOIN', 'inner_join'))]], plan);
    expect(compiled.ok && [...compiled.value.nodes.keys()].sort()).toEqual(['inner', 'inner_join', 'x', 'y']);
  });

  it('are none for an empty list', () => {
    expect(compileBranches(fork, [], plan)).toMatchObject({ ok: true, value: { sequences: [] } });
  });

  it('are refused with the path of what does not fit', () => {
    expect(problemsOf([[step(simple('a'))], [step(simple('a'))]])).toEqual([
      'DUPLICATE_REFERENCE branches[1][0].taskReferenceName',
    ]);
    expect(problemsOf([[step(simple('after'))]])).toEqual(['DUPLICATE_REFERENCE branches[0][0].taskReferenceName']);
    expect(problemsOf([[]])).toEqual(['INVALID_GRAPH branches[0]']);
    expect(problemsOf([[step(simple('a', { inputParameters: { x: '${' } }))]])).toEqual([
      'EXPRESSION_INVALID branches[0][0].inputParameters.x',
    ]);
  });
});
