/** What one measurement asks for: chains of no-op steps, so many at a time, each begun when one has ended. */
export type Order = Readonly<{ steps: number; inFlight: number; runs: number }>;

/** In milliseconds, one sample for each run or pair of steps. Empty where there is nothing of the kind. */
export type Samples = Readonly<{ seconds: number; wholes: number[]; firsts: number[]; steps: number[] }>;

export type RunningPeer = Readonly<{
  run(order: Order): Promise<Samples>;
  stop(): Promise<void>;
}>;

export type Peer = Readonly<{
  name: string;
  /** `url`: an empty database of its own on the PostgreSQL that all share. */
  start(url: string): Promise<RunningPeer>;
}>;

/** Notes of one run when its steps begin; the next is due when the one before is done. */
export class RunNotes {
  readonly samples: Samples = { seconds: 0, wholes: [], firsts: [], steps: [] };
  private readonly runs = new Map<string, { startedAt: number; at: number }>();

  started(run: string): void {
    const at = performance.now();
    this.runs.set(run, { startedAt: at, at });
  }

  step(run: string, n: number): void {
    const known = this.runs.get(run);
    if (known === undefined) return;
    const at = performance.now();
    (n === 1 ? this.samples.firsts : this.samples.steps).push(at - known.at);
    known.at = at;
  }

  ended(run: string): void {
    const known = this.runs.get(run);
    if (known !== undefined) this.samples.wholes.push(performance.now() - known.startedAt);
    this.runs.delete(run);
  }
}

let serial = 0;

/** Runs the order with `one`, which resolves when the run has ended; it tells the notes of each step that begins. */
export const closedLoop = async (
  { inFlight, runs }: Order,
  notes: RunNotes,
  one: (run: string) => Promise<void>,
): Promise<Samples> => {
  let left = runs;
  const since = performance.now();
  const lane = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      serial += 1;
      const run = `${process.pid}-${serial}`;
      notes.started(run);
      await one(run);
      notes.ended(run);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, lane));
  return { ...notes.samples, seconds: (performance.now() - since) / 1_000 };
};

/** A package of bench/peers/package.json, which is installed only where peers are measured: its types are not known here. */
export const load = async <T>(name: string): Promise<T> => import(name);
