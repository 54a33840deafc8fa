import { describe, expect, test } from 'vitest';
import {
  evaluateCondition,
  isGrammarCondition,
  referencesOfCondition,
} from '../../../src/domain/expression/condition.ts';
import { isLiteralCondition, parseCondition } from '../../../src/domain/expression/condition-parser.ts';
import { type Scope, scopeOf } from '../../../src/domain/expression/scope.ts';

const SCOPE = scopeOf({
  workflow: { input: { n: 5, text: '5', name: 'ada', yes: true, no: 'false', list: [1], n0: null, big: '1e3' } },
  loop: { output: { iteration: 3 } },
});

const outcome = (text: string, scope: Scope = SCOPE): unknown => {
  const condition = parseCondition(text);
  if (!condition.ok) return condition.error;
  const result = evaluateCondition(condition.value, scope);
  return result.ok ? result.value : result.error;
};

describe('a condition compares two operands', () => {
  test.each<[string, boolean]>([
    ['${loop.output.iteration} < 5', true],
    ['${loop.output.iteration}<3', false],
    ['${loop.output.iteration} <= 3', true],
    ['${loop.output.iteration} >= ${workflow.input.n}', false],
    ['5 > ${loop.output.iteration}', true],
    ["${workflow.input.name} == 'ada'", true],
    ['${workflow.input.name} != "ada"', false],
    ["'${workflow.input.name}' == 'ada'", true],
    ["'x-${workflow.input.name}' === 'x-ada'", true],
    ["${workflow.input.name} < 'b'", true],
    ['${workflow.input.text} == 5', true],
    ['${workflow.input.text} < 10', true],
    ['${workflow.input.big} > 999.5', true],
    ['${workflow.input.name} == 5', false],
    ['${workflow.input.n0} == null', true],
    ['${absent.output.x} == null', true],
    ['${absent.output.x} != 1', true],
    ['${workflow.input.list} == ${workflow.input.list}', true],
    ['${workflow.input.yes} == true', true],
    ['${workflow.input.n} == -5', false],
    ['1 < 2', true],
  ])('%s', (text, expected) => expect(outcome(text)).toBe(expected));
});

describe('conditions combine', () => {
  test.each<[string, boolean]>([
    ['${workflow.input.n} > 1 && ${workflow.input.n} < 9', true],
    ['${workflow.input.n} > 9 || ${workflow.input.n} == 5', true],
    ['1 == 1 || 1 == 2 && 1 == 3', true],
    ['(1 == 1 || 1 == 2) && 1 == 3', false],
    ['!(${workflow.input.n} == 5)', false],
    ['!!${workflow.input.yes}', true],
    ['${workflow.input.yes}', true],
    ['!${workflow.input.no}', true],
    ['!${absent.output.done}', true],
    ['  ( true )  ', true],
  ])('%s', (text, expected) => expect(outcome(text)).toBe(expected));

  test('what is decided is not evaluated further', () => {
    expect(outcome('false && ${workflow.input.list} > 1')).toBe(false);
    expect(outcome('true || ${workflow.input.list} > 1')).toBe(true);
  });
});

describe('values that do not fit give a reason, never a guess', () => {
  test.each([
    '${absent.output.x} < 5',
    '${workflow.input.name} > 5',
    '${workflow.input.list} > 1',
    '${workflow.input.yes} > 0',
    '${workflow.input.n}',
    '!${workflow.input.list}',
  ])('%s', (text) => expect(outcome(text)).toMatchObject({ code: 'EXPRESSION_FAILED', offset: expect.any(Number) }));

  test('the offset is that of the comparison', () => {
    expect(outcome('true && ${workflow.input.list} > 1')).toMatchObject({ offset: 8 });
  });

  test('neither a secret nor a sealed field can be compared', () => {
    expect(outcome("${secrets.KEY} == 'a'")).toMatchObject({ code: 'FORBIDDEN_REFERENCE' });
    expect(outcome("'x${workflow.secrets.KEY}' == 'a'")).toMatchObject({ code: 'FORBIDDEN_REFERENCE' });
    expect(outcome('${loop.output.iteration} < 5', { ...SCOPE, isSealed: () => true })).toMatchObject({
      code: 'FORBIDDEN_REFERENCE',
    });
  });
});

describe('a text that is no condition is refused with the place', () => {
  test.each<[string, number]>([
    ['', 0],
    ['${a.b} <', 8],
    ['${a.b} 5', 7],
    ['${a.b} < 5;', 10],
    ['(${a.b} < 5', 11],
    ['${a.b', 0],
    ["${a.b} == 'x", 10],
    ['a.b == 5', 0],
    ['${a.b} =~ /x/', 7],
    ['${a.b} & 1', 7],
    ['${a.b} == undefined', 10],
    ['${a.__proto__} == 1', 4],
  ])('%s at %i', (text, offset) => expect(outcome(text)).toMatchObject({ code: 'EXPRESSION_INVALID', offset }));

  test('nesting and length are bounded', () => {
    expect(outcome(`${'('.repeat(4_000)}1 == 1${')'.repeat(4_000)}`)).toMatchObject({ code: 'EXPRESSION_INVALID' });
    expect(outcome('!'.repeat(9_000))).toMatchObject({ code: 'EXPRESSION_INVALID' });
    expect(outcome(`1 == ${'1'.repeat(10_000)}`)).toMatchObject({ code: 'EXPRESSION_INVALID' });
  });
});

describe('grammar or JavaScript is decided by the text alone', () => {
  test.each([
    '${a.output.x} < 5',
    "!(${a.output.x} == 'y') && ${b.output.z}",
    '${a.output.done}',
    "'${a.output.x}' == 'y'",
  ])('%s is of the grammar', (text) => expect(isGrammarCondition(text)).toBe(true));

  test.each([
    "$.loop['iteration'] < 5",
    "if ($.loop['iteration'] < $.value) { true; } else { false; }",
    '(function () { return true; })()',
    '${a.output.x}.length > 5',
    '${a.output.x} + 1 < 5',
    'true',
    '1 < 2',
    "'$${a}' == 'b'",
    '${a.output.x} < ',
    '',
  ])('%s is not', (text) => expect(isGrammarCondition(text)).toBe(false));

  test('a comparison of bare words can only be literal text', () => {
    for (const text of ["workflow.input.tier == 'gold'", 'a.output.count < 5', 'done', '!ready && x > 1']) {
      expect(isLiteralCondition(text), text).toBe(true);
    }
    for (const text of [
      'true',
      '1 < 2',
      '$.x > 1',
      '${a.b} == c',
      'f() > 1',
      'x = 1',
      '(function () { return 1; })()',
    ]) {
      expect(isLiteralCondition(text), text).toBe(false);
    }
  });
});

test('what a condition reads is known', () => {
  const condition = parseCondition("${a.output.x} < 5 && !('${b.output.y}' == 'z' || ${workflow.variables.v})");
  if (!condition.ok) throw new Error('it parses');
  const references = referencesOfCondition(condition.value);
  expect([...references.tasks].sort()).toEqual(['a', 'b']);
  expect([...references.variables]).toEqual(['v']);
});

describe('what a condition cannot judge is a problem that says why', () => {
  test.each<[string, string]>([
    ['${workflow.input.list}', 'true or false is expected, not a list'],
    ['${workflow.input}', 'true or false is expected, not an object'],
    ["'x'", 'true or false is expected, not a text'],
    ['5', 'true or false is expected, not a number'],
    ['${workflow.input} < 5', 'an object and a number have no order for "<"'],
    ['5 > ${workflow.input.n0}', 'a number and null have no order for ">"'],
  ])('%s', (text, message) => expect(outcome(text)).toMatchObject({ code: 'EXPRESSION_FAILED', message }));

  test.each([
    '${workflow.${loop.output.head}}',
    '${workflow.${loop.output.head}} == 1',
    '1 == ${workflow.${loop.output.head}}',
  ])('because data would lead it to a secret: %s', (text) => {
    const scope = scopeOf({ loop: { output: { head: 'secrets.KEY' } }, workflow: { secrets: { KEY: 'k' } } });
    expect(outcome(text, scope)).toMatchObject({ code: 'FORBIDDEN_REFERENCE' });
  });

  test('because the values are too large to compare', () => {
    const list = Array.from({ length: 1_000_001 }, () => 0);
    const scope = scopeOf({ a: { output: { list, other: [...list] } } });
    expect(outcome('${a.output.list} == ${a.output.other}', scope)).toMatchObject({ code: 'EXPRESSION_LIMIT' });
  });
});

describe('a condition that does not parse says what was expected, and where', () => {
  test.each<[string, string, number]>([
    ['-', 'a number is expected here', 0],
    ["'${a..}' == 1", '', 0],
    ['1 == 2 3', '"3" is not expected here', 7],
    ['(1 == 2', '")" is expected here', 7],
    ['1 ==', 'a "${" expression, a number, a quoted text, true, false or null is expected here', 4],
  ])('%s', (text, message, offset) => {
    const parsed = parseCondition(text);
    expect(parsed).toMatchObject({ ok: false, error: { offset } });
    if (message !== '') expect(parsed).toMatchObject({ error: { message } });
  });

  test('but reads the longer signs of scripts as its own', () => {
    expect([outcome('1 === 1'), outcome('1 !== 1'), outcome('1 !== 2')]).toEqual([true, false, true]);
  });
});
