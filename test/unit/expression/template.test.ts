import { describe, expect, test } from 'vitest';
import { CONDUCTOR_MODE, evaluateTemplate, V1_MODE } from '../../../src/domain/expression/evaluate.ts';
import { compileTemplate, parseTemplate } from '../../../src/domain/expression/parse-template.ts';
import { type Scope, scopeOf } from '../../../src/domain/expression/scope.ts';
import type { JsonValue } from '../../../src/domain/kernel/json.ts';

const SCOPE = scopeOf({
  CPEWF_TASK_ID: 'run.7',
  env: { region: 'eu' },
  global: { flag: true },
  workflow: {
    input: { id: 5, name: 'Ada', key: 'y', list: [1, 2], empty: '', n: null, quote: "it's", path: 'z[1].w' },
    variables: { count: 0 },
    env: { HOST: 'h' },
    workflowId: 'run',
  },
  't-1': {
    output: { x: 1, y: 'two', z: [{ w: 'a' }, { w: 'b' }], "it's": 'quoted', 'a}b': 'brace' },
    status: 'COMPLETED',
  },
  sly: { output: { text: '${workflow.input.id}', secret: '${workflow.secrets.KEY}', head: 'workflow.secrets.KEY' } },
  toString: { output: 'a task may be called so' },
});

const evaluated = (value: JsonValue, mode = V1_MODE, scope: Scope = SCOPE): unknown => {
  const compiled = compileTemplate(value, 'inputParameters');
  if (!compiled.ok) return compiled.error;
  const result = evaluateTemplate(compiled.value, scope, mode);
  return result.ok ? result.value.value : result.error;
};

describe('a string that is exactly one expression keeps the type of its value', () => {
  test.each<[string, JsonValue]>([
    ['${workflow.input.id}', 5],
    ['${ workflow.input.id }', 5],
    ['${$.workflow.input.id}', 5],
    ["${workflow['input']['id']}", 5],
    ["${['t-1'].output.x}", 1],
    ['${t-1.output.y}', 'two'],
    ['${t-1.output}', { x: 1, y: 'two', z: [{ w: 'a' }, { w: 'b' }], "it's": 'quoted', 'a}b': 'brace' }],
    ["${t-1['status']}", 'COMPLETED'],
    ['${t-1.output.z[*].w}', ['a', 'b']],
    ['${t-1..w}', ['a', 'b']],
    ["${t-1.output['a}b']}", 'brace'],
    ["${t-1.output.z[?(@.w == '}')]}", []],
    ['${t-1.output.z.length()}', 2],
    ['${workflow.input.list}', [1, 2]],
    ['${workflow.input.n}', null],
    ['${workflow.input.absent}', null],
    ['${absent.output.x}', null],
    ['${absent.output[*]}', []],
    ['${workflow.variables.count}', 0],
    ['${workflow.env.HOST}', 'h'],
    ['${env.region}', 'eu'],
    ['${global.flag}', true],
    ['${CPEWF_TASK_ID}', 'run.7'],
    ['${PATH}', null],
    ['${toString.output}', 'a task may be called so'],
    ['${valueOf.output}', null],
    ['${}', ''],
    ['${  }', ''],
  ])('%s', (text, expected) => expect(evaluated(text)).toEqual(expected));
});

describe('inside a longer string values become text', () => {
  test.each<[string, string]>([
    ['id ${workflow.input.id}', 'id 5'],
    ['${workflow.input.id}${workflow.input.id}', '55'],
    [' ${workflow.input.id}', ' 5'],
    ['${workflow.input.list}!', '[1,2]!'],
    ['${t-1.output.z[0]}!', '{"w":"a"}!'],
    ['${global.flag}!', 'true!'],
    ['${}!', '!'],
    ['$ {x} } { $x', '$ {x} } { $x'],
  ])('%s', (text, expected) => expect(evaluated(text)).toBe(expected));

  test('null is nothing on /v1 and "null" for Conductor', () => {
    expect(evaluated('<${workflow.input.absent}>')).toBe('<>');
    expect(evaluated('<${workflow.input.absent}>', CONDUCTOR_MODE)).toBe('<null>');
    expect(evaluated('${workflow.input.absent}', CONDUCTOR_MODE)).toBeNull();
  });
});

describe('$${ is the text ${', () => {
  test.each<[string, string]>([
    ['$${x}', '${x}'],
    ['a $${workflow.input.id} b', 'a ${workflow.input.id} b'],
    ['$${', '${'],
    ['$$${x}', '$${x}'],
    ['$${a.${workflow.input.id}}', '${a.5}'],
    ['${workflow.input.id}$${x}', '5${x}'],
    ['$${workflow.secrets.KEY}', '${workflow.secrets.KEY}'],
  ])('%s', (text, expected) => expect(evaluated(text)).toBe(expected));
});

describe('nested expressions resolve from the inside out', () => {
  test.each<[string, JsonValue]>([
    ['${t-1.output.${workflow.input.key}}', 'two'],
    ['${t-1.output.z[${workflow.variables.count}].w}', 'a'],
    ["${t-1.output['${workflow.input.key}']}", 'two'],
    ["${t-1.output['${workflow.input.quote}']}", 'quoted'],
    ['${t-1.output.${workflow.input.path}}', 'b'],
    ["${t-1.output.z[?(@.w == '${t-1.output.${workflow.input.path}}')].w}", ['b']],
    ['${t-1.output.${workflow.input.absent}}', null],
    ['${${workflow.input.absent}.output}', null],
    ['${${workflow.workflowId}.output}', null],
    ['<${t-1.output.${workflow.input.key}}>', '<two>'],
  ])('%s', (text, expected) => expect(evaluated(text)).toEqual(expected));

  test('data that makes no path is a problem of the expression, not an exception', () => {
    expect(evaluated('ab ${t-1.output.${workflow.variables}}')).toMatchObject({
      code: 'EXPRESSION_INVALID',
      offset: 3,
    });
    expect(evaluated('${t-1.output.${workflow.input.empty}}')).toMatchObject({ code: 'EXPRESSION_INVALID' });
  });

  test('data in quotes cannot close them', () => {
    const scope = scopeOf({ w: { k: "x']['y", b: "\\'] " }, t: { x: { y: 1 }, "x']['y": 2, "\\'] ": 3 } });
    expect(evaluated("${t['${w.k}']}", V1_MODE, scope)).toBe(2);
    expect(evaluated("${t['${w.b}']}", V1_MODE, scope)).toBe(3);
  });
});

describe('a whole value is evaluated at any depth', () => {
  test('keys stay as they are, constants keep their identity', () => {
    const fixed = { list: [1, { deep: 'text' }] };
    const compiled = compileTemplate({ '${k}': '${workflow.input.id}', fixed, list: [fixed, ['${t-1.output.x}']] }, '');
    if (!compiled.ok) throw new Error('it compiles');
    const result = evaluateTemplate(compiled.value, SCOPE, V1_MODE);
    expect(result).toEqual({ ok: true, value: { value: { '${k}': 5, fixed, list: [fixed, [1]] }, deferred: [] } });
    expect((result as { value: { value: { fixed: object } } }).value.value.fixed).toBe(fixed);
  });

  test('a value without any expression compiles to itself', () => {
    const value = { a: [1, 'x', null, { b: true }] };
    expect(compileTemplate(value, '')).toEqual({ ok: true, value: { kind: 'constant', value } });
  });

  test('only what is named is looked up in the scope', () => {
    const asked: string[] = [];
    const scope: Scope = {
      resolve: (head) => {
        asked.push(head);
        return { output: { x: 1 } };
      },
      lookup: (head, field) => {
        asked.push(`${head}.${field}`);
        return { x: 1 };
      },
      isSealed: () => false,
    };
    evaluated(['${t1.output.x}', '${t2}', "${t3['input'].x}", '${t4[*]}'], V1_MODE, scope);
    expect(asked).toEqual(['t1.output', 't2', 't3.input', 't4']);
  });
});

test('what a scope gives is data and is never evaluated again', () => {
  expect(evaluated('${sly.output.text}')).toBe('${workflow.input.id}');
  expect(evaluated('a ${sly.output.text}')).toBe('a ${workflow.input.id}');
  expect(evaluated({ all: '${sly.output}' })).toMatchObject({ all: { secret: '${workflow.secrets.KEY}' } });
});

describe('every problem of a value is reported with its path and offset', () => {
  test('all at once', () => {
    const value = { a: [1, 'x', { b: 'ab ${c.' }], 'odd key': '${x..}', fine: '${t.output}', d: '${a.__proto__}' };
    expect(evaluated(value)).toEqual([
      {
        code: 'EXPRESSION_INVALID',
        path: 'inputParameters.a[2].b',
        offset: 3,
        message: expect.stringContaining('not closed'),
      },
      { code: 'EXPRESSION_INVALID', path: 'inputParameters["odd key"]', offset: 5, message: expect.any(String) },
      {
        code: 'EXPRESSION_INVALID',
        path: 'inputParameters.d',
        offset: 4,
        message: expect.stringContaining('__proto__'),
      },
    ]);
  });

  test.each([
    '${',
    '${a',
    'a ${b',
    '${a.${b}',
    "${a['b}",
    '${[0]}',
    '${*}',
    '${..x}',
    '${$}',
    '${$..x}',
    '${a b}',
    '${a.__proto__.b}',
    '${constructor.constructor}',
    '${a[?(…)]}',
    '${a[?(@.b == $..c)]}',
    `\${a.${'b'.repeat(10_240)}}`,
    '${a.'.repeat(200),
    `${'${a.'.repeat(150)}b${'}'.repeat(150)}`,
  ])('%s is refused', (text) => {
    expect(evaluated({ k: text })).toMatchObject([{ code: 'EXPRESSION_INVALID', path: 'inputParameters.k' }]);
  });

  test('a key that would set a prototype is refused, in values with and without expressions', () => {
    for (const text of ['{"__proto__":{"x":1}}', '{"a":[{"__proto__":"${t.output}"}]}']) {
      expect(evaluated(JSON.parse(text))).toMatchObject([{ code: 'EXPRESSION_INVALID' }]);
    }
    expect(({} as { x?: number }).x).toBeUndefined();
  });

  test('a value nested beyond 100 is refused', () => {
    let value: JsonValue = '${t.output}';
    for (let depth = 0; depth < 101; depth += 1) value = [value];
    expect(evaluated(value)).toMatchObject([{ message: expect.stringContaining('too deeply') }]);
  });
});

describe('the work of one evaluation is bounded over all its expressions', () => {
  test('texts', () => {
    const scope = scopeOf({ t: { output: { big: 'x'.repeat(1_000_000) } } });
    expect(evaluated(Array(20).fill('${t.output.big}'), V1_MODE, scope)).toHaveLength(20);
    expect(evaluated(Array(20).fill('a ${t.output.big}'), V1_MODE, scope)).toMatchObject({ code: 'EXPRESSION_LIMIT' });
  });

  test('visits', () => {
    const scope = scopeOf({ t: { output: { list: Array(200_000).fill(1) } } });
    expect(evaluated('${t.output.list[*]}', V1_MODE, scope)).toHaveLength(200_000);
    expect(evaluated(Array(20).fill('${t.output.list[*]}'), V1_MODE, scope)).toMatchObject({
      code: 'EXPRESSION_LIMIT',
    });
  });

  test('a value too deep to be written as JSON is refused as text', () => {
    let deep: JsonValue = 1;
    for (let depth = 0; depth < 20_000; depth += 1) deep = [deep];
    expect(evaluated('a ${t.output.deep}', V1_MODE, scopeOf({ t: { output: { deep } } }))).toMatchObject({
      code: 'EXPRESSION_LIMIT',
      offset: 2,
    });
  });
});

describe('where an expression ends', () => {
  const scope = scopeOf({ t: { output: { 'a}b': 1, "q'}": 2, '{x}': 3 } }, u: { output: { n: 'a}b' } } });
  test.each<[string, JsonValue]>([
    ["${t.output['a}b']}", 1],
    ["${t.output['q\\'}']}", 2],
    ["${t.output['{x}']} and more", '3 and more'],
    ["${t.output['${u.output.n}']}", 1],
    ['${t.output{x}}', null],
  ])('%s', (text, expected) => {
    const found = evaluated(text, V1_MODE, scope);
    if (expected === null) expect(found).toMatchObject([{ code: 'EXPRESSION_INVALID' }]);
    else expect(found).toEqual(expected);
  });

  test.each([
    ['${a.${}}', true],
    ['${a.${ }}', true],
    ['${a.${b c}}', false],
    ['${a.${b}', false],
  ])('an inner one has to parse too, unless it is blank: %s', (text, parses) => {
    expect(parseTemplate(text).ok).toBe(parses);
  });

  test('that is blank reads nothing, and is no secret', () => {
    expect([evaluated('${}'), evaluated('a${ }b')]).toEqual(['', 'ab']);
  });
});
