import { describe, expect, test } from 'vitest';
import { compareOrder, jsonEquals } from '../../../src/domain/expression/json-compare.ts';
import type { JsonValue } from '../../../src/domain/kernel/json.ts';

const equal = (left: JsonValue, right: JsonValue, visitsLeft = 1_000): boolean =>
  jsonEquals(left, right, { visitsLeft });

describe('two values are equal when they are the same JSON', () => {
  test.each<[JsonValue, JsonValue, boolean]>([
    [1, 1, true],
    [1, '1', false],
    [null, null, true],
    [null, {}, false],
    [null, false, false],
    [[], {}, false],
    [[1, [2]], [1, [2]], true],
    [[1, 2], [2, 1], false],
    [[1], [1, 2], false],
    [{ a: 1, b: { c: [] } }, { b: { c: [] }, a: 1 }, true],
    [{ a: 1 }, { a: 1, b: 2 }, false],
    [{ a: null }, { b: null }, false],
    [{ a: 1 }, { a: 2 }, false],
    [{ toString: 1 }, { valueOf: 1 }, false],
  ])('%j and %j: %s', (left, right, expected) => {
    expect(equal(left, right)).toBe(expected);
    expect(equal(right, left)).toBe(expected);
  });

  test('what is deeper than any stack is compared all the same', () => {
    const deep = (leaf: JsonValue): JsonValue => {
      let value = leaf;
      for (let level = 0; level < 50_000; level += 1) value = [value];
      return value;
    };
    expect(equal(deep(1), deep(1), 1_000_000)).toBe(true);
    expect(equal(deep(1), deep(2), 1_000_000)).toBe(false);
  });

  test('a comparison costs what it looks at: entries, and the length of texts', () => {
    const costOf = (value: JsonValue): number => {
      const budget = { visitsLeft: 1_000_000 };
      jsonEquals(value, structuredClone(value), budget);
      return 1_000_000 - budget.visitsLeft;
    };
    expect(costOf(Array(1_000).fill(0))).toBeGreaterThan(1_000);
    expect(costOf('x'.repeat(640_000))).toBeGreaterThan(9_000);
    expect(equal([1, 2, 3], [1, 2, 3], 2)).toBe(false);
  });
});

test('order is between two numbers or two texts', () => {
  expect(compareOrder(1, 2)).toBeLessThan(0);
  expect(compareOrder('b', 'a')).toBeGreaterThan(0);
  expect(compareOrder('a', 'a')).toBe(0);
  for (const [left, right] of [
    [1, '2'],
    [null, 1],
    [true, false],
    [[], []],
  ] as [JsonValue, JsonValue][]) {
    expect(compareOrder(left, right)).toBeUndefined();
  }
});
