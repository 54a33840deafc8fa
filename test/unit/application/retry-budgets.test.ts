import { describe, expect, it } from 'vitest';
import { createMemoryStores } from '../../../src/adapters/memory/stores.ts';
import { RetryBudgets } from '../../../src/application/retry-budgets.ts';
import { RetryTally } from '../../../src/application/retry-tally.ts';
import type { Namespace } from '../../../src/domain/kernel/brand.ts';
import type { EngineStore } from '../../../src/ports/engine-store.ts';
import { createFakeClock } from '../../support/fake-clock.ts';

const NAMESPACE = 'alpha' as Namespace;
const CHARGE = { taskName: 'charge', share: 0.3 };

const isSpent = (budgets: RetryBudgets, engine: EngineStore) =>
  engine.transaction((tx) => budgets.isSpent(tx, NAMESPACE, CHARGE, new RetryTally()));

const tallyOf = (attempts: number, retries: number): RetryTally => {
  const tally = new RetryTally();
  for (let index = 0; index < attempts; index += 1) tally.add(NAMESPACE, 'charge', index < retries);
  return tally;
};

const count = (budgets: RetryBudgets, attempts: number, retries: number): void => {
  budgets.keep(tallyOf(attempts, retries));
};

describe('retry budgets of a process', () => {
  const open = () => createMemoryStores({ clock: createFakeClock() }).engine;

  it('know their own retries at once, without anything being written', async () => {
    const engine = open();
    const budgets = new RetryBudgets();
    count(budgets, 19, 5);
    expect(await isSpent(budgets, engine)).toBe(false);
    count(budgets, 1, 1);
    expect(await isSpent(budgets, engine)).toBe(true);
    expect((await engine.transaction((tx) => tx.retryCounts(NAMESPACE, ['charge']))).size).toBe(0);
  });

  it('know what their own transaction has closed before it commits, and others only after that', async () => {
    const engine = open();
    const budgets = new RetryBudgets();
    const tally = tallyOf(20, 7);
    const seenBy = (of: RetryTally) => engine.transaction((tx) => budgets.isSpent(tx, NAMESPACE, CHARGE, of));
    expect([await seenBy(tally), await seenBy(new RetryTally())]).toEqual([true, false]);
    budgets.keep(tally);
    expect(await seenBy(new RetryTally())).toBe(true);
  });

  it('know what others have counted once it is written, and lose nothing of their own by writing', async () => {
    const engine = open();
    const [one, two] = [new RetryBudgets(), new RetryBudgets()];
    count(one, 30, 9);
    expect(await isSpent(one, engine)).toBe(true);
    await one.flush(engine);
    expect([await isSpent(one, engine), await isSpent(two, engine)]).toEqual([true, true]);
  });

  it('keep what could not be written for the next time', async () => {
    const engine = open();
    const budgets = new RetryBudgets();
    count(budgets, 30, 9);
    const broken = { ...engine, transaction: () => Promise.reject(new Error('no database')) };
    await expect(budgets.flush(broken)).rejects.toThrow('no database');
    expect(await isSpent(budgets, engine)).toBe(true);
    await budgets.flush(engine);
    const stored = await engine.transaction((tx) => tx.retryCounts(NAMESPACE, ['charge']));
    expect(stored.get('charge')).toMatchObject({ attempts: 30, retries: 9 });
  });

  it('of another task or namespace do not count', async () => {
    const engine = open();
    const budgets = new RetryBudgets();
    const tally = new RetryTally();
    for (let index = 0; index < 40; index += 1) {
      tally.add(NAMESPACE, 'refund', true);
      tally.add('beta' as Namespace, 'charge', true);
    }
    budgets.keep(tally);
    expect(await isSpent(budgets, engine)).toBe(false);
  });
});
