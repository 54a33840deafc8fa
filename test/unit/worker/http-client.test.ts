import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ApiError } from '../../../src/client/client-error.ts';
import { readEventStream } from '../../../src/client/event-stream.ts';
import { HttpClient } from '../../../src/client/http-client.ts';
import { FakeServer, ok, refuse } from './fake-server.ts';

let server: FakeServer;

beforeEach(async () => {
  server = new FakeServer(() => ok({ fine: true }));
  await server.listen();
});

afterEach(() => server.close());

const client = (options: object = {}) => new HttpClient({ url: server.url, ...options });

test('a call goes below the namespace, with the key and JSON', async () => {
  const shop = client({ namespace: 'shop', apiKey: 'rk_1', url: `${server.url}/` });
  expect(await shop.call('POST', '/executions/a', { body: { input: {} }, query: { x: 1, y: undefined } })).toEqual({
    fine: true,
  });
  expect(server.calls[0]).toMatchObject({ method: 'POST', path: '/v1/ns/shop/executions/a', body: { input: {} } });
  expect(server.calls[0]?.query.toString()).toBe('x=1');
  expect(server.calls[0]?.headers).toMatchObject({ authorization: 'Bearer rk_1', 'content-type': 'application/json' });
});

test('a path that starts with /v1 stands as it is', async () => {
  await client().call('GET', '/v1/namespaces');
  expect(server.calls[0]?.path).toBe('/v1/namespaces');
});

test('a refusal carries code, status, path and request id', async () => {
  server.route = () => ({
    status: 400,
    body: { error: 'INVALID_GRAPH', message: 'no join', path: 'tasks[1]', requestId: 'r7' },
  });
  await expect(client().call('GET', '/x')).rejects.toMatchObject({
    name: 'ApiError',
    code: 'INVALID_GRAPH',
    status: 400,
    path: 'tasks[1]',
    requestId: 'r7',
  });
});

test.for([
  ['GET', undefined, 2],
  ['POST', true, 2],
  ['POST', undefined, 1],
] as const)('a 503 repeats what may happen twice: %s, idempotent %s, %d calls', async ([method, idempotent, calls]) => {
  let seen = 0;
  server.route = () => {
    seen += 1;
    return seen === 1 ? refuse(503, 'UNAVAILABLE') : ok({ fine: true });
  };
  const options = idempotent === undefined ? {} : { idempotent };
  const answer = await client()
    .call(method, '/x', options)
    .catch((error: unknown) => error);
  expect(server.calls).toHaveLength(calls);
  if (calls === 1) expect(answer).toBeInstanceOf(ApiError);
  else expect(answer).toEqual({ fine: true });
});

test('a refused request is never repeated', async () => {
  server.route = () => refuse(409, 'CONFLICT');
  await expect(client().call('GET', '/x')).rejects.toMatchObject({ code: 'CONFLICT' });
  expect(server.calls).toHaveLength(1);
});

test('a connection that breaks after the request was sent repeats only what may happen twice', async () => {
  server.route = (_call, raw) => {
    raw.socket?.destroy();
    return 'written';
  };
  await expect(client().call('POST', '/x', { body: {} })).rejects.toMatchObject({ code: 'CONNECTION_LOST' });
  expect(server.calls).toHaveLength(1);
  await expect(client({ attemptsMax: 2 }).call('GET', '/x')).rejects.toMatchObject({ code: 'CONNECTION_LOST' });
  expect(server.calls).toHaveLength(3);
});

test('a server that refuses connections is tried again even for a POST', async () => {
  const placeholder = createServer().listen(0, '127.0.0.1');
  await once(placeholder, 'listening');
  const { port } = placeholder.address() as AddressInfo;
  placeholder.close();
  await once(placeholder, 'close');
  const away = new HttpClient({ url: `http://127.0.0.1:${port}`, attemptsMax: 2 });
  await expect(away.call('POST', '/x', { body: {} })).rejects.toMatchObject({ code: 'CONNECTION_FAILED' });
  const late = new FakeServer(() => ok({ fine: true }));
  const call = new HttpClient({ url: `http://127.0.0.1:${port}`, attemptsMax: 8 }).call('POST', '/x', { body: {} });
  await late.listen(port);
  expect(await call).toEqual({ fine: true });
  await late.close();
});

test('no answer in time is a TIMEOUT', async () => {
  server.route = () => undefined;
  await expect(client().call('GET', '/x', { timeoutMs: 30 })).rejects.toMatchObject({ code: 'TIMEOUT' });
});

test('an abort rejects with the reason of the caller', async () => {
  server.route = () => undefined;
  const abort = new AbortController();
  const call = client().call('GET', '/x', { signal: abort.signal });
  await server.until(() => server.calls.length === 1);
  const reason = new Error('enough');
  abort.abort(reason);
  await expect(call).rejects.toBe(reason);
});

test.for(['<html>', '{"message":"not ours"}'])('an answer that is not of this API is told apart: %s', async (text) => {
  server.route = (_call, raw) => {
    raw.writeHead(404).end(text);
    return 'written';
  };
  await expect(client().call('GET', '/x')).rejects.toMatchObject({ code: 'INVALID_RESPONSE', status: 404 });
});

test.for(['ftp://x', 'not a url', ''])('%s is refused as address of a server', (url) => {
  expect(() => new HttpClient({ url })).toThrow(TypeError);
});

test('events are read however the bytes are cut', async () => {
  const text = ': hello\n\nid: 1\nevent: history\ndata: {"a":\ndata: "ü"}\n\n\ndata: note\r\n\r\nid: 2\ndata: cut off';
  const bytes = new TextEncoder().encode(text);
  for (const size of [1, 2, 3, 7, bytes.length]) {
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        for (let at = 0; at < bytes.length; at += size) controller.enqueue(bytes.slice(at, at + size));
        controller.close();
      },
    });
    const events = [];
    for await (const event of readEventStream(body)) events.push(event);
    expect(events).toEqual([
      { id: '1', event: 'history', data: '{"a":\n"ü"}' },
      { event: 'message', data: 'note' },
    ]);
  }
});
