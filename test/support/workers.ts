import type { ReportAnswer } from '../../src/application/use-cases.ts';
import type { LeasedTask, TaskReport } from '../../src/ports/engine-store.ts';
import { NAMESPACE, type TestServer } from './engine.ts';

/** What a worker makes of a task; undefined: it dies without a word. */
export type Handler = (task: LeasedTask) => Pick<TaskReport, 'status' | 'output'> | undefined;

/** What a client knows of one attempt: each lease, and each answer to a report. */
export type Ledger = {
  readonly leases: LeasedTask[];
  readonly reports: { readonly report: TaskReport; readonly answer: ReportAnswer }[];
};

export const createLedger = (): Ledger => ({ leases: [], reports: [] });

export const completing: Handler = (task) => ({
  status: 'COMPLETED',
  output: { ref: task.ref, iteration: task.iteration, attempt: task.attempt },
});

export type LeaseOptions = Readonly<{
  workerId?: string;
  count?: number;
  waitMs?: number;
  leaseMs?: number;
  signal?: AbortSignal;
}>;

export const leaseFrom = async (
  server: TestServer,
  queues: readonly string[],
  options: LeaseOptions = {},
): Promise<readonly LeasedTask[]> => {
  const leased = await server.useCases.workers.lease({
    namespace: NAMESPACE,
    queues,
    workerId: options.workerId ?? 'worker',
    count: options.count ?? 1,
    waitMs: options.waitMs ?? 0,
    signal: options.signal ?? new AbortController().signal,
    ...(options.leaseMs === undefined ? {} : { leaseMs: options.leaseMs }),
  });
  if (!leased.ok) throw new Error(`${leased.error.code}: ${leased.error.message}`);
  return leased.value;
};

/** Leases one task, which must be there. */
export const leaseOne = async (server: TestServer, queue: string, options: LeaseOptions = {}): Promise<LeasedTask> => {
  const [task] = await leaseFrom(server, [queue], options);
  if (task === undefined) throw new Error(`there is no task to lease in ${queue}`);
  return task;
};

export const reportOf = (task: LeasedTask, change: Partial<TaskReport> = {}): TaskReport => ({
  taskId: task.taskId,
  leaseToken: task.leaseToken,
  status: 'COMPLETED',
  output: {},
  ...change,
});

/** `settled`, `repeated`, or the code of the refusal. */
export const resultOf = ({ result }: ReportAnswer): string => {
  if (!result.ok) return result.error.code;
  return result.value.repeated ? 'repeated' : 'settled';
};

export const reportAll = async (server: TestServer, reports: readonly TaskReport[]): Promise<readonly string[]> =>
  (await server.useCases.workers.report(NAMESPACE, reports)).map(resultOf);

export const reportOne = async (
  server: TestServer,
  task: LeasedTask,
  change: Partial<TaskReport> = {},
): Promise<string> => {
  const [answer] = await reportAll(server, [reportOf(task, change)]);
  return answer ?? 'no answer';
};

export type WorkerOptions = LeaseOptions &
  Readonly<{
    handler?: Handler;
    ledger?: Ledger;
    /** Told how many tasks it is about to report. */
    beforeReport?: (count: number) => void;
  }>;

export type TestWorker = Readonly<{ stop(): Promise<void> }>;

const POLL_MS = 5_000;

/** A worker that leases, handles and reports until it is stopped; its own errors surface at `stop`. */
export const startWorker = (
  server: TestServer,
  queues: readonly string[],
  { handler = completing, ledger = createLedger(), beforeReport, ...options }: WorkerOptions = {},
): TestWorker => {
  const stopping = new AbortController();
  const { signal } = stopping;
  const turn = async (): Promise<void> => {
    const tasks = await leaseFrom(server, queues, { count: 10, waitMs: POLL_MS, ...options, signal });
    ledger.leases.push(...tasks);
    const reports = tasks.flatMap((task) => {
      const made = handler(task);
      return made === undefined ? [] : [reportOf(task, made)];
    });
    beforeReport?.(reports.length);
    const answers = await server.useCases.workers.report(NAMESPACE, reports);
    for (const [index, answer] of answers.entries()) {
      const report = reports[index];
      if (report !== undefined) ledger.reports.push({ report, answer });
    }
  };
  const run = async (): Promise<void> => {
    while (!signal.aborted) await turn();
  };
  const done = run();
  // It is looked at when the worker is stopped; until then it must not end the process.
  done.catch(() => undefined);
  return {
    stop: async () => {
      stopping.abort();
      await done;
    },
  };
};
