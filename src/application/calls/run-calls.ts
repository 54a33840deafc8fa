import { interval, type Observable, Subject } from 'rxjs';
import { payloadProblem } from '../../domain/execution/payload-limit.ts';
import { CALLS_QUEUE } from '../../domain/execution/queues.ts';
import { addMs } from '../../domain/kernel/brand.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../domain/kernel/json.ts';
import type { Clock } from '../../ports/clock.ts';
import { DEFERRAL_MS_MAX, type EngineStore, type LeasedTask } from '../../ports/engine-store.ts';
import type { ExecutionIndex } from '../../ports/execution-index.ts';
import type { Ids } from '../../ports/ids.ts';
import type { OutboundHttp } from '../../ports/outbound-http.ts';
import type { TaskSandbox } from '../../ports/script-sandbox.ts';
import type { SqlDatasources } from '../../ports/sql-datasources.ts';
import { CALLS_TOPIC } from '../../ports/wake-signal.ts';
import type { CircuitBreakers } from '../circuit-breakers.ts';
import type { DelayedWakes } from '../delayed-wakes.ts';
import type { HeldLeases } from '../held-leases.ts';
import type { ReleaseLeases } from '../release-leases.ts';
import type { ReportTasks } from '../report-tasks.ts';
import type { FillSecrets } from '../values/fill-secrets.ts';
import { redacted } from '../values/redact.ts';
import { type CallResult, failedForGood } from './call-result.ts';
import { throughBreaker } from './guarded-by-breaker.ts';
import { httpPoll } from './http-poll.ts';
import { httpTask } from './http-task.ts';
import { jdbcTask } from './jdbc-task.ts';

export type RunCallsDeps = Readonly<{
  engine: EngineStore;
  reports: ReportTasks;
  release: ReleaseLeases;
  held: HeldLeases;
  delayed: DelayedWakes;
  secrets: FillSecrets;
  index: ExecutionIndex;
  sandbox: TaskSandbox;
  breakers: CircuitBreakers;
  datasources: SqlDatasources;
  http: OutboundHttp;
  ids: Ids;
  clock: Clock;
  workerId: string;
  /** Calls that this process makes at a time. */
  slots: number;
  /** How long a stop waits for calls under way before it gives them up, in milliseconds. */
  drainMs: number;
  onError: (task: LeasedTask, error: unknown) => void;
}>;

/** A lease of a call, and how often its holder says that it is still at it, in milliseconds. */
const CALL_LEASE_MS = 30_000;
const CALL_HEARTBEAT_MS = 5_000;

/**
 * Makes the calls that tasks ask for, each in a slot of its own for as long as it takes: a slow host holds up neither
 * scripts nor, as long as there are slots, other calls. A call whose lease is lost, because its deadline passed or its run
 * ended, is given up.
 */
export class RunCalls {
  /** A slot is free that was not: there may be something to put in. */
  readonly freed: Observable<void>;
  private readonly freeing = new Subject<void>();
  private readonly deps: RunCallsDeps;
  private readonly underWay = new Map<Promise<void>, AbortController>();

  constructor(deps: RunCallsDeps) {
    this.deps = deps;
    this.freed = this.freeing.asObservable();
  }

  /** Begins as many calls as there are free slots for; does not wait for them. */
  async runOnce(): Promise<number> {
    const free = this.deps.slots - this.underWay.size;
    if (free <= 0) return 0;
    const tasks = await this.deps.engine.leaseTasks({
      namespace: undefined,
      queues: [CALLS_QUEUE],
      workerId: this.deps.workerId,
      count: free,
      leaseMs: CALL_LEASE_MS,
      tokens: Array.from({ length: free }, () => this.deps.ids.leaseToken()),
    });
    this.deps.held.remember(tasks);
    for (const task of tasks) this.begin(task);
    return tasks.length;
  }

  /** Resolves when no call is under way; those that take longer are given up, and go back to the queue. */
  async drain(): Promise<void> {
    const timer = setTimeout(() => {
      for (const abort of this.underWay.values()) abort.abort();
    }, this.deps.drainMs);
    try {
      await this.idle();
    } finally {
      clearTimeout(timer);
    }
  }

  async idle(): Promise<void> {
    while (this.underWay.size > 0) await Promise.all(this.underWay.keys());
  }

  private begin(task: LeasedTask): void {
    const abort = new AbortController();
    const done = this.run(task, abort)
      .catch((error: unknown) => this.deps.onError(task, error))
      .finally(() => {
        this.underWay.delete(done);
        this.freeing.next();
      });
    this.underWay.set(done, abort);
  }

  private async run(task: LeasedTask, abort: AbortController): Promise<void> {
    const heartbeat = interval(CALL_HEARTBEAT_MS).subscribe(() => void this.extend(task, abort));
    let result: CallResult;
    try {
      result = await this.call(task, abort.signal);
    } finally {
      heartbeat.unsubscribe();
    }
    await this.settle(task, result);
  }

  /** Without its lease a call is of use to nobody. A heartbeat that fails otherwise is made up for by the next one. */
  private async extend({ namespace, taskId, leaseToken }: LeasedTask, abort: AbortController): Promise<void> {
    const { reports } = this.deps;
    const heartbeat = reports.heartbeat(namespace, { taskId, leaseToken, leaseMs: CALL_LEASE_MS });
    const extended = await heartbeat.catch(() => undefined);
    if (extended?.ok === false) abort.abort();
  }

  private async call(task: LeasedTask, signal: AbortSignal): Promise<CallResult> {
    const filled = await this.deps.secrets.fill(task);
    if (!filled.ok) return { kind: 'finished', finished: filled.error };
    const { input } = filled.value.task;
    const result = withoutSecrets(
      await this.execute(task, isJsonObject(input) ? input : {}, signal),
      filled.value.secrets,
    );
    if (result.kind !== 'finished') return result;
    const problem = payloadProblem(result.finished.output);
    return problem === undefined ? result : failedForGood(`RESPONSE_TOO_LARGE: The output is ${problem}.`);
  }

  private async execute(task: LeasedTask, input: JsonObject, signal: AbortSignal): Promise<CallResult> {
    const { clock, sandbox } = this.deps;
    const http = throughBreaker(this.deps.http, this.deps.breakers, task.namespace);
    switch (task.taskType) {
      case 'HTTP':
        return httpTask(http, clock, input, signal);
      case 'HTTP_POLL': {
        const progress = await this.progressOf(task);
        return httpPoll({ http, clock, sandbox }, { taskId: task.taskId, input, progress }, signal);
      }
      case 'JDBC':
        return jdbcTask(this.deps.datasources, input, signal);
      default:
        return failedForGood(`This version makes no call of type ${task.taskType}.`);
    }
  }

  /** What the holder before left: only those who come again to an attempt ask. */
  private async progressOf({ namespace, executionId, taskId }: LeasedTask): Promise<JsonValue | undefined> {
    const open = await this.deps.index.openTasks(namespace, executionId);
    return open.find((row) => row.taskId === taskId)?.progress;
  }

  private async settle(task: LeasedTask, result: CallResult): Promise<void> {
    const { taskId, leaseToken, namespace } = task;
    switch (result.kind) {
      case 'finished':
        await this.deps.reports.report(namespace, [{ taskId, leaseToken, ...result.finished }]);
        return;
      case 'later': {
        const { delayMs, progress } = result;
        const put = { taskId, leaseToken, delayMs, progress };
        await this.deps.engine.transaction((tx) => tx.deferTasks(namespace, [put]));
        const now = this.deps.clock.now();
        this.deps.delayed.schedule([{ topic: CALLS_TOPIC, at: addMs(now, delayMs) }], now);
        return;
      }
      case 'leftOpen': {
        const put = { taskId, leaseToken, delayMs: DEFERRAL_MS_MAX, progress: result.progress };
        await this.deps.engine.transaction((tx) => tx.deferTasks(namespace, [put]));
        return;
      }
      case 'givenUp':
        await this.deps.release.release([task]);
        return;
      default:
        result satisfies never;
    }
  }
}

const withoutSecrets = (result: CallResult, secrets: readonly string[]): CallResult => {
  switch (result.kind) {
    case 'finished':
      return { ...result, finished: redacted(result.finished, secrets) };
    case 'later':
    case 'leftOpen':
      return { ...result, progress: redacted({ output: { seen: result.progress } }, secrets).output.seen ?? null };
    case 'givenUp':
      return result;
    default:
      return result satisfies never;
  }
};
