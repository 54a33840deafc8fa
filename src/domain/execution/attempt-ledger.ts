import type { TaskKey } from './task-key.ts';

/** Which attempts are used up, so that what runs again never takes an identity twice (promise 6). */
export type AttemptLedger = {
  /** The highest attempt above 1 of anything in the run. */
  highest: number;
  /** The same by ref, for nodes of the plan; refs that data brings in would grow with the history. */
  readonly used: Map<string, number>;
  /** Attempts of a ref begin above this one: those up to it belong to what was taken back. */
  readonly floors: Map<string, number>;
  /** The same for all refs that data brings in. */
  dynamicFloor: number;
  /** The attempts of operators that failed and were forgotten, so that a retry enters them again; by wire ref. */
  readonly forgotten: Map<TaskKey, number>;
};

export const newLedger = (): AttemptLedger => ({
  highest: 0,
  used: new Map(),
  floors: new Map(),
  dynamicFloor: 0,
  forgotten: new Map(),
});

export const copyLedger = (ledger: AttemptLedger): AttemptLedger => ({
  ...ledger,
  used: new Map(ledger.used),
  floors: new Map(ledger.floors),
  forgotten: new Map(ledger.forgotten),
});
