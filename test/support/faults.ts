import { NEVER } from 'rxjs';
import type { EngineStore, EngineTx } from '../../src/ports/engine-store.ts';
import type { WakeSignal } from '../../src/ports/wake-signal.ts';

/** Replaces methods of every transaction of a store: the others go through. */
export const withTx = (engine: EngineStore, replace: (tx: EngineTx) => Partial<EngineTx>): EngineStore => ({
  ...engine,
  transaction: (work) => engine.transaction((tx) => work({ ...tx, ...replace(tx) })),
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

/** The crash of a process between two of its steps, as far as the database can tell: the transaction rolls back. */
export class SimulatedCrash extends Error {
  override readonly name = 'SimulatedCrash';
}
