import type { OrkesClients } from '@io-orkes/conductor-javascript';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { simple, wait } from '../support/builders.ts';
import { type ConductorServer, startConductorServer } from './support/conductor-server.ts';
import { type Body, registerFlow, startFlow } from './support/runs.ts';
import { sdkFor } from './support/sdk.ts';

let server: ConductorServer;
let clients: OrkesClients;

beforeAll(async () => {
  server = await startConductorServer();
  clients = await sdkFor(server.url);
  await registerFlow(server, 'x_flow', [simple('x_work', { inputParameters: { n: 1 } }), wait('x_wait')]);
  await registerFlow(server, 'x_other', [simple('x_work')]);
});
afterAll(() => server.close());

type Found = Readonly<{ totalHits: number; results: readonly Body[] }>;

const search = async (query: string, more = ''): Promise<Found> =>
  (await server.send('GET', `/api/tasks/search?query=${encodeURIComponent(query)}${more}`)).json as Found;
const refs = async (query: string): Promise<readonly unknown[]> =>
  (await search(query)).results.map(({ referenceTaskName }) => referenceTaskName).sort();

it('finds tasks by what Conductor’s index has of them, in either quotes', async () => {
  const id = await startFlow(server, 'x_flow');
  const other = await startFlow(server, 'x_other');
  const task = (await server.send('GET', '/api/tasks/poll/x_work?workerid=w')).json as Body;
  const { taskId, workflowInstanceId } = task;
  const result = { taskId, workflowInstanceId, workerId: 'w', status: 'COMPLETED', outputData: { done: true } };
  await server.send('POST', '/api/tasks', { json: result });
  expect(workflowInstanceId).toBe(id);
  await expect.poll(() => refs(`workflowId = '${id}'`)).toEqual(['x_wait', 'x_work']);
  expect(await refs(`workflowType = "x_flow" AND status = 'COMPLETED'`)).toEqual(['x_work']);
  expect(await refs(`status IN (SCHEDULED,IN_PROGRESS) AND workflowId IN (${id}, ${other})`)).toEqual([
    'x_wait',
    'x_work',
  ]);
  expect(await refs(`taskType = 'WAIT'`)).toEqual(['x_wait']);
  expect(await refs(`taskDefName = 'x_work' AND workflowType = 'x_other'`)).toEqual(['x_work']);
  expect(await refs(`taskId = '${String(taskId)}'`)).toEqual(['x_work']);
  expect(await refs(`correlationId = 'c-1' AND taskType = 'x_work' AND startTime > 0`)).toEqual(['x_work']);
  expect(await refs(`endTime < ${Date.now() + 60_000}`)).toEqual(['x_work']);
  expect(await refs(`workflowId = 'nonsense'`)).toEqual([]);
  expect(await search(`workflowId = '${id}'`, '&size=1&start=1')).toMatchObject({ totalHits: 2, results: [{}] });
  const [summary] = (await search(`taskId = '${String(taskId)}'`)).results;
  expect(summary).toMatchObject({
    workflowId: id,
    workflowType: 'x_flow',
    correlationId: 'c-1',
    status: 'COMPLETED',
    taskDefName: 'x_work',
    taskType: 'x_work',
    input: '{"n":1}',
    output: '{"done":true}',
    startTime: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    executionTime: expect.any(Number),
  });
});

it('answers whole tasks, and to the TaskClient', async () => {
  const id = await startFlow(server, 'x_other');
  const whole = (await server.send('GET', `/api/tasks/search-v2?freeText=${id}`)).json as Found;
  expect(whole).toMatchObject({ totalHits: 1, results: [{ referenceTaskName: 'x_work', workflowInstanceId: id }] });
  const found = await clients.getTaskClient().search(0, 10, '', '*', `workflowId="${id}"`);
  expect(found.results).toMatchObject([{ workflowId: id, taskType: 'x_work' }]);
});

it('says what it cannot search tasks by', async () => {
  for (const query of ['status = ', `a = 'b'`, `taskType = 'a' OR taskType = 'b'`, `priority = 1`, `taskType = 'x*'`]) {
    const refused = await server.send('GET', `/api/tasks/search?query=${encodeURIComponent(query)}`);
    expect(refused, query).toMatchObject({ status: 400, json: { message: expect.any(String) } });
  }
});
