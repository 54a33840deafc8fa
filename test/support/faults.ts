import { NEVER } from 'rxjs';
import type { EngineStore, EngineTx } from '../../src/ports/engine-store.ts';
import type { WakeSignal } from '../../src/ports/wake-signal.ts';

/** Replaces methods of every transaction of a store: the others go through. */
export const withTx = (engine: EngineStore, replace: (tx: EngineTx) => Partial<EngineTx>): EngineStore => {
  const transaction: EngineStore['transaction'] = (work) => engine.transaction((tx) => work({ ...tx, ...replace(tx) }));
  return { ...engine, transaction, ...inTransactions(transaction) };
};

/** What is a transaction by itself, run through one whose methods a test has replaced; so nothing takes the short road. */
const inTransactions = (
  transaction: EngineStore['transaction'],
): Pick<EngineStore, 'leaseTasks' | 'settleTasks' | 'stepRuns' | 'startRuns'> => ({
  stepRuns: async () => ({ stepped: new Set(), leased: [] }),
  startRuns: async () => ({ stepped: new Set(), leased: [] }),
  leaseTasks: (request) => transaction((tx) => tx.leaseTasks(request)),
  settleTasks: (namespace, reports) => transaction((tx) => tx.settleTasks(namespace, reports)),
});

/** A network that loses every hint, those inside the process included: only backstops are left. */
export const deafWake: WakeSignal = { publish: () => undefined, on: () => NEVER };

/** A gate that holds whoever comes to it until it is opened, from when it is closed. */
export type Gate = Readonly<{
  /** Closes it; resolves when the next one has come to it. */
  close(): Promise<void>;
  open(): void;
  /** Called where somebody is to be held. */
  pass(): Promise<void>;
}>;

export const createGate = (): Gate => {
  let closed: { reached: PromiseWithResolvers<void>; opened: PromiseWithResolvers<void> } | undefined;
  return {
    close: () => {
      closed = { reached: Promise.withResolvers(), opened: Promise.withResolvers() };
      return closed.reached.promise;
    },
    open: () => {
      closed?.opened.resolve();
      closed = undefined;
    },
    pass: async () => {
      const gate = closed;
      gate?.reached.resolve();
      await gate?.opened.promise;
    },
  };
};

/** What the database sees of a process that died: its transaction rolls back, and nothing more comes. */
export class SimulatedCrash extends Error {
  override readonly name = 'SimulatedCrash';
}

export type Life = {
  /** The method of a transaction after which the process dies; absent: it lives. */
  diesAfter?: keyof EngineTx;
  isDead: boolean;
};

/** The store of a process that can die in the middle of a transaction; dead, it does nothing any more. */
export const mortal = (engine: EngineStore, life: Life): EngineStore => {
  const dying = (tx: EngineTx): EngineTx =>
    new Proxy(tx, {
      get: (target, name: keyof EngineTx) => {
        const method = target[name] as (...args: unknown[]) => Promise<unknown>;
        if (name !== life.diesAfter) return method;
        return async (...args: unknown[]) => {
          await method(...args);
          life.isDead = true;
          throw new SimulatedCrash(`died after ${name}`);
        };
      },
    });
  const transaction: EngineStore['transaction'] = async (work) => {
    if (life.isDead) throw new SimulatedCrash('is dead');
    return engine.transaction((tx) => work(dying(tx)));
  };
  return { ...engine, transaction, ...inTransactions(transaction) };
};
