import { describe, expect, it } from 'vitest';
import {
  addDueKey,
  clearDueKeys,
  copyDueKeys,
  type DueKeys,
  dropDueKey,
  newDueKeys,
  takeDueKey,
  takeFirstDueKey,
} from '../../../src/domain/execution/due-keys.ts';

const dueOf = (...keys: readonly (readonly [string, number])[]): DueKeys => {
  const due = newDueKeys();
  for (const [key, seq] of keys) addDueKey(due, key, seq);
  return due;
};

const takeAll = (take: () => string | undefined): readonly string[] => {
  const taken: string[] = [];
  for (let key = take(); key !== undefined; key = take()) taken.push(key);
  return taken;
};

describe('keys that are due', () => {
  it('are taken by the seq of what opened their task, and those of one seq by their names', () => {
    const due = dueOf(['e', 5], ['b', 1], ['z', 3], ['a', 3], ['m', 3], ['c', 2], ['d', 9], ['f', 0]);
    expect(takeAll(() => takeDueKey(due))).toEqual(['f', 'b', 'c', 'a', 'm', 'z', 'e', 'd']);
    expect(takeDueKey(due)).toBeUndefined();
  });

  it('are taken in the same order in whichever they were added', () => {
    const keys = Array.from({ length: 40 }, (_, index) => [`k${index % 7}/${index}`, (index * 11) % 13] as const);
    const inOrder = (list: typeof keys) => {
      const due = dueOf(...list);
      return takeAll(() => takeDueKey(due));
    };
    const taken = inOrder(keys);
    expect(taken).toHaveLength(40);
    expect(inOrder([...keys].reverse())).toEqual(taken);
    const seqs = taken.map((key) => keys.find(([name]) => name === key)?.[1] ?? -1);
    expect(seqs).toEqual([...seqs].sort((a, b) => a - b));
  });

  it('are each there once, under the seq that was told last, until they are dropped', () => {
    const due = dueOf(['a', 1], ['b', 2], ['a', 1], ['a', 3]);
    dropDueKey(due, 'b');
    expect(takeAll(() => takeDueKey(due))).toEqual(['a']);
    addDueKey(due, 'b', 2);
    expect(takeAll(() => takeDueKey(due))).toEqual(['b']);
  });

  it('of two sets are taken by the same order, and what was dropped from either is passed by', () => {
    const [a, b] = [dueOf(['a1', 1], ['a3', 3], ['x', 4]), dueOf(['b2', 2], ['b3', 3], ['y', 0])];
    dropDueKey(b, 'y');
    dropDueKey(a, 'a1');
    expect(takeAll(() => takeFirstDueKey(a, b))).toEqual(['b2', 'a3', 'b3', 'x']);
  });

  it('are copied, so that the copy and the original are taken from on their own, and cleared', () => {
    const due = dueOf(['a', 1], ['b', 2]);
    const copy = copyDueKeys(due);
    expect(takeDueKey(due)).toBe('a');
    clearDueKeys(due);
    expect([takeDueKey(due), takeAll(() => takeDueKey(copy))]).toEqual([undefined, ['a', 'b']]);
  });
});
