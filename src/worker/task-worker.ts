import { type Backoff, backoffMs, pause } from '../client/backoff.ts';
import { isTransient } from '../client/client-error.ts';
import type { TaskContext, TaskHandler, WorkerProblem } from './contracts.ts';
import { WorkerStoppingError } from './errors.ts';
import { HeldLease, isLeaseLost, isLeaseLostCode } from './held-lease.ts';
import { ReportQueue } from './report-queue.ts';
import { reportJson, runHandler } from './run-handler.ts';
import type { Leased, LeasedTask, LeaseRequest, WorkerApi } from './worker-api.ts';

const BACKOFF: Backoff = { baseMs: 200, capMs: 15_000 };
/** An empty answer that comes sooner was not parked at the server; polling on at once would be a busy loop. */
const EMPTY_POLL_MS_MIN = 100;
const LEASE_MS_FALLBACK = 10_000;
/** How long `stop` waits for the last results to be delivered. */
const DELIVERY_MS_MAX = 5_000;

export type TaskWorkerSettings = Readonly<{
  api: WorkerApi;
  workerId: string;
  handlers: ReadonlyMap<string, TaskHandler<unknown>>;
  queues: readonly [string, ...string[]];
  concurrency: number;
  leaseSeconds: number | undefined;
  pollWaitSeconds: number;
  drainMs: number;
  onProblem: (problem: WorkerProblem) => void;
}>;

/** Polls, runs handlers, reports. One poll is under way at a time and asks for as many tasks as there are free slots. */
export class TaskWorker {
  readonly workerId: string;
  readonly done: Promise<void>;
  private readonly settings: TaskWorkerSettings;
  private readonly reports: ReportQueue;
  private readonly polling = new AbortController();
  private readonly ended = Promise.withResolvers<void>();
  /** Leases whose handler runs, each with the end of that. */
  private readonly running = new Map<HeldLease, Promise<void>>();
  /** Attempts not yet delivered, those with a running handler included. */
  private readonly open = new Set<Promise<void>>();
  private slotFreed = Promise.withResolvers<void>();
  private started = false;
  private polled: Promise<void> = Promise.resolve();
  private stopping: Promise<void> | undefined;

  constructor(settings: TaskWorkerSettings) {
    this.settings = settings;
    this.workerId = settings.workerId;
    this.reports = new ReportQueue(settings.api, settings.onProblem);
    this.done = this.ended.promise;
    // Whoever does not look at `done` learns of the refusal from onProblem; it must not end their process.
    this.done.catch(() => undefined);
  }

  start(): void {
    if (this.started) throw new Error('this worker was started before');
    this.started = true;
    this.polled = this.poll();
  }

  stop(): Promise<void> {
    this.started = true;
    this.stopping ??= this.drain().then(this.ended.resolve);
    return this.stopping;
  }

  private async poll(): Promise<void> {
    const { signal } = this.polling;
    let failures = 0;
    while (!signal.aborted) {
      const count = this.freeSlots();
      if (count === 0) {
        await this.slotFreed.promise;
        continue;
      }
      try {
        await this.pollOnce(count);
        failures = 0;
      } catch (error) {
        if (signal.aborted) return;
        this.tell('lease', error);
        if (!isTransient(error)) {
          // The server refuses this worker, not one call of it: polling on would change nothing.
          this.stopping ??= this.drain().then(() => this.ended.reject(error));
          return;
        }
        failures += 1;
        await pause(backoffMs(failures, BACKOFF), signal);
      }
    }
  }

  private async pollOnce(count: number): Promise<void> {
    const { api, queues, workerId, pollWaitSeconds: waitSeconds, leaseSeconds } = this.settings;
    const begunAt = performance.now();
    const request: LeaseRequest = {
      workerId,
      queues,
      count,
      waitSeconds,
      ...(leaseSeconds === undefined ? {} : { leaseSeconds }),
    };
    const leased = await api.lease(request, this.polling.signal);
    for (const task of leased.tasks) this.take(task, this.leaseMs(task, leased));
    if (leased.tasks.length === 0 && performance.now() - begunAt < EMPTY_POLL_MS_MIN) {
      await pause(EMPTY_POLL_MS_MIN, this.polling.signal);
    }
  }

  /** Finished attempts whose report waits count too, at half price: while the server is away, work must not pile up. */
  private freeSlots(): number {
    const { concurrency } = this.settings;
    return Math.max(0, Math.min(concurrency - this.running.size, 2 * concurrency - this.open.size));
  }

  private leaseMs(task: LeasedTask, { serverTimeMs }: Leased): number {
    const { leaseSeconds } = this.settings;
    if (leaseSeconds !== undefined) return leaseSeconds * 1000;
    const expiresAtMs = new Date(task.leaseExpiresAt).getTime();
    return serverTimeMs === undefined || Number.isNaN(expiresAtMs) ? LEASE_MS_FALLBACK : expiresAtMs - serverTimeMs;
  }

  private take(leased: LeasedTask, leaseMs: number): void {
    const { api, leaseSeconds, onProblem } = this.settings;
    const held = new HeldLease({ api, leased, leaseMs, leaseSeconds, onProblem });
    if (this.polling.signal.aborted) {
      this.track(this.giveBack(held));
      return;
    }
    const report = Promise.withResolvers<string>();
    const run = this.run(held).then(report.resolve);
    this.running.set(held, run);
    this.track(this.deliver(held, report.promise));
  }

  private track(attempt: Promise<void>): void {
    this.open.add(attempt);
    void attempt.finally(() => {
      this.open.delete(attempt);
      this.freeSlot();
    });
  }

  private freeSlot(): void {
    this.slotFreed.resolve();
    this.slotFreed = Promise.withResolvers();
  }

  private async run(held: HeldLease): Promise<string> {
    const context: TaskContext = {
      workerId: this.workerId,
      signal: held.signal,
      log: (line) => held.log.add(line),
      progress: (value) => held.progress(value),
    };
    const outcome = await runHandler(this.settings.handlers.get(held.leased.taskName), held.leased, context);
    this.running.delete(held);
    this.freeSlot();
    return reportJson(held.leased, outcome);
  }

  /** Resolves when the result is delivered or can no longer count. */
  private async deliver(held: HeldLease, report: Promise<string>): Promise<void> {
    const aborted = new Promise<undefined>((resolve) => {
      held.signal.addEventListener('abort', () => resolve(undefined), { once: true });
    });
    const json = await Promise.race([report, aborted]);
    if (json !== undefined && !held.signal.aborted) {
      await held.log.flush();
      await this.report(held, json);
    }
    held.end();
  }

  private async report(held: HeldLease, json: string): Promise<void> {
    const { taskId } = held.leased;
    const delivery = await this.reports.deliver(taskId, json, held.signal);
    if (delivery.kind !== 'refused' || isLeaseLostCode(delivery.code)) return;
    // The server will never take this result, however often the task runs: say so where people look.
    const reason = `the result was refused: ${delivery.code}: ${delivery.message}`;
    const substitute = reportJson(held.leased, { status: 'FAILED_WITH_TERMINAL_ERROR', reason });
    await this.reports.deliver(taskId, substitute, held.signal);
  }

  private async drain(): Promise<void> {
    const { drainMs } = this.settings;
    this.polling.abort(new WorkerStoppingError('the worker stops'));
    this.freeSlot();
    await this.polled;
    await within(drainMs, Promise.all(this.running.values()));
    const unfinished = [...this.running.keys()].filter((held) => !held.signal.aborted);
    const released = unfinished.map(async (held) => this.giveBack(held));
    await within(DELIVERY_MS_MAX, Promise.all([...this.open, ...released]));
    this.reports.close();
    await within(DELIVERY_MS_MAX, Promise.all([...this.open, ...released]));
  }

  private async giveBack(held: HeldLease): Promise<void> {
    held.abort(new WorkerStoppingError(`the worker stops; task ${held.leased.taskId} is given back`));
    try {
      await this.settings.api.release(held.leased);
    } catch (error) {
      if (!isLeaseLost(error)) this.tell('release', error, held.leased.taskId);
    }
  }

  private tell(during: WorkerProblem['during'], error: unknown, taskId?: string): void {
    const problem = error instanceof Error ? error : new Error(String(error));
    this.settings.onProblem({ during, error: problem, ...(taskId === undefined ? {} : { taskId }) });
  }
}

/** Waits for the work, at most this long. */
const within = async (ms: number, work: Promise<unknown>): Promise<void> => {
  const over = new AbortController();
  await Promise.race([work, pause(ms, over.signal)]);
  over.abort();
};
