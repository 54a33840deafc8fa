import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/domain/kernel/json.ts';
import { fork, join, loop, noop, simple } from '../support/builders.ts';
import { type ConductorServer, NAMESPACE, startConductorServer } from './support/conductor-server.ts';
import { type Body, ended, startFlow, statusOf, workflowOf } from './support/runs.ts';

/** What Conductor's models declare and its server never does: registered through /api, each has its effect here. */

let server: ConductorServer;

beforeAll(async () => {
  server = await startConductorServer();
});
afterAll(() => server.close());

const post = async (path: string, json: unknown): Promise<void> => {
  const answer = await server.send('POST', `/api${path}`, { json });
  if (answer.status !== 200) throw new Error(answer.text);
};
const workflow = (name: string, tasks: readonly JsonObject[], more: JsonObject = {}) =>
  post('/metadata/workflow', { name, version: 1, tasks, ...more });
const taskDef = (name: string, more: JsonObject) => post('/metadata/taskdefs', [{ name, ...more }]);

const poll = async (type: string, count = 1): Promise<readonly Body[]> =>
  (await server.send('GET', `/api/tasks/poll/batch/${type}?workerid=w&count=${count}&timeout=50`)).json as Body[];
const end = (task: Body, outputData: JsonObject = {}) => {
  const { taskId, workflowInstanceId } = task;
  return post('/tasks', { taskId, workflowInstanceId, workerId: 'w', status: 'COMPLETED', outputData });
};
/** Polls until a task comes, and ends it. */
const workOne = async (type: string, output: JsonObject = {}): Promise<Body> => {
  for (;;) {
    const [task] = await poll(type);
    if (task === undefined) continue;
    await end(task, output);
    return task;
  }
};
const eventsOf = async (sink: string): Promise<readonly JsonObject[]> => {
  const page = await server.useCases.outbox.internalEvents(NAMESPACE, sink, 100);
  if (!page.ok) throw new Error(page.error.message);
  return page.value.items.map(({ payload }) => payload);
};

describe('of a workflow', () => {
  it('rateLimitConfig lets so many runs of a key go at a time, first come first served', async () => {
    const rateLimitConfig = { rateLimitKey: '${workflow.correlationId}', concurrentExecLimit: 1 };
    await workflow('d_rate', [simple('d_rate')], { rateLimitConfig });
    const [first, second] = [await startFlow(server, 'd_rate'), await startFlow(server, 'd_rate')];
    expect(await poll('d_rate', 5)).toMatchObject([{ workflowInstanceId: first }]);
    expect(await workflowOf(server, second)).toMatchObject({ rateLimited: true, tasks: [] });
    const [task] = (await workflowOf(server, first)).tasks;
    await end(task ?? {});
    expect((await workOne('d_rate')).workflowInstanceId).toBe(second);
    expect(await ended(server, second)).toBe('COMPLETED');
  });

  it('maskedFields are shown to no reader, and given to the worker', async () => {
    const tasks = [simple('d_mask', { inputParameters: { pin: '${workflow.input.pin}' } })];
    await workflow('d_mask', tasks, { maskedFields: ['pin'] });
    const id = await startFlow(server, 'd_mask', { input: { pin: '1234', name: 'x' } });
    const task = await workOne('d_mask', { pin: '1234' });
    expect(task.inputData).toEqual({ pin: '1234' });
    const shown = await workflowOf(server, id);
    expect(shown).toMatchObject({ input: { pin: '***', name: 'x' } });
    expect(shown.tasks).toMatchObject([{ inputData: { pin: '***' }, outputData: { pin: '***' } }]);
  });

  it('inputSchema and outputSchema are enforced, by the name of a registered schema', async () => {
    await post('/schema', [{ name: 'd_order', version: 1, type: 'JSON', data: { type: 'object', required: ['id'] } }]);
    const outputSchema = { type: 'JSON', name: 'd_order', version: 1 };
    const inputSchema = { type: 'JSON', name: 'd_order', version: 1 };
    await workflow('d_schema', [noop('d_noop')], { inputSchema, outputSchema, outputParameters: { x: 1 } });
    const request = { name: 'd_schema', input: {}, priority: 0, idempotencyStrategy: 'FAIL' } as const;
    const refused = await server.useCases.executions.start(NAMESPACE, request);
    expect(refused).toMatchObject({ ok: false, error: { code: 'INPUT_SCHEMA_VIOLATION' } });
    const id = await startFlow(server, 'd_schema', { input: { id: 1 } });
    expect(await ended(server, id)).toBe('FAILED');
    expect(String((await workflowOf(server, id)).reasonForIncompletion)).toContain('schema');
  });

  it('workflowStatusListenerSink hears of its ends', async () => {
    await workflow('d_status', [noop('d_noop')], {
      workflowStatusListenerEnabled: true,
      workflowStatusListenerSink: 'd_status_sink',
    });
    const id = await startFlow(server, 'd_status');
    await expect
      .poll(async () => (await eventsOf('internal:d_status_sink')).map(({ status }) => status))
      .toEqual(expect.arrayContaining(['COMPLETED']));
    expect(await statusOf(server, id)).toBe('COMPLETED');
  });
});

describe('of a task definition', () => {
  it('rateLimitPerFrequency gives out so many tasks a window', async () => {
    await taskDef('d_window', { rateLimitPerFrequency: 2, rateLimitFrequencyInSeconds: 3_600 });
    await workflow('d_window', [simple('d_window')]);
    for (let count = 0; count < 4; count += 1) await startFlow(server, 'd_window');
    expect(await poll('d_window', 10)).toHaveLength(2);
    expect(await poll('d_window', 10)).toEqual([]);
  });

  it('enforceSchema refuses an output that does not fit', async () => {
    const outputSchema = { type: 'object', required: ['id'] };
    await taskDef('d_output', { outputSchema, enforceSchema: true, retryCount: 0 });
    await workflow('d_output', [simple('d_output')]);
    const id = await startFlow(server, 'd_output');
    await workOne('d_output', { no: 'id' });
    expect(await ended(server, id)).toBe('FAILED');
    expect((await workflowOf(server, id)).tasks).toMatchObject([{ status: 'FAILED_WITH_TERMINAL_ERROR' }]);
  });
});

describe('of a step', () => {
  it('cacheConfig takes the output of another run with the same key', async () => {
    const cacheConfig = { key: '${who}', ttlInSecond: 600 };
    await workflow('d_cache', [simple('d_cache', { inputParameters: { who: '${workflow.input.who}' }, cacheConfig })]);
    const first = await startFlow(server, 'd_cache', { input: { who: 'ann' } });
    await workOne('d_cache', { found: 1 });
    expect(await ended(server, first)).toBe('COMPLETED');
    const second = await startFlow(server, 'd_cache', { input: { who: 'ann' } });
    expect(await ended(server, second)).toBe('COMPLETED');
    expect((await workflowOf(server, second)).tasks).toMatchObject([{ status: 'COMPLETED', outputData: { found: 1 } }]);
    const other = await startFlow(server, 'd_cache', { input: { who: 'bob' } });
    expect((await workOne('d_cache')).workflowInstanceId).toBe(other);
  });

  it('onStateChange tells its listeners', async () => {
    const onStateChange = {
      onScheduled: [{ type: 'd_changes', payload: { what: 'scheduled' } }],
      'onSuccess,onFailed': [{ type: 'd_changes', payload: { what: 'ended' } }],
    };
    await workflow('d_change', [simple('d_change', { onStateChange })]);
    await startFlow(server, 'd_change');
    await workOne('d_change');
    await expect.poll(async () => (await eventsOf('internal:d_changes')).length, { timeout: 5_000 }).toBe(2);
    expect(JSON.stringify(await eventsOf('internal:d_changes'))).toMatch(/ended.*scheduled|scheduled.*ended/s);
  });

  it('the expression of a JOIN decides when it is over, and how', async () => {
    const script = `
      if ($.d_left.status !== 'COMPLETED') false;
      else ({ status: 'COMPLETED', outputData: { by: 'script' } });`;
    const expression = `(function () { ${script.replace('false;', 'return false;').replace('else (', 'return (')} })()`;
    await workflow('d_join', [
      fork('d_fork', [[simple('d_left')], [simple('d_right')]]),
      join('d_join', ['d_left', 'd_right'], { expression, evaluatorType: 'js' }),
    ]);
    const id = await startFlow(server, 'd_join');
    await workOne('d_left');
    await expect
      .poll(async () =>
        (await workflowOf(server, id)).tasks.find(({ referenceTaskName }) => referenceTaskName === 'd_join'),
      )
      .toMatchObject({ status: 'COMPLETED', outputData: { by: 'script' } });
  });

  it('evaluatorType of a DO_WHILE is what its condition is read by', async () => {
    await workflow('d_loop', [
      loop('d_loop', 'go_on', [noop('d_body')], {
        evaluatorType: 'value-param',
        inputParameters: { go_on: '${workflow.input.go_on}' },
      }),
    ]);
    const id = await startFlow(server, 'd_loop', { input: { go_on: false } });
    expect(await ended(server, id)).toBe('COMPLETED');
    expect((await workflowOf(server, id)).tasks[0]).toMatchObject({ outputData: { iteration: 1 } });
  });
});
