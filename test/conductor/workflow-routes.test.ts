import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { JsonObject } from '../../src/domain/kernel/json.ts';
import { type Answer, type ConductorServer, startConductorServer } from './support/conductor-server.ts';
import { given, hasStatus, simple, work } from './support/driven-runs.ts';

let server: ConductorServer;

beforeAll(async () => {
  server = await startConductorServer();
});
afterAll(() => server.close());

const UNKNOWN = '0192a3b4-c5d6-7e8f-9a0b-000000000000';
const BULK_MESSAGE = 'Bulk Request has been processed.';

const send = (method: string, path: string, json?: unknown, headers?: Record<string, string>): Promise<Answer> =>
  server.send(method, `/api/workflow${path}`, { ...(json !== undefined && { json }), ...(headers && { headers }) });

const started = async (name: string, rest: JsonObject = {}): Promise<string> => {
  const answer = await send('POST', '', { name, version: 1, ...rest });
  expect(answer.text).toMatch(/^[0-9a-f-]{36}$/);
  return answer.text;
};

/** Runs of one step that waits for a worker. */
const oneStepRuns = async (name: string, count: number): Promise<readonly string[]> => {
  await given(server, name, [simple(`${name}_step`)]);
  return Promise.all(Array.from({ length: count }, () => started(name)));
};

const statusOf = async (id: string): Promise<unknown> =>
  ((await send('GET', `/${id}/status`)).json as { status?: string }).status;

describe('what a start says', () => {
  test('is read from the body, and answered with a bare id', async () => {
    await given(server, 'start_body', [simple('start_body_step')]);
    const answer = await send('POST', '', { name: 'start_body', version: null, input: null, priority: '5', colour: 1 });
    expect(answer.headers.get('content-type')).toMatch(/^text\/plain/);
    expect((await send('GET', `/${answer.text}`)).json).toMatchObject({
      priority: 5,
      input: {},
      createdBy: 'local-administrator',
    });
  });

  test('may be the input alone, with the rest in path and query', async () => {
    await given(server, 'start_name', [simple('start_name_step')]);
    const byName = await send('POST', '/start_name?version=1&correlationId=c&priority=3', { a: null });
    expect((await send('GET', `/${byName.text}`)).json).toMatchObject({
      correlationId: 'c',
      priority: 3,
      input: { a: null },
    });
    const byVersion = await send('POST', '/start/start_name/1', { b: 1 });
    expect((await send('GET', `/${byVersion.text}`)).json).toMatchObject({ input: { b: 1 }, workflowVersion: 1 });
    expect((await send('POST', '/start/start_name/9', {})).status).toBe(404);
    expect((await send('POST', '/start/start_name/x', {})).status).toBe(404);
  });

  test('takes an idempotency key and what a conflict is from headers', async () => {
    await given(server, 'start_headers', [simple('start_headers_step')]);
    const key = { 'x-idempotency-key': 'k1' };
    const first = await send('POST', '/start_headers', { a: 1 }, key);
    expect((await send('POST', '/start_headers', { a: 2 }, key)).text).toBe(first.text);
    const refused = await send('POST', '/start_headers', { a: 1 }, { ...key, 'x-on-conflict': 'FAIL' });
    expect(refused.json).toMatchObject({ status: 409 });
    const unknown = await send('POST', '/start_headers', { a: 1 }, { ...key, 'x-on-conflict': 'SHRUG' });
    expect(unknown.json).toMatchObject({ status: 400 });
  });

  test('is refused without a name, with a priority that is none, and without a definition', async () => {
    expect((await send('POST', '', {})).json).toMatchObject({ status: 400 });
    expect((await send('POST', '', { name: 'start_body', priority: 100 })).json).toMatchObject({
      status: 400,
      validationErrors: [{ path: 'priority' }],
    });
    expect((await send('POST', '', { name: 'start_nobody' })).json).toMatchObject({ status: 404 });
  });

  test('may name an input that was uploaded before', async () => {
    await given(server, 'start_external', [simple('start_external_step')]);
    const place = await send('GET', '/externalstoragelocation?operation=WRITE&payloadType=WORKFLOW_INPUT');
    const { uri, path } = place.json as { uri: string; path: string };
    const content = { method: 'PUT', headers: { 'content-type': 'application/json' }, body: '{"large":"x"}' };
    expect((await fetch(uri, content)).status).toBe(200);
    const id = await started('start_external', { externalInputPayloadStoragePath: path });
    expect((await send('GET', `/${id}`)).json).toMatchObject({ input: { large: 'x' } });
    const missing = { name: 'start_external', externalInputPayloadStoragePath: 'workflow_input/none.json' };
    expect((await send('POST', '', missing)).status).toBe(400);
  });

  test('with a definition that is not valid is refused with the place', async () => {
    const workflowDef = { name: 'start_broken', tasks: [{ name: 'x', taskReferenceName: 'x', type: 'SWITCH' }] };
    const answer = await send('POST', '', { name: 'start_broken', workflowDef });
    expect(answer.json).toMatchObject({
      status: 400,
      validationErrors: expect.arrayContaining([expect.objectContaining({ path: 'tasks[0].expression' })]),
    });
  });
});

describe('an execution that is waited for', () => {
  test('takes its input as the body, or none', async () => {
    const tasks = [
      { name: 's', taskReferenceName: 's', type: 'SET_VARIABLE', inputParameters: { x: '${workflow.input.a}' } },
    ];
    await given(server, 'wait_by_name', tasks);
    const posted = await send('POST', '/execute/wait_by_name?requestId=r1', { a: 5 });
    expect(posted.json).toMatchObject({
      status: 'COMPLETED',
      requestId: 'r1',
      variables: { x: 5 },
      targetWorkflowStatus: 'COMPLETED',
    });
    expect((await send('GET', '/execute/wait_by_name?version=1')).json).toMatchObject({ status: 'COMPLETED' });
  });

  test('is answered with nothing where a blocking task is asked for and there is none', async () => {
    const answer = await send('POST', '/execute/wait_by_name/0?returnStrategy=BLOCKING_TASK', {});
    expect(answer).toMatchObject({ status: 200, text: '' });
    expect(answer.headers.get('content-length')).toBe('0');
  });

  test('is refused with a strategy that is none', async () => {
    expect((await send('POST', '/execute/wait_by_name/0?returnStrategy=NONE', {})).status).toBe(400);
  });
});

describe('a run', () => {
  test('shows its tasks by place and status', async () => {
    await given(server, 'read_tasks', [simple('read_tasks_a'), simple('read_tasks_b')]);
    const id = await started('read_tasks');
    await work(server, 'read_tasks_a');
    await hasStatus(server, id, 'RUNNING');
    expect((await send('GET', `/${id}/tasks?count=1`)).json).toMatchObject({
      totalHits: 2,
      results: [{ referenceTaskName: 'read_tasks_a' }],
    });
    expect((await send('GET', `/${id}/tasks?status=SCHEDULED&status=IN_PROGRESS`)).json).toMatchObject({
      totalHits: 1,
      results: [{ referenceTaskName: 'read_tasks_b' }],
    });
  });

  test('in a loop has its tasks by ref and iteration, all attempts told', async () => {
    const loop = { name: 'l', taskReferenceName: 'l', type: 'DO_WHILE', loopCondition: '$.l.iteration < 2' };
    await given(server, 'read_loop', [
      { ...loop, loopOver: [simple('read_loop_step', { retryCount: 1, retryLogic: 'FIXED', retryDelaySeconds: 0 })] },
    ]);
    await server.useCases.definitions.registerTask(
      'default' as never,
      { name: 'read_loop_step', retryCount: 1, retryDelaySeconds: 0 },
      'conductor',
    );
    const id = await started('read_loop');
    await work(server, 'read_loop_step');
    await work(server, 'read_loop_step', {}, 'FAILED');
    await work(server, 'read_loop_step');
    await hasStatus(server, id, 'COMPLETED');
    const { json } = await send('GET', `/${id}`);
    const { tasks } = json as { tasks: readonly { referenceTaskName: string; taskId: string }[] };
    expect(tasks).toMatchObject([
      { referenceTaskName: 'l', taskType: 'DO_WHILE', iteration: 0, loopOverTask: false },
      { referenceTaskName: 'read_loop_step__1', iteration: 1, loopOverTask: true, retryCount: 0 },
      { referenceTaskName: 'read_loop_step__2', status: 'FAILED', retried: true, retryCount: 0 },
      { referenceTaskName: 'read_loop_step__2', status: 'COMPLETED', retryCount: 1, retriedTaskId: tasks[2]?.taskId },
    ]);
    expect(json).toMatchObject({
      failedReferenceTaskNames: ['read_loop_step__2'],
      failedTaskNames: ['read_loop_step'],
    });
  });

  test('is found among those that are going, and by its correlation id', async () => {
    const [a = '', b = ''] = await oneStepRuns('read_running', 2);
    await send('DELETE', `/${b}?reason=over`);
    expect((await send('GET', '/running/read_running')).json).toEqual([a]);
    const since = `startTime=0&endTime=${Date.now() + 60_000}`;
    expect(((await send('GET', `/running/read_running?${since}`)).json as string[]).toSorted()).toEqual(
      [a, b].toSorted(),
    );
    expect((await send('GET', '/running/read_running?version=2')).json).toEqual([]);
    const c = await started('read_running', { correlationId: 'read-c' });
    expect((await send('GET', '/read_running/correlated/read-c')).json).toMatchObject([{ workflowId: c, tasks: [] }]);
    expect((await send('POST', '/read_running/correlated?includeTasks=true', ['read-c', 'read-d'])).json).toMatchObject(
      {
        'read-c': [{ workflowId: c, tasks: [{}] }],
        'read-d': [],
      },
    );
  });

  test('is decided again, answered with nothing at all', async () => {
    const [id = ''] = await oneStepRuns('control_decide', 1);
    const answer = await send('PUT', `/decide/${id}`);
    expect(answer).toMatchObject({ status: 200, text: '' });
    expect(answer.headers.get('content-length')).toBe('0');
    expect(answer.headers.get('content-type')).toBeNull();
    expect((await send('PUT', `/decide/${UNKNOWN}`)).json).toMatchObject({
      message: `No such workflow found by id: ${UNKNOWN}`,
    });
  });

  test('gives workers at once what one of them gave back for an hour', async () => {
    const [id = ''] = await oneStepRuns('control_reset', 1);
    const poll = () => server.send('GET', '/api/tasks/poll/control_reset_step?workerid=w');
    const { taskId } = (await poll()).json as { taskId: string };
    const later = {
      taskId,
      workflowInstanceId: id,
      status: 'IN_PROGRESS',
      callbackAfterSeconds: 3_600,
      outputData: { half: 1 },
    };
    await server.send('POST', '/api/tasks', { json: { ...later, workerId: 'w' } });
    expect((await poll()).status).toBe(204);
    const reset = await send('POST', `/${id}/resetcallbacks`);
    expect(reset).toMatchObject({ status: 204, text: '' });
    expect((await poll()).json).toMatchObject({ taskId, outputData: { half: 1 } });
    await send('DELETE', `/${id}`);
    expect((await send('POST', `/${id}/resetcallbacks`)).status).toBe(409);
  });

  test('is restarted and retried with 204 and no type', async () => {
    const [id = ''] = await oneStepRuns('control_restart', 1);
    expect((await send('POST', `/${id}/restart`)).status).toBe(409);
    await send('DELETE', `/${id}`);
    const restarted = await send('POST', `/${id}/restart`);
    expect(restarted).toMatchObject({ status: 204, text: '' });
    expect(restarted.headers.get('content-type')).toBeNull();
    expect((await send('POST', `/${id}/retry`)).status).toBe(409);
    expect((await send('PUT', `/${id}/resume`)).status).toBe(409);
  });

  test('goes on at a task that it jumps to', async () => {
    await given(server, 'control_jump', [simple('control_jump_a'), simple('control_jump_b')]);
    const id = await started('control_jump');
    expect((await send('POST', `/${id}/jump/control_jump_b`, { forced: 1 })).text).toBe('');
    await work(server, 'control_jump_b');
    await hasStatus(server, id, 'COMPLETED');
    expect((await send('GET', `/${id}`)).json).toMatchObject({
      tasks: expect.arrayContaining([
        expect.objectContaining({ referenceTaskName: 'control_jump_a', status: 'SKIPPED' }),
        expect.objectContaining({ referenceTaskName: 'control_jump_b', inputData: { forced: 1 } }),
      ]),
    });
    expect((await send('POST', `/${id}/jump/nobody`, {})).status).toBe(409);
  });

  test('moves to another version of its definition', async () => {
    const [id = ''] = await oneStepRuns('control_upgrade', 1);
    const next = [simple('control_upgrade_step'), simple('control_upgrade_more')];
    await given(server, 'control_upgrade', next, { version: 2 });
    expect((await send('POST', `/${id}/upgrade`, { name: 'other', version: 2 })).status).toBe(400);
    expect((await send('POST', `/${id}/upgrade`, { name: 'control_upgrade', version: 2 })).status).toBe(200);
    expect((await send('GET', `/${id}`)).json).toMatchObject({
      workflowVersion: 2,
      workflowDefinition: { version: 2 },
    });
  });

  test('takes messages while it is going', async () => {
    await given(server, 'control_messages', [
      { name: 'pull', taskReferenceName: 'pull', type: 'PULL_WORKFLOW_MESSAGES', inputParameters: { batchSize: 1 } },
    ]);
    const id = await started('control_messages');
    const message = await send('POST', `/${id}/messages`, { hello: 'world' });
    expect(message.text).toMatch(/^[0-9a-f-]{36}$/);
    await hasStatus(server, id, 'COMPLETED');
    expect((await send('GET', `/${id}`)).json).toMatchObject({ output: { count: 1 } });
    expect((await send('POST', `/${id}/messages`, {})).status).toBe(409);
  });

  test('is ended and removed at once, and only the one that has ended is removed', async () => {
    const [a = '', b = ''] = await oneStepRuns('control_remove', 2);
    expect((await send('DELETE', `/${a}/remove`)).status).toBe(409);
    expect((await send('DELETE', `/${a}/terminate-remove?reason=over`)).status).toBe(200);
    expect(await send('GET', `/${a}`)).toMatchObject({ status: 404 });
    await send('DELETE', `/${b}`);
    expect((await send('DELETE', `/${b}/remove?archiveWorkflow=false`)).status).toBe(200);
  });

  test('runs again from a task of a run below it', async () => {
    await given(server, 'rerun_child', [simple('rerun_child_step')]);
    const sub = { name: 'sub', taskReferenceName: 'sub', type: 'SUB_WORKFLOW' };
    await given(server, 'rerun_parent', [{ ...sub, subWorkflowParam: { name: 'rerun_child', version: 1 } }]);
    const id = await started('rerun_parent');
    await work(server, 'rerun_child_step', {}, 'FAILED_WITH_TERMINAL_ERROR');
    await hasStatus(server, id, 'FAILED');
    const parent = (await send('GET', `/${id}`)).json as { tasks: readonly { subWorkflowId: string }[] };
    const child = parent.tasks[0]?.subWorkflowId ?? '';
    const { tasks } = (await send('GET', `/${child}`)).json as { tasks: readonly { taskId: string }[] };
    const answer = await send('POST', `/${id}/rerun`, { reRunFromTaskId: tasks[0]?.taskId });
    expect(answer.text).toBe(child);
    expect((await send('POST', `/${id}/rerun`, { reRunFromTaskId: `${UNKNOWN}.1` })).json).toMatchObject({
      status: 400,
      message: `Task ${UNKNOWN}.1 not found`,
    });
  });
});

describe('many at once', () => {
  test('are paused and resumed, each by itself', async () => {
    const ids = await oneStepRuns('bulk_pause', 2);
    expect((await send('PUT', '/bulk/pause', [...ids, UNKNOWN, 'nonsense'])).json).toEqual({
      bulkErrorResults: {
        [UNKNOWN]: `No such workflow found by id: ${UNKNOWN}`,
        nonsense: 'No such workflow found by id: nonsense',
      },
      bulkSuccessfulResults: ids,
      message: BULK_MESSAGE,
    });
    expect(await statusOf(ids[0] ?? '')).toBe('PAUSED');
    expect((await send('PUT', '/bulk/resume', ids)).json).toMatchObject({ bulkSuccessfulResults: ids });
    expect(await statusOf(ids[0] ?? '')).toBe('RUNNING');
  });

  test('are terminated, restarted, retried, read and removed', async () => {
    const ids = await oneStepRuns('bulk_end', 2);
    expect((await send('POST', '/bulk/terminate?reason=over', ids)).json).toMatchObject({ bulkSuccessfulResults: ids });
    expect((await send('POST', '/bulk/restart', ids)).json).toMatchObject({ bulkSuccessfulResults: ids });
    await send('POST', '/bulk/terminate', ids);
    expect((await send('POST', '/bulk/retry', ids)).json).toMatchObject({ bulkSuccessfulResults: ids });
    expect((await send('DELETE', '/bulk/remove', ids)).json).toMatchObject({ bulkSuccessfulResults: [] });
    const read = await send('POST', '/bulk/search?includeTasks=false', [...ids, UNKNOWN]);
    expect(read.json).toMatchObject({
      bulkSuccessfulResults: ids.map((workflowId) => ({ workflowId, tasks: [] })),
      bulkErrorResults: { [UNKNOWN]: expect.any(String) },
    });
    expect((await send('DELETE', '/bulk/terminate-remove', ids.slice(0, 1))).json).toMatchObject({
      bulkSuccessfulResults: ids.slice(0, 1),
    });
    await send('POST', '/bulk/terminate', ids);
    expect((await send('POST', '/bulk/delete', ids)).json).toMatchObject({ bulkSuccessfulResults: ids.slice(1) });
  });

  test('are a thousand at most', async () => {
    const answer = await send('PUT', '/bulk/pause', Array(1_001).fill(UNKNOWN));
    expect(answer.json).toMatchObject({
      status: 400,
      message: 'Cannot process more than 1000 workflows. Please use multiple requests.',
    });
  });
});
