import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { noopLogger, OrkesClients, TaskManager } from '@io-orkes/conductor-javascript';
import type { JsonObject } from '../src/domain/kernel/json.ts';
import { type BenchDatabase, untilCompleted } from './database.ts';
import { chain } from './definitions.ts';
import { serve } from './http-scenarios.ts';
import { inParallel, round } from './measure.ts';
import type { Figures, Scenario } from './scenarios.ts';

const TIMEOUT_MS = 300_000;
const START_WIDTH = 50;
const SLOTS = 40;
const SDK_PROCESSES = 2;
const SDK_CONCURRENCY = 10;
const POLL_WAIT_MS = 5_000;

type Answer = Readonly<{ status: number; text: string }>;
type Send = (method: string, path: string, body?: unknown) => Promise<Answer>;

/** A lean client over kept connections: both doors are driven by the same one. */
const sender = (url: string): Send => {
  const agent = new Agent({ keepAlive: true, maxSockets: 256 });
  const { hostname, port } = new URL(url);
  return (method, path, body) =>
    new Promise((resolve, reject) => {
      const content = body === undefined ? '' : JSON.stringify(body);
      const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(content) };
      const sent = request({ agent, hostname, port, path, method, headers }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString('utf8');
          const status = response.statusCode ?? 500;
          if (status < 300) resolve({ status, text });
          else reject(new Error(`${path}: ${status} ${text}`));
        });
      });
      sent.on('error', reject);
      sent.end(content);
    });
};

/** What one of many slots does for one task at a time: takes one, ends it, and goes on. */
type Door = Readonly<{
  register: (send: Send, definition: JsonObject) => Promise<unknown>;
  start: (send: Send, name: string, id: number) => Promise<unknown>;
  /** Takes a task and ends it, and those that come with the answer; resolves when there is none. */
  turn: (send: Send) => Promise<void>;
}>;

const V1 = '/v1/ns/default';

/** Our own door, one task a call: what Conductor's protocol can do at all. */
const OURS: Door = {
  register: (send, definition) => send('POST', `${V1}/definitions/workflows`, definition),
  start: (send, name, id) => send('POST', `${V1}/executions/${name}`, { input: { id } }),
  turn: async (send) => {
    const lease = { workerId: 'bench', count: 1, waitSeconds: POLL_WAIT_MS / 1_000 };
    const { tasks } = JSON.parse((await send('POST', `${V1}/queues/step/lease`, lease)).text);
    for (const { taskId, leaseToken } of tasks) {
      const report = { leaseToken, status: 'COMPLETED', output: { ok: true } };
      await send('POST', `${V1}/tasks/${taskId}/report`, report);
    }
  },
};

const CONDUCTORS: Door = {
  register: (send, definition) => send('POST', '/api/metadata/workflow', definition),
  start: (send, name, id) => send('POST', `${V1}/executions/${name}`, { input: { id } }),
  turn: async (send) => {
    const poll = `/api/tasks/poll/batch/step?workerid=bench&count=1&timeout=${POLL_WAIT_MS}`;
    const [first] = JSON.parse((await send('GET', poll)).text);
    for (let task = first; task !== undefined; ) {
      const { taskId, workflowInstanceId } = task;
      const result = { taskId, workflowInstanceId, workerId: 'bench', status: 'COMPLETED', outputData: { ok: true } };
      const answer = await send('POST', '/api/tasks/update-v2', result);
      task = answer.status === 200 ? JSON.parse(answer.text) : undefined;
    }
  },
};

type Workers = Readonly<{ stop: () => Promise<void> }>;

/** Ticks of the kernel are 10 ms. */
const MS_PER_TICK = 10;

/**
 * Processor time that a process has used, where the system tells: unlike the clock on the wall it is the same on a busy
 * machine.
 */
const busyMs = (pid: number): number => {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return (Number(fields[11]) + Number(fields[12])) * MS_PER_TICK;
  } catch {
    return Number.NaN;
  }
};

/** Runs chains through a server with such workers, after a tenth of them to warm it up. */
const measureChain = async (
  database: BenchDatabase,
  door: Door,
  name: string,
  length: number,
  runs: number,
  startWorkers: (url: string, send: Send) => Promise<Workers>,
): Promise<Figures> => {
  const server = await serve(database);
  const send = sender(server.url);
  await door.register(send, { ...chain(length), name });
  const workers = await startWorkers(server.url, send);
  const start = (id: number) => door.start(send, name, id).then(() => undefined);
  const warm = Math.ceil(runs / 10);
  await inParallel(Array.from({ length: warm }).keys(), START_WIDTH, start);
  await untilCompleted(database.client, name, warm, TIMEOUT_MS);
  const since = performance.now();
  const busyBefore = busyMs(server.pid);
  await inParallel(Array.from({ length: runs }).keys(), START_WIDTH, start);
  await untilCompleted(database.client, name, warm + runs, TIMEOUT_MS);
  const seconds = (performance.now() - since) / 1_000;
  const busy = busyMs(server.pid) - busyBefore;
  await workers.stop();
  await server.stop();
  return {
    runs,
    'server CPU ms/task': round(busy / (runs * length), 2),
    'workflows/s': round(runs / seconds, 0),
    'tasks/s': round((runs * length) / seconds, 0),
  };
};

const slots =
  (door: Door) =>
  async (_url: string, send: Send): Promise<Workers> => {
    let stopping = false;
    const slot = async (): Promise<void> => {
      while (!stopping) await door.turn(send);
    };
    const all = Array.from({ length: SLOTS }, slot);
    return {
      stop: async () => {
        stopping = true;
        await Promise.all(all);
      },
    };
  };

/** The same work through both doors by the same client, a task at a time: the ratio is what Conductor's door costs. */
export const oneByOne = (door: 'v1' | 'api', length: number, runs: number): Scenario => ({
  name: `/${door} chain of ${length}, a task a call`,
  run: (database) => {
    const chosen = door === 'v1' ? OURS : CONDUCTORS;
    return measureChain(database, chosen, `${door}-one-by-one-${length}`, length, runs, slots(chosen));
  },
});

/** Workers of Conductor's own JavaScript client, as its users run them. */
const startSdk = async (url: string): Promise<Workers> => {
  const clients = await OrkesClients.from({ serverUrl: url, logger: noopLogger });
  const execute = async () => ({ status: 'COMPLETED' as const, outputData: { ok: true } });
  const managers = Array.from({ length: SDK_PROCESSES }, (_, index) => {
    const options = { pollInterval: 5, concurrency: SDK_CONCURRENCY, workerID: `bench-${index}` };
    const workers = [{ taskDefName: 'step', execute, concurrency: SDK_CONCURRENCY }];
    const manager = new TaskManager(clients.getClient(), workers, { logger: noopLogger, options });
    manager.startPolling();
    return manager;
  });
  return {
    stop: async () => {
      await Promise.all(managers.map((manager) => manager.stopPolling()));
    },
  };
};

export const sdkChain = (length: number, runs: number): Scenario => ({
  name: `/api chain of ${length} with the Conductor SDK`,
  run: (database) => measureChain(database, CONDUCTORS, `sdk-chain-${length}`, length, runs, startSdk),
});
