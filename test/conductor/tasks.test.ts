import type { OrkesClients, TaskClient } from '@io-orkes/conductor-javascript';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ExecutionId } from '../../src/domain/kernel/brand.ts';
import type { JsonObject } from '../../src/domain/kernel/json.ts';
import { human, loop, simple, wait } from '../support/builders.ts';
import { type ConductorServer, NAMESPACE, startConductorServer } from './support/conductor-server.ts';
import { sdkFor } from './support/sdk.ts';

let server: ConductorServer;
let clients: OrkesClients;
let tasks: TaskClient;

beforeAll(async () => {
  server = await startConductorServer();
  clients = await sdkFor(server.url);
  tasks = clients.getTaskClient();
});
afterAll(() => server.close());

type Body = Readonly<Record<string, unknown>>;
let flows = 0;

const register = async (name: string, steps: readonly JsonObject[]): Promise<void> => {
  const document = { name, version: 1, tasks: steps };
  const answer = await server.useCases.definitions.registerWorkflow(NAMESPACE, document, 'conductor', true);
  if (!answer.ok) throw new Error(JSON.stringify(answer.error));
};

/** Starts a run of these steps, under a name of its own. */
const started = async (...steps: readonly JsonObject[]): Promise<ExecutionId> => {
  flows += 1;
  await register(`t_flow_${flows}`, steps);
  return start(`t_flow_${flows}`);
};

const start = async (name: string): Promise<ExecutionId> => {
  const request = { name, input: {}, correlationId: 'c-1', priority: 3, idempotencyStrategy: 'FAIL' } as const;
  const run = await server.useCases.executions.start(NAMESPACE, request);
  if (!run.ok) throw new Error(JSON.stringify(run.error));
  return run.value.executionId;
};

const workflow = async (id: string): Promise<Body & { tasks: Body[] }> =>
  (await server.send('GET', `/api/workflow/${id}`)).json as Body & { tasks: Body[] };
const poll = async (type: string, query = 'workerid=w'): Promise<Body> => {
  const answer = await server.send('GET', `/api/tasks/poll/${type}?${query}`);
  if (answer.status !== 200) throw new Error(`nothing to poll: ${answer.status} ${answer.text}`);
  return answer.json as Body;
};
const update = (path: string, json: object) => server.send('POST', path, { json });
const result = (task: Body, more: object = {}) => ({
  taskId: task.taskId,
  workflowInstanceId: task.workflowInstanceId,
  workerId: 'w',
  status: 'COMPLETED',
  outputData: {},
  ...more,
});
const statusOf = async (id: string): Promise<unknown> => (await workflow(id)).status;

describe('a poll', () => {
  it('gives a task with all that Conductor tells of one', async () => {
    const id = await started(simple('t_poll', { inputParameters: { a: 1 }, startDelay: 0 }));
    const task = await poll('t_poll', 'workerid=me');
    expect(task).toMatchObject({
      taskType: 't_poll',
      taskDefName: 't_poll',
      referenceTaskName: 't_poll',
      status: 'IN_PROGRESS',
      inputData: { a: 1 },
      outputData: {},
      workflowInstanceId: id,
      workflowType: `t_flow_${flows}`,
      correlationId: 'c-1',
      workflowPriority: 3,
      workerId: 'me',
      pollCount: 1,
      retryCount: 0,
      iteration: 0,
      callbackAfterSeconds: 0,
      responseTimeoutSeconds: 3_600,
      startTime: expect.any(Number),
      scheduledTime: expect.any(Number),
      workflowTask: { name: 't_poll', taskReferenceName: 't_poll', type: 'SIMPLE' },
    });
    await update('/api/tasks', result(task, { workerId: 'me' }));
  });

  it('of one without a task is empty, of many a list', async () => {
    const one = await server.send('GET', '/api/tasks/poll/t_nothing?workerid=w');
    expect(one).toMatchObject({ status: 204, text: '' });
    expect(one.headers.get('content-type')).toBeNull();
    const many = await server.send('GET', '/api/tasks/poll/batch/t_nothing?workerid=w&count=5&timeout=1');
    expect(many).toMatchObject({ status: 200, json: [] });
  });

  it('gives as many tasks as it asks for, and waits no longer than Conductor lets it', async () => {
    for (let count = 0; count < 3; count += 1) await started(simple('t_many'));
    const batch = (query: string) => server.send('GET', `/api/tasks/poll/batch/t_many?workerid=w&${query}`);
    expect((await batch('count=2')).json).toHaveLength(2);
    expect((await batch('count=5')).json).toHaveLength(1);
    expect((await batch('count=0')).json).toEqual([]);
    expect((await batch('count=1&timeout=5001')).json).toMatchObject({
      status: 400,
      message: expect.stringContaining('cannot be more than 5 seconds'),
    });
  });

  it('of a domain takes the tasks of that domain alone', async () => {
    await register('t_domain_flow', [simple('t_domain', { domain: 'eu' })]);
    const id = await start('t_domain_flow');
    expect((await server.send('GET', '/api/tasks/poll/t_domain?workerid=w')).status).toBe(204);
    const task = await poll('t_domain', 'workerid=w&domain=eu');
    expect(task).toMatchObject({ workflowInstanceId: id, domain: 'eu' });
    await update('/api/tasks', result(task));
    expect(await statusOf(id)).toBe('COMPLETED');
  });
});

describe('an update', () => {
  it('ends a task and answers with its id as text', async () => {
    const id = await started(simple('t_end'));
    const task = await poll('t_end');
    const answer = await update('/api/tasks', result(task, { outputData: { x: 1 } }));
    expect(answer).toMatchObject({ status: 200, text: task.taskId });
    expect(answer.headers.get('content-type')).toContain('text/plain');
    expect((await workflow(id)).tasks[0]).toMatchObject({ status: 'COMPLETED', outputData: { x: 1 }, workerId: 'w' });
  });

  it('of a task that has ended is silent; of an unknown one 404, but by update-v2 never', async () => {
    await started(simple('t_late'));
    const task = await poll('t_late');
    await update('/api/tasks', result(task));
    expect(await update('/api/tasks', result(task, { status: 'FAILED' }))).toMatchObject({
      status: 200,
      text: task.taskId,
    });
    const unknown = { taskId: `${task.workflowInstanceId}.77`, workflowInstanceId: task.workflowInstanceId };
    expect((await update('/api/tasks', { ...unknown, status: 'COMPLETED' })).status).toBe(404);
    for (const taskId of [unknown.taskId, 'nonsense', '../x']) {
      const answer = await update('/api/tasks/update-v2', { ...unknown, taskId, status: 'COMPLETED' });
      expect(answer).toMatchObject({ status: 204, text: '' });
      expect(answer.headers.get('content-type')).toBeNull();
    }
  });

  it('cuts a reason that is too long, and keeps logs', async () => {
    const id = await started(simple('t_reason'));
    const task = await poll('t_reason');
    const logs = [{ log: 'first', createdTime: 1 }, { log: 'second' }];
    const status = 'FAILED_WITH_TERMINAL_ERROR';
    await update('/api/tasks', result(task, { status, reasonForIncompletion: 'x'.repeat(900), logs }));
    const [failed] = (await workflow(id)).tasks;
    expect(failed).toMatchObject({ status, reasonForIncompletion: 'x'.repeat(500) });
    const read = await server.send('GET', `/api/tasks/${String(task.taskId)}/log`);
    expect(read.json).toMatchObject([
      { log: 'first', taskId: task.taskId },
      { log: 'second', createdTime: expect.any(Number) },
    ]);
    expect(await statusOf(id)).toBe('FAILED');
  });

  it('by update-v2 brings the next task of that kind, and none where there is none', async () => {
    const first = await started(simple('t_next'));
    const second = await started(simple('t_next'));
    const task = await poll('t_next');
    const answer = await update('/api/tasks/update-v2', result(task));
    expect(answer).toMatchObject({
      status: 200,
      json: { workflowInstanceId: second, taskType: 't_next', pollCount: 1 },
    });
    expect((await update('/api/tasks/update-v2', result(answer.json as Body))).status).toBe(204);
    expect([await statusOf(first), await statusOf(second)]).toEqual(['COMPLETED', 'COMPLETED']);
  });

  it('IN_PROGRESS brings the task back after the time, with what was said, counted', async () => {
    const id = await started(simple('t_callback'));
    const task = await poll('t_callback');
    const putOff = { status: 'IN_PROGRESS', callbackAfterSeconds: 1, outputData: { page: 1 } };
    expect((await update('/api/tasks/update-v2', result(task, putOff))).status).toBe(204);
    expect((await workflow(id)).tasks[0]).toMatchObject({
      status: 'SCHEDULED',
      callbackAfterSeconds: 1,
      outputData: { page: 1 },
      pollCount: 1,
    });
    expect((await server.send('GET', '/api/tasks/poll/t_callback?workerid=w')).status).toBe(204);
    const batch = await server.send('GET', '/api/tasks/poll/batch/t_callback?workerid=v&timeout=5000');
    const [again] = batch.json as Body[];
    expect(again).toMatchObject({
      taskId: task.taskId,
      pollCount: 2,
      outputData: { page: 1 },
      callbackAfterSeconds: 1,
    });
    await update('/api/tasks', result(again ?? {}, { workerId: 'v', outputData: { page: 2 } }));
    expect((await workflow(id)).tasks[0]).toMatchObject({ status: 'COMPLETED', outputData: { page: 2 } });
  });

  it('of a stale worker changes nothing when another one has the attempt by now', async () => {
    const id = await started(simple('t_stale'));
    const task = await poll('t_stale', 'workerid=old');
    await update('/api/tasks', result(task, { workerId: 'old', status: 'IN_PROGRESS', callbackAfterSeconds: 0 }));
    const again = await poll('t_stale', 'workerid=new');
    expect(again.taskId).toBe(task.taskId);
    const late = await update('/api/tasks/update-v2', result(task, { workerId: 'old', outputData: { old: true } }));
    expect(late.status).toBe(204);
    expect(await statusOf(id)).toBe('RUNNING');
    await update('/api/tasks', result(again, { workerId: 'new', outputData: { new: true } }));
    expect((await workflow(id)).tasks[0]?.outputData).toEqual({ new: true });
  });

  it('without a task, or of a status that no worker can give, is refused', async () => {
    expect((await update('/api/tasks', { status: 'COMPLETED' })).status).toBe(400);
    expect((await update('/api/tasks', { taskId: 'x', status: 'NONSENSE' })).status).toBe(400);
    expect((await update('/api/tasks/update-v2', { status: 'COMPLETED' })).status).toBe(400);
  });
});

describe('TaskClient', () => {
  it('reads a task', async () => {
    const id = await started(simple('t_get'));
    const task = await poll('t_get');
    expect(await tasks.getTask(String(task.taskId))).toMatchObject({ taskId: task.taskId, workflowInstanceId: id });
    await expect(tasks.getTask('nonsense')).rejects.toThrow('No such task found by id: nonsense');
  });

  it('ends a task by its reference, whoever holds it', async () => {
    const id = await started(simple('t_ref'));
    const task = await poll('t_ref');
    expect(await tasks.updateTaskResult(id, 't_ref', 'COMPLETED', { x: 1 })).toBe(task.taskId);
    // The client wraps what it is given, and Conductor stores what the client sends.
    expect((await workflow(id)).tasks[0]).toMatchObject({ status: 'COMPLETED', outputData: { outputData: { x: 1 } } });
    expect((await server.send('POST', `/api/tasks/${id}/t_ref/COMPLETED`, { json: {} })).text).toBe('');
  });

  it('ends a task of a loop by its reference without the iteration, and by the one with it', async () => {
    const id = await started(loop('loop', 2, [human('ask')]));
    await tasks.updateTaskResult(id, 'ask', 'COMPLETED', { n: 1 });
    const refs = (await workflow(id)).tasks.map(({ referenceTaskName }) => referenceTaskName);
    expect(refs).toEqual(expect.arrayContaining(['ask__1', 'ask__2']));
    await tasks.updateTaskResult(id, 'ask__2', 'COMPLETED', { n: 2 });
    expect(await statusOf(id)).toBe('COMPLETED');
  });

  it('ends a task and gets the run after it', async () => {
    const id = await started(human('ask'));
    const after = await tasks.updateTaskSync(id, 'ask', 'COMPLETED', { yes: true });
    expect(after).toMatchObject({ workflowId: id, status: 'COMPLETED' });
    await expect(tasks.updateTaskSync(id, 'ask', 'COMPLETED', {})).rejects.toThrow(
      `Found no running task ask of workflow ${id} to update`,
    );
  });

  it('logs, and reads what was logged', async () => {
    await started(simple('t_log'));
    const taskId = String((await poll('t_log')).taskId);
    const before = await server.send('GET', `/api/tasks/${taskId}/log`);
    expect(before).toMatchObject({ status: 204, text: '' });
    await tasks.addTaskLog(taskId, 'a "quoted" line');
    await server.send('POST', `/api/tasks/${taskId}/log`, { body: 'plain', headers: { 'content-type': 'text/plain' } });
    expect((await tasks.getTaskLogs(taskId)).map(({ log }) => log)).toEqual(['a "quoted" line', 'plain']);
    await expect(tasks.addTaskLog(`${taskId}9`, 'x')).rejects.toThrow('No such task');
  });

  it('tells how many tasks wait, and who polled', async () => {
    for (let count = 0; count < 3; count += 1) await started(simple('t_size'));
    await poll('t_size', 'workerid=sizer');
    expect(await tasks.getQueueSizeForTask(['t_size', 't_absent'])).toEqual({ t_size: 2, t_absent: 0 });
    expect((await tasks.getQueueSizeForTask()).t_size).toBe(2);
    expect(await tasks.getTaskPollData('t_size')).toEqual([
      { queueName: 't_size', workerId: 'sizer', lastPollTime: expect.any(Number) },
    ]);
  });
});

describe('queues', () => {
  it('are told of in all of Conductor’s ways', async () => {
    await started(simple('t_queue'));
    await started(simple('t_queue'));
    await poll('t_queue', 'workerid=q');
    const get = async (path: string) => (await server.send('GET', `/api${path}`)).json;
    expect(await get('/tasks/queue/size?taskType=t_queue')).toBe(1);
    expect(await get('/tasks/queue/size?taskType=t_queue&domain=eu')).toBe(0);
    expect(await get('/tasks/queue/all')).toMatchObject({ t_queue: 1 });
    expect(await get('/tasks/queue/all/verbose')).toMatchObject({ t_queue: { a: { size: 1, uacked: 1 } } });
    const polled = (await get('/tasks/queue/polldata/all')) as Body[];
    expect(polled).toContainEqual({ queueName: 't_queue', workerId: 'q', lastPollTime: expect.any(Number) });
    await server.send('GET', '/api/tasks/poll/t_queue?workerid=d&domain=eu');
    expect(await get('/tasks/queue/polldata?taskType=t_queue')).toContainEqual({
      queueName: 't_queue',
      domain: 'eu',
      workerId: 'd',
      lastPollTime: expect.any(Number),
    });
    expect((await server.send('POST', '/api/tasks/queue/requeue/t_queue')).text).toBe('1');
    expect(await get('/queue/size')).toEqual({ $waiting: 0 });
    expect(await get('/queue')).toMatchObject({ COMPLETED: '$waiting' });
  });

  it('of waiting tasks take updates by reference and by id', async () => {
    const byRef = await started(wait('hold'));
    const byId = await started(wait('hold'));
    await update(`/api/queue/update/${byRef}/hold/COMPLETED`, { a: 1 });
    const [task] = (await workflow(byId)).tasks;
    await update(`/api/queue/update/${byId}/task/${String(task?.taskId)}/COMPLETED`, { a: 2 });
    expect((await workflow(byRef)).tasks[0]).toMatchObject({ status: 'COMPLETED', outputData: { a: 1 } });
    expect((await workflow(byId)).tasks[0]).toMatchObject({ status: 'COMPLETED', outputData: { a: 2 } });
    expect((await update(`/api/queue/update/${byRef}/hold/NONSENSE`, {})).status).toBe(400);
  });
});

describe('a signal', () => {
  it('ends the first task that waits for somebody, in runs below too', async () => {
    await register('t_child', [wait('hold')]);
    const parent = await started({
      name: 'sub',
      taskReferenceName: 'sub',
      type: 'SUB_WORKFLOW',
      subWorkflowParam: { name: 't_child' },
    });
    await expect
      .poll(() => server.send('POST', `/api/tasks/${parent}/COMPLETED/signal`, { json: { x: 1 } }))
      .toMatchObject({ status: 200, text: '' });
    await expect.poll(() => statusOf(parent)).toBe('COMPLETED');
    const none = await server.send('POST', `/api/tasks/${parent}/COMPLETED/signal`, { json: {} });
    expect(none.status).toBe(409);
    expect((await server.send('POST', `/api/tasks/${parent}/RUNNING/signal`, { json: {} })).status).toBe(400);
  });

  it('may wait for what it sets going, and answers in each of the four ways', async () => {
    const sync = async (strategy: string, id: string) =>
      (await server.send('POST', `/api/tasks/${id}/COMPLETED/signal/sync?returnStrategy=${strategy}`, { json: {} }))
        .json;
    const id = await started(wait('one'), wait('two'), wait('three'), wait('four', { n: 4 }), wait('five'));
    expect(await sync('TARGET_WORKFLOW', id)).toMatchObject({
      responseType: 'TARGET_WORKFLOW',
      targetWorkflowId: id,
      targetWorkflowStatus: 'RUNNING',
      workflowId: id,
      status: 'RUNNING',
      tasks: [{ referenceTaskName: 'one', status: 'COMPLETED' }, { referenceTaskName: 'two' }],
    });
    expect(await sync('BLOCKING_WORKFLOW', id)).toMatchObject({ responseType: 'BLOCKING_WORKFLOW', workflowId: id });
    expect(await sync('BLOCKING_TASK', id)).toMatchObject({
      responseType: 'BLOCKING_TASK',
      referenceTaskName: 'four',
      status: 'IN_PROGRESS',
    });
    expect(await sync('BLOCKING_TASK_INPUT', id)).toMatchObject({ referenceTaskName: 'five', input: {} });
    expect(await sync('BLOCKING_TASK', id)).toBeUndefined();
    expect(await statusOf(id)).toBe('COMPLETED');
    const none = await server.send('POST', `/api/tasks/${id}/COMPLETED/signal/sync`, { json: {} });
    expect(none.status).toBe(409);
  });

  it('where nothing waits is told so', async () => {
    const id = await started(simple('t_busy'));
    const answer = await server.send('POST', `/api/tasks/${id}/COMPLETED/signal/sync`, { json: {} });
    expect(answer).toMatchObject({ status: 404, json: { message: expect.stringContaining('waits for a signal') } });
  });
});
