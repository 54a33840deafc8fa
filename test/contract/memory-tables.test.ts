import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Journal } from '../../src/adapters/memory/journal.ts';
import { SortedList } from '../../src/adapters/memory/sorted-list.ts';
import { createMemoryStores } from '../../src/adapters/memory/stores.ts';
import { OrderedIndex, Table } from '../../src/adapters/memory/table.ts';
import { createFakeClock } from '../support/fake-clock.ts';
import { ALPHA } from './given.ts';

const byNumber = (a: number, b: number): number => a - b;

describe('a sorted list', () => {
  it('holds what was added and not removed, in order', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 2_000 }), { maxLength: 3_000 }), (numbers) => {
        const list = new SortedList<number>(byNumber);
        const model = new Set<number>();
        for (const number of numbers) {
          // A number that comes again leaves.
          if (model.delete(number)) list.remove(number);
          else {
            model.add(number);
            list.add(number);
          }
        }
        expect([...list]).toEqual([...model].sort(byNumber));
        expect(list.size).toBe(model.size);
        expect(list.first()).toBe([...model].sort(byNumber)[0]);
      }),
      { numRuns: 50 },
    );
  });

  it('refuses to remove what it does not hold', () => {
    const list = new SortedList<number>(byNumber);
    expect(() => list.remove(1)).toThrow('an index lost a row');
    list.add(2);
    expect(() => list.remove(1)).toThrow('an index lost a row');
  });

  it('costs a few comparisons an operation, however long it is', () => {
    let comparisons = 0;
    const list = new SortedList<number>((a, b) => {
      comparisons += 1;
      return a - b;
    });
    for (let number = 0; number < 100_000; number += 1) list.add((number * 7_919) % 100_003);
    comparisons = 0;
    list.remove(7_919);
    list.add(7_919);
    expect(comparisons).toBeLessThan(60);
  });
});

describe('a table', () => {
  type Row = Readonly<{ key: string; group: string | undefined; rank: number }>;
  const row = fc.record({
    key: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
    group: fc.constantFrom('g', 'h', undefined),
    rank: fc.integer({ min: 0, max: 3 }),
  });
  const write = fc.record({ row, isDelete: fc.boolean() });

  const open = () => {
    const journal = new Journal();
    const index = new OrderedIndex<Row>(
      ({ group }) => group,
      (a, b) => a.rank - b.rank || (a.key < b.key ? -1 : a.key > b.key ? 1 : 0),
    );
    const table = new Table<Row>(journal, ({ key }) => key, [index]);
    const apply = (writes: readonly Readonly<{ row: Row; isDelete: boolean }>[]) => {
      for (const { row: next, isDelete } of writes) {
        if (isDelete) table.delete(next.key);
        else table.put(next);
      }
    };
    const rows = () => ['a', 'b', 'c', 'd', 'e'].map((key) => table.get(key));
    const groups = () => ['g', 'h'].map((group) => [...index.in(group)]);
    return { journal, apply, rows, groups };
  };

  it('is after a rollback what it was before, and so are its indexes', () => {
    fc.assert(
      fc.property(fc.array(write), fc.array(write), (committed, undone) => {
        const table = open();
        table.apply(committed);
        table.journal.commit();
        const before = { rows: table.rows(), groups: table.groups() };
        table.apply(undone);
        table.journal.rollback();
        expect({ rows: table.rows(), groups: table.groups() }).toEqual(before);
      }),
    );
  });

  it('has in each index exactly the rows that belong there', () => {
    fc.assert(
      fc.property(fc.array(write), (writes) => {
        const table = open();
        table.apply(writes);
        const held = table.rows().filter((one) => one !== undefined);
        const inGroup = (group: string) => held.filter((one) => one.group === group).map((one) => one.key);
        expect(table.groups().map((group) => group.map((one) => one.key).toSorted())).toEqual([
          inGroup('g').toSorted(),
          inGroup('h').toSorted(),
        ]);
      }),
    );
  });
});

describe('the memory stores', () => {
  it('say so when a transaction is opened, or a read made, inside another', async () => {
    const { engine, index } = createMemoryStores({ clock: createFakeClock() });
    const inner = engine.transaction(() => engine.transaction(async () => undefined));
    await expect(inner).rejects.toThrow('inside a transaction');
    const read = engine.transaction(() => index.search(ALPHA, {}, { limit: 1 }));
    await expect(read).rejects.toThrow('inside a transaction');
    await expect(engine.transaction(async () => 'goes on')).resolves.toBe('goes on');
  });
});
