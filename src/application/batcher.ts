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
  private readonly inFlightMax: number;

  constructor(options: {
    run: (items: readonly I[]) => Promise<readonly O[]>;
    /** Most items one transaction takes. */
    sizeMax: number;
    /** Transactions at a time. */
    inFlightMax: number;
  }) {
    this.run = options.run;
    this.sizeMax = options.sizeMax;
    this.inFlightMax = options.inFlightMax;
  }

  submit(item: I): Promise<O> {
    return new Promise<O>((resolve, reject) => {
      this.waiting.push({ item, resolve, reject });
      this.pump();
    });
  }

  private pump(): void {
    while (this.waiting.length > 0 && this.inFlight < this.inFlightMax) {
      const batch = this.waiting.splice(0, this.sizeMax);
      this.inFlight += 1;
      void this.flush(batch);
    }
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
