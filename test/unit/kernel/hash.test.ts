import { expect, test } from 'vitest';
import { fnv1a32, unitHash } from '../../../src/domain/kernel/hash.ts';

test('FNV-1a gives its published values', () => {
  expect(fnv1a32('')).toBe(0x811c9dc5);
  expect(fnv1a32('a')).toBe(0xe40c292c);
  expect(fnv1a32('foobar')).toBe(0xbf9cf968);
});

test('the same text draws the same number, at any time', () => {
  expect(unitHash('run.task.1.0')).toBe(unitHash('run.task.1.0'));
  expect(unitHash('run.task.1.0')).not.toBe(unitHash('run.task.1.1'));
  expect(unitHash('é')).not.toBe(unitHash('ũ'));
});

test('similar texts are spread evenly over [0, 1)', () => {
  const counts = Array<number>(10).fill(0);
  for (let attempt = 0; attempt < 10_000; attempt += 1) {
    const drawn = unitHash(`0198c1f4-task.${attempt}`);
    expect(drawn >= 0 && drawn < 1).toBe(true);
    const bucket = Math.floor(drawn * 10);
    counts[bucket] = (counts[bucket] ?? 0) + 1;
  }
  for (const count of counts) expect(Math.abs(count - 1_000)).toBeLessThan(150);
});
