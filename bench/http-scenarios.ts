import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { createInterface } from 'node:readline';
import type { JsonObject } from '../src/domain/kernel/json.ts';
import { type BenchDatabase, untilCompleted } from './database.ts';
import { chain } from './definitions.ts';
import { inParallel, round } from './measure.ts';
import { latencyFigures, type Scenario } from './scenarios.ts';

const TIMEOUT_MS = 300_000;
/** Every connection of the pool has prepared its statements by then. */
const WARM_UP_RUNS = 300;

type WireTask = Readonly<{ taskId: string; workflowId: string; leaseToken: string; taskRef: string }>;

export type Served = Readonly<{ url: string; pid: number; stop(): Promise<void> }>;

/** The server as users run it: a process of its own, beside the one that drives it. */
export const serve = async (database: BenchDatabase): Promise<Served> => {
  const child = spawn(process.execPath, ['src/main.ts', 'dev'], {
    env: { ...process.env, PORT: '0', DATABASE_URL: database.url },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  for await (const line of createInterface({ input: child.stdout })) {
    const url = /http:\/\/\S+/.exec(line)?.[0];
    if (url === undefined) continue;
    return {
      url,
      pid: child.pid ?? 0,
      stop: async () => {
        child.kill('SIGTERM');
        await exited;
      },
    };
  }
  throw new Error('the server ended before it was ready');
};

/** A lean client over kept connections: what it costs is taken from the server, since both share the machine. */
const caller = (url: string) => {
  const agent = new Agent({ keepAlive: true, maxSockets: 256 });
  const { hostname, port } = new URL(url);
  return <T>(path: string, body: unknown, signal?: AbortSignal): Promise<T> =>
    new Promise<T>((resolve, reject) => {
      const text = JSON.stringify(body);
      const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) };
      const options = { agent, hostname, port, path: `/v1/ns/default${path}`, method: 'POST', headers };
      const sent = request(signal === undefined ? options : { ...options, signal }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const answer = Buffer.concat(chunks).toString('utf8');
          if ((response.statusCode ?? 500) < 300) resolve(JSON.parse(answer) as T);
          else reject(new Error(`${path}: ${response.statusCode} ${answer}`));
        });
      });
      sent.on('error', reject);
      sent.end(text);
    });
};

type Call = ReturnType<typeof caller>;

/** A worker over HTTP: batch lease, batch report. */
const startWorker = (
  call: Call,
  options: Readonly<{
    count: number;
    onLease: (task: WireTask, at: number) => void;
    onReport: (task: WireTask, at: number) => void;
  }>,
): (() => Promise<void>) => {
  const stopping = new AbortController();
  const loop = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      const lease = { workerId: 'bench', count: options.count, waitSeconds: 5 };
      const leased = await call<{ tasks: WireTask[] }>('/queues/step/lease', lease, stopping.signal).catch((error) => {
        if (stopping.signal.aborted) return { tasks: [] };
        throw error;
      });
      const at = performance.now();
      for (const task of leased.tasks) options.onLease(task, at);
      if (leased.tasks.length === 0) continue;
      const reports = leased.tasks.map(({ taskId, leaseToken }) => ({
        taskId,
        leaseToken,
        status: 'COMPLETED',
        output: { ok: true },
      }));
      const sent = performance.now();
      for (const task of leased.tasks) options.onReport(task, sent);
      await call('/tasks/report', { reports });
    }
  };
  const done = loop();
  return async () => {
    stopping.abort();
    await done;
  };
};

const IGNORE = { onLease: () => undefined, onReport: () => undefined };

const startRun = (call: Call, name: string, id: number) => call<JsonObject>(`/executions/${name}`, { input: { id } });

/** Chains over HTTP: one request a start, batch lease and report. */
export const httpChain = (length: number, runs: number): Scenario => ({
  name: `HTTP chain of ${length}`,
  run: async (database) => {
    const server = await serve(database);
    const call = caller(server.url);
    const definition = { ...chain(length), name: `http-chain-${length}` };
    await call('/definitions/workflows', definition);
    const stops = Array.from({ length: 4 }, () => startWorker(call, { count: 100, ...IGNORE }));
    const warm = Math.ceil(runs / 10);
    const start = (id: number) => startRun(call, definition.name, id).then(() => undefined);
    await inParallel(Array.from({ length: warm }).keys(), 50, start);
    await untilCompleted(database.client, definition.name, warm, TIMEOUT_MS);
    const since = performance.now();
    await inParallel(Array.from({ length: runs }).keys(), 50, start);
    await untilCompleted(database.client, definition.name, warm + runs, TIMEOUT_MS);
    const seconds = (performance.now() - since) / 1_000;
    await Promise.all(stops.map((stop) => stop()));
    await server.stop();
    return { runs, 'workflows/s': round(runs / seconds, 0), 'tasks/s': round((runs * length) / seconds, 0) };
  },
});

/** Open loop: so many 3-task runs a second, one worker; from the report of a task to the lease of its successor. */
export const httpLatency = (perSecond: number, seconds: number): Scenario => ({
  name: `HTTP step latency at ${perSecond} workflows/s`,
  run: async (database) => {
    const server = await serve(database);
    const call = caller(server.url);
    const definition = { ...chain(3), name: `latency-${perSecond}` };
    await call('/definitions/workflows', definition);
    const startedAt = new Map<string, number>();
    const reportedAt = new Map<string, number>();
    const first: number[] = [];
    const steps: number[] = [];
    const stops = Array.from({ length: 4 }, () =>
      startWorker(call, {
        count: 10,
        onLease: (task, at) => {
          const reported = reportedAt.get(task.workflowId);
          if (reported !== undefined) steps.push(at - reported);
        },
        onReport: (task, at) => {
          reportedAt.set(task.workflowId, at);
          const started = startedAt.get(task.workflowId);
          if (task.taskRef === 's1' && started !== undefined) first.push(at - started);
        },
      }),
    );
    const runs = perSecond * seconds;
    await inParallel(Array.from({ length: WARM_UP_RUNS }).keys(), 10, (id) =>
      startRun(call, definition.name, id).then(() => undefined),
    );
    await untilCompleted(database.client, definition.name, WARM_UP_RUNS, TIMEOUT_MS);
    for (const samples of [first, steps]) samples.length = 0;
    const begin = performance.now();
    const pending: Promise<void>[] = [];
    for (let id = 0; id < runs; id += 1) {
      const due = begin + (id * 1_000) / perSecond;
      const waitMs = due - performance.now();
      if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
      const sent = performance.now();
      pending.push(
        startRun(call, definition.name, id).then((run) => {
          startedAt.set(String(run.workflowId), sent);
        }),
      );
    }
    await Promise.all(pending);
    await untilCompleted(database.client, definition.name, WARM_UP_RUNS + runs, TIMEOUT_MS);
    await Promise.all(stops.map((stop) => stop()));
    await server.stop();
    return { runs, ...latencyFigures('report to next lease', steps), ...latencyFigures('start to first task', first) };
  },
});
