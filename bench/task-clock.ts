import type { Figures } from './figures.ts';
import { quantile, round } from './measure.ts';

/** Which run a task belongs to and its place in it: definitions of the bench pass both on in the inputs of their tasks. */
export type Mark = Readonly<{ run: number; n: number }>;

export const markOf = (input: unknown): Mark | undefined => {
  const { run, n } = (input ?? {}) as Partial<Mark>;
  return typeof run === 'number' && typeof n === 'number' ? { run, n } : undefined;
};

/** When things happen to tasks, as the worker and the client see it. Tasks without a mark are only counted. */
export class TaskClock {
  private firsts: number[] = [];
  private steps: number[] = [];
  private ended: number[] = [];
  private readonly started = new Map<number, number>();
  private readonly reported = new Map<number, number>();
  private readonly endings = new Map<number, () => void>();
  private waiting: Readonly<{ tasks: number; resolve: () => void }> | undefined;
  private readonly failure = Promise.withResolvers<never>();
  private readonly length: number;

  /** `length`: tasks of a run, where they follow each other. */
  constructor(length: number) {
    this.length = length;
    // Nobody may be waiting when the workers fail.
    this.failure.promise.catch(() => undefined);
  }

  /** The workers cannot go on: whoever waits for them is told. */
  fail(error: unknown): void {
    this.failure.reject(error);
  }

  /** Forgets what was before, as after a warm-up. */
  reset(): void {
    this.firsts = [];
    this.steps = [];
    this.ended = [];
  }

  startSent(run: number): void {
    this.started.set(run, performance.now());
  }

  leased(mark: Mark | undefined): void {
    if (mark === undefined) return;
    const at = performance.now();
    const since = (mark.n === 1 ? this.started : this.reported).get(mark.run);
    if (since !== undefined) (mark.n === 1 ? this.firsts : this.steps).push(at - since);
  }

  reportSent(mark: Mark | undefined): void {
    if (mark !== undefined) this.reported.set(mark.run, performance.now());
  }

  reportAnswered(mark: Mark | undefined): void {
    this.ended.push(performance.now());
    if (this.waiting !== undefined && this.ended.length >= this.waiting.tasks) this.waiting.resolve();
    if (mark?.n !== this.length) return;
    this.endings.get(mark.run)?.();
    for (const kept of [this.endings, this.started, this.reported]) kept.delete(mark.run);
  }

  /** Resolves when the last task of the run has been reported. To be asked for before the run is started. */
  end(run: number): Promise<void> {
    const ended = new Promise<void>((resolve) => this.endings.set(run, resolve));
    return Promise.race([ended, this.failure.promise]);
  }

  /** Resolves when so many tasks have been reported since the last reset. */
  tasks(count: number): Promise<void> {
    if (this.ended.length >= count) return Promise.resolve();
    const reached = new Promise<void>((resolve) => {
      this.waiting = { tasks: count, resolve };
    });
    return Promise.race([reached, this.failure.promise]);
  }

  figures(): Figures {
    return { ...latency('start to first task', this.firsts), ...latency('report to next task', this.steps) };
  }

  /** When each task was reported since the last reset. */
  reportedAt(): readonly number[] {
    return this.ended;
  }

  samples(): Readonly<{ firsts: readonly number[]; steps: readonly number[] }> {
    return { firsts: this.firsts, steps: this.steps };
  }
}

const latency = (label: string, samples: readonly number[]): Figures =>
  samples.length === 0
    ? {}
    : {
        [`${label} p50 ms`]: round(quantile(samples, 0.5), 2),
        [`${label} p99 ms`]: round(quantile(samples, 0.99), 2),
      };
