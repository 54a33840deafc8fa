import { describe, expect, it } from 'vitest';
import { enforcedSchemasOf, namedSchemaOf, schemaBodyOf } from '../../../src/domain/definition/schemas.ts';
import type { JsonValue } from '../../../src/domain/kernel/json.ts';

describe('a schema field', () => {
  it.each<[JsonValue, object]>([
    ['order', { name: 'order', type: 'JSON' }],
    [{ name: 'order' }, { name: 'order', type: 'JSON' }],
    [
      { name: 'order', version: 2, type: 'AVRO' },
      { name: 'order', version: 2, type: 'AVRO' },
    ],
    [
      { name: 'order', version: 0, type: 7, data: null },
      { name: 'order', type: 'JSON' },
    ],
    [
      { name: 'order', data: { type: 'object' } },
      { name: 'order', type: 'JSON', data: { type: 'object' } },
    ],
  ])('%j names a registered schema', (field, named) => expect(namedSchemaOf(field)).toStrictEqual(named));

  it.each<[JsonValue]>([
    [{ type: 'object' }],
    [{ name: 7 }],
    [{ name: 'order', properties: {} }],
    [['order']],
    [null],
    [{}],
  ])('%j is a schema written in place', (field) => {
    expect(namedSchemaOf(field)).toBeUndefined();
    expect(schemaBodyOf(field)).toBe(field);
  });

  it('is checked by what it names only where that was found, and is of the kind that is checked', () => {
    const data = { type: 'string' };
    expect(schemaBodyOf(undefined)).toBeUndefined();
    expect(schemaBodyOf('order')).toBeUndefined();
    expect(schemaBodyOf({ name: 'order', data })).toBe(data);
    expect(schemaBodyOf({ name: 'order', type: 'AVRO', data })).toBeUndefined();
  });
});

describe('the schemas that are enforced', () => {
  const [inputSchema, outputSchema] = [{ type: 'object' }, { type: 'string' }];

  it('are those that are there', () => {
    const enforced = (schemas: object) => enforcedSchemasOf({ enforceSchema: true, ...schemas });
    expect(enforced({ inputSchema, outputSchema })).toStrictEqual({ input: inputSchema, output: outputSchema });
    expect(enforced({ inputSchema })).toStrictEqual({ input: inputSchema });
    expect(enforced({ outputSchema })).toStrictEqual({ output: outputSchema });
    expect([enforced({}), enforced({ inputSchema: 'unknown' })]).toEqual([undefined, undefined]);
  });

  it('are none where they are not to be enforced', () => {
    const both = { inputSchema, outputSchema };
    expect([enforcedSchemasOf({ ...both, enforceSchema: false }), enforcedSchemasOf(both)]).toEqual([
      undefined,
      undefined,
    ]);
    expect(enforcedSchemasOf(undefined)).toBeUndefined();
  });
});
