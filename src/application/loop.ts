import { firstValueFrom, merge, type Observable, Subject, take, timer } from 'rxjs';

export type LoopOptions = Readonly<{
  name: string;
  /** One batch of work; returns how many items it found. */
  runOnce: () => Promise<number>;
  /** Longest sleep between two runs that found nothing, in milliseconds. */
  idleMs: number;
  /** Sleep until this many milliseconds from now where the work knows better than `idleMs`; undefined: idleMs. */
  nextInMs?: () => Promise<number | undefined>;
  /** Wakes it early. */
  wakes?: Observable<void>;
  /** After the last batch: what it began and did not wait for comes to its end. */
  onStop?: () => Promise<void>;
  onError: (name: string, error: unknown) => void;
}>;

/** What is due and cannot be taken right now, because another holds it, must not spin the loop. */
const SLEEP_MS_MIN = 5;
const ERROR_BACKOFF_BASE_MS = 100;
const ERROR_BACKOFF_MAX_MS = 5_000;

/**
 * Runs one batch method over and over: never two at a time, again at once while there is work, asleep until woken or due
 * otherwise. It survives and reports errors, with a back-off, and stops after the batch in hand.
 */
export class Loop {
  readonly name: string;
  private readonly options: LoopOptions;
  private readonly stopping = new Subject<void>();
  private readonly wakes = new Subject<void>();
  private done: Promise<void> = Promise.resolve();
  private stopped = true;
  private woken = false;
  private errors = 0;

  constructor(options: LoopOptions) {
    this.options = options;
    this.name = options.name;
  }

  start(): void {
    if (!this.stopped) return;
    this.stopped = false;
    const subscription = this.options.wakes?.subscribe(() => {
      this.woken = true;
      this.wakes.next();
    });
    this.done = this.run().finally(() => subscription?.unsubscribe());
  }

  /** Resolves when the batch in hand has ended. */
  async stop(): Promise<void> {
    this.stopped = true;
    this.stopping.next();
    await this.done;
    await this.options.onStop?.();
  }

  private async run(): Promise<void> {
    while (!this.stopped) {
      // Cleared before the work reads: a wake from now on means another look.
      this.woken = false;
      const found = await this.attempt();
      if (found > 0 || this.stopped) continue;
      await this.sleep();
    }
  }

  private async attempt(): Promise<number> {
    try {
      const found = await this.options.runOnce();
      this.errors = 0;
      return found;
    } catch (error) {
      this.errors += 1;
      this.options.onError(this.name, error);
      await this.pause(Math.min(ERROR_BACKOFF_BASE_MS * 2 ** this.errors, ERROR_BACKOFF_MAX_MS));
      return 0;
    }
  }

  private async sleep(): Promise<void> {
    const dueMs = await this.dueMs();
    if (this.woken || this.stopped) return;
    const ms = Math.max(SLEEP_MS_MIN, Math.min(dueMs ?? this.options.idleMs, this.options.idleMs));
    await firstValueFrom(merge(timer(ms), this.wakes, this.stopping).pipe(take(1)));
  }

  private async dueMs(): Promise<number | undefined> {
    try {
      return await this.options.nextInMs?.();
    } catch (error) {
      this.options.onError(this.name, error);
      return undefined;
    }
  }

  private async pause(ms: number): Promise<void> {
    if (this.stopped) return;
    await firstValueFrom(merge(timer(ms), this.stopping).pipe(take(1)));
  }
}
