import type { Namespace } from '../domain/kernel/brand.ts';
import { err, ok } from '../domain/kernel/result.ts';
import type { Clock } from '../ports/clock.ts';
import type {
  EngineStore,
  Heartbeat,
  HeartbeatOutcome,
  LeaseRef,
  LogLine,
  ReportOutcome,
  TaskReport,
} from '../ports/engine-store.ts';
import type { WakeSignal } from '../ports/wake-signal.ts';
import type { AdvanceRuns } from './advance-runs.ts';
import type { ApplicationError } from './application-error.ts';
import { Batcher } from './batcher.ts';
import type { Outcome, ReportAnswer } from './use-cases.ts';

type NamespacedReport = Readonly<{ namespace: Namespace; report: TaskReport }>;

/** Reports that one transaction takes, and how many such transactions run at a time. */
const REPORT_BATCH_MAX = 500;
const REPORT_FLIGHTS_MAX = 2;

export const LEASE_LOST: ApplicationError = {
  code: 'LEASE_LOST',
  message: 'The lease is not held any more: it expired, the task ended, or another worker holds it.',
};

/** What a lease holder does with its lease. Every write is fenced by the token (promise 7). */
export class ReportTasks {
  private readonly engine: EngineStore;
  private readonly wake: WakeSignal;
  private readonly clock: Clock;
  private readonly advance: AdvanceRuns | undefined;
  private readonly batcher: Batcher<NamespacedReport, ReportOutcome>;

  /** `advance`: the short road of a process that decides too. */
  constructor(engine: EngineStore, wake: WakeSignal, clock: Clock, advance: AdvanceRuns | undefined) {
    this.engine = engine;
    this.advance = advance;
    this.wake = wake;
    this.clock = clock;
    this.batcher = new Batcher({
      run: (reports) => this.settleAll(reports),
      sizeMax: REPORT_BATCH_MAX,
      inFlightMax: REPORT_FLIGHTS_MAX,
      // Two transactions that take decide rows of several namespaces would have to agree on the order of these.
      groupOf: ({ namespace }) => namespace,
    });
  }

  /** Leaves each outcome on its open task row and asks for the passes; one answer per report, in order. */
  async report(namespace: Namespace, reports: readonly TaskReport[]): Promise<readonly ReportAnswer[]> {
    const outcomes = await Promise.all(reports.map((report) => this.batcher.submit({ namespace, report })));
    return reports.map((report, index) => answerOf(report, outcomes[index]));
  }

  private async settleAll(reports: readonly NamespacedReport[]): Promise<readonly ReportOutcome[]> {
    const [first] = reports;
    if (first === undefined) return [];
    const { namespace } = first;
    const all = reports.map(({ report }) => report);
    const advanced = (await this.advance?.advance(namespace, all)) ?? new Set();
    const left = all.filter((report) => !advanced.has(report));
    const outcomes = left.length === 0 ? [] : await this.engine.settleTasks(namespace, left);
    if (left.length > 0) this.wake.publish(['evaluations']);
    const byReport = new Map(left.map((report, place) => [report, outcomes[place] ?? 'leaseLost']));
    return all.map((report) => byReport.get(report) ?? 'settled');
  }

  /** Extends a lease. Errors: LEASE_LOST. */
  async heartbeat(
    namespace: Namespace,
    heartbeat: Heartbeat,
  ): Promise<
    ReturnType<typeof ok<Extract<HeartbeatOutcome, { kind: 'extended' }>>> | ReturnType<typeof err<ApplicationError>>
  > {
    const [outcome] = await this.engine.transaction((tx) => tx.heartbeat(namespace, [heartbeat]));
    return outcome?.kind === 'extended' ? ok(outcome) : err(LEASE_LOST);
  }

  /** Appends to the task's log. Errors: LEASE_LOST. */
  async appendLogs(namespace: Namespace, lease: LeaseRef, lines: readonly string[]): Outcome<null> {
    const at = this.clock.now();
    const stamped: readonly LogLine[] = lines.map((line) => ({ at, line }));
    const held = await this.engine.transaction((tx) => tx.appendLogs(namespace, lease, stamped));
    return held ? ok(null) : err(LEASE_LOST);
  }
}

const answerOf = (report: TaskReport, outcome: ReportOutcome | undefined): ReportAnswer => {
  const { taskId } = report;
  if (outcome === undefined || outcome === 'leaseLost') return { taskId, result: err(LEASE_LOST) };
  return { taskId, result: ok({ repeated: outcome === 'repeated' }) };
};
