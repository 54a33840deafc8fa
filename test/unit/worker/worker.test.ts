import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  type AnyTasks,
  createWorker,
  LeaseLostError,
  TerminalError,
  type Worker,
  type WorkerOptions,
  type WorkerProblem,
  WorkerStoppingError,
} from '../../../src/worker/index.ts';
import { ok, refuse } from './fake-server.ts';
import { QueueServer } from './queue-server.ts';

let server: QueueServer;
let worker: Worker | undefined;
let problems: WorkerProblem[];

beforeEach(async () => {
  server = new QueueServer();
  problems = [];
  await server.listen();
});

afterEach(async () => {
  await worker?.stop();
  worker = undefined;
  await server.close();
});

type Options = Omit<WorkerOptions<AnyTasks>, 'url'>;

const startWorker = (options: Options): Worker => {
  worker = createWorker({ url: server.url, onProblem: (problem) => problems.push(problem), ...options });
  worker.start();
  return worker;
};

const reportsOf = async (count: number) => {
  await server.until(() => server.reports.length >= count);
  return server.reports;
};

test('one poll asks for as many tasks as there are free slots, over all queues', async () => {
  server.add('charge', [1, 2]);
  startWorker({
    concurrency: 7,
    handlers: { charge: () => ({}), ship: () => ({}) },
    workerId: 'w1',
    namespace: 'shop',
  });
  await reportsOf(2);
  const [first] = server.of('/lease');
  expect(first?.path).toBe('/v1/ns/shop/queues/charge/lease');
  expect(first?.body).toEqual({ workerId: 'w1', count: 7, waitSeconds: 30, queues: ['ship'] });
});

test('a handler gets its task and what it answers is reported with the lease token', async () => {
  server.add('charge', [{ cents: 5 }]);
  startWorker({ handlers: { charge: (task) => ({ charged: task.input.cents, by: task.taskRef }) }, apiKey: 'rk_1' });
  expect(await reportsOf(1)).toEqual([
    { taskId: 'run.1', leaseToken: 'token-1', status: 'COMPLETED', output: { charged: 5, by: 'charge' } },
  ]);
  expect(server.calls[0]?.headers.authorization).toBe('Bearer rk_1');
});

test.for([
  ['an error that is thrown', new Error('card declined'), 'FAILED', 'card declined'],
  ['a terminal error', new TerminalError('no such card'), 'FAILED_WITH_TERMINAL_ERROR', 'no such card'],
  ['a thrown text', 'odd', 'FAILED', 'odd'],
] as const)('%s fails the attempt with its reason', async ([, thrown, status, reason]) => {
  server.add('charge', [{}]);
  const handler = () => {
    throw thrown;
  };
  startWorker({ handlers: { charge: handler } });
  expect(await reportsOf(1)).toMatchObject([{ status, reason, output: {} }]);
});

const circular: { self?: object } = {};
circular.self = circular;

test.for([
  ['a number', 5 as never],
  ['an array', [1]],
  ['a circle', circular],
] as const)('%s as output fails for good: a retry would answer the same', async ([, output]) => {
  server.add('charge', [{}]);
  startWorker({ handlers: { charge: () => output } });
  const [report] = await reportsOf(1);
  expect(report?.status).toBe('FAILED_WITH_TERMINAL_ERROR');
  expect(report?.reason).toContain('output');
});

test('a task without a handler is reported, not dropped', async () => {
  server.add('unknown', [{}]);
  startWorker({ handlers: { charge: () => ({}) }, queues: ['unknown'] });
  expect(await reportsOf(1)).toMatchObject([{ status: 'FAILED', reason: expect.stringContaining('unknown') }]);
});

test('heartbeats at a third of the lease keep a long handler alive', async () => {
  const finish = Promise.withResolvers<void>();
  server.add('slow', [{}]);
  startWorker({
    leaseSeconds: 1,
    handlers: {
      slow: async () => {
        await finish.promise;
        return {};
      },
    },
  });
  const begunAt = performance.now();
  await server.until(() => server.of('/heartbeat').length >= 3);
  const tookMs = performance.now() - begunAt;
  expect(tookMs).toBeGreaterThan(900);
  expect(tookMs).toBeLessThan(3_000);
  expect(server.of('/heartbeat')[0]?.body).toEqual({ leaseToken: 'token-1', leaseSeconds: 1 });
  finish.resolve();
  expect(await reportsOf(1)).toMatchObject([{ status: 'COMPLETED' }]);
});

test('without a lease time of its own the worker measures the lease by the clock of the server', async () => {
  const dayAheadMs = 86_400_000;
  const finish = Promise.withResolvers<void>();
  server.overrides.set('/lease', () => {
    server.overrides.delete('/lease');
    const task = { taskId: 'run.1', taskName: 'slow', leaseToken: 'token-1', input: {} };
    const leaseExpiresAt = new Date(Date.now() + dayAheadMs + 1_000).toISOString();
    const date = new Date(Date.now() + dayAheadMs).toUTCString();
    return { status: 200, body: { tasks: [{ ...task, leaseExpiresAt }] }, headers: { date } };
  });
  startWorker({ handlers: { slow: () => finish.promise } });
  await server.until(() => server.of('/heartbeat').length >= 1);
  expect(server.of('/heartbeat')[0]?.body).toEqual({ leaseToken: 'token-1' });
  finish.resolve();
});

test('progress travels with a heartbeat at once; the newest value wins', async () => {
  server.add('slow', [{}]);
  const finish = Promise.withResolvers<void>();
  startWorker({
    handlers: {
      slow: (_task, context) => {
        for (const percent of [1, 2, 3]) context.progress({ percent });
        return finish.promise;
      },
    },
  });
  await server.until(() => server.of('/heartbeat').length >= 2);
  expect(server.of('/heartbeat').map((call) => call.body.progress)).toEqual([{ percent: 1 }, { percent: 3 }]);
  finish.resolve();
});

test('a lost lease aborts the handler, and its result is not reported', async () => {
  server.overrides.set('/heartbeat', () => refuse(409, 'LEASE_LOST'));
  server.add('slow', [{ n: 1 }]);
  const aborted = Promise.withResolvers<unknown>();
  startWorker({
    concurrency: 1,
    leaseSeconds: 1,
    handlers: {
      slow: async (task, context) => {
        if (task.input.n === 2) return {};
        await new Promise((resolve) => context.signal.addEventListener('abort', resolve));
        aborted.resolve(context.signal.reason);
        return {};
      },
    },
  });
  expect(await aborted.promise).toBeInstanceOf(LeaseLostError);
  server.add('slow', [{ n: 2 }]);
  expect((await reportsOf(1)).map(({ taskId }) => taskId)).toEqual(['run.2']);
  expect(problems).toEqual([]);
});

test('a report that is refused because the lease was lost troubles nobody', async () => {
  server.overrides.set('/tasks/report', (call) => {
    server.overrides.delete('/tasks/report');
    const [{ taskId }] = call.body.reports as [{ taskId: string }];
    return ok({ answers: [{ taskId, status: 'refused', error: 'LEASE_LOST', message: 'gone' }] });
  });
  server.add('charge', [1, 2]);
  startWorker({ concurrency: 1, handlers: { charge: () => ({}) } });
  expect((await reportsOf(1)).map(({ taskId }) => taskId)).toEqual(['run.2']);
  expect(problems).toEqual([]);
});

test('a result that the server refuses for good fails the task with that reason', async () => {
  server.overrides.set('/tasks/report', (call) => {
    const [report] = call.body.reports as [{ status: string }];
    return report.status === 'COMPLETED' ? refuse(413, 'PAYLOAD_TOO_LARGE') : undefined;
  });
  server.add('charge', [{}]);
  startWorker({ handlers: { charge: () => ({}) } });
  expect(await reportsOf(1)).toMatchObject([
    { status: 'FAILED_WITH_TERMINAL_ERROR', reason: expect.stringContaining('PAYLOAD_TOO_LARGE') },
  ]);
});

test('one refused result does not take the others of its call with it', async () => {
  const poison = 'run.2';
  server.overrides.set('/tasks/report', (call) => {
    const reports = call.body.reports as { taskId: string; status: string }[];
    const poisoned = reports.some(({ taskId, status }) => taskId === poison && status === 'COMPLETED');
    return poisoned ? refuse(400, 'VALIDATION_FAILED') : undefined;
  });
  server.add('charge', [1, 2, 3]);
  startWorker({ handlers: { charge: () => ({}) } });
  const reports = await reportsOf(3);
  const statuses = Object.fromEntries(reports.map(({ taskId, status }) => [taskId, status]));
  expect(statuses).toEqual({ 'run.1': 'COMPLETED', 'run.2': 'FAILED_WITH_TERMINAL_ERROR', 'run.3': 'COMPLETED' });
});

test('results that become ready while a report call is under way share the next one', async () => {
  const inFlight = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  const others = Promise.withResolvers<void>();
  server.overrides.set('/tasks/report', async () => {
    server.overrides.delete('/tasks/report');
    inFlight.resolve();
    await release.promise;
    return undefined;
  });
  server.add('step', [0, 1, 2, 3]);
  let finished = 0;
  startWorker({
    handlers: {
      step: async (task) => {
        if ((task.input as unknown) !== 0) await others.promise;
        finished += 1;
        if (finished === 4) setImmediate(release.resolve);
        return {};
      },
    },
  });
  await inFlight.promise;
  others.resolve();
  await reportsOf(4);
  expect(server.of('/tasks/report').map((call) => (call.body.reports as unknown[]).length)).toEqual([1, 3]);
});

test('log lines travel in batches and arrive before the result', async () => {
  server.add('step', [{}]);
  startWorker({
    handlers: {
      step: (_task, context) => {
        context.log('one');
        context.log('two');
        return {};
      },
    },
  });
  await reportsOf(1);
  expect(server.of('/logs').map((call) => call.body)).toEqual([{ leaseToken: 'token-1', lines: ['one', 'two'] }]);
  const paths = server.calls.map((call) => call.path.split('/').at(-1));
  expect(paths.indexOf('logs')).toBeLessThan(paths.indexOf('report'));
});

test('never more handlers run at once than the concurrency allows', async () => {
  let running = 0;
  let highest = 0;
  server.add(
    'step',
    Array.from({ length: 50 }, (_, n) => n),
  );
  startWorker({
    concurrency: 4,
    handlers: {
      step: async () => {
        running += 1;
        highest = Math.max(highest, running);
        await new Promise((resolve) => setImmediate(resolve));
        running -= 1;
      },
    },
  });
  await reportsOf(50);
  expect(highest).toBe(4);
});

test('stop ends the parked poll at once', async () => {
  const stopping = startWorker({ handlers: { step: () => ({}) } });
  await server.until(() => server.of('/lease').length === 1);
  const begunAt = performance.now();
  await stopping.stop();
  await stopping.done;
  await server.until(() => server.abandoned.some((path) => path.endsWith('/lease')));
  expect(performance.now() - begunAt).toBeLessThan(2_000);
});

test('stop lets running handlers finish and delivers their results', async () => {
  const begun = Promise.withResolvers<void>();
  const finish = Promise.withResolvers<void>();
  server.add('step', [{}]);
  const stopping = startWorker({
    handlers: {
      step: async () => {
        begun.resolve();
        await finish.promise;
        return { late: true };
      },
    },
  });
  await begun.promise;
  const stopped = stopping.stop();
  finish.resolve();
  await stopped;
  expect(server.reports).toMatchObject([{ status: 'COMPLETED', output: { late: true } }]);
  expect(server.of('/release')).toEqual([]);
});

test('a handler that does not finish in the drain time is aborted and its lease given back', async () => {
  const begun = Promise.withResolvers<AbortSignal>();
  server.add('step', [{}]);
  const stopping = startWorker({
    drainSeconds: 0.05,
    handlers: {
      step: (_task, context) => {
        begun.resolve(context.signal);
        return new Promise<never>(() => undefined);
      },
    },
  });
  const signal = await begun.promise;
  await stopping.stop();
  expect(signal.reason).toBeInstanceOf(WorkerStoppingError);
  expect(server.of('/release').map((call) => [call.path, call.body])).toEqual([
    ['/v1/ns/default/tasks/run.1/release', { leaseToken: 'token-1' }],
  ]);
  expect(server.reports).toEqual([]);
});

test('a lease that was lost before the worker stops is not given back', async () => {
  server.overrides.set('/heartbeat', () => refuse(409, 'LEASE_LOST'));
  server.add('step', [{}]);
  const lost = Promise.withResolvers<void>();
  const stopping = startWorker({
    drainSeconds: 0.05,
    leaseSeconds: 1,
    handlers: {
      step: (_task, context) => {
        context.signal.addEventListener('abort', () => lost.resolve());
        return new Promise<never>(() => undefined);
      },
    },
  });
  await lost.promise;
  await stopping.stop();
  expect(server.of('/release')).toEqual([]);
  expect(server.of('/tasks/report')).toEqual([]);
});

test('while the server is away the worker backs off, and goes on when it is back', async () => {
  let refusals = 0;
  server.overrides.set('/lease', () => {
    refusals += 1;
    return refusals <= 2 ? refuse(503, 'UNAVAILABLE') : undefined;
  });
  server.add('step', [{}]);
  startWorker({ handlers: { step: () => ({}) } });
  await reportsOf(1);
  expect(problems.map(({ during }) => during)).toEqual(['lease', 'lease']);
});

test('a result outlives a restart of the server: it is reported until it is taken', async () => {
  const { port } = server;
  const finish = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  server.add('step', [{}]);
  startWorker({
    handlers: {
      step: async () => {
        begun.resolve();
        await finish.promise;
        return {};
      },
    },
  });
  await begun.promise;
  await server.close();
  const failed = Promise.withResolvers<void>();
  const push = problems.push.bind(problems);
  problems.push = (...added) => {
    if (added.some(({ during }) => during === 'report')) failed.resolve();
    return push(...added);
  };
  finish.resolve();
  await failed.promise;
  server = new QueueServer();
  await server.listen(port);
  expect(await reportsOf(1)).toMatchObject([{ taskId: 'run.1', status: 'COMPLETED' }]);
});

test('an empty answer that came at once does not make a busy loop', async () => {
  server.overrides.set('/lease', () => ok({ tasks: [] }));
  const begunAt = performance.now();
  startWorker({ handlers: { step: () => ({}) } });
  await server.until(() => server.of('/lease').length === 4);
  expect(performance.now() - begunAt).toBeGreaterThan(250);
});

test('a worker whose key is refused ends with the error of the server', async () => {
  server.overrides.set('/lease', () => refuse(401, 'UNAUTHENTICATED'));
  const refused = startWorker({ handlers: { step: () => ({}) } });
  await expect(refused.done).rejects.toMatchObject({ code: 'UNAUTHENTICATED', status: 401, requestId: 'request-1' });
  expect(server.of('/lease')).toHaveLength(1);
});

test.for([
  ['no handler', { handlers: {} }],
  ['no concurrency', { handlers: { step: () => ({}) }, concurrency: 0 }],
  ['a poll longer than the server parks', { handlers: { step: () => ({}) }, pollWaitSeconds: 61 }],
] as const)('a worker with %s is refused when it is made', ([, options]) => {
  expect(() => createWorker({ url: server.url, ...options })).toThrow(TypeError);
});

test('contracts type what handlers take and give', () => {
  type Tasks = { charge: { input: { cents: number }; output: { receipt: string } } };
  const typed = createWorker<Tasks>({
    url: server.url,
    handlers: { charge: (task) => ({ receipt: task.input.cents.toFixed(2) }) },
  });
  createWorker<Tasks>({
    url: server.url,
    // @ts-expect-error the contract says that the receipt is a text.
    handlers: { charge: () => ({ receipt: 5 }) },
  });
  expect(typed.workerId).not.toBe('');
});
