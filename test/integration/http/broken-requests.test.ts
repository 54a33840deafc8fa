import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Fixture, startFixture } from './support/http-fixture.ts';
import { RawSocket } from './support/raw-socket.ts';
import { NAMESPACE } from './support/samples.ts';

const BYTES_MAX = 4_096;
const LIMITS = {
  payloadBytesMax: BYTES_MAX,
  controlBytesMax: BYTES_MAX,
  discardBytesMax: BYTES_MAX * 4,
  timeoutCheckMs: 20,
  requestTimeoutMs: 3_000,
  headersTimeoutMs: 150,
  bodyIdleTimeoutMs: 150,
};
const START = `/v1/ns/${NAMESPACE}/executions/order`;

let fixture: Fixture;
let key: string;

beforeAll(async () => {
  fixture = await startFixture({ limits: LIMITS });
  key = await fixture.key(['admin']);
});
afterAll(() => fixture.server.stop());

const head = (lines: readonly string[], path = START): string =>
  [`POST ${path} HTTP/1.1`, 'Host: x', `Authorization: Bearer ${key}`, ...lines, '', ''].join('\r\n');

const JSON_TYPE = 'Content-Type: application/json';

const sendRaw = async (text: string | Uint8Array): Promise<RawSocket> => {
  const raw = await RawSocket.open(fixture.server.port);
  raw.write(text);
  return raw;
};

const isAlive = async () => (await fixture.send('GET', '/health')).status === 200;

describe('a request that is broken is 400 and the connection closes', () => {
  test.each([
    ['a negative length', ['Content-Length: -1'], '{}'],
    ['two lengths', ['Content-Length: 2', 'Content-Length: 3'], '{}'],
    ['a length that is no number', ['Content-Length: 2a'], '{}'],
    ['a length and a transfer encoding', ['Content-Length: 2', 'Transfer-Encoding: chunked'], '{}'],
    ['a chunk size that is no number', ['Transfer-Encoding: chunked'], 'zz\r\n{}\r\n0\r\n\r\n'],
    ['NUL in a header', ['X-Note: a\u0000b', 'Content-Length: 2'], '{}'],
  ])('%s', async (_, lines, body) => {
    const raw = await sendRaw(head([JSON_TYPE, ...lines]) + body);
    expect(await raw.answer()).toEqual({ status: 400, error: 'BAD_REQUEST', closes: true });
    await raw.closed;
    expect(await isAlive()).toBe(true);
  });

  test('a body that is shorter than announced', async () => {
    const raw = await sendRaw(`${head([JSON_TYPE, 'Content-Length: 100'])}{}`);
    raw.socket.end();
    expect(await raw.answer()).toMatchObject({ status: 400, error: 'BAD_REQUEST' });
    await raw.closed;
  });

  test('text that is not HTTP', async () => {
    const raw = await sendRaw('\u0016\u0003\u0001 hello\r\n\r\n');
    expect(await raw.answer()).toEqual({ status: 400, error: 'BAD_REQUEST', closes: true });
    await raw.closed;
  });

  test('no Host', async () => {
    const raw = await sendRaw('GET /health HTTP/1.1\r\n\r\n');
    expect(await raw.answer()).toMatchObject({ status: 400, error: 'BAD_REQUEST' });
    raw.socket.destroy();
  });
});

describe('a request that is slow is 408 and the connection closes', () => {
  test('in its headers', async () => {
    const raw = await sendRaw('GET /health HTTP/1.1\r\nHost:');
    expect(await raw.answer()).toEqual({ status: 408, error: 'REQUEST_TIMEOUT', closes: true });
    await raw.closed;
  });

  test('in its body', async () => {
    const raw = await sendRaw(`${head([JSON_TYPE, 'Content-Length: 100'])}{`);
    expect(await raw.answer()).toEqual({ status: 408, error: 'REQUEST_TIMEOUT', closes: true });
    await raw.closed;
  });
});

test('a body that trickles without ever pausing long is cut off by the time for the whole request', async () => {
  const slow = await startFixture({ limits: { ...LIMITS, bodyIdleTimeoutMs: 60_000, requestTimeoutMs: 200 } });
  const raw = await RawSocket.open(slow.server.port);
  const auth = `Authorization: Bearer ${await slow.key(['admin'])}`;
  raw.write(`POST ${START} HTTP/1.1\r\nHost: x\r\n${auth}\r\n${JSON_TYPE}\r\nContent-Length: 100\r\n\r\n{`);
  expect(await raw.answer()).toEqual({ status: 408, error: 'REQUEST_TIMEOUT', closes: true });
  await raw.closed;
  await slow.server.stop();
});

describe('a request that is too long', () => {
  test.each([65_536, 1_048_576])('in its target is 414, at %i characters', async (chars) => {
    const raw = await sendRaw(head([], `/v1/ns/${'a'.repeat(chars)}`));
    expect(await raw.answer()).toMatchObject({ status: 414, error: 'URI_TOO_LONG' });
    raw.socket.destroy();
  });

  test('in its headers is 431', async () => {
    const raw = await sendRaw(head([`X-Note: ${'a'.repeat(65_536)}`]));
    expect(await raw.answer()).toMatchObject({ status: 431, error: 'HEADERS_TOO_LARGE' });
    raw.socket.destroy();
  });

  test('in its headers beyond what the parser takes is 431', async () => {
    const raw = await sendRaw(head(Array.from({ length: 400 }, (_, index) => `X-${index}: ${'a'.repeat(1_000)}`)));
    expect(await raw.answer()).toMatchObject({ status: 431, error: 'HEADERS_TOO_LARGE' });
    raw.socket.destroy();
  });

  test('in the number of its headers is 431', async () => {
    const raw = await sendRaw(head(Array.from({ length: 2_000 }, (_, index) => `X-${index}: 1`)));
    expect(await raw.answer()).toMatchObject({ status: 431, error: 'HEADERS_TOO_LARGE' });
    raw.socket.destroy();
  });
});

describe('a body over the limit is 413', () => {
  const body = (bytes: number) => JSON.stringify({ correlationId: 'a'.repeat(bytes - '{"correlationId":""}'.length) });
  const post = (bytes: number) =>
    fixture.send('POST', START, { key, body: body(bytes), headers: { 'content-type': 'application/json' } });

  test('by one byte, and not at the limit itself', async () => {
    expect((await post(BYTES_MAX + 1)).json).toMatchObject({ error: 'PAYLOAD_TOO_LARGE' });
    // At the limit it is read, and refused for what it says.
    expect((await post(BYTES_MAX)).json).toMatchObject({ error: 'VALIDATION_FAILED', path: 'correlationId' });
  });

  test('without an announced length, while it still arrives; then the connection is cut, not read for ever', async () => {
    const patient = await startFixture({ limits: { ...LIMITS, requestTimeoutMs: 0 } });
    const auth = `Authorization: Bearer ${await patient.key(['admin'])}`;
    const raw = await RawSocket.open(patient.server.port);
    raw.write(`POST ${START} HTTP/1.1\r\nHost: x\r\n${auth}\r\n${JSON_TYPE}\r\nTransfer-Encoding: chunked\r\n\r\n`);
    const chunk = `400\r\n${'a'.repeat(0x400)}\r\n`;
    raw.write(chunk.repeat(5));
    expect(await raw.answer()).toMatchObject({ status: 413, error: 'PAYLOAD_TOO_LARGE' });
    const flood = setInterval(() => raw.write(chunk.repeat(5)), 1);
    await raw.closed;
    clearInterval(flood);
    await patient.server.stop();
  });

  test('and the connection serves on when the rest is small', async () => {
    const raw = await sendRaw(head([JSON_TYPE, `Content-Length: ${BYTES_MAX + 10}`]));
    expect(await raw.answer()).toMatchObject({ status: 413, error: 'PAYLOAD_TOO_LARGE' });
    raw.write('a'.repeat(BYTES_MAX + 10));
    raw.write('GET /health HTTP/1.1\r\nHost: x\r\n\r\n');
    await raw.until(/HTTP\/1\.1 200 OK/);
    raw.socket.destroy();
  });
});

describe('the content type is exactly JSON in UTF-8', () => {
  const statusOf = async (lines: readonly string[], body = '{}') => {
    const raw = await sendRaw(`${head([...lines, `Content-Length: ${body.length}`])}${body}`);
    const [, status] = await raw.until(/^HTTP\/1\.1 (\d{3})[\s\S]*\r\n\r\n.*\}/);
    raw.socket.destroy();
    return Number(status);
  };

  test.each([
    'application/json',
    'APPLICATION/JSON',
    'application/json; charset=utf-8',
    'application/json;charset="UTF-8"',
  ])('%s is taken', async (type) => {
    expect(await statusOf([`Content-Type: ${type}`])).toBe(201);
  });

  test.each([
    'text/plain',
    'application/xml',
    'application/json\ta',
    'application/json;;',
    'application/json; charset=utf-16',
    'application/json; charset=utf-8; charset=utf-8',
    'application/json; boundary=x',
    'application/jsonx',
    'multipart/form-data; boundary=x',
    '',
  ])('"%s" is 415', async (type) => {
    expect(await statusOf([`Content-Type: ${type}`])).toBe(415);
  });

  test('none, or two, is 415', async () => {
    expect(await statusOf([])).toBe(415);
    expect(await statusOf([JSON_TYPE, 'Content-Type: text/plain'])).toBe(415);
  });

  test.each(['gzip', 'br', 'deflate', 'zip-bomb'])('a body in %s is 415', async (encoding) => {
    expect(await statusOf([JSON_TYPE, `Content-Encoding: ${encoding}`])).toBe(415);
  });
});
