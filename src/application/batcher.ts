type Waiting<I, O> = Readonly<{ item: I; resolve: (output: O) => void; reject: (error: unknown) => void }>;

/**
 * Joins calls that arrive while a transaction is in flight into the next one: no timer, so an idle call waits for nobody.
 * `run` answers each item of its batch in order; when it throws, every item of that batch hears the error.
 */
export class Batcher<I, O> {
  private readonly run: (items: readonly I[]) => Promise<readonly O[]>;
  private readonly sizeMax: number;
  private waiting: Waiting<I, O>[] = [];
  private inFlight = 0;
  private isPumpDue = false;
  private readonly inFlightMax: number;
  private readonly groupOf: (item: I) => string;

  constructor(options: {
    run: (items: readonly I[]) => Promise<readonly O[]>;
    /** Most items one transaction takes. */
    sizeMax: number;
    /** Transactions at a time. */
    inFlightMax: number;
    /** Calls of different groups never share a transaction; absent: all are of one. */
    groupOf?: (item: I) => string;
  }) {
    this.run = options.run;
    this.sizeMax = options.sizeMax;
    this.inFlightMax = options.inFlightMax;
    this.groupOf = options.groupOf ?? (() => '');
  }

  submit(item: I): Promise<O> {
    return new Promise<O>((resolve, reject) => {
      this.waiting.push({ item, resolve, reject });
      this.pumpSoon();
    });
  }

  /** What arrives in the same turn of the event loop, as the polls that one wake-up wakes, goes together. */
  private pumpSoon(): void {
    if (this.isPumpDue) return;
    this.isPumpDue = true;
    setImmediate(() => {
      this.isPumpDue = false;
      this.pump();
    });
  }

  private pump(): void {
    while (this.waiting.length > 0 && this.inFlight < this.inFlightMax) {
      const batch = this.take();
      this.inFlight += 1;
      void this.flush(batch);
    }
  }

  /** The call that has waited longest, and what may go with it. */
  private take(): readonly Waiting<I, O>[] {
    const [first] = this.waiting;
    const group = first === undefined ? '' : this.groupOf(first.item);
    const batch: Waiting<I, O>[] = [];
    const rest: Waiting<I, O>[] = [];
    for (const entry of this.waiting) {
      if (batch.length < this.sizeMax && this.groupOf(entry.item) === group) batch.push(entry);
      else rest.push(entry);
    }
    this.waiting = rest;
    return batch;
  }

  private async flush(batch: readonly Waiting<I, O>[]): Promise<void> {
    try {
      const outputs = await this.run(batch.map((entry) => entry.item));
      for (const [index, entry] of batch.entries()) entry.resolve(outputs[index] as O);
    } catch (error) {
      for (const entry of batch) entry.reject(error);
    } finally {
      this.inFlight -= 1;
      this.pump();
    }
  }
}
