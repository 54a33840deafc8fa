import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CONDUCTOR_ROUTES } from '../../src/adapters/http/conductor/route-table.ts';
import { PUBLIC } from '../../src/adapters/http/route.ts';
import { createJwtAccessTokens } from '../../src/adapters/keys/jwt-access-tokens.ts';
import { TOKEN_TTL_SECONDS } from '../../src/application/access/tokens.ts';
import type { Namespace } from '../../src/domain/kernel/brand.ts';
import { createFakeClock } from '../support/fake-clock.ts';
import { type ConductorServer, NAMESPACE, startConductorServer } from './support/conductor-server.ts';
import { given, simple } from './support/driven-runs.ts';
import { sdkFor } from './support/sdk.ts';

const RIVALS = 'rivals' as Namespace;

let server: ConductorServer;

beforeAll(async () => {
  server = await startConductorServer({ mode: 'credentials' });
  await server.useCases.access.createNamespace(RIVALS);
  await given(server, 'guarded', [simple('guarded_step')]);
});
afterAll(() => server.close());

type Pair = Readonly<{ id: string; key: string; keyId: string; keySecret: string }>;

const newKey = async (scopes: readonly string[], namespace = NAMESPACE): Promise<Pair> => {
  const made = await server.useCases.access.createApiKey(namespace, { name: 'test', scopes });
  if (!made.ok) throw new Error(made.error.message);
  const { id, key } = made.value;
  const keyId = key.split('_').slice(0, 2).join('_');
  return { id, key, keyId, keySecret: key.slice(keyId.length + 1) };
};

const tokenFor = async ({ keyId, keySecret }: Pair): Promise<string> => {
  const answer = await server.send('POST', '/api/token', { json: { keyId, keySecret } });
  expect(answer.status).toBe(200);
  return (answer.json as { token: string }).token;
};

const search = (credential: string) =>
  server.send('GET', '/api/workflow/search', { headers: { 'x-authorization': credential } });

describe('a token', () => {
  test('is what the SDK asks for with its key, and sends from then on', async () => {
    const { keyId, keySecret } = await newKey(['admin']);
    const workflows = (await sdkFor(server.url, { keyId, keySecret })).getWorkflowClient();
    const id = await workflows.startWorkflow({ name: 'guarded', version: 1 });
    expect(await workflows.getWorkflow(id, false)).toMatchObject({ createdBy: expect.stringMatching(/^key:/) });
  });

  test('is had for the key as a whole too, and the key itself is taken in its place', async () => {
    const pair = await newKey(['executions:read']);
    const token = await tokenFor({ ...pair, keySecret: pair.key });
    expect((await search(token)).status).toBe(200);
    expect((await search(pair.key)).status).toBe(200);
    const bearer = await server.send('GET', '/api/workflow/search', { headers: { authorization: `Bearer ${token}` } });
    expect(bearer.status).toBe(200);
  });

  test('is not had for a wrong secret, half a key, or nothing', async () => {
    const { keyId, keySecret } = await newKey(['admin']);
    const wrong = [
      { keyId, keySecret: `${keySecret.slice(0, -1)}${keySecret.endsWith('A') ? 'B' : 'A'}` },
      { keyId, keySecret: '' },
      { keyId: 'rk_AAAAAAAAAAAA', keySecret },
      { keyId: `${keyId}_`, keySecret },
      {},
    ];
    for (const json of wrong) {
      const answer = await server.send('POST', '/api/token', { json });
      expect(answer.json).toMatchObject({ status: 401, error: 'INVALID_TOKEN' });
    }
  });

  test('tells who it is of, and acts in the namespace of its key only', async () => {
    const ours = await tokenFor(await newKey(['admin']));
    const theirs = await tokenFor(await newKey(['admin'], RIVALS));
    const info = await server.send('GET', '/api/token/userInfo', { headers: { 'x-authorization': theirs } });
    expect(info.json).toMatchObject({ id: expect.stringMatching(/^key:/), namespace: 'rivals' });
    const start = (token: string) =>
      server.send('POST', '/api/workflow', { json: { name: 'guarded' }, headers: { 'x-authorization': token } });
    const run = await start(ours);
    expect(run.status).toBe(200);
    expect((await start(theirs)).status).toBe(404);
    const read = await server.send('GET', `/api/workflow/${run.text}`, { headers: { 'x-authorization': theirs } });
    expect(read.status).toBe(404);
  });

  test('ends with its key', async () => {
    const pair = await newKey(['executions:read']);
    const token = await tokenFor(pair);
    expect((await search(token)).status).toBe(200);
    await server.useCases.access.revokeApiKey(NAMESPACE, pair.id);
    expect((await search(token)).json).toMatchObject({ status: 401, error: 'INVALID_TOKEN' });
  });

  test('that is no token, or of another server, is refused', async () => {
    const { keyId } = await newKey(['admin']);
    const foreign = createJwtAccessTokens(['the secret of somebody else'], createFakeClock(Date.now()));
    const none = 'eyJhbGciOiJub25lIn0.eyJzdWIiOiJsb2NhbC1hZG1pbmlzdHJhdG9yIn0.x';
    for (const token of [await foreign.issue(`key:${keyId}`, 60), none, 'a.b.c', 'nonsense']) {
      expect((await search(token)).json).toMatchObject({ status: 401, error: 'INVALID_TOKEN' });
    }
  });

  test('of the person at this machine is nobody where credentials are needed', async () => {
    expect((await search(await server.useCases.access.issueLocalToken())).status).toBe(401);
  });
});

describe('the time of a token', () => {
  const clock = createFakeClock();
  const tokens = createJwtAccessTokens(['a secret'], clock);

  test('is over after 45 minutes, which is told from a token that never was good', async () => {
    const token = await tokens.issue('somebody', TOKEN_TTL_SECONDS);
    clock.advance((TOKEN_TTL_SECONDS - 1) * 1_000);
    expect(await tokens.check(token)).toEqual({ kind: 'valid', subject: 'somebody' });
    clock.advance(1_000);
    expect(await tokens.check(token)).toEqual({ kind: 'expired' });
    expect(await tokens.check(`${token}x`)).toEqual({ kind: 'invalid' });
  });

  test('goes on when the secret is changed, as long as the old one is named', async () => {
    const token = await tokens.issue('somebody', 60);
    expect(await createJwtAccessTokens(['a new secret', 'a secret'], clock).check(token)).toMatchObject({
      kind: 'valid',
    });
    expect(await createJwtAccessTokens(['a new secret'], clock).check(token)).toEqual({ kind: 'invalid' });
  });

  test('that is over is told to the client in the word it acts upon', async () => {
    const timed = await startConductorServer(
      { mode: 'credentials' },
      { checkToken: async () => ({ kind: 'expired' }) },
    );
    try {
      const answer = await timed.send('GET', '/api/workflow/search', { headers: { 'x-authorization': 'a.b.c' } });
      expect(answer.json).toMatchObject({ status: 401, error: 'EXPIRED_TOKEN', retryable: false });
    } finally {
      await timed.close();
    }
  });
});

describe('without a credential', () => {
  const isOpen = ({ scope }: (typeof CONDUCTOR_ROUTES)[number]) => scope === PUBLIC;

  test('nothing but health, the version, the exchange of keys, and addresses that prove themselves is open', () => {
    const open = CONDUCTOR_ROUTES.filter(isOpen).map(({ method, path }) => `${method} ${path}`);
    expect(open).toEqual([
      'GET /api/health',
      'GET /api/version',
      'POST /api/token',
      'PUT /api/external/payloads/:token',
      'GET /api/external/payloads/:token',
    ]);
  });

  test('every other route is 401, and with a credential that lacks its scope 403', async () => {
    const { key } = await newKey(['queues:lease:no-such-queue', 'executions:start:no-such-workflow']);
    for (const route of CONDUCTOR_ROUTES.filter((each) => !isOpen(each))) {
      const path = route.path.replaceAll(/:[^/]+/g, 'nobody');
      const anonymous = await server.send(route.method, path, { json: route.method === 'GET' ? undefined : {} });
      expect(anonymous.json, path).toMatchObject({ status: 401, error: 'INVALID_TOKEN' });
      if (route.bodyNamesScope) continue;
      const json = route.method === 'GET' ? undefined : {};
      const powerless = await server.send(route.method, path, { json, headers: { 'x-authorization': key } });
      expect(powerless.json, path).toMatchObject({ status: 403, code: 'FORBIDDEN' });
    }
  });

  test('a start needs the scope of the workflow that its body names', async () => {
    const { key } = await newKey(['executions:start:guarded']);
    const start = (name: string) =>
      server.send('POST', '/api/workflow', { json: { name }, headers: { 'x-authorization': key } });
    expect((await start('guarded')).status).toBe(200);
    expect((await start('other')).json).toMatchObject({ status: 403 });
    const every = await newKey(['executions:start:*']);
    const headers = { 'x-authorization': every.key };
    expect((await server.send('POST', '/api/workflow', { json: { name: 'guarded' }, headers })).status).toBe(200);
  });
});

test('where whoever is here needs no key, any key and secret get a token that works', async () => {
  const open = await startConductorServer();
  try {
    const clients = await sdkFor(open.url, { keyId: 'any', keySecret: 'thing' });
    expect(await clients.getWorkflowClient().search(0, 1, '', '*')).toEqual({ totalHits: 0, results: [] });
  } finally {
    await open.close();
  }
});
