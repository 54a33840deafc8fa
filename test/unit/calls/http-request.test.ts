import { describe, expect, it } from 'vitest';
import { CALL_TIMEOUT_MS_MAX, httpCallOf, REQUEST_HEADERS_MAX } from '../../../src/application/calls/http-request.ts';
import type { JsonObject, JsonValue } from '../../../src/domain/kernel/json.ts';

const uri = 'https://api.example.com/x';

const requestOf = (input: JsonObject) => {
  const call = httpCallOf(input);
  if (!call.ok) throw new Error(call.error);
  return call.value.request;
};

const errorOf = (input: JsonObject): string => {
  const call = httpCallOf(input);
  return call.ok ? 'none' : call.error;
};

describe('the request of a call', () => {
  it('is what Conductor nests in http_request, or the same fields side by side', () => {
    const nested = requestOf({ http_request: { uri, method: 'post', body: { a: 1 }, headers: { 'x-a': 1 } } });
    expect(nested).toEqual(requestOf({ url: uri, method: 'POST', body: { a: 1 }, headers: { 'x-a': '1' } }));
    expect(nested).toEqual({
      url: uri,
      method: 'POST',
      headers: [
        ['x-a', '1'],
        ['accept', 'application/json'],
        ['content-type', 'application/json'],
      ],
      body: '{"a":1}',
      connectTimeoutMs: 3_000,
      readTimeoutMs: 3_000,
      totalTimeoutMs: 60_000,
    });
  });

  it('has a GET without a body where it names no method', () => {
    expect(requestOf({ uri, body: 'b' })).toMatchObject({ method: 'GET', headers: [['accept', 'application/json']] });
    expect(requestOf({ uri, body: 'b' }).body).toBeUndefined();
  });

  it('takes a query as an object, beside what the uri has of it', () => {
    expect(requestOf({ uri: `${uri}?a=1`, query: { b: 'x y', c: [1, 2], d: null } }).url).toBe(
      `${uri}?a=1&b=x+y&c=1&c=2`,
    );
  });

  it.each([
    ['text', 'text/plain', 'text'],
    [{ a: 1, b: ['x', 'y'], c: { d: 2 } }, 'application/x-www-form-urlencoded', 'a=1&b=x&b=y&c=%7B%22d%22%3A2%7D'],
    [[1, 2], 'application/json', '[1,2]'],
    [false, 'application/json', 'false'],
  ] as readonly (readonly [JsonValue, string, string])[])('sends the body %j as %s', (body, contentType, sent) => {
    expect(requestOf({ uri, method: 'POST', body, contentType }).body).toBe(sent);
    expect(requestOf({ uri, method: 'POST', body, headers: { 'Content-Type': contentType } }).body).toBe(sent);
  });

  it('takes time-outs by both names, and no longer ones than there may be', () => {
    const given = requestOf({ uri, connectionTimeOut: 100, readTimeOut: '200000', totalTimeOut: CALL_TIMEOUT_MS_MAX });
    expect(given).toMatchObject({ connectTimeoutMs: 100, readTimeoutMs: 200_000, totalTimeoutMs: CALL_TIMEOUT_MS_MAX });
    // An answer that may take its time is not cut off by the time for all of it.
    expect(requestOf({ uri, readTimeoutMs: 200_000 }).totalTimeoutMs).toBe(203_000);
    expect(errorOf({ uri, readTimeOut: CALL_TIMEOUT_MS_MAX + 1 })).toContain('readTimeOut');
    expect(errorOf({ uri, readTimeOut: 'soon' })).toContain('readTimeOut');
  });

  it('accepts a 2xx, or what it lists', () => {
    const accepts = (codes?: JsonValue) => {
      const call = httpCallOf(codes === undefined ? { uri } : { uri, acceptedStatusCodes: codes });
      return call.ok ? [200, 299, 301, 404, 409].filter(call.value.isAccepted) : call.error;
    };
    expect([accepts(), accepts([404]), accepts(['2xx', '409'])]).toEqual([[200, 299], [404], [200, 299, 409]]);
    expect(accepts(['often'])).toContain('acceptedStatusCodes');
  });

  it.each([
    [{}, 'needs a uri'],
    [{ uri: 3 }, 'needs a uri'],
    [{ uri, method: 'CONNECT' }, 'method is one of'],
    [{ uri, headers: [] }, 'headers is an object'],
    [{ uri, headers: { 'x-a': 'one\r\nx-b: two' } }, 'cannot be sent'],
    [{ uri, headers: { 'x\r\ny': 'a' } }, 'no header can have'],
    [{ uri, headers: { Host: 'other.example' } }, 'Host cannot be set'],
    [{ uri, headers: { 'Transfer-Encoding': 'chunked' } }, 'cannot be set'],
    [{ uri, headers: { 'x-a': { b: 1 } } }, 'cannot be sent'],
    [
      { uri, headers: Object.fromEntries(Array.from({ length: REQUEST_HEADERS_MAX + 1 }, (_, n) => [`x-${n}`, 'a'])) },
      'at most',
    ],
    [{ uri, query: 'a=1' }, 'query is an object'],
  ] as readonly (readonly [JsonObject, string])[])('is refused as %j', (input, message) => {
    expect(errorOf(input)).toContain(message);
  });
});
