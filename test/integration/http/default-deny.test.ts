import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { PUBLIC, type Route } from '../../../src/adapters/http/route.ts';
import { ROUTES } from '../../../src/adapters/http/route-table.ts';
import { type Answer, type Fixture, startFixture } from './support/http-fixture.ts';
import { ROUTE_CASES } from './support/route-cases.ts';
import { NAMESPACE, OTHER_NAMESPACE } from './support/samples.ts';

let fixture: Fixture;
let administrator: string;
let foreigner: string;
let powerless: string;

beforeAll(async () => {
  fixture = await startFixture();
  administrator = await fixture.key(['admin']);
  foreigner = await fixture.key(['admin', 'platform:admin'], OTHER_NAMESPACE);
  // It holds a scope of each shape but none that any route asks for.
  powerless = await fixture.key(['queues:lease:no-such-queue', 'executions:start:no-such-workflow']);
});
afterAll(() => fixture.server.stop());

const nameOf = ({ method, path }: Route): string => `${method} ${path}`;
const isProtected = ({ scope }: Route): boolean => scope !== PUBLIC;
const protectedRoutes = ROUTES.filter(isProtected).map((route) => [nameOf(route), route] as const);
const namespacedRoutes = protectedRoutes.filter(([, { isNamespaced }]) => isNamespaced);

const call = (route: Route, key?: string, change = (path: string) => path): Promise<Answer> => {
  const example = ROUTE_CASES[nameOf(route)];
  if (example === undefined) throw new Error(`no example for ${nameOf(route)}`);
  const { json } = example;
  return fixture.send(route.method, change(example.path), {
    ...(key !== undefined && { key }),
    ...(json !== undefined && { json }),
  });
};

const errorWithoutId = ({ json: { requestId: _, ...rest } }: Answer) => rest;

test('nothing but health and the callbacks, which prove themselves, is public', () => {
  const open = ROUTES.filter((route) => !isProtected(route)).map(nameOf);
  expect(open).toEqual(['GET /v1/health/live', 'GET /health', 'GET /v1/health/ready', 'POST /v1/hooks/:token']);
});

describe('without credentials', () => {
  test.each(protectedRoutes)('%s is 401 with the one body', async (_, route) => {
    const answer = await call(route);
    expect(answer.status).toBe(401);
    expect(answer.headers.get('www-authenticate')).toContain('Bearer');
    expect(errorWithoutId(answer)).toEqual({
      error: 'UNAUTHENTICATED',
      message: 'Credentials are missing or not valid.',
    });
  });

  test.each([
    '/ready',
    '/configs',
    '/v1',
    '/v1/',
    '/v1/openapi.json',
    '/v1/namespaces/health',
    '/v1/namespaces?x=/health',
    '/v1/ns/team/executions/health',
    '/v1/health/live/',
    '/v1/health/../namespaces',
    '/V1/namespaces',
  ])('%s does not slip through as health does', async (path) => {
    const answer = await fixture.send('GET', path.replace('..', '%2e%2e'));
    expect(answer.status).toBe(401);
  });
});

describe('with a key that lacks the scope', () => {
  test.each(protectedRoutes)('%s is 403 and names it', async (_, route) => {
    const answer = await call(route, powerless);
    expect(answer.status).toBe(403);
    expect(answer.json).toMatchObject({ error: 'FORBIDDEN' });
    const { missingScope } = answer.json.details as { missingScope: string };
    expect(route.scope.replace(/:\{.*\}/, '')).toBe(missingScope.split(':').slice(0, 2).join(':'));
  });
});

describe('with a key of another namespace', () => {
  test.each(namespacedRoutes)('%s is 404, equal to that of a namespace nobody has', async (_, route) => {
    const foreign = await call(route, foreigner);
    const unknown = await call(route, foreigner, (path) => path.replace(`/ns/${NAMESPACE}`, '/ns/nowhere'));
    expect(foreign.status).toBe(404);
    expect(errorWithoutId(foreign)).toEqual({ error: 'NOT_FOUND', message: 'There is no such resource.' });
    expect(errorWithoutId(unknown)).toEqual(errorWithoutId(foreign));
  });

  test('even one that could not be named so is 404', async () => {
    for (const name of ['TEAM', 'te%61m%00', '..', '%2e%2e', '-', 'a'.repeat(64)]) {
      const answer = await fixture.send('GET', `/v1/ns/${name}/queues`, { key: foreigner });
      expect(answer.status, name).toBe(404);
    }
  });
});

describe('an API key', () => {
  const queues = `/v1/ns/${NAMESPACE}/queues`;
  const headersOf = (authorization: string) => ({ headers: { authorization } });

  test('is taken from either header', async () => {
    expect((await fixture.send('GET', queues, { key: administrator })).status).toBe(200);
    expect((await fixture.send('GET', queues, { headers: { 'x-api-key': administrator } })).status).toBe(200);
  });

  test.each([
    'Bearer nothing',
    'Bearer',
    'Basic dXNlcjpwYXNz',
    `Bearer ${'x'.repeat(8_192)}`,
    'Bearer rk_AAAAAAAAAAAA_wrong',
    'Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJhIn0.',
  ])('that is "%.30s" is refused with the one body', async (authorization) => {
    const answer = await fixture.send('GET', queues, headersOf(authorization));
    expect(answer.status).toBe(401);
    expect(answer.json).toMatchObject({ error: 'UNAUTHENTICATED', message: 'Credentials are missing or not valid.' });
  });

  test('given twice is refused: two could name two principals', async () => {
    const answer = await fixture.send('GET', queues, { key: administrator, headers: { 'x-api-key': administrator } });
    expect(answer.status).toBe(401);
  });

  test('with a wrong secret under a right prefix is refused', async () => {
    expect((await fixture.send('GET', queues, { key: `${administrator.slice(0, -1)}~` })).status).toBe(401);
    const other = administrator.endsWith('A') ? 'B' : 'A';
    expect((await fixture.send('GET', queues, { key: `${administrator.slice(0, -1)}${other}` })).status).toBe(401);
  });

  test('is refused from the moment it is revoked', async () => {
    const made = await fixture.send('POST', `/v1/ns/${NAMESPACE}/keys`, {
      key: administrator,
      json: { name: 'short-lived', scopes: ['queues:read'] },
    });
    const { id, key } = made.json as { id: string; key: string };
    expect((await fixture.send('GET', queues, { key })).status).toBe(200);
    await fixture.send('DELETE', `/v1/ns/${NAMESPACE}/keys/${id}`, { key: administrator });
    expect((await fixture.send('GET', queues, { key })).status).toBe(401);
  });

  test('cannot make a key that may do more than itself', async () => {
    const maker = await fixture.key(['keys:write', 'queues:read']);
    const make = (scopes: readonly string[]) =>
      fixture.send('POST', `/v1/ns/${NAMESPACE}/keys`, { key: maker, json: { name: 'n', scopes } });
    expect((await make(['queues:read'])).status).toBe(201);
    for (const scope of ['admin', 'keys:*', 'queues:*', 'keys:read', 'platform:admin']) {
      const answer = await make(['queues:read', scope]);
      expect(answer.status, scope).toBe(403);
      expect(answer.json.details).toEqual({ missingScope: scope });
    }
  });

  test('of an administrator does not reach the platform', async () => {
    expect((await fixture.send('GET', '/v1/namespaces', { key: administrator })).status).toBe(403);
  });
});

describe('a lease', () => {
  const lease = async (scopes: readonly string[], queue: string, queues: readonly string[] = []) =>
    (
      await fixture.send('POST', `/v1/ns/${NAMESPACE}/queues/${queue}/lease`, {
        key: await fixture.key(scopes),
        json: { workerId: 'w', queues },
      })
    ).status;

  test('of a queue needs the scope of that very queue', async () => {
    expect(await lease(['queues:lease:bill'], 'bill')).toBe(200);
    expect(await lease(['queues:lease:bill'], 'ship')).toBe(403);
    expect(await lease(['queues:lease:bill'], 'bill:eu')).toBe(403);
    expect(await lease(['queues:lease:bill:*'], 'bill:eu')).toBe(200);
    expect(await lease(['queues:lease:*'], 'ship')).toBe(200);
  });

  test('of several queues needs the scope of each', async () => {
    expect(await lease(['queues:lease:bill'], 'bill', ['ship'])).toBe(403);
    expect(await lease(['queues:lease:bill', 'queues:lease:ship'], 'bill', ['ship'])).toBe(200);
  });
});
