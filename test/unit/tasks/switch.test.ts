import { describe, expect, it } from 'vitest';
import { fork, join, loop, type Step, simple, switchOn } from '../../support/builders.ts';
import { Run } from '../../support/drive.ts';

const routes = (value: unknown): Run =>
  new Run(
    {
      tasks: [
        switchOn(
          's',
          '${workflow.input.value}',
          {
            a: [simple('a1'), simple('a2')],
            empty: [],
            true: [simple('t')],
            '7': [simple('seven')],
            null: [simple('n')],
          },
          [simple('d1'), simple('d2')],
        ),
        simple('after'),
      ],
    },
    { input: { value: value as never } },
  );

describe('SWITCH', () => {
  it('runs the case it chose to its last task, and then goes on', () => {
    const run = routes('a');
    expect(run.open()).toEqual(['a1']);
    run.complete('a1');
    expect(run.open()).toEqual(['a2']);
    run.complete('a2');
    expect(run.open()).toEqual(['after']);
    expect(run.seen('s').output).toEqual({ evaluationResult: ['a'], selectedCase: 'a' });
  });

  it.each([
    ['z', 'd1'],
    [{ a: 1 }, 'd1'],
    [true, 't'],
    [7, 'seven'],
    [null, 'n'],
    [undefined, 'n'],
    ['empty', 'after'],
  ])('takes for %j the case of that text, else the default; an empty case does nothing', (value, open) => {
    expect(routes(value).open()).toEqual([open]);
  });

  it('goes on when there is no such case and no default', () => {
    const run = new Run({ tasks: [switchOn('s', 'x', { a: [simple('a')] }), simple('after')] });
    expect(run.open()).toEqual(['after']);
  });

  it.each([
    [{ evaluatorType: 'javascript', expression: '$.n > 2 ? "big" : "small"' }, 'big'],
    [{ evaluatorType: 'graaljs', expression: '$.n > 5 ? "big" : "small"' }, 'small'],
    [{ evaluatorType: 'jsonpath', expression: '$.word' }, 'big'],
    [{ evaluatorType: 'jsonpath', expression: '$.order.sizes[0]' }, 'small'],
    [{ evaluatorType: 'value-param', expression: '${workflow.input.word}' }, 'big'],
  ])('chooses by %j', (fields, chosen) => {
    const step: Step = switchOn('s', 'unused', { big: [simple('big')], small: [simple('small')] }, [], {
      inputParameters: { n: '${workflow.input.n}', word: '${workflow.input.word}', order: { sizes: ['small'] } },
      ...fields,
    });
    expect(new Run({ tasks: [step] }, { input: { n: 3, word: 'big' } }).open()).toEqual([chosen]);
  });

  it('fails when its script does, and goes on with errors when it is optional', () => {
    const broken = { evaluatorType: 'javascript', expression: '$.none.such' };
    const run = new Run({ tasks: [switchOn('s', 1, { a: [simple('a')] }, [], broken)] });
    expect(run.status).toBe('FAILED');
    expect(run.seen('s').reason).toMatch(/^The expression failed: /);
    const optional = new Run({
      tasks: [switchOn('s', 1, {}, [simple('d')], { ...broken, optional: true }), simple('after')],
    });
    expect(optional.open()).toEqual(['after']);
  });

  it('is refused where data leads its expression to a secret', () => {
    const fields = { expression: '${workflow.${workflow.input.path}}' };
    const run = new Run({ tasks: [switchOn('s', 1, {}, [simple('d')], fields)] }, { input: { path: 'secrets.key' } });
    expect([run.status, run.seen('s').reason]).toEqual([
      'FAILED',
      'The expression failed: data cannot lead to a secret',
    ]);
  });

  it('does not take what every object has for an input', () => {
    const run = new Run({ tasks: [switchOn('s', 1, { null: [simple('n')] }, [], { expression: 'toString' })] });
    expect(run.open()).toEqual(['n']);
  });

  it('is joined in a fork whichever way it went, the default and no way included', () => {
    for (const value of ['a', 'other', 'empty']) {
      const step = switchOn('s', value, { a: [simple('a1'), simple('a2')], empty: [] }, [simple('d1'), simple('d2')]);
      const run = new Run({ tasks: [fork('f', [[step], [simple('b')]]), join('j'), simple('after')] });
      while (!run.open().includes('after')) run.complete(run.open()[0] ?? '');
      expect(run.completed().filter((key) => key === 's' || key === 'j')).toEqual(['s', 'j']);
      run.complete('after');
      expect(run.status).toBe('COMPLETED');
    }
  });

  it('chooses anew in every iteration', () => {
    const body = switchOn('s', '${l.output.iteration}', { '1': [simple('one'), simple('uno')], '3': [] }, [
      simple('other'),
    ]);
    const run = new Run({ tasks: [loop('l', 4, [body])] });
    run.complete('one__1').complete('uno__1').complete('other__2').complete('other__4');
    expect(run.status).toBe('COMPLETED');
  });
});

describe('DECISION', () => {
  const decision = (fields: Step): Run =>
    new Run({
      tasks: [
        {
          ...simple('s', { inputParameters: { v: 'a' } }),
          type: 'DECISION',
          decisionCases: { a: [simple('x')] },
          ...fields,
        },
      ],
    });

  it('chooses by an input or by a script, and tells the case', () => {
    const run = decision({ caseValueParam: 'v' });
    expect([run.open(), run.seen('s').output]).toEqual([['x'], { caseOutput: ['a'] }]);
    expect(decision({ caseExpression: '$.v' }).open()).toEqual(['x']);
  });
});
