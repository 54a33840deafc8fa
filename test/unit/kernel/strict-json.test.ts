import { describe, expect, test } from 'vitest';
import { DEFINITION_JSON_LIMITS, OBJECT_KEYS_MAX, parseStrictJson } from '../../../src/domain/kernel/strict-json.ts';

const problemOf = (text: string, limits = DEFINITION_JSON_LIMITS): unknown => {
  const parsed = parseStrictJson(text, limits);
  return parsed.ok ? { accepted: parsed.value } : parsed.error;
};

describe('JSON is accepted as JSON.parse reads it', () => {
  test.each([
    'null',
    'true',
    ' [ ] ',
    '{}',
    '\t{"a":\r\n[1,-0,0.5,1e3,1E-2,-1.5e+10]} ',
    '"\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9 é 😀 \\ud83d\\ude00"',
    '"\u007f\u2028\ufffd"',
    '{"":1,"a":{"a":{"a":1}}}',
    '{"constructor":"x","prototype":1,"proto":2}',
    '{"constructor":{"name":1},"x":{"prototype":1}}',
    '[9007199254740991,-9007199254740991,9007199254740992,1e21,123456789012345678.5,1.7976931348623157E308,5e-324,0e9999]',
    '[0.0000000000000000000000000000000000000000000000001, 0.30000000000000004, 0.10000000000000000555]',
  ])('%s', (text) => expect(problemOf(text)).toEqual({ accepted: JSON.parse(text) }));
});

describe('what is no JSON is INVALID_JSON with the place', () => {
  test.each<[string, number, string]>([
    ['', 0, ''],
    ['  ', 2, ''],
    ['{', 1, ''],
    ['{"a":1,}', 7, ''],
    ["'a'", 0, ''],
    ['NaN', 0, ''],
    ['Infinity', 0, ''],
    ['undefined', 0, ''],
    ['nul', 0, ''],
    ['1 2', 2, ''],
    ['{}{}', 2, ''],
    ['[1,]', 3, '[1]'],
    ['[1 2]', 3, ''],
    ['{"a" 1}', 5, ''],
    ['{a:1}', 1, ''],
    ['{"a":{"b":[0,x]}}', 13, 'a.b[1]'],
    ['01', 0, ''],
    ['-', 0, ''],
    ['1.', 0, ''],
    ['.5', 0, ''],
    ['1e', 0, ''],
    ['+1', 0, ''],
    ['0x1', 1, ''],
    ['"a', 0, ''],
    ['"a\\', 2, ''],
    ['"\\x"', 1, ''],
    ['"\\u12g4"', 1, ''],
    ['"a\nb"', 2, ''],
    ['"\u0000"', 1, ''],
    ['\ufeff{}', 0, ''],
    ['\u00a0{}', 0, ''],
    ['[/* no */]', 1, '[0]'],
  ])('%j at %i', (text, offset, path) => {
    expect(problemOf(text)).toEqual({ code: 'INVALID_JSON', offset, path, message: expect.stringMatching(/\w/) });
  });
});

describe('nesting beyond 100 is NESTING_TOO_DEEP', () => {
  const lists = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
  const objects = (depth: number): string => '{"a":'.repeat(depth) + 1 + '}'.repeat(depth);

  test('100 levels are read, 101 are not', () => {
    expect(problemOf(lists(100))).toHaveProperty('accepted');
    expect(problemOf(objects(100))).toHaveProperty('accepted');
    expect(problemOf(lists(101))).toMatchObject({ code: 'NESTING_TOO_DEEP', offset: 100 });
    expect(problemOf(objects(101))).toMatchObject({ code: 'NESTING_TOO_DEEP', path: Array(100).fill('a').join('.') });
  });

  test.each([10_000, 1_000_000])('%i levels cost no stack, closed or not', (depth) => {
    for (const text of [lists(depth), '['.repeat(depth), objects(depth), '{"a":['.repeat(depth)]) {
      expect(problemOf(text)).toMatchObject({ code: 'NESTING_TOO_DEEP' });
    }
  });
});

describe('keys', () => {
  const objectOf = (keys: number): string => `{${Array.from({ length: keys }, (_, key) => `"${key}":0`).join(',')}}`;

  test('100,000 in one object are read, one more is LIMIT_EXCEEDED', () => {
    expect(problemOf(objectOf(OBJECT_KEYS_MAX))).toHaveProperty('accepted');
    expect(problemOf(`[{"x":${objectOf(OBJECT_KEYS_MAX + 1)}}]`)).toMatchObject({
      code: 'LIMIT_EXCEEDED',
      path: '[0].x',
    });
  });

  test('the same key twice is DUPLICATE_KEY where it is asked for, in whatever spelling', () => {
    for (const text of ['{"tasks":[{"name":"a","name":"b"}]}', '{"tasks":[{"name":"a","n\\u0061me":"b"}]}']) {
      expect(problemOf(text)).toMatchObject({ code: 'DUPLICATE_KEY', path: 'tasks[0].name', offset: 22 });
      expect(parseStrictJson(text)).toEqual({ ok: true, value: { tasks: [{ name: 'b' }] } });
    }
  });

  test.each<[string, string]>([
    ['{"__proto__":{"x":1}}', '__proto__'],
    ['[{"a":{"__proto__":null}}]', '[0].a.__proto__'],
    ['{"\\u005f_proto__":1}', '__proto__'],
    ['{"\\u005f\\u005f\\u0070\\u0072\\u006f\\u0074\\u006f\\u005f\\u005f":1}', '__proto__'],
    ['{"constructor":{"prototype":{"x":1}}}', 'constructor.prototype'],
    ['{"constructor":{"a":1,"prototype":{"x":1}}}', 'constructor.prototype'],
    ['{"a":[{"c\\u006fnstructor":{"pr\\u006ftotype":1}}]}', 'a[0].constructor.prototype'],
  ])('%s is FORBIDDEN_KEY', (text, path) => {
    expect(problemOf(text)).toMatchObject({ code: 'FORBIDDEN_KEY', path });
    expect(({} as { x?: number }).x).toBeUndefined();
  });
});

describe('strings that a database cannot keep are INVALID_STRING', () => {
  test.each<[string, string]>([
    ['{"a":["\\u0000"]}', 'a[0]'],
    ['{"a\\u0000":1}', ''],
    ['"\\ud800"', ''],
    ['"\\ud800x"', ''],
    ['"\\udc00"', ''],
    ['"\\udc00\\ud800"', ''],
    ['"\\ud800\\ud800\\udc00"', ''],
    ['"\\ud800\\n"', ''],
    ['"\ud800"', ''],
    ['"\udc00\ud800"', ''],
    ['{"\\udfff":1}', ''],
  ])('%j', (text, path) => expect(problemOf(text)).toMatchObject({ code: 'INVALID_STRING', path }));

  test('a pair is whole in whatever spelling of its halves', () => {
    for (const text of ['"\\ud83d\\ude00"', '"\ud83d\\ude00"', '"\\ud83d\ude00"', '"\ud83d\ude00"']) {
      expect(problemOf(text)).toEqual({ accepted: '😀' });
    }
  });
});

describe('a number that would change its value is NUMBER_OUT_OF_RANGE', () => {
  test.each([
    '9007199254740993',
    '-9007199254740993',
    '9223372036854775807',
    '1000000000000000000000000000001',
    '1e400',
    '-1e400',
    '1e200000',
    '1e-400',
    '-0.1e-400',
    `0.${'0'.repeat(400)}1`,
    '9'.repeat(400),
  ])('%s', (text) => {
    expect(problemOf(`{"a":[0,${text}]}`)).toMatchObject({ code: 'NUMBER_OUT_OF_RANGE', path: 'a[1]', offset: 8 });
  });
});

test('no message repeats what was sent', () => {
  for (const text of ['{"password":"SEKRIT\\x"}', '[1e999999]', '{"SEKRIT":1,"SEKRIT":2}', 'SEKRIT']) {
    expect((problemOf(text) as { message: string }).message).not.toMatch(/SEKRIT|999999/);
  }
});

describe('what is no JSON says what was expected', () => {
  test.each<[string, number, string]>([
    ['[1 2]', 3, '"," or "]" is expected here'],
    ['[1', 2, 'the text ends where "," or "]" is expected'],
    ['{"a":1 "b":2}', 7, '"," or "}" is expected here'],
    ['{"a":1', 6, 'the text ends where "," or "}" is expected'],
    ['{a:1}', 1, 'a key in double quotes is expected here'],
    ['{', 1, 'the text ends where a key in double quotes is expected'],
    ['[1,{"a":1 }x]', 11, '"," or "]" is expected here'],
    ['{"a":[1,2}', 9, '"," or "]" is expected here'],
    ['{"a":{"b":1],"c":2}', 11, '"," or "}" is expected here'],
  ])('%s', (text, offset, message) => {
    expect(problemOf(text)).toMatchObject({ code: 'INVALID_JSON', offset, message });
  });

  test('where it is nested too deeply, or one object holds too many keys, at the bound exactly', () => {
    const limits = { ...DEFINITION_JSON_LIMITS, depthMax: 2, objectKeysMax: 2 };
    for (const text of ['[[1]]', '{"a":{"b":1}}', '[{"a":1,"b":2},{}]', '[[],[1,2,3]]']) {
      expect(problemOf(text, limits)).toEqual({ accepted: JSON.parse(text) });
    }
    expect(problemOf('[[[]]]', limits)).toMatchObject({ code: 'NESTING_TOO_DEEP', message: 'nested deeper than 2' });
    expect(problemOf('{"a":[{}]}', limits)).toMatchObject({ code: 'NESTING_TOO_DEEP', offset: 6 });
    expect(problemOf('{"a":1,"b":2,"c":3}', limits)).toMatchObject({
      code: 'LIMIT_EXCEEDED',
      message: 'more than 2 keys in one object',
    });
  });
});
