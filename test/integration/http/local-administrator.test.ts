import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Fixture, startFixture } from './support/http-fixture.ts';
import { NAMESPACE } from './support/samples.ts';

let fixture: Fixture;

beforeAll(async () => {
  fixture = await startFixture({ access: { mode: 'local-administrator' } });
});
afterAll(() => fixture.server.stop());

/** By node:http, since fetch sets Host itself. */
const statusWith = (headers: Readonly<Record<string, string>>, path = `/v1/ns/${NAMESPACE}/queues`): Promise<number> =>
  new Promise((resolve, reject) => {
    const { port } = fixture.server;
    const call = request({ host: '127.0.0.1', port, path, headers, setHost: !('host' in headers) }, (response) => {
      response.resume().once('end', () => resolve(response.statusCode ?? 0));
    });
    call.once('error', reject).end();
  });

describe('a caller of this machine', () => {
  test('is the administrator without credentials', async () => {
    expect(await statusWith({})).toBe(200);
    expect(await statusWith({}, '/v1/namespaces')).toBe(200);
  });

  test('may use any loopback name with the port of the server', async () => {
    for (const name of ['127.0.0.1', 'localhost', 'LOCALHOST', '[::1]']) {
      expect(await statusWith({ host: `${name}:${fixture.server.port}` }), name).toBe(200);
    }
  });

  test('may be the page that the server itself serves', async () => {
    const host = `localhost:${fixture.server.port}`;
    expect(await statusWith({ host, origin: `http://${host}`, 'sec-fetch-site': 'same-origin' })).toBe(200);
  });

  test('gets 404 for a namespace that does not exist', async () => {
    expect(await statusWith({}, '/v1/ns/nowhere/queues')).toBe(404);
  });
});

describe('a web page that was led to this machine', () => {
  test.each([
    { host: 'rebound.example' },
    { host: 'localhost' },
    { host: 'localhost:1' },
    { host: '127.0.0.1.example:80' },
    { origin: 'http://evil.example' },
    { origin: 'null' },
    { origin: 'http://localhost:1' },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
  ])('is refused: %o', async (headers) => {
    expect(await statusWith(headers)).toBe(403);
  });
});

test('a call that was forwarded for someone else is not of this machine', async () => {
  expect(await statusWith({ 'x-forwarded-for': '203.0.113.9' })).toBe(401);
});

test('credentials that are given are checked all the same', async () => {
  expect(await statusWith({ authorization: 'Bearer rk_AAAAAAAAAAAA_wrong' })).toBe(401);
  expect(await statusWith({ authorization: `Bearer ${await fixture.key(['queues:read'])}` })).toBe(200);
  expect(await statusWith({ authorization: `Bearer ${await fixture.key(['keys:read'])}` })).toBe(403);
});
