import { AsyncLocalStorage } from 'node:async_hooks';
import { createMutex } from './mutex.ts';

/** Transactions and reads one after the other: a read sees what was committed, never what may yet be rolled back. */
export type Serializer = Readonly<{
  transaction<T>(work: () => Promise<T>): Promise<T>;
  read<T>(query: () => T): Promise<T>;
}>;

export const createSerializer = (): Serializer => {
  const mutex = createMutex();
  const inside = new AsyncLocalStorage<true>();
  /** A call from within a transaction would wait for itself: say so instead of hanging. */
  const refuseInside = (): void => {
    if (inside.getStore()) throw new Error('inside a transaction only its own object may be used');
  };
  return {
    transaction: async (work) => {
      refuseInside();
      return mutex.run(() => inside.run(true, work));
    },
    read: async (query) => {
      refuseInside();
      return mutex.run(async () => query());
    },
  };
};
