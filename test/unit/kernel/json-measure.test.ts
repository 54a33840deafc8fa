import { describe, expect, test } from 'vitest';
import { canonicalJson } from '../../../src/domain/kernel/canonical-json.ts';
import type { JsonValue } from '../../../src/domain/kernel/json.ts';
import { JSON_DEPTH_MAX, jsonBytes, measureJson } from '../../../src/domain/kernel/json-depth.ts';
import { childPath } from '../../../src/domain/kernel/value-path.ts';

const ROOMY = { bytesMax: 1_000, depthMax: 3 };

describe('the size of a value is that of its JSON in UTF-8', () => {
  test.each<[JsonValue]>([
    [null],
    [true],
    [false],
    [-0],
    [1.5e300],
    [''],
    ['plain'],
    ['"\\/\b\f\n\r\t\u0001\u007f'],
    ['é ß 中 😀'],
    ['\ud800 lone'],
    [[]],
    [{}],
    [[1, [2, {}], 'x']],
    [{ a: 1, 'é"': [null], c: {} }],
  ])('%j', (value) => {
    expect(measureJson(value, ROOMY)).toEqual({ ok: true, value: Buffer.byteLength(JSON.stringify(value)) });
    expect(jsonBytes(value)).toBe(Buffer.byteLength(JSON.stringify(value)));
  });
});

describe('limits', () => {
  test('the last byte counts', () => {
    expect(measureJson(['abc'], { bytesMax: 7, depthMax: 3 }).ok).toBe(true);
    expect(measureJson(['abc'], { bytesMax: 6, depthMax: 3 })).toMatchObject({ error: { code: 'PAYLOAD_TOO_LARGE' } });
  });

  test('plain values have depth 0, each list or object one more', () => {
    expect(measureJson(1, { bytesMax: 9, depthMax: 0 }).ok).toBe(true);
    expect(measureJson([[{ a: 1 }]], ROOMY).ok).toBe(true);
    expect(measureJson([[{ a: [] }]], ROOMY)).toMatchObject({ error: { code: 'NESTING_TOO_DEEP' } });
  });

  test('a value that holds itself many times over costs no more than the limit', () => {
    let value: JsonValue = 'x'.repeat(100);
    for (let level = 0; level < 60; level += 1) value = [value, value];
    expect(measureJson(value, { bytesMax: 100_000, depthMax: JSON_DEPTH_MAX })).toMatchObject({
      error: { code: 'PAYLOAD_TOO_LARGE' },
    });
    expect(jsonBytes(value)).toBe(Number.POSITIVE_INFINITY);
  });

  test('a value deeper than any stack is refused, not thrown at', () => {
    let value: JsonValue = 1;
    for (let level = 0; level < 100_000; level += 1) value = [value];
    expect(measureJson(value, { bytesMax: 1e9, depthMax: JSON_DEPTH_MAX })).toMatchObject({
      error: { code: 'NESTING_TOO_DEEP' },
    });
  });
});

test('canonical JSON does not depend on the order of keys', () => {
  expect(canonicalJson({ b: [1, { d: null, c: 'x"' }], a: true })).toBe('{"a":true,"b":[1,{"c":"x\\"","d":null}]}');
  expect(canonicalJson({ a: true, b: [1, { c: 'x"', d: null }] })).toBe('{"a":true,"b":[1,{"c":"x\\"","d":null}]}');
  expect(canonicalJson([2, 1])).toBe('[2,1]');
});

test('a path names each step the way a person would write it', () => {
  expect(childPath(childPath(childPath('', 'tasks'), 2), 'name')).toBe('tasks[2].name');
  expect(childPath('', 0)).toBe('[0]');
  expect(childPath('a', 'b c')).toBe('a["b c"]');
  expect(childPath('', 'x"y')).toBe('["x\\"y"]');
  expect(childPath('a', 'k'.repeat(5_000)).length).toBeLessThan(150);
});
