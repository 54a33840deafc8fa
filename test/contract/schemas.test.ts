import { describe, expect, it } from 'vitest';
import type { JsonValue } from '../../src/domain/kernel/json.ts';
import { ALPHA, BETA } from './given.ts';
import { harnesses, useHarness } from './harness.ts';

describe.each(harnesses)('registered schemas over $name', (harness) => {
  const open = useHarness(harness);
  const put = (name: string, data: JsonValue, version?: number) =>
    open().definitions.putSchema(ALPHA, { name, data, ...(version === undefined ? {} : { version }) });
  const namesOf = (rows: readonly Readonly<{ name: string; version: number }>[]) =>
    rows.map(({ name, version }) => `${name}.${version}`);

  it('are found as they were stored, by version or the highest', async () => {
    const data = { type: 'object', title: 'naïve 🧪' };
    expect(await put('order', data, 2)).toEqual({ outcome: 'created', version: 2 });
    await put('order', true, 10);
    expect(await open().definitions.findSchema(ALPHA, 'order', 2)).toMatchObject({ name: 'order', version: 2, data });
    expect(await open().definitions.findSchema(ALPHA, 'order')).toMatchObject({ version: 10, data: true });
    expect(await open().definitions.findSchema(ALPHA, 'order', 3)).toBeUndefined();
    expect(await open().definitions.findSchema(BETA, 'order')).toBeUndefined();
  });

  it('never change under a version', async () => {
    await put('order', { type: 'object' }, 1);
    expect(await put('order', { type: 'object' }, 1)).toEqual({ outcome: 'unchanged', version: 1 });
    expect(await put('order', { type: 'string' }, 1)).toEqual({ outcome: 'conflict', version: 1 });
    expect((await open().definitions.findSchema(ALPHA, 'order', 1))?.data).toEqual({ type: 'object' });
  });

  it('change under a version where that is asked for', async () => {
    await put('order', { type: 'object' }, 1);
    const overwrite = (data: JsonValue, version: number) =>
      open().definitions.putSchema(ALPHA, { name: 'order', data, version, overwrites: true });
    expect(await overwrite({ type: 'object' }, 1)).toEqual({ outcome: 'unchanged', version: 1 });
    expect(await overwrite({ type: 'string' }, 1)).toEqual({ outcome: 'replaced', version: 1 });
    expect(await overwrite({ type: 'number' }, 2)).toEqual({ outcome: 'created', version: 2 });
    expect((await open().definitions.findSchema(ALPHA, 'order', 1))?.data).toEqual({ type: 'string' });
  });

  it('get the next version when none is named, unless the highest says the same', async () => {
    expect(await put('order', { type: 'object' })).toEqual({ outcome: 'created', version: 1 });
    expect(await put('order', { type: 'object' })).toEqual({ outcome: 'unchanged', version: 1 });
    expect(await put('order', { type: 'string' })).toEqual({ outcome: 'created', version: 2 });
  });

  it('get each another version when many register at once', async () => {
    const answers = await Promise.all(Array.from({ length: 5 }, (_, index) => put('order', { title: `${index}` })));
    expect(answers.map(({ version }) => version).toSorted()).toEqual([1, 2, 3, 4, 5]);
  });

  it('are listed page by page, by name and version', async () => {
    for (const version of [2, 1, 10]) await put('b', true, version);
    await put('a', true, 1);
    const first = await open().definitions.listSchemas(ALPHA, { limit: 3 });
    expect(namesOf(first)).toEqual(['a.1', 'b.1', 'b.2']);
    const rest = await open().definitions.listSchemas(ALPHA, { limit: 3, after: { name: 'b', version: 2 } });
    expect(namesOf(rest)).toEqual(['b.10']);
    expect(await open().definitions.listSchemas(BETA, { limit: 3 })).toEqual([]);
  });

  it('are deleted one version at a time, in their namespace alone', async () => {
    await put('order', true, 1);
    expect(await open().definitions.deleteSchema(BETA, 'order', 1)).toBe(false);
    expect(await open().definitions.deleteSchema(ALPHA, 'order', 1)).toBe(true);
    expect(await open().definitions.deleteSchema(ALPHA, 'order', 1)).toBe(false);
  });
});
