import {
  Consistency,
  type OrkesClients,
  ReturnStrategy,
  type WorkflowDef,
  type WorkflowExecutor,
} from '@io-orkes/conductor-javascript';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ConductorServer, startConductorServer } from './support/conductor-server.ts';
import { given, hasStatus, simple, work } from './support/driven-runs.ts';
import { sdkFor } from './support/sdk.ts';

let server: ConductorServer;
let clients: OrkesClients;
let workflows: WorkflowExecutor;

beforeAll(async () => {
  server = await startConductorServer();
  clients = await sdkFor(server.url);
  workflows = clients.getWorkflowClient();
});
afterAll(() => server.close());

const WAIT = { name: 'wait', taskReferenceName: 'wait', type: 'WAIT' };

/** A run of one step that a worker does. */
const oneStep = async (name: string): Promise<string> => {
  await given(server, name, [simple(`${name}_step`)]);
  return workflows.startWorkflow({ name, version: 1, input: { a: 1 } });
};

describe('WorkflowExecutor starts', () => {
  test('a run, and reads its status with output and variables', async () => {
    await given(server, 'sdk_start', [simple('sdk_start_step')], {
      outputParameters: { sum: '${sdk_start_step.output.sum}' },
    });
    const id = await workflows.startWorkflow({
      name: 'sdk_start',
      version: 1,
      input: { a: 1 },
      correlationId: 'c1',
      priority: 5,
    });
    expect(await workflows.getWorkflow(id, false)).toMatchObject({
      workflowId: id,
      correlationId: 'c1',
      priority: 5,
      input: { a: 1 },
    });
    expect(await workflows.getWorkflowStatus(id, true, true)).toMatchObject({
      workflowId: id,
      status: 'RUNNING',
      variables: {},
    });
    await work(server, 'sdk_start_step', { sum: 7 });
    await hasStatus(server, id, 'COMPLETED');
    expect(await workflows.getWorkflowStatus(id, true, false)).toEqual({
      workflowId: id,
      correlationId: 'c1',
      status: 'COMPLETED',
      output: { sum: 7 },
    });
    expect(await workflows.getExecution(id)).toMatchObject({
      tasks: [{ status: 'COMPLETED', outputData: { sum: 7 } }],
    });
  });

  test('several at once, and by name', async () => {
    await given(server, 'sdk_many', [simple('sdk_many_step')]);
    const ids = await Promise.all(workflows.startWorkflows([{ name: 'sdk_many' }, { name: 'sdk_many', version: 1 }]));
    const byName = await workflows.startWorkflowByName('sdk_many', { b: 2 }, 1, 'c2', 3);
    expect(new Set([...ids, byName]).size).toBe(3);
    expect(await workflows.getWorkflow(byName, false)).toMatchObject({
      input: { b: 2 },
      correlationId: 'c2',
      priority: 3,
    });
  });

  test('nothing of a name that is not there, and says so', async () => {
    await expect(workflows.startWorkflow({ name: 'sdk_nobody' })).rejects.toThrow(/Failed to start workflow/);
  });

  test('a run of a definition that it sends along', async () => {
    const workflowDef: WorkflowDef = {
      name: 'sdk_inline',
      timeoutSeconds: 0,
      tasks: [
        { name: 'set', taskReferenceName: 'set', type: 'SET_VARIABLE', inputParameters: { x: '${workflow.input.a}' } },
      ],
    };
    const id = await workflows.startWorkflow({ name: 'sdk_inline', workflowDef, input: { a: 4 } });
    await hasStatus(server, id, 'COMPLETED');
    expect(await workflows.getWorkflow(id, true)).toMatchObject({
      variables: { x: 4 },
      input: { a: 4, _systemMetadata: { dynamic: true } },
    });
  });

  test('a run of the definition that it sends along, though one of that name and version is known', async () => {
    await given(server, 'sdk_same_name', [simple('sdk_same_name_step')]);
    await workflows.startWorkflow({ name: 'sdk_same_name', version: 1 });
    await workflows.startWorkflow({ name: 'sdk_same_name', version: 1 });
    const tasks = [{ name: 'set', taskReferenceName: 'set', type: 'SET_VARIABLE', inputParameters: { x: 2 } }];
    const workflowDef: WorkflowDef = { name: 'sdk_same_name', version: 1, timeoutSeconds: 0, tasks };
    const id = await workflows.startWorkflow({ name: 'sdk_same_name', version: 1, workflowDef });
    await hasStatus(server, id, 'COMPLETED');
    expect(await workflows.getWorkflow(id, true)).toMatchObject({ variables: { x: 2 } });
  });

  test('once for an idempotency key, whatever the input is', async () => {
    await given(server, 'sdk_key', [simple('sdk_key_step')]);
    const start = (a: number, idempotencyStrategy: 'RETURN_EXISTING' | 'FAIL' | 'FAIL_ON_RUNNING') =>
      workflows.startWorkflow({ name: 'sdk_key', version: 1, input: { a }, idempotencyKey: 'k1', idempotencyStrategy });
    const first = await start(1, 'RETURN_EXISTING');
    expect(await start(2, 'RETURN_EXISTING')).toBe(first);
    await expect(start(1, 'FAIL')).rejects.toThrow(/Failed to start workflow/);
    await expect(start(1, 'FAIL_ON_RUNNING')).rejects.toThrow(/Failed to start workflow/);
    await workflows.terminate(first, 'over');
    expect(await start(3, 'FAIL_ON_RUNNING')).not.toBe(first);
  });
});

describe('WorkflowExecutor executes', () => {
  test('to the end', async () => {
    await given(server, 'sdk_execute', [
      { name: 'set', taskReferenceName: 'set', type: 'SET_VARIABLE', inputParameters: { x: 1 } },
    ]);
    const run = await workflows.executeWorkflow({ name: 'sdk_execute', version: 1 }, 'sdk_execute', 1, 'request-1');
    expect(run).toMatchObject({ status: 'COMPLETED', requestId: 'request-1', variables: { x: 1 } });
  });

  test('until a task has ended', async () => {
    await given(server, 'sdk_until', [
      { name: 'set', taskReferenceName: 'first', type: 'SET_VARIABLE', inputParameters: { x: 1 } },
      simple('sdk_until_step'),
    ]);
    const run = await workflows.executeWorkflow({ name: 'sdk_until' }, 'sdk_until', 1, 'r', 'first');
    expect(run).toMatchObject({ status: 'RUNNING', tasks: [{ referenceTaskName: 'first' }, { status: 'SCHEDULED' }] });
    expect(run).not.toHaveProperty('signalTimeout');
  });

  test('until its time is up, and says that nothing came', async () => {
    await given(server, 'sdk_slow', [simple('sdk_slow_step')]);
    const target = ReturnStrategy.TARGET_WORKFLOW;
    const run = await workflows.executeWorkflow(
      { name: 'sdk_slow' },
      'sdk_slow',
      1,
      'r',
      '',
      1,
      Consistency.DURABLE,
      target,
    );
    expect(run).toMatchObject({ status: 'RUNNING', signalTimeout: true });
    expect(run.isTargetWorkflow()).toBe(true);
  });

  test('until somebody is waited for in a child, and is told of run, child, task or input as it asks', async () => {
    await given(server, 'sdk_child', [{ ...WAIT, inputParameters: { question: 'go on?' } }]);
    await given(server, 'sdk_parent', [
      {
        name: 'sub',
        taskReferenceName: 'sub',
        type: 'SUB_WORKFLOW',
        subWorkflowParam: { name: 'sdk_child', version: 1 },
      },
    ]);
    const execute = (strategy: ReturnStrategy) =>
      workflows.executeWorkflow({ name: 'sdk_parent' }, 'sdk_parent', 1, 'r', '', 10, Consistency.DURABLE, strategy);
    const target = await execute(ReturnStrategy.TARGET_WORKFLOW);
    expect(target).toMatchObject({ responseType: 'TARGET_WORKFLOW', tasks: [{ taskType: 'SUB_WORKFLOW' }] });
    const blocking = await execute(ReturnStrategy.BLOCKING_WORKFLOW);
    expect(blocking.isBlockingWorkflow()).toBe(true);
    expect(blocking.workflowId).not.toBe(blocking.targetWorkflowId);
    expect(blocking).toMatchObject({ tasks: [{ taskType: 'WAIT' }] });
    const task = await execute(ReturnStrategy.BLOCKING_TASK);
    expect(task.getBlockingTask()).toMatchObject({ taskType: 'WAIT', referenceTaskName: 'wait' });
    const input = await execute(ReturnStrategy.BLOCKING_TASK_INPUT);
    expect(input.getTaskInput()).toMatchObject({ question: 'go on?' });
  });
});

describe('WorkflowExecutor controls', () => {
  test('pauses, again without harm, and resumes once', async () => {
    const id = await oneStep('sdk_pause');
    await workflows.pause(id);
    await workflows.pause(id);
    expect(await workflows.getWorkflowStatus(id, false, false)).toMatchObject({ status: 'PAUSED' });
    await workflows.resume(id);
    await expect(workflows.resume(id)).rejects.toThrow(/Failed to resume/);
  });

  test('terminates with a reason, again without harm, but not what has completed', async () => {
    const id = await oneStep('sdk_terminate');
    await workflows.terminate(id, 'no longer wanted');
    await workflows.terminate(id, 'again');
    expect(await workflows.getWorkflow(id, true)).toMatchObject({
      status: 'TERMINATED',
      reasonForIncompletion: 'no longer wanted',
      tasks: [{ status: 'CANCELED' }],
    });
    const done = await oneStep('sdk_done');
    await work(server, 'sdk_done_step');
    await hasStatus(server, done, 'COMPLETED');
    await expect(workflows.terminate(done, 'late')).rejects.toThrow(/Cannot terminate a COMPLETED workflow/);
  });

  test('retries what failed', async () => {
    await given(server, 'sdk_retry', [simple('sdk_retry_step', { retryCount: 0 })]);
    const id = await workflows.startWorkflow({ name: 'sdk_retry' });
    await work(server, 'sdk_retry_step', {}, 'FAILED');
    await hasStatus(server, id, 'FAILED');
    await workflows.retry(id, false);
    const again = await workflows.getWorkflow(id, true);
    expect(again.status).toBe('RUNNING');
    expect(again.lastRetriedTime).toBeGreaterThan(0);
    await work(server, 'sdk_retry_step');
    await hasStatus(server, id, 'COMPLETED');
    await expect(workflows.retry(id, false)).rejects.toThrow(/Failed to retry/);
  });

  test('restarts with the latest definitions', async () => {
    const id = await oneStep('sdk_restart');
    await workflows.terminate(id, 'to begin again');
    await given(server, 'sdk_restart', [simple('sdk_restart_other')]);
    await workflows.restart(id, true);
    await work(server, 'sdk_restart_other');
    await hasStatus(server, id, 'COMPLETED');
  });

  test('runs again from a task, and goes back to one it finds', async () => {
    await given(server, 'sdk_rerun', [simple('sdk_rerun_a'), simple('sdk_rerun_b')]);
    const id = await workflows.startWorkflow({ name: 'sdk_rerun' });
    await work(server, 'sdk_rerun_a', { n: 1 });
    await work(server, 'sdk_rerun_b');
    await hasStatus(server, id, 'COMPLETED');
    const second = (await workflows.getExecution(id)).tasks?.[1]?.taskId ?? '';
    expect(await workflows.reRun(id, { reRunFromTaskId: second, taskInput: { forced: true } })).toBe(id);
    await work(server, 'sdk_rerun_b');
    await hasStatus(server, id, 'COMPLETED');
    await workflows.goBackToTask(id, (task) => task.referenceTaskName === 'sdk_rerun_a');
    await work(server, 'sdk_rerun_a');
    await work(server, 'sdk_rerun_b');
    await hasStatus(server, id, 'COMPLETED');
    await workflows.goBackToFirstTaskMatchingType(id, 'sdk_rerun_b');
    await work(server, 'sdk_rerun_b');
    await hasStatus(server, id, 'COMPLETED');
    await expect(workflows.reRun(id, { reRunFromTaskId: 'nobody' })).rejects.toThrow(/Failed to rerun/);
  });

  test('skips a task that has not begun, with the input and output it gives', async () => {
    await given(server, 'sdk_skip', [simple('sdk_skip_a'), simple('sdk_skip_b')]);
    const id = await workflows.startWorkflow({ name: 'sdk_skip' });
    await workflows.skipTasksFromWorkflow(id, 'sdk_skip_b', { taskInput: { in: 1 }, taskOutput: { out: 2 } });
    await work(server, 'sdk_skip_a');
    await hasStatus(server, id, 'COMPLETED');
    expect((await workflows.getWorkflow(id, true)).tasks?.[1]).toMatchObject({
      status: 'SKIPPED',
      inputData: { in: 1 },
      outputData: { out: 2 },
    });
  });

  test('sets variables', async () => {
    const id = await oneStep('sdk_variables');
    expect(await workflows.updateVariables(id, { x: 1 })).toMatchObject({ workflowId: id, variables: { x: 1 } });
  });

  test('sets the state: variables, and what a task answers', async () => {
    await given(server, 'sdk_state', [simple('sdk_state_step'), { ...WAIT, taskReferenceName: 'sdk_state_wait' }]);
    const id = await workflows.startWorkflow({ name: 'sdk_state' });
    const taskResult = { workflowInstanceId: id, taskId: '', status: 'COMPLETED' as const, outputData: { done: 1 } };
    const update = { taskReferenceName: 'sdk_state_step', taskResult, variables: { x: 1 } };
    expect(await workflows.updateState(id, update, 'r1', 'sdk_state_step', 5)).toMatchObject({
      requestId: 'r1',
      status: 'RUNNING',
      variables: { x: 1 },
      tasks: [{ status: 'COMPLETED', outputData: { done: 1 } }, { taskType: 'WAIT' }],
    });
    await expect(workflows.updateState(id, update, 'r2')).rejects.toThrow(/Found no running task sdk_state_step/);
    const last = { ...update, taskReferenceName: 'sdk_state_wait' };
    expect(await workflows.updateState(id, last, 'r3')).toMatchObject({ status: 'COMPLETED' });
  });

  test('removes what has ended, and only that', async () => {
    const id = await oneStep('sdk_remove');
    await expect(workflows.deleteWorkflow(id)).rejects.toThrow(/Failed to delete/);
    await workflows.terminate(id, 'over');
    await workflows.deleteWorkflow(id);
    await expect(workflows.getWorkflow(id, false)).rejects.toThrow(/No such workflow found by id/);
  });
});

describe('WorkflowExecutor finds', () => {
  test('runs by a query, sorted', async () => {
    await given(server, 'sdk_search', [simple('sdk_search_step')]);
    const ids = await Promise.all(workflows.startWorkflows([{ name: 'sdk_search' }, { name: 'sdk_search' }]));
    const found = await workflows.search(
      0,
      10,
      "workflowType = 'sdk_search' AND status IN (RUNNING)",
      '*',
      'startTime:ASC',
    );
    expect(found.results?.map(({ workflowId }) => workflowId).sort()).toEqual([...ids].sort());
    expect(found).toMatchObject({ totalHits: 2 });
    expect(found.results?.[0]?.startTime).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
    await expect(workflows.search(0, 10, 'nonsense = 1', '*')).rejects.toThrow(/Failed to search/);
  });

  test('runs by correlation ids', async () => {
    await given(server, 'sdk_correlated', [simple('sdk_correlated_step')]);
    const start = (correlationId: string) => workflows.startWorkflow({ name: 'sdk_correlated', correlationId });
    const [a, b] = [await start('order-a'), await start('order-b')];
    await workflows.terminate(b, 'over');
    const request = { correlationIds: ['order-a', 'order-b', 'order-c'], workflowNames: ['sdk_correlated'] };
    const going = await workflows.getByCorrelationIds(request, false, true);
    expect(going).toMatchObject({ 'order-a': [{ workflowId: a, tasks: [{}] }], 'order-b': [], 'order-c': [] });
    const all = await workflows.getByCorrelationIds(request, true, false);
    expect(all).toMatchObject({ 'order-b': [{ workflowId: b, tasks: [] }] });
  });
});

describe('WorkflowExecutor tries out', () => {
  const flow: WorkflowDef = {
    name: 'sdk_try',
    timeoutSeconds: 0,
    tasks: [
      { name: 'pay', taskReferenceName: 'pay', type: 'SIMPLE', inputParameters: { sum: '${workflow.input.sum}' } },
      { name: 'wait', taskReferenceName: 'rest', type: 'WAIT', inputParameters: { duration: '2 days' } },
      { name: 'send', taskReferenceName: 'send', type: 'SIMPLE', inputParameters: {} },
    ],
    outputParameters: { paid: '${pay.output.paid}', sent: '${send.output.sent}' },
  };

  test('a definition with the outcomes it is told, its waits passed over, and keeps nothing of it', async () => {
    const run = await workflows.testWorkflow({
      name: 'sdk_try',
      workflowDef: flow,
      input: { sum: 5 },
      taskRefToMockOutput: {
        pay: [
          { status: 'FAILED', output: {} },
          { status: 'COMPLETED', output: { paid: true }, executionTime: 1_000 },
        ],
        send: [{ output: { sent: 1 } }],
      },
    });
    expect(run).toMatchObject({
      status: 'COMPLETED',
      output: { paid: true, sent: 1 },
      tasks: [
        { referenceTaskName: 'pay', status: 'FAILED', inputData: { sum: 5 } },
        { referenceTaskName: 'pay', status: 'COMPLETED', retryCount: 1 },
        { referenceTaskName: 'rest', status: 'COMPLETED' },
        { referenceTaskName: 'send', status: 'COMPLETED' },
      ],
    });
    await expect(workflows.getWorkflow(run.workflowId ?? '', false)).rejects.toThrow(/No such workflow/);
  });

  test('as far as outcomes are told', async () => {
    const told = { pay: [{ status: 'COMPLETED' as const, output: { paid: true } }] };
    const run = await workflows.testWorkflow({ name: 'sdk_try', workflowDef: flow, taskRefToMockOutput: told });
    expect(run.status).toBe('RUNNING');
    expect(run.tasks?.map(({ referenceTaskName }) => referenceTaskName)).toEqual(['pay', 'rest', 'send']);
  });

  test('what is registered, with what it starts', async () => {
    await given(server, 'sdk_try_leaf', [simple('leaf_step')], { outputParameters: { leaf: '${leaf_step.output.n}' } });
    const sub = {
      name: 'sub',
      taskReferenceName: 'sub',
      type: 'SUB_WORKFLOW',
      subWorkflowParam: { name: 'sdk_try_leaf' },
    };
    await given(server, 'sdk_try_tree', [sub]);
    const leaf = { name: 'sdk_try_leaf', taskRefToMockOutput: { leaf_step: [{ output: { n: 7 } }] } };
    const run = await workflows.testWorkflow({ name: 'sdk_try_tree', subWorkflowTestRequest: { sub: leaf } });
    expect(run).toMatchObject({ status: 'COMPLETED', tasks: [{ outputData: { leaf: 7 } }] });
    await expect(workflows.testWorkflow({ name: 'sdk_try_nobody' })).rejects.toThrow(/Failed to test/);
  });
});
