import { afterAll, beforeAll, expect, it } from 'vitest';
import { simple } from '../support/builders.ts';
import { type ConductorServer, startConductorServer } from './support/conductor-server.ts';
import { registerFlow, startFlow } from './support/runs.ts';

let server: ConductorServer;

beforeAll(async () => {
  server = await startConductorServer();
});
afterAll(() => server.close());

const call = (method: string, path: string) => server.send(method, `/api/admin${path}`);

it('tells what the server is, and nothing of its environment', async () => {
  expect((await call('GET', '/config')).json).toEqual({ version: '1.2.3', name: 'rondo' });
});

it('shows the open tasks of a type, in pages', async () => {
  await registerFlow(server, 'a_flow', [simple('a_open'), simple('a_next')]);
  const ids = [await startFlow(server, 'a_flow'), await startFlow(server, 'a_flow')];
  await server.send('GET', '/api/tasks/poll/a_open?workerid=w');
  const all = (await call('GET', '/task/a_open')).json as { workflowInstanceId: string; status: string }[];
  expect(all.map(({ workflowInstanceId }) => workflowInstanceId).sort()).toEqual([...ids].sort());
  expect(all.map(({ status }) => status).sort()).toEqual(['IN_PROGRESS', 'SCHEDULED']);
  expect((await call('GET', '/task/a_open?start=1&count=5')).json).toHaveLength(1);
  expect((await call('GET', '/task/a_open?count=0')).json).toEqual([]);
  expect((await call('GET', '/task/a_next')).json).toEqual([]);
});

it('derives a run again, and says whether something was missing', async () => {
  await registerFlow(server, 'a_whole', [simple('a_whole')]);
  const id = await startFlow(server, 'a_whole');
  expect(await call('POST', `/sweep/requeue/${id}`)).toMatchObject({ status: 200, text: `true.${id}` });
  expect(await call('POST', `/consistency/verifyAndRepair/${id}`)).toMatchObject({ status: 200, text: 'false' });
  expect(await call('POST', '/sweep/requeue/nonsense')).toMatchObject({ status: 404, json: { status: 404 } });
});

it('names the queue that events are taken from', async () => {
  expect((await call('GET', '/queues')).json).toEqual({ conductor: 'conductor' });
  expect((await call('GET', '/queues?verbose=true')).json).toEqual({ conductor: { conductor: { size: 0 } } });
});
