import { expect, test } from 'vitest';
import { createAjvValidator } from '../../../src/adapters/json-schema/ajv-validator.ts';
import { createSteeringSandbox } from '../../../src/adapters/sandbox/steering-sandbox.ts';
import { ok } from '../../../src/domain/kernel/result.ts';

const validator = createAjvValidator(() => ok(true));

const ORDER = {
  type: 'object',
  required: ['customer'],
  properties: { customer: { type: 'object', properties: { ids: { type: 'array', items: { type: 'integer' } } } } },
};

test('a valid value has no violation', () => {
  expect(validator.firstViolation(ORDER, { customer: { ids: [1, 2] } })).toBeUndefined();
});

test('a violation names the place in the value', () => {
  const violation = validator.firstViolation(ORDER, { customer: { ids: [1, 'x'] } });
  expect(violation).toEqual({ path: '.customer.ids[1]', message: 'must be integer' });
});

test('a schema that Conductor registers by name is read from its data, and without data asks for nothing', () => {
  expect(validator.firstViolation({ name: 'order', type: 'JSON', data: ORDER }, {})?.message).toContain('customer');
  expect(validator.firstViolation({ name: 'order', type: 'JSON', version: 1 }, {})).toBeUndefined();
});

test('a schema that cannot be used says why', () => {
  expect(validator.problem({ type: 'no such type' })).toContain('type');
  expect(validator.problem('order-schema')).toBeUndefined();
  expect(validator.problem(ORDER)).toBeUndefined();
});

test('a pattern that would take for ever is cut and counts as no match', async () => {
  const { evaluate } = await createSteeringSandbox();
  const metered = createAjvValidator(evaluate);
  const schema = { type: 'string', pattern: '^(a+)+$' };
  expect(metered.firstViolation(schema, `${'a'.repeat(50_000)}!`)?.message).toContain('pattern');
  expect(metered.firstViolation(schema, 'aaa')).toBeUndefined();
  expect(metered.firstViolation({ type: 'string', pattern: '^b' }, 'aaa')?.message).toContain('pattern');
});
