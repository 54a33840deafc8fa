import { describe, expect, it } from 'vitest';
import { loop, loopOverItems, planOf, simple } from '../../support/builders.ts';

/** Whether the plan says that the condition of the loop reads what earlier iterations gave. */
const readsHistory = (condition: string, fields = {}): boolean => {
  const plan = planOf({ tasks: [loop('l', condition, [simple('a')], fields)], door: 'conductor' });
  const node = plan.nodes.get('l');
  if (node?.type !== 'DO_WHILE') throw new Error('expected a loop');
  return node.readsHistory;
};

describe('the condition of a loop needs earlier iterations', () => {
  it.each([
    '$.l.iteration < 3',
    "$['l'].iteration < 3",
    '$["l"]["iteration"] < 3',
    "$.l['iteration'] < 3",
    '$ . l . iteration < 3',
    '$.a.n < 3 && $.l.iteration < 3',
    "$['b'] == 1",
    'true',
    '${l.output.iteration} < 3',
    '${l.iteration} < 3',
    '${a.output.n} < 3',
    '${workflow.input.n} < 3',
    "'x-${l.output.iteration}' == 'x-1'",
  ])('not for %s', (condition) => expect(readsHistory(condition)).toBe(false));

  it.each([
    '$.l["1"].a.n < 3',
    '$.l.iterations < 3',
    '$.l.iteration$ < 3',
    "$['l'][1].a.n < 3",
    '$.l.iteration < 3 && $.l[1]',
    'Object.keys($).length < 3',
    'f($)',
    '$[k].iteration < 3',
    '${l.output} != null',
    "${l.output['1'].a.n} < 3",
    '${l.input.iteration} < 3',
    '${l.output.iteration} < 3 && ${l.output.x} == 1',
    '${${workflow.input.ref}.output.iteration} < 3',
  ])('for %s', (condition) => expect(readsHistory(condition)).toBe(true));

  it.each([
    ['$.l.iteration', false],
    ["$['l']['iteration']", false],
    ['$.a.n', false],
    ['$.l', true],
    ['$.l.x', true],
    ['$.l[0]', true],
    ['$', true],
    ['$..n', true],
    ['$[*]', true],
  ])('by the path %s: %s', (path, reads) => {
    expect(readsHistory(path, { evaluatorType: 'jsonpath' })).toBe(reads);
  });

  it('by a template or an input as much as that says', () => {
    const fields = { evaluatorType: 'value-param', inputParameters: { go: true } };
    expect([readsHistory('go', fields), readsHistory('${l.output.x}', fields)]).toEqual([false, true]);
  });

  it('never where there is none', () => {
    const node = planOf({ tasks: [loopOverItems('l', [1], [simple('a')])] }).nodes.get('l');
    expect(node).toMatchObject({ readsHistory: false });
  });
});
