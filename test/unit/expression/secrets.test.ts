import { describe, expect, test } from 'vitest';
import { fillDeferred } from '../../../src/domain/expression/deferred.ts';
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

const filled = (value: JsonValue): unknown => {
  const { value: literal, deferred } = evaluated(value);
  const result = fillDeferred(
    literal,
    deferred,
    (source) => {
      if (source.kind === 'sealed') return { id: 7, ref: source.ref };
      return new Map<string, JsonValue>([
        ['KEY', 'SEKRIT'],
        ['JSON', '{"user":{"name":"ada"}}'],
      ]).get(source.name);
    },
    V1_MODE,
  );
  return result.ok ? result.value : result.error;
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
    expect(filled('${sly.output.text} ${workflow.secrets.KEY} $${secrets.KEY}')).toBe(
      '${workflow.secrets.KEY} SEKRIT ${secrets.KEY}',
    );
  });

  test('a sealed field of an output is deferred likewise, its neighbours are not', () => {
    expect(evaluated(['${login.output.token.id}', '${login.output.user}'])).toEqual({
      value: ['${login.output.token.id}', 'ada'],
      deferred: [{ pointer: '/0', start: 0, end: 24 }],
    });
    expect(filled(['${login.output.token}', 'n${login.output.token.id}'])).toEqual([{ id: 7, ref: 'login' }, 'n7']);
  });
});

describe('filling in touches the told places only', () => {
  test('a secret alone, in texts, with a path into its JSON', () => {
    expect(filled({ a: '${secrets.KEY}', b: ['<${secrets.KEY}|${workflow.secrets.KEY}>', 1] })).toEqual({
      a: 'SEKRIT',
      b: ['<SEKRIT|SEKRIT>', 1],
    });
    expect(filled('${workflow.secrets.JSON.user}')).toEqual({ name: 'ada' });
    expect(filled('hi ${secrets.JSON.user.name}')).toBe('hi ada');
    expect(filled('${secrets.KEY.nothing}')).toBeNull();
  });

  test('a secret that does not exist is told by its name', () => {
    expect(filled({ a: 'x${secrets.NONE}' })).toMatchObject({
      code: 'EXPRESSION_FAILED',
      message: expect.stringContaining('secrets.NONE'),
    });
  });

  test('places that do not fit the value are refused', () => {
    const open = () => 'x';
    for (const pointer of ['/b', '/a/0', '']) {
      const result = fillDeferred({ a: 'text', c: {} }, [{ pointer, start: 0, end: 3 }], open, V1_MODE);
      expect(result).toMatchObject({ ok: false, error: { code: 'EXPRESSION_INVALID' } });
    }
    expect(fillDeferred({ a: 'text' }, [{ pointer: '/a', start: 0, end: 3 }], open, V1_MODE)).toMatchObject({
      ok: false,
    });
  });

  test('the value before is left as it was', () => {
    const { value, deferred } = evaluated({ a: { b: '${secrets.KEY}' }, c: { d: 1 } });
    const copy = structuredClone(value);
    fillDeferred(value, deferred, () => 'x', V1_MODE);
    expect(value).toEqual(copy);
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
    expect(filled('${workflow.secrets.${workflow.input.name}}')).toBe('SEKRIT');
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
