import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ConductorServer, NAMESPACE, startConductorServer } from './support/conductor-server.ts';
import { sdkFor } from './support/sdk.ts';

let server: ConductorServer;

beforeAll(async () => {
  server = await startConductorServer();
});
afterAll(() => server.close());

const UNKNOWN = '0192a3b4-c5d6-7e8f-9a0b-000000000000';

const startedRun = async (name: string): Promise<string> => {
  const { definitions, executions } = server.useCases;
  const steps = [{ name: 'pay', taskReferenceName: 'pay_1', type: 'SIMPLE', inputParameters: { sum: 5, none: null } }];
  await definitions.registerTask(NAMESPACE, { name: 'pay', retryCount: 2 }, 'conductor');
  const registered = await definitions.registerWorkflow(NAMESPACE, { name, tasks: steps }, 'conductor', true);
  expect(registered.ok).toBe(true);
  const request = { name, input: { a: null }, priority: 7, idempotencyStrategy: 'RETURN_EXISTING' as const };
  const started = await executions.start(NAMESPACE, { ...request, correlationId: 'order-5' });
  return started.ok ? started.value.executionId : '';
};

describe('the rules of answers', () => {
  test('health is what the test suites of the SDKs look for', async () => {
    const answer = await server.send('GET', '/api/health');
    expect(answer.status).toBe(200);
    expect(answer.text).toContain('"healthy":true');
  });

  test('the version is plain text', async () => {
    const answer = await server.send('GET', '/api/version');
    expect(answer.text).toBe('1.2.3');
    expect(answer.headers.get('content-type')).toMatch(/^text\/plain/);
  });

  test('a path that is not there is 404 and a method that is not there 405, in the form of Conductor', async () => {
    const unknown = await server.send('GET', '/api/nothing');
    expect(unknown.json).toEqual({
      status: 404,
      message: 'There is no such resource.',
      instance: expect.any(String),
      retryable: false,
      code: 'NOT_FOUND',
    });
    const method = await server.send('PUT', '/api/health');
    expect(method.status).toBe(405);
    expect(method.json).toMatchObject({ status: 405, retryable: false });
    expect(method.headers.get('allow')).toBe('GET, HEAD');
  });

  test('a refusal at /v1 keeps its own form', async () => {
    const answer = await server.send('GET', '/v1/nothing');
    expect(answer.json).toMatchObject({ error: 'NOT_FOUND', requestId: expect.any(String) });
  });

  test('a run that is not there, and one that could not be, are told of alike', async () => {
    for (const id of [UNKNOWN, 'nonsense']) {
      const answer = await server.send('GET', `/api/workflow/${id}`);
      expect(answer.json).toMatchObject({ status: 404, message: `No such workflow found by id: ${id}` });
    }
  });

  test('what a query says besides is passed over, and an empty parameter is none', async () => {
    const id = await startedRun('rules_query');
    expect((await server.send('GET', `/api/workflow/${id}?includeTasks=&colour=blue`)).status).toBe(200);
    const refused = await server.send('GET', `/api/workflow/${id}?includeTasks=perhaps`);
    expect(refused.json).toMatchObject({
      status: 400,
      validationErrors: [{ path: expect.stringContaining('includeTasks') }],
    });
  });
});

describe('a run', () => {
  test('has the fields of Conductor, instants as milliseconds, and keeps nulls inside its values', async () => {
    const id = await startedRun('rules_run');
    const { json } = await server.send('GET', `/api/workflow/${id}`);
    expect(json).toMatchObject({
      workflowId: id,
      workflowName: 'rules_run',
      workflowVersion: 1,
      status: 'RUNNING',
      endTime: 0,
      input: { a: null },
      output: {},
      correlationId: 'order-5',
      priority: 7,
      taskToDomain: {},
      failedReferenceTaskNames: [],
      workflowDefinition: {
        name: 'rules_run',
        schemaVersion: 2,
        restartable: true,
        timeoutPolicy: 'ALERT_ONLY',
        tasks: [{ taskReferenceName: 'pay_1', asyncComplete: false, taskDefinition: { name: 'pay', retryCount: 2 } }],
      },
      tasks: [
        {
          taskType: 'pay',
          taskDefName: 'pay',
          referenceTaskName: 'pay_1',
          status: 'SCHEDULED',
          inputData: { sum: 5, none: null },
          outputData: {},
          retryCount: 0,
          seq: 1,
          startTime: 0,
          workflowInstanceId: id,
          workflowType: 'rules_run',
          workflowPriority: 7,
          responseTimeoutSeconds: 3600,
          workflowTask: { name: 'pay', taskReferenceName: 'pay_1' },
        },
      ],
    });
    const { startTime, createTime } = json as { startTime: number; createTime: number };
    expect(startTime).toBe(createTime);
    expect(Math.abs(Date.now() - startTime)).toBeLessThan(3_600_000);
  });

  test('comes without its tasks where they are not wanted', async () => {
    const id = await startedRun('rules_without_tasks');
    const { json } = await server.send('GET', `/api/workflow/${id}?includeTasks=false`);
    expect(json).toMatchObject({ workflowId: id, tasks: [] });
  });

  test('is read by the SDK', async () => {
    const id = await startedRun('rules_sdk');
    const workflows = (await sdkFor(server.url)).getWorkflowClient();
    expect(await workflows.getWorkflow(id, true)).toMatchObject({
      workflowId: id,
      tasks: [{ referenceTaskName: 'pay_1' }],
    });
  });
});
