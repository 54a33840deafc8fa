import {
  type ConductorWorker,
  clearWorkerRegistry,
  getTaskContext,
  NonRetryableException,
  noopLogger,
  type OrkesClients,
  TaskHandler,
  TaskManager,
  TaskRunner,
  worker,
} from '@io-orkes/conductor-javascript';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { simple } from '../support/builders.ts';
import { type ConductorServer, startConductorServer } from './support/conductor-server.ts';
import { ended, registerFlow, registerTask, startFlow, statusOf, workflowOf } from './support/runs.ts';
import { sdkFor } from './support/sdk.ts';

let server: ConductorServer;
let clients: OrkesClients;
const stops: (() => Promise<void>)[] = [];

beforeAll(async () => {
  server = await startConductorServer();
  clients = await sdkFor(server.url);
});
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});
afterAll(() => server.close());

/** Workers of one process, until the test has ended. */
const work = (workers: readonly ConductorWorker[], options: object = {}): TaskManager => {
  const manager = new TaskManager(clients.getClient(), [...workers], {
    logger: noopLogger,
    options: { pollInterval: 5, concurrency: 1, workerID: 'w1', ...options },
  });
  manager.startPolling();
  stops.push(() => manager.stopPolling());
  return manager;
};

const gate = () => Promise.withResolvers<void>();

describe('workers of the TaskManager', () => {
  it('end their tasks with output and logs, read their input, and see Conductor’s task', async () => {
    await registerFlow(server, 'w_plain', [simple('w_plain', { inputParameters: { n: '${workflow.input.n}' } })]);
    work([
      {
        taskDefName: 'w_plain',
        execute: async ({ inputData, workflowType }) => {
          getTaskContext()?.addLog('half way');
          return { status: 'COMPLETED', outputData: { twice: Number(inputData?.n) * 2, workflowType } };
        },
      },
    ]);
    const id = await startFlow(server, 'w_plain', { input: { n: 21 } });
    expect(await ended(server, id)).toBe('COMPLETED');
    const [task] = (await workflowOf(server, id)).tasks;
    expect(task).toMatchObject({ outputData: { twice: 42, workflowType: 'w_plain' }, workerId: 'w1' });
    const logs = await clients.getTaskClient().getTaskLogs(String(task?.taskId));
    expect(logs.map(({ log }) => log)).toEqual(['half way']);
  });

  it('that fail are tried again, and the reason of each attempt is kept', async () => {
    await registerTask(server, { name: 'w_retry', retryCount: 2, retryDelaySeconds: 0 });
    await registerFlow(server, 'w_retry', [simple('w_retry')]);
    let attempts = 0;
    work([
      {
        taskDefName: 'w_retry',
        execute: async () => {
          attempts += 1;
          if (attempts < 3) throw new Error(`boom ${attempts}`);
          return { status: 'COMPLETED', outputData: { attempts } };
        },
      },
    ]);
    const id = await startFlow(server, 'w_retry');
    expect(await ended(server, id)).toBe('COMPLETED');
    const tasks = (await workflowOf(server, id)).tasks;
    expect(
      tasks.map(({ status, retryCount, reasonForIncompletion }) => [status, retryCount, reasonForIncompletion]),
    ).toEqual([
      ['FAILED', 0, expect.stringContaining('boom 1')],
      ['FAILED', 1, expect.stringContaining('boom 2')],
      ['COMPLETED', 2, undefined],
    ]);
    expect(tasks[1]?.retriedTaskId).toBe(tasks[0]?.taskId);
  });

  it('that fail for good end the run at once, retries or not', async () => {
    await registerTask(server, { name: 'w_terminal', retryCount: 5, retryDelaySeconds: 0 });
    await registerFlow(server, 'w_terminal', [simple('w_terminal')]);
    work([
      {
        taskDefName: 'w_terminal',
        execute: async () => {
          throw new NonRetryableException('no use');
        },
      },
    ]);
    const id = await startFlow(server, 'w_terminal');
    expect(await ended(server, id)).toBe('FAILED');
    const { tasks, reasonForIncompletion } = await workflowOf(server, id);
    expect(tasks).toMatchObject([{ status: 'FAILED_WITH_TERMINAL_ERROR' }]);
    expect(String(reasonForIncompletion)).toContain('no use');
  });

  it('may put a task off, and get it again with what they left', async () => {
    await registerFlow(server, 'w_later', [simple('w_later')]);
    const seen: unknown[] = [];
    work([
      {
        taskDefName: 'w_later',
        execute: async ({ outputData, pollCount }) => {
          seen.push({ outputData, pollCount });
          if (seen.length === 1) return { status: 'IN_PROGRESS', callbackAfterSeconds: 1, outputData: { page: 1 } };
          return { status: 'COMPLETED', outputData: { page: 2 } };
        },
      },
    ]);
    const id = await startFlow(server, 'w_later');
    expect(await ended(server, id)).toBe('COMPLETED');
    expect(seen).toEqual([
      { outputData: {}, pollCount: 1 },
      { outputData: { page: 1 }, pollCount: 2 },
    ]);
    expect((await workflowOf(server, id)).tasks).toMatchObject([{ retryCount: 0, outputData: { page: 2 } }]);
  });

  it('keep a task that takes longer than its lease, when they extend it', async () => {
    await registerTask(server, { name: 'w_long', responseTimeoutSeconds: 2, retryCount: 0 });
    await registerFlow(server, 'w_long', [simple('w_long')]);
    const release = gate();
    work([
      {
        taskDefName: 'w_long',
        leaseExtendEnabled: true,
        execute: async () => {
          await release.promise;
          return { status: 'COMPLETED', outputData: {} };
        },
      },
    ]);
    const id = await startFlow(server, 'w_long');
    // Its lease would have ended by the time that it was extended to for the second time.
    const leases = new Set<number>();
    await expect
      .poll(
        async () => {
          const detail = await server.useCases.executions.get('default' as never, id);
          const until = detail.ok ? detail.value.live[0]?.leaseExpiresAt : undefined;
          if (until !== undefined) leases.add(until);
          return leases.size;
        },
        { timeout: 15_000, interval: 50 },
      )
      .toBe(3);
    release.resolve();
    expect(await ended(server, id)).toBe('COMPLETED');
    expect((await workflowOf(server, id)).tasks).toHaveLength(1);
  });

  it('run as many tasks at a time as they may, and no more', async () => {
    await registerFlow(server, 'w_wide', [simple('w_wide')]);
    const [full, release] = [gate(), gate()];
    let running = 0;
    let most = 0;
    work(
      [
        {
          taskDefName: 'w_wide',
          concurrency: 3,
          execute: async () => {
            running += 1;
            most = Math.max(most, running);
            if (running === 3) full.resolve();
            await release.promise;
            running -= 1;
            return { status: 'COMPLETED', outputData: {} };
          },
        },
      ],
      { concurrency: 3 },
    );
    const ids = await Promise.all(Array.from({ length: 8 }, () => startFlow(server, 'w_wide')));
    await full.promise;
    release.resolve();
    expect(await Promise.all(ids.map((id) => ended(server, id)))).toEqual(ids.map(() => 'COMPLETED'));
    expect(most).toBe(3);
  });

  it('of a domain get the tasks of that domain; the fallback goes to who polls without one', async () => {
    await registerFlow(server, 'w_domain', [simple('w_domain')]);
    const ran: string[] = [];
    const named = (who: string, domain?: string): ConductorWorker => ({
      taskDefName: 'w_domain',
      ...(domain !== undefined && { domain }),
      execute: async () => {
        ran.push(who);
        return { status: 'COMPLETED', outputData: {} };
      },
    });
    work([named('eu', 'eu')]);
    work([named('plain')], { workerID: 'w2' });
    const eu = await startFlow(server, 'w_domain', { taskToDomain: { w_domain: 'eu' } });
    expect(await ended(server, eu)).toBe('COMPLETED');
    const fallback = await startFlow(server, 'w_domain', { taskToDomain: { '*': 'nobody, NO_DOMAIN' } });
    expect(await ended(server, fallback)).toBe('COMPLETED');
    const first = await startFlow(server, 'w_domain', { taskToDomain: { '*': 'nobody,eu,NO_DOMAIN' } });
    expect(await ended(server, first)).toBe('COMPLETED');
    expect(ran).toEqual(['eu', 'plain', 'eu']);
    expect((await workflowOf(server, eu)).tasks[0]).toMatchObject({ domain: 'eu' });
  });

  it('hand a next task of their kind on in the answer to the one before', async () => {
    await registerFlow(server, 'w_chain', [
      simple('w_chain_1', { name: 'w_chain' }),
      simple('w_chain_2', { name: 'w_chain' }),
      simple('w_chain_3', { name: 'w_chain' }),
    ]);
    const refs: unknown[] = [];
    const once = gate();
    const runner = new TaskRunner({
      client: clients.getClient(),
      worker: {
        taskDefName: 'w_chain',
        execute: async ({ referenceTaskName }) => {
          refs.push(referenceTaskName);
          if (refs.length === 3) once.resolve();
          return { status: 'COMPLETED', outputData: {} };
        },
      },
      // It polls once, and not again for a minute.
      options: { workerID: 'w1', domain: undefined, concurrency: 1, pollInterval: 60_000 },
      logger: noopLogger,
    });
    const id = await startFlow(server, 'w_chain');
    runner.startPolling();
    stops.push(() => runner.stopPolling());
    await once.promise;
    expect(await ended(server, id)).toBe('COMPLETED');
    expect(refs).toEqual(['w_chain_1', 'w_chain_2', 'w_chain_3']);
  });

  it('that answer too late do not disturb who works on the next attempt', async () => {
    await registerTask(server, { name: 'w_stale', responseTimeoutSeconds: 1, retryCount: 1, retryDelaySeconds: 0 });
    await registerFlow(server, 'w_stale', [simple('w_stale')]);
    const [second, late, reported] = [gate(), gate(), gate()];
    let attempts = 0;
    work(
      [
        {
          taskDefName: 'w_stale',
          execute: async ({ retryCount }) => {
            attempts += 1;
            if (attempts === 1) {
              await second.promise;
              late.resolve();
              return { status: 'COMPLETED', outputData: { attempt: retryCount } };
            }
            second.resolve();
            await late.promise;
            await reported.promise;
            return { status: 'COMPLETED', outputData: { attempt: retryCount } };
          },
        },
      ],
      { concurrency: 2 },
    );
    const id = await startFlow(server, 'w_stale');
    await late.promise;
    expect(await statusOf(server, id)).toBe('RUNNING');
    reported.resolve();
    expect(await ended(server, id)).toBe('COMPLETED');
    const { tasks } = await workflowOf(server, id);
    expect(tasks.map(({ status, outputData }) => [status, outputData])).toEqual([
      ['TIMED_OUT', {}],
      ['COMPLETED', { attempt: 1 }],
    ]);
  });
});

describe('the TaskHandler', () => {
  it('registers the tasks of its workers, runs them, and stops', async () => {
    clearWorkerRegistry();
    const run = async () => ({ status: 'COMPLETED' as const, outputData: { by: 'handler' } });
    worker({ taskDefName: 'w_handler', registerTaskDef: true, pollInterval: 5, workerId: 'h1' })(
      run as never,
      undefined as never,
    );
    await registerFlow(server, 'w_handler', [simple('w_handler')]);
    const handler = new TaskHandler({
      client: clients.getClient(),
      logger: noopLogger,
      healthMonitor: { enabled: false },
    });
    await handler.startWorkers();
    stops.push(() => handler.stopWorkers());
    expect(await clients.getMetadataClient().getTask('w_handler')).toMatchObject({ timeoutSeconds: 3_600 });
    const id = await startFlow(server, 'w_handler');
    expect(await ended(server, id)).toBe('COMPLETED');
    expect((await workflowOf(server, id)).tasks).toMatchObject([{ workerId: 'h1', outputData: { by: 'handler' } }]);
    expect(handler.isHealthy()).toBe(true);
  });
});

describe('two processes of workers with ten slots each', () => {
  const RUNS = 60;
  const STEPS = ['w_five_1', 'w_five_2', 'w_five_3', 'w_five_4', 'w_five_5'];

  it('run sixty workflows of five tasks: none is lost, and none is done twice', async () => {
    await registerFlow(
      server,
      'w_five',
      STEPS.map((name) => simple(name)),
    );
    const done: string[] = [];
    const step = (taskDefName: string): ConductorWorker => ({
      taskDefName,
      execute: async ({ taskId }) => {
        done.push(String(taskId));
        return { status: 'COMPLETED', outputData: { taskId } };
      },
    });
    for (const workerID of ['p1', 'p2']) work(STEPS.map(step), { workerID, concurrency: 10 });
    const ids = await Promise.all(Array.from({ length: RUNS }, () => startFlow(server, 'w_five')));
    const statuses = await Promise.all(ids.map((id) => ended(server, id)));
    expect(statuses).toEqual(ids.map(() => 'COMPLETED'));
    expect(done).toHaveLength(RUNS * STEPS.length);
    expect(new Set(done).size).toBe(RUNS * STEPS.length);
    expect(server.problems).toEqual([]);
  });
});
