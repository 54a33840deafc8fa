import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  createGuardedHttp,
  type GuardedHttp,
  RESPONSE_BYTES_MAX,
} from '../../../src/adapters/outbound/guarded-http.ts';
import type { ResolveHost } from '../../../src/adapters/outbound/guarded-lookup.ts';
import { REDIRECTS_MAX } from '../../../src/adapters/outbound/redirects.ts';
import type { OutboundRules } from '../../../src/adapters/outbound/url-guard.ts';
import type { OutboundRequest } from '../../../src/ports/outbound-http.ts';

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

const LOOPBACK = { address: '127.0.0.1', family: 4 };
const METADATA = { address: '169.254.169.254', family: 4 };

/** A host on this machine that answers as the test says, and remembers what it was asked. */
const openHost = async () => {
  const asked: IncomingMessage[] = [];
  const bodies: string[] = [];
  let handler: Handler = (_request, response) => void response.end('fine');
  const server: Server = createServer((request, response) => {
    asked.push(request);
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      bodies.push(Buffer.concat(chunks).toString());
      handler(request, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    asked,
    bodies,
    answer: (next: Handler) => {
      handler = next;
      asked.length = 0;
      bodies.length = 0;
    },
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    },
  };
};

describe('the guarded door', () => {
  let host: Awaited<ReturnType<typeof openHost>>;
  let other: Awaited<ReturnType<typeof openHost>>;
  const doors: GuardedHttp[] = [];

  beforeAll(async () => {
    host = await openHost();
    other = await openHost();
  });
  afterAll(async () => {
    await Promise.all(doors.map((door) => door.close()));
    await host.close();
    await other.close();
  });

  /** Names lead where the test says; by default to this machine, which the rules allow. */
  const doorOf = (rules: Partial<OutboundRules> = {}, resolve: ResolveHost = async () => [LOOPBACK]): GuardedHttp => {
    const door = createGuardedHttp({ networks: 'loopback', hosts: [], ...rules }, resolve);
    doors.push(door);
    return door;
  };

  const request = (path = '/', change: Partial<OutboundRequest> = {}): OutboundRequest => ({
    url: `http://service.test:${host.port}${path}`,
    method: 'GET',
    headers: [],
    connectTimeoutMs: 2_000,
    readTimeoutMs: 10_000,
    totalTimeoutMs: 20_000,
    ...change,
  });

  const send = (door: GuardedHttp, asked: OutboundRequest = request()) =>
    door.send(asked, new AbortController().signal);

  const codeOf = async (door: GuardedHttp, asked?: OutboundRequest): Promise<string> => {
    const answer = await send(door, asked);
    return answer.ok ? `ok ${answer.value.statusCode}` : answer.error.code;
  };

  it('sends what it is given and gives back what it gets', async () => {
    host.answer((_request, response) => {
      response.writeHead(201, 'Made', { 'x-many': ['a', 'b'], 'content-type': 'text/plain' });
      response.end('grüße');
    });
    const headers = [['X-Own', 'one'] as const, ['x-own', 'two'] as const];
    const answer = await send(doorOf(), request('/p?q=1', { method: 'POST', body: '{"a":1}', headers }));
    expect(answer).toMatchObject({
      ok: true,
      value: { statusCode: 201, reasonPhrase: 'Made', body: 'grüße', headers: { 'x-many': ['a', 'b'] } },
    });
    expect([host.asked[0]?.method, host.asked[0]?.url, host.asked[0]?.headers['x-own'], host.bodies[0]]).toEqual([
      'POST',
      '/p?q=1',
      'one, two',
      '{"a":1}',
    ]);
  });

  it('keeps its connections, and uses them again', async () => {
    host.answer((incoming, response) => void response.end(String(incoming.socket.remotePort)));
    const door = doorOf();
    const ports = new Set<unknown>();
    for (let call = 0; call < 10; call += 1) {
      const answer = await send(door);
      ports.add(answer.ok && answer.value.body);
    }
    // A second one is opened where the first is not free again by the time of the next call.
    expect(ports.size).toBeLessThanOrEqual(2);
  });

  it('calls no name that leads into a network it must not call, by any of its addresses', async () => {
    host.answer((_request, response) => void response.end());
    expect(await codeOf(doorOf({ networks: 'public' }))).toBe('URL_NOT_ALLOWED');
    expect(await codeOf(doorOf({}, async () => [LOOPBACK, METADATA]))).toBe('URL_NOT_ALLOWED');
    expect(await codeOf(doorOf({ networks: 'private' }, async () => [METADATA]))).toBe('URL_NOT_ALLOWED');
    expect(await codeOf(doorOf({}, async () => []))).toBe('CONNECTION_FAILED');
    expect(host.asked).toEqual([]);
  });

  it('asks for the address of a name once a connection, so that a second answer cannot lead elsewhere', async () => {
    host.answer((_request, response) => void response.end());
    const answers = [LOOPBACK, METADATA, METADATA];
    let asked = 0;
    const door = doorOf({}, async () => {
      asked += 1;
      return [answers[asked - 1] ?? METADATA];
    });
    expect([await codeOf(door), asked]).toEqual(['ok 200', 1]);
    await door.close();
    const rebound = doorOf({}, async () => {
      asked += 1;
      return [METADATA];
    });
    expect([await codeOf(rebound), asked]).toEqual(['URL_NOT_ALLOWED', 2]);
  });

  it.each([
    'http://169.254.169.254/latest/meta-data/',
    'http://[::ffff:169.254.169.254]/',
    'http://10.0.0.1/',
    'http://user:pass@service.test/',
    'file:///etc/passwd',
    '//169.254.169.254/',
  ])('does not follow a redirect to %s', async (location) => {
    host.answer((_request, response) => void response.writeHead(302, { location }).end());
    expect([await codeOf(doorOf()), host.asked.length]).toEqual(['URL_NOT_ALLOWED', 1]);
  });

  it('does not follow a redirect to a name that leads where it must not go, nor to a host that is not allowed', async () => {
    host.answer((_request, response) => void response.writeHead(302, { location: 'http://inner.test/' }).end());
    const resolve: ResolveHost = async (name) => [name === 'inner.test' ? METADATA : LOOPBACK];
    expect(await codeOf(doorOf({}, resolve))).toBe('URL_NOT_ALLOWED');
    expect(await codeOf(doorOf({ hosts: ['service.test'] }))).toBe('URL_NOT_ALLOWED');
  });

  it('follows three redirects, and not a fourth', async () => {
    host.answer((incoming, response) => {
      const left = Number(incoming.url?.slice(1));
      if (left === 0) return void response.end('there');
      response.writeHead(302, { location: `/${left - 1}` }).end();
    });
    expect(await codeOf(doorOf(), request(`/${REDIRECTS_MAX}`))).toBe('ok 200');
    expect(await codeOf(doorOf(), request(`/${REDIRECTS_MAX + 1}`))).toBe('TOO_MANY_REDIRECTS');
  });

  it('gives its credentials to no other host that it is led to', async () => {
    const headers = Object.entries({
      Authorization: 'Bearer x',
      Cookie: 'a=b',
      'X-Api-Key': 'k',
      Accept: 'text/plain',
    });
    host.answer((_request, response) => {
      response.writeHead(302, { location: `http://other.test:${other.port}/` }).end();
    });
    other.answer((_request, response) => void response.end());
    expect(await codeOf(doorOf(), request('/', { headers }))).toBe('ok 200');
    const seen = other.asked[0]?.headers;
    expect([seen?.authorization, seen?.cookie, seen?.['x-api-key'], seen?.accept]).toEqual([
      undefined,
      undefined,
      undefined,
      'text/plain',
    ]);
    host.answer((incoming, response) => {
      if (incoming.url === '/') response.writeHead(302, { location: '/next' }).end();
      else response.end();
    });
    await send(doorOf(), request('/', { headers }));
    expect(host.asked[1]?.headers.authorization).toBe('Bearer x');
  });

  it('repeats a body only where the answer asks for it, and never to another host', async () => {
    const post = request('/', { method: 'POST', body: 'b', headers: [['content-type', 'text/plain']] });
    const led = (status: number, location: string): void =>
      host.answer((incoming, response) => {
        if (incoming.url === '/') response.writeHead(status, { location }).end();
        else response.end();
      });
    led(303, '/next');
    expect([await codeOf(doorOf(), post), host.asked[1]?.method, host.bodies[1]]).toEqual(['ok 200', 'GET', '']);
    led(307, '/next');
    expect([await codeOf(doorOf(), post), host.asked[1]?.method, host.bodies[1]]).toEqual(['ok 200', 'POST', 'b']);
    led(307, `http://other.test:${other.port}/`);
    expect(await codeOf(doorOf(), post)).toBe('URL_NOT_ALLOWED');
  });

  it('takes an answer of five mebibytes, and no byte more', async () => {
    host.answer((incoming, response) => void response.end(Buffer.alloc(Number(incoming.url?.slice(1)), 'a')));
    expect(await codeOf(doorOf(), request(`/${RESPONSE_BYTES_MAX}`))).toBe('ok 200');
    expect(await codeOf(doorOf(), request(`/${RESPONSE_BYTES_MAX + 1}`))).toBe('RESPONSE_TOO_LARGE');
  });

  it('decompresses, and counts what comes out', async () => {
    const gzipped = (bytes: number) =>
      host.answer((_request, response) => {
        response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(Buffer.alloc(bytes, 'a')));
      });
    gzipped(10);
    expect(await send(doorOf())).toMatchObject({ ok: true, value: { body: 'aaaaaaaaaa' } });
    gzipped(RESPONSE_BYTES_MAX + 1);
    expect(await codeOf(doorOf())).toBe('RESPONSE_TOO_LARGE');
    host.answer((_request, response) => void response.writeHead(200, { 'content-encoding': 'gzip' }).end('no gzip'));
    expect(await codeOf(doorOf())).toBe('CONNECTION_FAILED');
  });

  it('gives up where nobody answers within the time for all of it, or for the next sign of life', async () => {
    host.answer(() => undefined);
    expect(await codeOf(doorOf(), request('/', { totalTimeoutMs: 20 }))).toBe('TIMED_OUT');
    expect(await codeOf(doorOf(), request('/', { readTimeoutMs: 20 }))).toBe('TIMED_OUT');
  });

  it('gives up when it is told to', async () => {
    const abort = new AbortController();
    host.answer(() => abort.abort());
    expect(await doorOf().send(request(), abort.signal)).toMatchObject({ ok: false, error: { code: 'ABORTED' } });
  });

  it('tells that nobody listens, without what was asked', async () => {
    const closed = await openHost();
    await closed.close();
    const url = `http://service.test:${closed.port}/path?token=hidden`;
    const answer = await send(doorOf(), request('/', { url, headers: [['x', 'hidden']] }));
    expect(answer).toMatchObject({ ok: false, error: { code: 'CONNECTION_FAILED' } });
    expect(JSON.stringify(answer)).not.toContain('hidden');
  });

  it('sends no header that would begin another line', async () => {
    host.answer((_request, response) => void response.end());
    const headers = [['x-a', 'one\r\nx-b: two'] as const];
    expect([await codeOf(doorOf(), request('/', { headers })), host.asked]).toEqual(['INVALID_REQUEST', []]);
  });
});
