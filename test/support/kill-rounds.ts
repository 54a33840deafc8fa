/** Load over HTTP on a server that is killed in the middle, and what must hold afterwards. Nothing here needs vitest. */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { createPostgresStores } from '../../src/adapters/postgres/stores.ts';
import { HttpClient } from '../../src/client/http-client.ts';
import { createWorker } from '../../src/worker/index.ts';
import { eventually } from './eventually.ts';
import { leftovers, type RunRecord, readRuns, violations } from './invariants.ts';
import type { ServerProcess } from './server-process.ts';

export type Kill = Readonly<{
  /** Strikes when this many attempts of the round have been handled. */
  afterHandled: number;
  victim: 'server' | 'postgres';
}>;

export type RoundOptions = Readonly<{ runs: number; kills: readonly Kill[]; endMsMax: number }>;

export type RoundReport = Readonly<{
  handled: number;
  acceptedReports: number;
  /** Runs that had not ended when each kill struck. */
  openAtKill: readonly number[];
  problems: readonly string[];
}>;

const NAME = 'killed';
const QUEUE = 'killed_step';
const STEPS = 3;
const STARTERS = 16;
const PAUSE_MS = 50;
const QUIET_MS_MAX = 10_000;
/** Short, so that attempts whose worker lost the server come back within the round. */
const LEASE_SECONDS = 3;

const definition = {
  name: NAME,
  version: 1,
  tasks: Array.from({ length: STEPS }, (_, index) => ({
    name: QUEUE,
    taskReferenceName: `s${index + 1}`,
    type: 'SIMPLE',
    retryCount: 20,
    retryDelaySeconds: 0,
  })),
};

/** Repeats until the server takes it: what comes back is acknowledged. */
const insist = async <T>(what: string, call: () => Promise<T>, signal: AbortSignal): Promise<T> => {
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (signal.aborted) throw new Error(`${what} was never acknowledged`, { cause: error });
      await delay(PAUSE_MS);
    }
  }
};

type Acknowledged = { readonly starts: Map<string, string>; readonly reports: Map<string, string> };

const startRuns = async (
  client: HttpClient,
  keys: readonly string[],
  acknowledged: Acknowledged,
  signal: AbortSignal,
): Promise<void> => {
  const left = [...keys];
  const starter = async (): Promise<void> => {
    for (let key = left.pop(); key !== undefined; key = left.pop()) {
      const body = { input: { key }, idempotencyKey: key };
      const call = () => client.call<{ workflowId: string }>('POST', `/executions/${NAME}`, { body, attemptsMax: 1 });
      const { workflowId } = await insist(`the start ${key}`, call, signal);
      acknowledged.starts.set(key, workflowId);
    }
  };
  await Promise.all(Array.from({ length: STARTERS }, starter));
};

type Leased = Readonly<{ taskId: string; leaseToken: string }>;
type Answers = Readonly<{ answers: readonly Readonly<{ taskId: string; status: string }>[] }>;

/** A worker that keeps a ledger of which reports were accepted, which the library has no reason to tell. */
const ledgerWorker = async (
  client: HttpClient,
  acknowledged: Acknowledged,
  onHandled: () => void,
  signal: AbortSignal,
): Promise<void> => {
  const turn = async (): Promise<void> => {
    const lease = { workerId: 'ledger', count: 5, waitSeconds: 1, leaseSeconds: LEASE_SECONDS };
    const { tasks } = await client.call<{ tasks: readonly Leased[] }>('POST', `/queues/${QUEUE}/lease`, {
      body: lease,
      attemptsMax: 1,
      signal,
    });
    if (tasks.length === 0) return;
    const reports = tasks.map(({ taskId, leaseToken }) => {
      onHandled();
      return { taskId, leaseToken, status: 'COMPLETED', output: { proof: randomUUID() } };
    });
    const body = { reports };
    const { answers } = await client.call<Answers>('POST', '/tasks/report', { body, attemptsMax: 1, signal });
    for (const [index, answer] of answers.entries()) {
      const report = reports[index];
      if (answer.status === 'settled' && report !== undefined)
        acknowledged.reports.set(report.taskId, report.output.proof);
    }
  };
  while (!signal.aborted) await turn().catch(() => delay(PAUSE_MS));
};

const lostReports = (runs: readonly RunRecord[], acknowledged: Acknowledged): readonly string[] => {
  const proofs = new Set(
    runs.flatMap(({ log }) =>
      log.flatMap(({ event }) => (event.type === 'TaskClosed' ? [event.output.proof ?? ''] : [])),
    ),
  );
  return [...acknowledged.reports].flatMap(([taskId, proof]) =>
    proofs.has(proof) ? [] : [`the accepted report of ${taskId} is lost`],
  );
};

const lostStarts = (
  runs: readonly RunRecord[],
  keys: readonly string[],
  acknowledged: Acknowledged,
): readonly string[] => {
  const problems: string[] = [];
  const idsByKey = Map.groupBy(runs, ({ log }) => {
    const first = log[0]?.event;
    return first?.type === 'ExecutionStarted' ? String(first.input.key) : '';
  });
  for (const key of keys) {
    const found = idsByKey.get(key) ?? [];
    const [run] = found;
    if (found.length !== 1) problems.push(`key ${key} has ${found.length} runs`);
    if (run?.id !== acknowledged.starts.get(key)) problems.push(`key ${key} was answered with another run`);
    if (run?.row.status !== 'COMPLETED') problems.push(`run ${run?.id} is ${run?.row.status}`);
  }
  return problems;
};

const check = async (url: string, keys: readonly string[], acknowledged: Acknowledged): Promise<readonly string[]> => {
  const observer = new pg.Client({ connectionString: url });
  const stores = await createPostgresStores({ url, poolMax: 2 });
  await observer.connect();
  try {
    // The server goes on looking for work, so a session of its own may be in a transaction at any one moment.
    const isQuiet = async () => (await leftovers(observer)).length === 0;
    const left = await eventually('nothing is left', isQuiet, QUIET_MS_MAX).then(
      () => [],
      () => leftovers(observer),
    );
    const runs = await readRuns(observer);
    return [
      ...lostStarts(runs, keys, acknowledged),
      ...lostReports(runs, acknowledged),
      ...(await violations(observer, stores.definitions)),
      ...left,
    ];
  } finally {
    await observer.end();
    await stores.close();
  }
};

const openRuns = async (client: HttpClient): Promise<number> => {
  const body = { statuses: ['RUNNING'], limit: 1 };
  const page = await client.call<{ executions: readonly unknown[] }>('POST', '/executions/search', { body });
  return page.executions.length;
};

/** One round: starts runs, works on them, kills as planned, waits for the end, checks. The server runs before and after. */
export const killRound = async (server: ServerProcess, options: RoundOptions): Promise<RoundReport> => {
  const client = new HttpClient({ url: server.url });
  const ended = new AbortController();
  const tooLate = AbortSignal.timeout(options.endMsMax);
  const signal = AbortSignal.any([ended.signal, tooLate]);
  const acknowledged: Acknowledged = { starts: new Map(), reports: new Map() };
  const keys = Array.from({ length: options.runs }, () => randomUUID());
  await client.call('POST', '/definitions/workflows', { body: definition });

  const due = options.kills.toSorted((a, b) => a.afterHandled - b.afterHandled);
  const openAtKill: number[] = [];
  let handled = 0;
  let striking: Promise<void> = Promise.resolve();
  const strike = async ({ victim }: Kill): Promise<void> => {
    openAtKill.push(options.runs * STEPS - handled);
    if (victim === 'postgres') return server.killPostgres();
    await server.kill();
    await server.start();
  };
  const onHandled = (): void => {
    handled += 1;
    const kill = due[0];
    if (kill === undefined || handled < kill.afterHandled) return;
    due.shift();
    striking = striking.then(() => strike(kill));
    // It is looked at below; until then it must not end the process.
    striking.catch(() => undefined);
  };

  const handler = () => {
    onHandled();
    return { proof: randomUUID() };
  };
  const library = createWorker({
    url: server.url,
    workerId: 'library',
    concurrency: 10,
    leaseSeconds: LEASE_SECONDS,
    pollWaitSeconds: 1,
    handlers: { [QUEUE]: handler },
    onProblem: () => undefined,
  });
  library.start();
  const ledger = ledgerWorker(client, acknowledged, onHandled, signal);
  try {
    await startRuns(client, keys, acknowledged, tooLate);
    await eventually(
      'every run has ended',
      async () => due.length === 0 && (await openRuns(client).catch(() => 1)) === 0,
      options.endMsMax,
    );
    await striking;
  } finally {
    ended.abort();
    await Promise.all([ledger, library.stop()]);
  }
  const problems = await check(await server.databaseUrl(), keys, acknowledged);
  return { handled, acceptedReports: acknowledged.reports.size, openAtKill, problems };
};
