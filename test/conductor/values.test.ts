import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { simple } from '../support/builders.ts';
import { type ConductorServer, startConductorServer } from './support/conductor-server.ts';
import { registerFlow, startFlow } from './support/runs.ts';
import { sdkFor } from './support/sdk.ts';

let server: ConductorServer;

beforeAll(async () => {
  server = await startConductorServer();
});
afterAll(() => server.close());

const call = (method: string, path: string, sent = {}) => server.send(method, `/api${path}`, sent);
const TAGS = [{ key: 'team', value: 'billing', type: 'METADATA' as const }];

describe("Conductor's client for secrets", () => {
  const client = async () => (await sdkFor(server.url)).getSecretClient();

  it('stores, lists and deletes them, and asks whether there is one', async () => {
    const secrets = await client();
    await secrets.putSecret('token', 'from the "sdk"');
    await secrets.putSecret('other', 'x');
    expect(await secrets.listAllSecretNames()).toEqual(['other', 'token']);
    expect(await secrets.listSecretsThatUserCanGrantAccessTo()).toEqual(['other', 'token']);
    expect(await secrets.secretExists('token')).toBe(true);
    // Of a false the client itself makes a true: what it was told is what counts.
    expect((await call('GET', '/secrets/token/exists')).json).toBe(true);
    expect((await call('GET', '/secrets/none/exists')).json).toBe(false);
    await secrets.deleteSecret('other');
    expect(await secrets.listAllSecretNames()).toEqual(['token']);
  });

  it('gives a worker what it stored, and nobody else', async () => {
    const secrets = await client();
    await secrets.putSecret('given', 'the "value"');
    await registerFlow(server, 'v_flow', [
      simple('v_work', { inputParameters: { token: '${workflow.secrets.given}' } }),
    ]);
    const id = await startFlow(server, 'v_flow');
    const polled = (await call('GET', '/tasks/poll/v_work?workerid=w')).json as { inputData: unknown };
    expect(polled.inputData).toEqual({ token: 'the "value"' });
    expect((await call('GET', `/workflow/${id}`)).text).not.toContain('the \\"value\\"');
    await expect(secrets.getSecret('given')).rejects.toThrow();
    expect(await call('GET', '/secrets/given')).toMatchObject({ status: 403, json: { status: 403 } });
    expect(await call('GET', '/secrets/none')).toMatchObject({ status: 404 });
  });

  it('tags them', async () => {
    const secrets = await client();
    await secrets.putSecret('tagged', 'x');
    await secrets.setSecretTags(TAGS, 'tagged');
    expect(await secrets.getSecretTags('tagged')).toEqual(TAGS);
    const shown = (await call('GET', '/secrets/v2')).json;
    expect(shown).toContainEqual({ name: 'tagged', tags: TAGS });
    expect((await call('GET', '/secrets-v2')).json).toEqual(shown);
    await secrets.deleteSecretTags(TAGS, 'tagged');
    expect(await secrets.getSecretTags('tagged')).toEqual([]);
  });
});

describe('the door for environment values', () => {
  it('sets, reads, lists, tags and deletes them, as text', async () => {
    expect(await call('PUT', '/environment/REGION', { body: 'north' })).toMatchObject({ status: 200, text: '' });
    expect(await call('GET', '/environment/REGION')).toMatchObject({ status: 200, text: 'north' });
    expect(await call('PUT', '/environment/QUOTED', { body: '"as it is"' })).toMatchObject({ status: 200 });
    expect((await call('GET', '/environment/QUOTED')).text).toBe('"as it is"');
    await call('PUT', '/environment/REGION/tags', { json: TAGS });
    expect((await call('GET', '/environment/REGION/tags')).json).toEqual(TAGS);
    expect((await call('GET', '/environment')).json).toContainEqual({ name: 'REGION', value: 'north', tags: TAGS });
    await call('DELETE', '/environment/REGION/tags', { json: TAGS });
    expect(await call('DELETE', '/environment/REGION')).toMatchObject({ status: 200, text: 'north' });
    expect(await call('GET', '/environment/REGION')).toMatchObject({ status: 404 });
  });

  it('is read by the next task that is scheduled', async () => {
    await call('PUT', '/environment/GREETING', { json: 'hello' });
    await registerFlow(server, 'v_env', [simple('v_read', { inputParameters: { text: '${workflow.env.GREETING}' } })]);
    await startFlow(server, 'v_env');
    const polled = (await call('GET', '/tasks/poll/v_read?workerid=w')).json as { inputData: unknown };
    expect(polled.inputData).toEqual({ text: 'hello' });
  });

  it('and that for secrets refuse names and values that cannot be, and clear no caches', async () => {
    expect(await call('PUT', '/secrets/a%20b', { body: 'x' })).toMatchObject({ status: 400 });
    expect(await call('PUT', '/environment/a.b', { body: 'x' })).toMatchObject({ status: 400 });
    expect(await call('PUT', '/secrets/big', { body: 'x'.repeat(65_536) })).toMatchObject({ status: 413 });
    for (const cache of ['clearLocalCache', 'clearRedisCache']) {
      expect(await call('GET', `/secrets/${cache}`)).toMatchObject({ status: 200, json: {} });
    }
  });
});
