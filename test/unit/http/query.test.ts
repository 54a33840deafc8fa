import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseQuery } from '../../../src/adapters/http/query.ts';

test('a query that was encoded is read back as it was', () => {
  const name = fc.constantFrom('limit', 'cursor', 'after');
  const text = fc.string({ unit: 'grapheme' }).filter((value) => !/\p{Cc}/u.test(value));
  fc.assert(
    fc.property(fc.dictionary(name, text, { noNullPrototype: true }), (given) => {
      const parsed = parseQuery(`/path?${new URLSearchParams(given)}`, ['limit', 'cursor', 'after']);
      expect(parsed).toEqual({ ok: true, value: given });
    }),
  );
});

test('a target without a query has none', () => {
  expect(parseQuery('/path', [])).toEqual({ ok: true, value: {} });
  expect(parseQuery('/path?', [])).toEqual({ ok: true, value: {} });
});
