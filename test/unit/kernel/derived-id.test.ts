import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { type Instant, parseExecutionId } from '../../../src/domain/kernel/brand.ts';
import { derivedExecutionId } from '../../../src/domain/kernel/derived-id.ts';
import { codeUnitBytes, sha256Hex } from '../../../src/domain/kernel/sha256.ts';

const NOON = Date.UTC(2030, 0, 1, 12) as Instant;

test('SHA-256 agrees with the one of the platform at every length around its blocks', () => {
  for (let length = 0; length <= 200; length += 1) {
    const bytes = Uint8Array.from({ length }, (_, at) => (at * 7 + length) & 0xff);
    expect(sha256Hex(bytes)).toBe(createHash('sha256').update(bytes).digest('hex'));
  }
});

test('a text counts with both bytes of each code unit', () => {
  expect([...codeUnitBytes('aé🧪')]).toEqual([0, 0x61, 0, 0xe9, 0xd8, 0x3e, 0xdd, 0xea]);
});

test('an id is a UUIDv7 with the instant of its fact as its time, and the same one for ever', () => {
  const id = derivedExecutionId(NOON, 'run/child/0/1');
  expect(id).toBe('01b8dd58-e200-7d34-9ded-e5e8afe2fd34');
  expect(parseExecutionId(id)).toBe(id);
  expect(Number.parseInt(id.replace('-', '').slice(0, 12), 16)).toBe(NOON);
});

test('each attempt, ref and run names another id', () => {
  const ids = ['run/child/0/1', 'run/child/0/2', 'run/other/0/1', 'ruN/child/0/1'].map((cause) =>
    derivedExecutionId(NOON, cause),
  );
  expect(new Set(ids).size).toBe(4);
  expect(ids.every((id) => /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(id))).toBe(
    true,
  );
});
