import { describe, expect, it } from 'vitest';
import {
  createAjvValidator,
  SCHEMA_BYTES_MAX,
  SCHEMA_NODES_MAX,
} from '../../../src/adapters/json-schema/ajv-validator.ts';
import { meterCode } from '../../../src/adapters/json-schema/metered-code.ts';
import { createSteeringSandbox } from '../../../src/adapters/sandbox/steering-sandbox.ts';
import type { JsonValue } from '../../../src/domain/kernel/json.ts';

const { evaluate } = await createSteeringSandbox();
const validator = createAjvValidator(evaluate);
const TOO_MUCH = /cannot be checked: that takes more than \d+ units of work/;
const messageOf = (schema: JsonValue, value: JsonValue): string | undefined =>
  validator.firstViolation(schema, value)?.message;

describe('a check of a value against a schema', () => {
  it('is cut where references double the work at every step', () => {
    const $defs = Object.fromEntries(
      Array.from({ length: 40 }, (_, index) => {
        const next = { $ref: `#/$defs/a${index + 1}` };
        return [`a${index}`, { allOf: [next, next] }];
      }),
    );
    const schema = { $defs: { ...$defs, a40: {} }, $ref: '#/$defs/a0' };
    expect(validator.problem(schema)).toBeUndefined();
    expect(messageOf(schema, 1)).toMatch(TOO_MUCH);
  });

  it('is cut where a schema refers to itself twice at every level of the value', () => {
    const again = { properties: { a: { $ref: '#' } } };
    const value: JsonValue = JSON.parse(`${'{"a":'.repeat(60)}1${'}'.repeat(60)}`);
    expect(messageOf({ allOf: [again, again] }, value)).toMatch(TOO_MUCH);
  });

  it('is cut where a reference leads back to itself', () => {
    expect(messageOf({ $ref: '#' }, 1)).toMatch(TOO_MUCH);
  });

  it('is cut where each of many items has much to fit', () => {
    const schema = { items: { allOf: Array.from({ length: 900 }, () => ({ type: 'number' })) } };
    expect(validator.problem(schema)).toBeUndefined();
    expect(
      messageOf(
        schema,
        Array.from({ length: 50_000 }, () => 1),
      ),
    ).toMatch(TOO_MUCH);
  });

  it('is cut where many texts meet patterns that take long', () => {
    const schema = { items: { anyOf: [{ pattern: '^(a+)+$' }, { type: 'string' }] } };
    expect(
      messageOf(
        schema,
        Array.from({ length: 1_000 }, () => `${'a'.repeat(40)}b`),
      ),
    ).toMatch(TOO_MUCH);
  });

  it('goes through ten thousand simple patterns and a hundred thousand unique items', () => {
    const codes = Array.from({ length: 10_000 }, (_, index) => `ABC-${index}`);
    expect(messageOf({ items: { pattern: '^[A-Z]{3}-\\d+$' } }, codes)).toBeUndefined();
    const items = Array.from({ length: 100_000 }, (_, index) => ({ index }));
    expect(messageOf({ uniqueItems: true }, items)).toBeUndefined();
    expect(
      messageOf({ uniqueItems: true }, [
        { a: 1, b: 2 },
        { b: 2, a: 1 },
      ]),
    ).toContain('duplicate');
    expect(messageOf({ uniqueItems: false }, [1, 1])).toBeUndefined();
  });

  it('gives each its own names: two schemas may have the same id, and none sees another', () => {
    const id = 'https://example.org/order';
    expect(messageOf({ $id: id, type: 'string' }, 'a')).toBeUndefined();
    expect(messageOf({ $id: id, type: 'number' }, 'a')).toBe('must be number');
    expect(validator.problem({ $ref: id })).toContain("can't resolve reference");
  });
});

describe('a schema', () => {
  it('may not be too long, nor have too many parts', () => {
    expect(validator.problem({ title: 'x'.repeat(SCHEMA_BYTES_MAX) })).toContain(`${SCHEMA_BYTES_MAX} bytes`);
    const parts = { anyOf: Array.from({ length: SCHEMA_NODES_MAX }, () => ({})) };
    expect(validator.problem(parts)).toContain(`${SCHEMA_NODES_MAX} objects and lists`);
    expect(validator.firstViolation(parts, 1)?.message).toContain('cannot be checked');
  });

  it('is refused for a pattern that is none, and for a keyword that means something else', () => {
    expect(validator.problem({ pattern: '(' })).toContain('Invalid regular expression');
    expect(validator.problem({ type: 'strnig' })).toContain('type');
  });

  it('of an older draft is read as one of 2020-12', () => {
    const schema = { $schema: 'http://json-schema.org/draft-07/schema#', type: 'string' };
    expect(validator.problem(schema)).toBeUndefined();
    expect(messageOf(schema, 1)).toBe('must be string');
  });

  it('whose names look like code is checked as it is written', () => {
    const schema = { properties: { 'for(;;){': { const: 'function validate(x){' } }, required: ['for(;;){'] };
    expect(messageOf(schema, { 'for(;;){': 'function validate(x){' })).toBeUndefined();
    expect(messageOf(schema, { 'for(;;){': 'function validate(x){self.spend(1);' })).toContain('constant');
  });
});

describe('metered code', () => {
  it('spends in loops and functions, and leaves text alone', () => {
    expect(meterCode('function f(a, {b=")"}={}){for(;;){g("for(x){");}}')).toBe(
      'function f(a, {b=")"}={}){self.spend(1);for(;;){self.spend(1);g("for(x){");}}',
    );
  });
});
