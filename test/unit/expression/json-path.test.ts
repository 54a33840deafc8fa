import { describe, expect, test } from 'vitest';
import { EXPRESSION_CHARS_MAX, EXPRESSION_NESTING_MAX } from '../../../src/domain/expression/expression-problem.ts';
import { evaluateJsonPath } from '../../../src/domain/expression/json-path.ts';
import { parseJsonPath } from '../../../src/domain/expression/json-path-parser.ts';
import type { JsonValue } from '../../../src/domain/kernel/json.ts';

const DOCUMENT: JsonValue = {
  a: { b: [10, 20, 30, 40], 'my key': 'spaced', n: null, "it's": 1, 'a/b': 2 },
  name: 'Ada',
  limit: 15,
  items: [
    { id: 1, price: 8, tag: 'x', tags: ['red', 'blue'], sub: { ok: true } },
    { id: 2, price: 20, tag: 'y', tags: ['green'] },
    { id: 3, price: 12, tag: 'x', tags: [], gone: null },
  ],
};

const at = (text: string, document: JsonValue = DOCUMENT): unknown => {
  const path = parseJsonPath(text);
  if (!path.ok) return path.error;
  const value = evaluateJsonPath(path.value, document);
  return value.ok ? value.value : value.error;
};

describe('a definite path gives the value or null', () => {
  test.each<[string, JsonValue]>([
    ['$', DOCUMENT],
    ['name', 'Ada'],
    ['$.name', 'Ada'],
    ['.name', 'Ada'],
    [' name ', 'Ada'],
    ["['name']", 'Ada'],
    ["$['a']['my key']", 'spaced'],
    ["$.['a'].['my key']", 'spaced'],
    ['a["my key"]', 'spaced'],
    ["a['it\\'s']", 1],
    ["a['\\u006e']", null],
    ['a.a/b', 2],
    ['a.b[0]', 10],
    ['a.b[ 1 ]', 20],
    ['a.b.2', 30],
    ['a.b[-1]', 40],
    ['a.b[-9]', null],
    ['a.b[9]', null],
    ['a.b.name', null],
    ['a.n', null],
    ['a.n.deeper', null],
    ['name.deeper', null],
    ['nothing.at.all', null],
    ['items[1].tags[0]', 'green'],
    ['name[0]', null],
  ])('%s', (text, expected) => expect(at(text)).toEqual(expected));
});

describe('an indefinite path gives the list of its matches', () => {
  test.each<[string, JsonValue]>([
    ['a.b[*]', [10, 20, 30, 40]],
    ['a.b.*', [10, 20, 30, 40]],
    ['items[*].id', [1, 2, 3]],
    ['items[*].gone', [null]],
    ['items[*].sub.ok', [true]],
    ['nothing[*]', []],
    ['name[*]', []],
    ['$..id', [1, 2, 3]],
    ['$..tags[0]', ['red', 'green']],
    ["$..['tag']", ['x', 'y', 'x']],
    ['a..*', [[10, 20, 30, 40], 'spaced', null, 1, 2, 10, 20, 30, 40]],
    ['a.b[0,2]', [10, 30]],
    ['a.b[0, -1, 9]', [10, 40]],
    ['a.b[1:3]', [20, 30]],
    ['a.b[-2:]', [30, 40]],
    ['a.b[:2]', [10, 20]],
    ['a.b[::2]', [10, 30]],
    ['a.b[::-1]', [40, 30, 20, 10]],
    ['a.b[3:0:-2]', [40, 20]],
    ['a.b[5:9]', []],
    ['items[*].tags[*]', ['red', 'blue', 'green']],
  ])('%s', (text, expected) => expect(at(text)).toEqual(expected));

  test('several names at the end give one object of those that exist', () => {
    expect(at("items[0]['id','tag','none']")).toEqual({ id: 1, tag: 'x' });
    expect(at("items[*]['id','price']")).toEqual([
      { id: 1, price: 8 },
      { id: 2, price: 20 },
      { id: 3, price: 12 },
    ]);
  });

  test('several names on the way give all their matches', () => {
    expect(at("['a','items']['b']")).toEqual([[10, 20, 30, 40]]);
  });
});

describe('a filter keeps the elements it holds for', () => {
  test.each<[string, JsonValue]>([
    ['@.price > 10', [2, 3]],
    ['@.price>10', [2, 3]],
    ['(@.price > 10)', [2, 3]],
    ['@.price >= 12 && @.tag == "x"', [3]],
    ["@.price < 10 || @.tag == 'y'", [1, 2]],
    ["@.tag == 'x' && @.price > 10 || @.id == 1", [1, 3]],
    ["@['tag'] != 'x'", [2]],
    ["@.tag === 'y'", [2]],
    ["@.tag !== 'y'", [1, 3]],
    ['@.sub', [1]],
    ['!(@.sub)', [2, 3]],
    ['!@.sub', [2, 3]],
    ['@.gone', [3]],
    ['@.gone == null', [3]],
    ['@.sub.ok == true', [1]],
    ['@.tags[0]', [1, 2]],
    ['@.tags[*]', [1, 2]],
    ['@.tags.length() > 1', [1]],
    ['@.id in [1, 3]', [1, 3]],
    ["@.tag nin ['x']", [2]],
    ["@.tags contains 'green'", [2]],
    ["@.tag contains 'x'", [1, 3]],
    ["@.tags anyof ['red', 'green']", [1, 2]],
    ["@.tags noneof ['red', 'green']", [3]],
    ["@.tags subsetof ['red', 'blue']", [1, 3]],
    ['@.tags size 1', [2]],
    ['@.tags empty true', [3]],
    ['@.price > $.limit', [2]],
    ['$.limit < @.price', [2]],
    ['@.id == -1', []],
    ["@.price > '10'", []],
    ["@.tags[?(@ == 'red')]", [1]],
    ["'x' == @.tag", [1, 3]],
    ["@.tags == ['green']", [2]],
  ])('[?(%s)]', (filter, ids) => {
    expect(at(`items[?(${filter})].id`)).toEqual(ids);
    expect(at(`items[?${filter}].id`)).toEqual(ids);
  });

  test('an object is itself the one candidate', () => {
    expect(at("a[?(@['my key'] == 'spaced')].b[0]")).toEqual([10]);
    expect(at('a[?(@.none)]')).toEqual([]);
  });

  test('a brace, a bracket or a quote in a quoted operand is only text', () => {
    expect(at(`[?(@.t == "}])'")].id`, [{ t: "}])'", id: 7 }])).toEqual([7]);
  });
});

describe('a function is applied to the value, or to all matches', () => {
  test.each<[string, JsonValue]>([
    ['a.b.length()', 4],
    ['a.b.size()', 4],
    ['name.length()', 3],
    ['items[0].length()', 5],
    ['nothing.length()', null],
    ['limit.length()', null],
    ['items[*].id.length()', 3],
    ["items[?(@.tag == 'x')].size()", 2],
    ['items[1].sub.keys()', null],
    ['items[0].sub.keys()', ['ok']],
    ['a.b.min()', 10],
    ['a.b.max()', 40],
    ['a.b.sum()', 100],
    ['a.b.avg()', 25],
    ['a.b.sum(5)', 105],
    ['items[*].price.sum()', 40],
    ['items[*].tag.sum()', null],
    ['a.b.first()', 10],
    ['a.b.last()', 40],
    ['a.b.index(1)', 20],
    ['items.first().tag', 'x'],
    ["name.concat(' ', $.limit)", 'Ada 15'],
    ['items[*].tag.concat()', 'xyx'],
    ['a.b.append(50)', [10, 20, 30, 40, 50]],
  ])('%s', (text, expected) => expect(at(text)).toEqual(expected));

  test('the spread of numbers is their population deviation', () => {
    expect(at('stddev()', [2, 4, 4, 4, 5, 5, 7, 9])).toBe(2);
  });

  test('a sum that no JSON number can hold is null, not Infinity', () => {
    expect(at('sum()', [1.7e308, 1.7e308])).toBeNull();
  });
});

describe('a path that does not parse is refused with the place', () => {
  test.each<[string, number]>([
    ['', 0],
    ['a.', 2],
    ['a b', 2],
    ['a..', 3],
    ['a[', 2],
    ['a[]', 2],
    ['a[1', 3],
    ["a['b'", 5],
    ["a['b", 2],
    ["a['b',1]", 6],
    ['a[1,x]', 4],
    ['a[::0]', 5],
    ['a[b]', 2],
    ['a[99999999999999999]', 2],
    ['a[(@.length-1)]', 2],
    ['a[?(@.b =~ /x+/)]', 8],
    ['a[?(@.b ~ 1)]', 8],
    ['a[?(@.b == )]', 11],
    ['a[?(@.b == process.exit())]', 11],
    ['a[?(1)]', 5],
    ['a[?(…)]', 4],
    ['a[?(@.b]', 7],
    ['a.eval(1)', 2],
    ['a{b}', 1],
    ['a]', 1],
  ])('%s at %i', (text, offset) => {
    expect(at(text)).toMatchObject({ code: 'EXPRESSION_INVALID', offset, message: expect.stringMatching(/\w/) });
  });

  test('names that reach into the machinery of objects are refused in every spelling', () => {
    for (const name of ['__proto__', 'constructor', 'prototype']) {
      const escaped = name.replace('o', '\\u006f');
      for (const text of [name, `a.${name}`, `a['${name}']`, `a["x","${name}"]`, `$..${name}`, `a['${escaped}']`]) {
        expect(at(text), text).toMatchObject({ code: 'EXPRESSION_INVALID' });
      }
      expect(at(`a[?(@.${name})]`)).toMatchObject({ code: 'EXPRESSION_INVALID' });
    }
  });

  test('a path of 10,000 characters parses and one more does not', () => {
    expect(at('a'.repeat(EXPRESSION_CHARS_MAX))).toBeNull();
    expect(at('a'.repeat(EXPRESSION_CHARS_MAX + 1))).toMatchObject({ code: 'EXPRESSION_INVALID' });
  });

  test('nesting beyond 100 is refused before the stack feels it', () => {
    const nested = (depth: number): string => `a[?(${'('.repeat(depth)}@.b${')'.repeat(depth)})]`;
    expect(at(nested(90), { a: [{ b: 1 }, { c: 2 }] })).toEqual([{ b: 1 }]);
    for (const text of [
      nested(3_000),
      `a[?(${'!'.repeat(5_000)}@.b)]`,
      `a${'[?(@'.repeat(1_900)}`,
      `a[?(@.b in ${'['.repeat(5_000)}`,
    ]) {
      expect(at(text)).toMatchObject({ code: 'EXPRESSION_INVALID', message: expect.stringContaining('too deeply') });
    }
  });
});

describe('only what an object itself holds can be read', () => {
  test.each(['toString', 'valueOf', 'hasOwnProperty', 'length', 'a.b.map', 'name.length', 'a.b.at'])('%s', (text) => {
    expect(at(text)).toBeNull();
  });
});

describe('the work of one path is bounded', () => {
  const wide = Array.from({ length: 2_000 }, (_, id) => ({ id }));

  test('a filter that compares everything with everything stops at the limit', () => {
    expect(at('[?(@.id in $..id)].id', wide)).toMatchObject({ code: 'EXPRESSION_LIMIT' });
  });

  test('unions that multiply stop at the limit', () => {
    const union = `[${Array(2_000).fill(0).join(',')}]`;
    expect(at(`${union}${union}`, [[1]])).toMatchObject({ code: 'EXPRESSION_LIMIT' });
  });

  test('a text multiplied by a union is never built', () => {
    const union = `[${Array(2_000).fill(0).join(',')}]`;
    expect(at(`${union}.concat()`, ['x'.repeat(1_000_000)])).toMatchObject({ code: 'EXPRESSION_LIMIT' });
  });

  test('a document deeper than any stack can be searched', () => {
    let deep: JsonValue = { leaf: 1 };
    for (let depth = 0; depth < 100_000; depth += 1) deep = [deep];
    expect(at('$..leaf', deep)).toEqual([1]);
  });
});

describe('a step on what it is not made for gives nothing', () => {
  test.each<[string, JsonValue]>([
    ["name['a','b']", null],
    ['name[0:2]', []],
    ['name[?(@.a)]', []],
    ['items[0].id[?(@ > 0)]', []],
    ['items[?(@.sub size 1)].id', []],
    ['items[?(@.id empty true)].id', []],
    ['a.b.index("1")', null],
    ['a.b.index(9)', null],
    ['a.b.append(@.none)', [10, 20, 30, 40, null]],
  ])('%s', (text, expected) => expect(at(text)).toEqual(expected));
});

describe('a slice takes', () => {
  test.each<[string, JsonValue]>([
    ['a.b[1:3]', [20, 30]],
    ['a.b[1:]', [20, 30, 40]],
    ['a.b[:2]', [10, 20]],
    ['a.b[-2:]', [30, 40]],
    ['a.b[-9:9]', [10, 20, 30, 40]],
    ['a.b[9:]', []],
    ['a.b[::2]', [10, 30]],
    ['a.b[::]', [10, 20, 30, 40]],
    ['a.b[::-1]', [40, 30, 20, 10]],
    ['a.b[2::-1]', [30, 20, 10]],
    ['a.b[:1:-1]', [40, 30]],
    ['a.b[9:0:-2]', [40, 20]],
    ['a.b[3:1]', []],
    ['a.b[1:3:-1]', []],
    ['a.b[2:-9:-1]', [30, 20, 10]],
  ])('of %s what it says, from where it says', (text, expected) => expect(at(text)).toEqual(expected));
});

describe('a path that does not parse says what was expected, and where', () => {
  test.each<[string, string, number]>([
    ['a.sum(@.b', '"," or ")" is expected here', 9],
    ['a.sum(what)', 'a path with "@" or "$", or a literal, is expected here', 6],
    ['items[?(@.a == 1)', '"]" is expected here', 17],
    ['items[*', '"]" is expected here', 7],
    ['items[::0]', 'the stride of a slice cannot be 0', 9],
    ['items[?(@.a near 1)]', 'there is no comparison "near"', 12],
    ['items[?(@.a =~ /x/)]', 'regular expressions in a path are not supported', 12],
    ['items[?(1)]', 'a comparison is expected here', 9],
    ['items[(@.length)]', 'scripts in a path are not supported', 6],
    ['items[1 2]', '"]", "," or ":" is expected here', 8],
    ["items['a', b]", 'a quoted name is expected here', 11],
    ['a.nothing()', 'there is no function "nothing"', 2],
    ['a b', '"b" is not expected here', 2],
  ])('%s', (text, message, offset) => {
    expect(parseJsonPath(text)).toEqual({ ok: false, error: { code: 'EXPRESSION_INVALID', message, offset } });
  });

  test('when its filters or lists are nested too deeply', () => {
    const deep = `items[?(${'!'.repeat(EXPRESSION_NESTING_MAX)}@.a)]`;
    const message = 'the filter is nested too deeply';
    expect(parseJsonPath(deep)).toMatchObject({ ok: false, error: { message } });
    const inPaths = '@.a[?('.repeat(EXPRESSION_NESTING_MAX + 1);
    expect(parseJsonPath(`items[?(${inPaths}`)).toMatchObject({ ok: false, error: { message } });
    const lists = `items[?(@.a in ${'['.repeat(EXPRESSION_NESTING_MAX + 1)}`;
    expect(parseJsonPath(lists)).toMatchObject({ ok: false, error: { message: 'the list is nested too deeply' } });
  });
});
