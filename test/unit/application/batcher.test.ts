import { expect, test } from 'vitest';
import { Batcher } from '../../../src/application/batcher.ts';

type Flight = Readonly<{ items: readonly number[]; land: () => void; crash: (error: Error) => void }>;

/** A batcher whose transactions end when the test says so; each item is answered with its double. */
const given = (options: { sizeMax?: number; inFlightMax?: number; groupOf?: (item: number) => string } = {}) => {
  const flights: Flight[] = [];
  const { sizeMax = 10, inFlightMax = 1, ...rest } = options;
  const run = (items: readonly number[]) =>
    new Promise<readonly number[]>((resolve, reject) => {
      flights.push({ items, land: () => resolve(items.map((item) => item * 2)), crash: reject });
    });
  return { batcher: new Batcher<number, number>({ run, sizeMax, inFlightMax, ...rest }), flights };
};

/** One turn of the event loop. */
const turn = () => new Promise((resolve) => setImmediate(resolve));

const taken = (flights: readonly Flight[]) => flights.map(({ items }) => items);

test('a call that finds nothing in flight waits for the calls of its own turn and for nobody else', async () => {
  const { batcher, flights } = given();
  void batcher.submit(1);
  await turn();
  expect(taken(flights)).toEqual([[1]]);
});

test('calls that arrive while a transaction is in flight share the next one, in their order', async () => {
  const { batcher, flights } = given();
  const first = batcher.submit(1);
  await turn();
  const others = Promise.all([batcher.submit(2), batcher.submit(3)]);
  flights[0]?.land();
  expect(await first).toBe(2);
  await turn();
  flights[1]?.land();
  expect([taken(flights), await others]).toEqual([
    [[1], [2, 3]],
    [4, 6],
  ]);
});

test('a batch has its bound, and what is over goes in the next flight that is free', async () => {
  const { batcher, flights } = given({ sizeMax: 2, inFlightMax: 2 });
  const all = Promise.all([1, 2, 3, 4, 5].map((item) => batcher.submit(item)));
  await turn();
  for (let index = 0; index < 3; index += 1) {
    flights[index]?.land();
    await turn();
  }
  expect(await all).toEqual([2, 4, 6, 8, 10]);
  expect(taken(flights)).toEqual([[1, 2], [3, 4], [5]]);
});

test('calls of different groups never share a transaction', async () => {
  const { batcher, flights } = given({ groupOf: (item) => (item % 2 === 0 ? 'even' : 'odd') });
  const all = Promise.all([1, 2, 3, 4].map((item) => batcher.submit(item)));
  await turn();
  for (let index = 0; index < 2; index += 1) {
    flights[index]?.land();
    await turn();
  }
  await all;
  expect(taken(flights)).toEqual([
    [1, 3],
    [2, 4],
  ]);
});

test('an error reaches every call of its batch, and the next batch goes on', async () => {
  const { batcher, flights } = given();
  const first = batcher.submit(1);
  await turn();
  const second = batcher.submit(2);
  flights[0]?.crash(new Error('the database is away'));
  await expect(first).rejects.toThrow('the database is away');
  await turn();
  flights[1]?.land();
  expect(await second).toBe(4);
});
