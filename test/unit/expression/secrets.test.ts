import { describe, expect, test } from 'vitest';
import { type Evaluated, evaluateTemplate, V1_MODE } from '../../../src/domain/expression/evaluate.ts';
import { compileTemplate } from '../../../src/domain/expression/parse-template.ts';
import { type Scope, scopeOf } from '../../../src/domain/expression/scope.ts';
import type { JsonValue } from '../../../src/domain/kernel/json.ts';

const DATA = scopeOf({
  workflow: {
    input: {
      name: 'KEY',
      odd: 'a/b',
      root: 'secrets',
      path: 'workflow.secrets.KEY',
      filter: 'z[?(@ == $.other.output)]',
    },
  },
  sly: { output: { text: '${workflow.secrets.KEY}', other: '${secrets.KEY}' } },
  login: { output: { token: { sealed: 'ciphertext' }, user: 'ada' } },
});
const SCOPE: Scope = { ...DATA, isSealed: (ref, name) => ref === 'login' && name === 'token' };

const evaluate = (value: JsonValue) => {
  const compiled = compileTemplate(value, '');
  return compiled.ok ? evaluateTemplate(compiled.value, SCOPE, V1_MODE) : compiled;
};

const evaluated = (value: JsonValue): Evaluated => {
  const result = evaluate(value);
  if (!result.ok) throw new Error(JSON.stringify(result.error));
  return result.value;
};

describe('a reference to a secret stays literal, and its place is told', () => {
  test('alone, inside a text, and at any depth', () => {
    expect(evaluated({ a: '${workflow.secrets.KEY}', 'b/~': ['Bearer ${secrets.KEY}!'] })).toEqual({
      value: { a: '${workflow.secrets.KEY}', 'b/~': ['Bearer ${secrets.KEY}!'] },
      deferred: [
        { pointer: '/a', start: 0, end: 23 },
        { pointer: '/b~1~0/0', start: 7, end: 21 },
      ],
    });
  });

  test('an output that looks like one is data, even in the same string', () => {
    expect(evaluated('${sly.output.text}').deferred).toEqual([]);
    const both = evaluated('${sly.output.text} ${workflow.secrets.KEY} ${sly.output.other}');
    expect(both.deferred).toEqual([{ pointer: '', start: 24, end: 47 }]);
    expect(both.value).toBe('${workflow.secrets.KEY} ${workflow.secrets.KEY} ${secrets.KEY}');
  });

  test('a sealed field of an output is deferred likewise, its neighbours are not', () => {
    expect(evaluated(['${login.output.token.id}', '${login.output.user}'])).toEqual({
      value: ['${login.output.token.id}', 'ada'],
      deferred: [{ pointer: '/0', start: 0, end: 24 }],
    });
  });
});

describe('a secret can be named, and only by the definition', () => {
  test.each([
    '${secrets}',
    '${workflow.secrets}',
    '${secrets[*]}',
    '${workflow.secrets..KEY}',
    "${workflow['secrets']['a b']}",
    '${secrets.other/x}',
    '${secrets.*}',
    '${t.output[?(@.k == $.secrets.KEY)]}',
    '${t.output[?(@.k == $.workflow.secrets.KEY)]}',
    '${t.output.${secrets.KEY}}',
    '${${workflow.secrets.KEY}}',
    '${t.output.${workflow.secrets.${workflow.input.name}}}',
  ])('%s is refused when it is written', (text) => {
    expect(evaluate({ k: text })).toMatchObject({ ok: false, error: [{ code: 'FORBIDDEN_REFERENCE', path: 'k' }] });
  });

  test.each(['${${workflow.input.root}.KEY}', '${${workflow.input.path}}', '${workflow.${workflow.input.root}.KEY}'])(
    '%s is refused when data leads it there',
    (text) => expect(evaluate(text)).toMatchObject({ ok: false, error: { code: 'FORBIDDEN_REFERENCE' } }),
  );

  test('the definition may let data choose among secrets, by a plain name', () => {
    expect(evaluated('${workflow.secrets.${workflow.input.name}}')).toEqual({
      value: '${workflow.secrets.KEY}',
      deferred: [{ pointer: '', start: 0, end: 23 }],
    });
    expect(evaluate('${secrets.${workflow.input.odd}}')).toMatchObject({
      ok: false,
      error: { code: 'FORBIDDEN_REFERENCE' },
    });
  });

  test('a sealed field chooses nothing', () => {
    expect(evaluate('${t.output.${login.output.token}}')).toMatchObject({
      ok: false,
      error: { code: 'FORBIDDEN_REFERENCE' },
    });
  });

  test('data cannot make a path read another task', () => {
    expect(evaluate('${login.output.${workflow.input.filter}}')).toMatchObject({
      ok: false,
      error: { code: 'EXPRESSION_INVALID', message: expect.stringContaining('another task') },
    });
  });
});
