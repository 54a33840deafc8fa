import type { IdempotencyStrategy, ReportAnswer } from '../../src/application/use-cases.ts';
import type { ExecutionId, Namespace } from '../../src/domain/kernel/brand.ts';
import type { JsonObject } from '../../src/domain/kernel/json.ts';
import { isJsonObject } from '../../src/domain/kernel/json.ts';
import type { LeasedTask, TaskReport } from '../../src/ports/engine-store.ts';
import type { Chance } from '../support/chance.ts';
import type { Intents } from './checkers/lease-watch.ts';
import type { Violations } from './checkers/violation.ts';
import type { FaultPlan } from './faults.ts';
import { QUEUES, type Workflow } from './generator.ts';
import type { Server } from './server.ts';

export const NAMESPACE = 'default' as Namespace;

type Settled = Readonly<{ report: TaskReport }>;

/** One worker: what it holds, as far as it knows, and what it has reported. */
export type SimulatedWorker = {
  readonly name: string;
  held: LeasedTask[];
  /** Whose lease it let go by without a word, to report late. */
  readonly forgotten: LeasedTask[];
  readonly reported: TaskReport[];
  isPolling: boolean;
  /** What it gave back last: another may hold it by now. */
  lastReleased: LeasedTask | undefined;
};

export const createWorker = (name: string): SimulatedWorker => ({
  name,
  held: [],
  forgotten: [],
  reported: [],
  isPolling: false,
  lastReleased: undefined,
});

/** Calls an operation of a server; the answer of one that dies never comes. */
export type Call = <T>(
  server: Server,
  what: string,
  work: () => Promise<T>,
  then: (answer: T) => void,
  otherwise?: () => void,
) => void;

export type ClientDeps = Readonly<{
  chance: Chance;
  faults: FaultPlan;
  intents: Intents;
  violations: Violations;
  call: Call;
}>;

const PAST_MAX = 20;

/** A task counts its own runs: its last count is its input. */
const counted = (task: LeasedTask): JsonObject => {
  const n = isJsonObject(task.input) ? task.input.n : undefined;
  return { n: (typeof n === 'number' ? n : 0) + 1 };
};

/** What workers do, well and badly. */
export class Workers {
  /** Reports that were answered as taken, by task: each must be the fact that closed its attempt. */
  readonly settled = new Map<string, Settled>();
  private readonly deps: ClientDeps;

  constructor(deps: ClientDeps) {
    this.deps = deps;
  }

  poll(server: Server, worker: SimulatedWorker, isHealing: boolean): void {
    const { chance, call } = this.deps;
    worker.isPolling = true;
    const request = {
      namespace: NAMESPACE,
      queues: chance.isBelow(0.5) ? QUEUES : [...QUEUES].reverse(),
      workerId: worker.name,
      count: chance.pick([1, 1, 2, 5]),
      waitMs: isHealing ? 0 : chance.pick([0, 0, 50, 1_000]),
      signal: new AbortController().signal,
      ...(chance.isBelow(0.3) ? { leaseMs: chance.pick([1, 1_000, 5_000]) } : {}),
    };
    call(
      server,
      'lease',
      () => server.useCases.workers.lease(request),
      (leased) => {
        worker.isPolling = false;
        if (leased.ok) worker.held.push(...leased.value);
      },
      () => {
        worker.isPolling = false;
      },
    );
  }

  /** Reports one task that is held; in trouble, anything that a worker may do with it instead. */
  work(server: Server, worker: SimulatedWorker, isHealing: boolean): void {
    const { chance, faults } = this.deps;
    if (!isHealing && faults.happens('duplicate-report')) return this.repeat(server, worker);
    if (!isHealing && faults.happens('late-report')) return this.reportLate(server, worker, undefined);
    if (!isHealing && worker.lastReleased !== undefined && chance.isBelow(0.4)) {
      return this.reportLate(server, worker, worker.lastReleased);
    }
    const task = worker.held[Math.floor(chance.next() * worker.held.length)];
    if (task === undefined) return;
    if (!isHealing && chance.isBelow(0.15)) return this.heartbeat(server, task);
    if (!isHealing && faults.happens('odd-answer')) return this.misbehave(server, worker, task);
    this.report(server, worker, { ...refOf(task), status: 'COMPLETED', output: counted(task) });
  }

  private misbehave(server: Server, worker: SimulatedWorker, task: LeasedTask): void {
    const { chance } = this.deps;
    const kind = chance.pick(['fail', 'break', 'heartbeat', 'release', 'release', 'forget', 'log'] as const);
    switch (kind) {
      case 'fail':
        return this.report(server, worker, { ...refOf(task), status: 'FAILED', output: {}, reason: 'it broke' });
      case 'break':
        return this.report(server, worker, { ...refOf(task), status: 'FAILED_WITH_TERMINAL_ERROR', output: {} });
      case 'heartbeat':
        return this.heartbeat(server, task);
      case 'release':
        return this.release(server, worker, task);
      case 'forget':
        worker.held = worker.held.filter((held) => held !== task);
        worker.forgotten.push(task);
        return;
      case 'log':
        this.deps.call(
          server,
          'log',
          () => server.useCases.workers.appendLogs(NAMESPACE, refOf(task), ['a line']),
          () => undefined,
        );
        return;
      default:
        return kind satisfies never;
    }
  }

  private heartbeat(server: Server, task: LeasedTask): void {
    this.deps.intents.heartbeat(task.leaseToken);
    const leaseMs = this.deps.chance.pick([1, 1_000, 10_000]);
    this.deps.call(
      server,
      'heartbeat',
      () => server.useCases.workers.heartbeat(NAMESPACE, { ...refOf(task), leaseMs }),
      () => undefined,
    );
  }

  private release(server: Server, worker: SimulatedWorker, task: LeasedTask): void {
    this.deps.intents.release(task.leaseToken);
    if (worker.held.includes(task)) worker.forgotten.push(task);
    worker.lastReleased = task;
    worker.held = worker.held.filter((held) => held !== task);
    this.deps.call(
      server,
      'release',
      () => server.useCases.workers.release(NAMESPACE, refOf(task)),
      () => undefined,
    );
  }

  /** The very same report again, or another under the same token. */
  private repeat(server: Server, worker: SimulatedWorker): void {
    const { chance } = this.deps;
    if (worker.reported.length === 0) return;
    const report = chance.pick(worker.reported);
    this.report(
      server,
      worker,
      chance.isBelow(0.7) ? report : { ...report, output: { ...report.output, other: true } },
    );
  }

  /** With a lease that it let go, or that was given to another since: nothing of this may have any effect. */
  private reportLate(server: Server, worker: SimulatedWorker, known: LeasedTask | undefined): void {
    const { chance } = this.deps;
    const task = known ?? worker.forgotten[Math.floor(chance.next() * worker.forgotten.length)];
    if (chance.isBelow(0.5)) worker.lastReleased = undefined;
    if (task === undefined) return;
    const kind = chance.next();
    if (kind < 0.25) this.heartbeat(server, task);
    else if (kind < 0.5) this.release(server, worker, task);
    else this.report(server, worker, { ...refOf(task), status: 'COMPLETED', output: counted(task) });
  }

  private report(server: Server, worker: SimulatedWorker, report: TaskReport): void {
    const { intents, call } = this.deps;
    intents.report(report);
    worker.held = worker.held.filter((held) => held.leaseToken !== report.leaseToken);
    if (worker.reported.length < PAST_MAX) worker.reported.push(report);
    call(
      server,
      'report',
      () => server.useCases.workers.report(NAMESPACE, [report]),
      ([answer]) => this.answered(report, answer),
    );
  }

  private answered(report: TaskReport, answer: ReportAnswer | undefined): void {
    if (answer?.result.ok !== true || answer.result.value.repeated) return;
    const key = `${report.taskId}`;
    if (this.settled.has(key)) this.deps.violations.add('6', `two reports of ${key} were taken`);
    this.settled.set(key, { report });
  }
}

const refOf = ({ taskId, leaseToken }: LeasedTask): Pick<LeasedTask, 'taskId' | 'leaseToken'> => ({
  taskId,
  leaseToken,
});

export type StartDeps = Readonly<{
  chance: Chance;
  violations: Violations;
  call: Call;
  /** What is drawn from for starts under a key. */
  strategies: readonly IdempotencyStrategy[];
  /** Whether a limit may refuse a start. */
  isLimited: boolean;
}>;

/** Starts runs, and keeps what was answered: the same key leads to the same run, always. */
export class Starts {
  private readonly deps: StartDeps;
  private readonly byKey = new Map<string, ExecutionId>();
  readonly acknowledged = new Set<ExecutionId>();

  constructor(deps: StartDeps) {
    this.deps = deps;
  }

  /** Two at once under one key, now and then, through two servers. */
  start(server: Server, others: readonly Server[], workflow: Workflow): void {
    const { chance } = this.deps;
    const key = chance.isBelow(0.5) ? `key-${Math.floor(chance.next() * 3)}-${workflow.name}` : undefined;
    const count = key !== undefined && chance.isBelow(0.5) ? 2 : 1;
    for (let each = 0; each < count; each += 1) this.once(each === 0 ? server : chance.pick(others), workflow, key);
  }

  private once(server: Server, { name, input }: Workflow, key: string | undefined): void {
    // Others may come later: a run may be moved to them.
    const idempotencyStrategy = this.deps.chance.pick(this.deps.strategies);
    // What limits on runs tell them apart by.
    const correlationId = this.deps.chance.pick(['red', 'blue']);
    const request = { name, version: 1, input, priority: 0, idempotencyStrategy, correlationId };
    this.deps.call(
      server,
      'start',
      () =>
        server.useCases.executions.start(NAMESPACE, key === undefined ? request : { ...request, idempotencyKey: key }),
      (answer) => {
        if (answer.ok) this.answered(key, answer.value.executionId);
        else if (!this.mayRefuse(answer.error.code, idempotencyStrategy))
          this.deps.violations.add('13', `a start was refused: ${answer.error.message}`);
      },
    );
  }

  private mayRefuse(code: string, strategy: IdempotencyStrategy): boolean {
    if (code === 'LIMIT_EXCEEDED') return this.deps.isLimited;
    return code === 'UNAVAILABLE' || (code === 'CONFLICT' && strategy !== 'RETURN_EXISTING');
  }

  /** Where keys are taken over from runs that have ended, the last answer need not be the last holder. */
  private answered(key: string | undefined, id: ExecutionId): void {
    this.acknowledged.add(id);
    if (key === undefined) return;
    const before = this.byKey.get(key);
    const isTaken = this.deps.strategies.includes('FAIL_ON_RUNNING');
    if (before !== undefined && before !== id && !isTaken)
      this.deps.violations.add('14', `the key ${key} led to ${before} and to ${id}`);
    this.byKey.set(key, id);
  }
}
