import { describe, expect, it } from 'vitest';
import { parseExecutionId, parseLeaseToken, parseNamespace, parseTaskId } from '../../../src/domain/kernel/brand.ts';

const ID = '01890000-0000-7000-8000-000000000001';
const NO_IDS = ['', ID.toUpperCase().replace('0', 'A'), `${ID}0`, ` ${ID}`, ID.replaceAll('-', ''), `${ID}\n`];

describe('names from outside', () => {
  it('are ids and lease tokens when they are UUIDs in small letters, and nothing else', () => {
    expect([parseExecutionId(ID), parseLeaseToken(ID)]).toEqual([ID, ID]);
    for (const text of NO_IDS) expect([parseExecutionId(text), parseLeaseToken(text)]).toEqual([undefined, undefined]);
  });

  it('are namespaces of up to 63 small letters, digits and inner hyphens', () => {
    for (const text of ['a', '7', 'a-b', 'x'.repeat(63)]) expect(parseNamespace(text)).toBe(text);
    for (const text of ['', '-a', 'a-', 'A', 'a_b', 'a b', 'x'.repeat(64)])
      expect(parseNamespace(text)).toBeUndefined();
  });

  it('are task ids of a run and a seq', () => {
    expect(parseTaskId(`${ID}.42`)).toEqual({ executionId: ID, scheduledSeq: 42 });
    const wrong = [
      '',
      ID,
      `${ID}.`,
      `${ID}.x`,
      `${ID}.-1`,
      `${'-'.repeat(36)}.1`,
      `${ID}.1234567890123456`,
      `x${ID}.1`,
    ];
    for (const text of wrong) expect(parseTaskId(text)).toBeUndefined();
  });
});
