import { ApiError } from '../client/client-error.ts';
import type { HeartbeatBody } from '../client/wire.ts';
import type { JsonValue } from '../domain/kernel/json.ts';
import type { WorkerProblem } from './contracts.ts';
import { LeaseLostError } from './errors.ts';
import { TaskLog } from './task-log.ts';
import type { LeasedTask, WorkerApi } from './worker-api.ts';

/** Three heartbeats fit into a lease, so that one may be lost. */
const HEARTBEATS_PER_LEASE = 3;
const HEARTBEAT_INTERVAL_MS_MIN = 200;
const HEARTBEAT_INTERVAL_MS_MAX = 60_000;

export type HeldLeaseOptions = Readonly<{
  api: WorkerApi;
  leased: LeasedTask;
  /** How long the lease lasts from now. */
  leaseMs: number;
  /** Asked for with each heartbeat; absent: what the definition of the task says. */
  leaseSeconds: number | undefined;
  onProblem: (problem: WorkerProblem) => void;
}>;

/** One leased attempt: keeps the lease alive from the moment it is granted until its result is delivered. */
export class HeldLease {
  readonly leased: LeasedTask;
  readonly log: TaskLog;
  private readonly options: HeldLeaseOptions;
  private readonly handler = new AbortController();
  private readonly calls = new AbortController();
  private readonly timer: NodeJS.Timeout;
  private beating = false;
  private waitingProgress: { value: JsonValue } | undefined;

  constructor(options: HeldLeaseOptions) {
    this.options = options;
    this.leased = options.leased;
    this.log = new TaskLog(options.api, options.leased, options.onProblem);
    this.timer = setInterval(() => void this.heartbeat(), heartbeatIntervalMs(options.leaseMs));
  }

  /** The handler's signal. */
  get signal(): AbortSignal {
    return this.handler.signal;
  }

  /** Sends it with a heartbeat at once, or with the one after that which is under way. */
  progress(value: JsonValue): void {
    this.waitingProgress = { value };
    void this.heartbeat();
  }

  /** The server refused the token: the handler need not go on. */
  lose(): void {
    this.abort(new LeaseLostError(`the lease of task ${this.leased.taskId} was lost`));
  }

  abort(reason: Error): void {
    this.handler.abort(reason);
    this.end();
  }

  /** No more heartbeats. */
  end(): void {
    clearInterval(this.timer);
    this.calls.abort();
    this.waitingProgress = undefined;
  }

  /** A beat that failed is not repeated: the next is a third of a lease away. */
  private async heartbeat(): Promise<void> {
    if (this.beating || this.calls.signal.aborted) return;
    this.beating = true;
    const progress = this.waitingProgress;
    this.waitingProgress = undefined;
    try {
      await this.options.api.heartbeat(this.leased, this.facts(progress), this.calls.signal);
    } catch (error) {
      this.heartbeatFailed(error);
    } finally {
      this.beating = false;
    }
    if (this.waitingProgress !== undefined) await this.heartbeat();
  }

  private facts(progress: { value: JsonValue } | undefined): Omit<HeartbeatBody, 'leaseToken'> {
    const { leaseSeconds } = this.options;
    return {
      ...(leaseSeconds === undefined ? {} : { leaseSeconds }),
      ...(progress === undefined ? {} : { progress: progress.value }),
    };
  }

  private heartbeatFailed(error: unknown): void {
    if (this.calls.signal.aborted) return;
    if (isLeaseLost(error)) {
      this.lose();
      return;
    }
    const problem = error instanceof Error ? error : new Error(String(error));
    this.options.onProblem({ during: 'heartbeat', taskId: this.leased.taskId, error: problem });
  }
}

/** The lease ended, or the run or its task is gone: either way nobody waits for this result. */
export const isLeaseLost = (error: unknown): boolean => error instanceof ApiError && isLeaseLostCode(error.code);

export const isLeaseLostCode = (code: string): boolean =>
  code === 'LEASE_LOST' || code === 'NOT_FOUND' || code === 'TERMINAL_STATE';

const heartbeatIntervalMs = (leaseMs: number): number =>
  Math.min(HEARTBEAT_INTERVAL_MS_MAX, Math.max(HEARTBEAT_INTERVAL_MS_MIN, leaseMs / HEARTBEATS_PER_LEASE));
