import { describe, expect, it } from 'vitest';
import { ALPHA, BETA } from './given.ts';
import { harnesses, useHarness } from './harness.ts';

describe.each(harnesses)('external payloads over $name', (harness) => {
  const open = useHarness(harness);

  it('are found under their path in their namespace, as they were uploaded last', async () => {
    const content = { text: 'naïve 🧪', list: [1, null, { a: true }] };
    await open().payloads.putPayload(ALPHA, 'a/1.json', { old: 1 });
    await open().payloads.putPayload(ALPHA, 'a/1.json', content);
    expect(await open().payloads.findPayload(ALPHA, 'a/1.json')).toEqual(content);
    expect(await open().payloads.findPayload(BETA, 'a/1.json')).toBeUndefined();
    expect(await open().payloads.findPayload(ALPHA, 'a/2.json')).toBeUndefined();
  });

  it('are deleted when they are old, some at a time', async () => {
    for (const path of ['1', '2', '3']) await open().payloads.putPayload(ALPHA, path, {});
    expect(await open().payloads.prunePayloads(10_000, 10)).toBe(0);
    await open().advance(10_001);
    await open().payloads.putPayload(ALPHA, 'new', {});
    expect(await open().payloads.prunePayloads(10_000, 2)).toBe(2);
    expect(await open().payloads.prunePayloads(10_000, 2)).toBe(1);
    expect(await open().payloads.findPayload(ALPHA, 'new')).toEqual({});
  });
});
