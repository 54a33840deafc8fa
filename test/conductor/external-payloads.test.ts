import { afterAll, beforeAll, expect, it } from 'vitest';
import { simple } from '../support/builders.ts';
import { type ConductorServer, startConductorServer } from './support/conductor-server.ts';
import { type Body, registerFlow, startFlow, workflowOf } from './support/runs.ts';

let server: ConductorServer;

beforeAll(async () => {
  server = await startConductorServer();
});
afterAll(() => server.close());

type Location = Readonly<{ uri: string; path: string }>;

const location = async (path: string): Promise<Location> => (await server.send('GET', `/api${path}`)).json as Location;
const put = (uri: string, content: unknown) =>
  fetch(uri, { method: 'PUT', headers: { 'content-type': 'application/json' }, body: JSON.stringify(content) });

it('are uploaded to an address that was given for them, and are the output of a task that names them', async () => {
  await registerFlow(server, 'e_flow', [simple('e_task')]);
  const id = await startFlow(server, 'e_flow');
  const task = (await server.send('GET', '/api/tasks/poll/e_task?workerid=w')).json as Body;
  const to = await location('/tasks/externalstoragelocation?path=&operation=WRITE&payloadType=TASK_OUTPUT');
  expect(to.path).toMatch(/^task_output\//);
  expect((await put(to.uri, { large: 'x' })).status).toBe(200);
  const { taskId, workflowInstanceId } = task;
  const result = { taskId, workflowInstanceId, workerId: 'w', status: 'COMPLETED' };
  const named = await server.send('POST', '/api/tasks', {
    json: { ...result, externalOutputPayloadStoragePath: to.path },
  });
  expect(named.status).toBe(200);
  expect((await workflowOf(server, id)).tasks).toMatchObject([{ status: 'COMPLETED', outputData: { large: 'x' } }]);
});

it('are read from an address of their own', async () => {
  const to = await location('/workflow/externalstoragelocation?operation=WRITE&payloadType=WORKFLOW_INPUT');
  await put(to.uri, { a: 1 });
  const query = `path=${encodeURIComponent(to.path)}&operation=READ&payloadType=WORKFLOW_INPUT`;
  const from = await location(`/workflow/external-storage-location?${query}`);
  expect(await (await fetch(from.uri)).json()).toEqual({ a: 1 });
  expect((await fetch(to.uri)).status).toBe(404);
  expect((await put(from.uri, { b: 2 })).status).toBe(404);
});

it('are nobody’s without a token that this server made', async () => {
  const to = await location('/tasks/external-storage-location');
  const [content = '', signature = ''] = (to.uri.split('/').at(-1) ?? '').split('.');
  const changed = Buffer.from(content, 'base64url').toString('utf8').replace('WRITE', 'READ');
  const forged = `${Buffer.from(changed, 'utf8').toString('base64url')}.${signature}`;
  for (const token of [forged, content, `${content}.`, `${content}.${'A'.repeat(43)}`, 'x.y.z']) {
    expect((await server.send('GET', `/api/external/payloads/${token}`)).status).toBe(404);
    expect((await server.send('PUT', `/api/external/payloads/${token}`, { json: {} })).status).toBe(404);
  }
});

it('that were never uploaded cannot be named, and reading needs a path', async () => {
  const missing = { taskId: 'x', status: 'COMPLETED', externalOutputPayloadStoragePath: 'task_output/none.json' };
  for (const path of ['/api/tasks', '/api/tasks/update-v2']) {
    const refused = await server.send('POST', path, { json: missing });
    expect(refused).toMatchObject({ status: 400, json: { message: expect.stringContaining('task_output/none.json') } });
  }
  const read = await server.send('GET', '/api/tasks/externalstoragelocation?operation=READ');
  expect(read.status).toBe(400);
});
