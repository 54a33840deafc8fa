import { describe, expect, it } from 'vitest';
import { throughBreaker } from '../../../src/application/calls/guarded-by-breaker.ts';
import { CircuitBreakers } from '../../../src/application/circuit-breakers.ts';
import type { Namespace } from '../../../src/domain/kernel/brand.ts';
import { createFakeClock } from '../../support/fake-clock.ts';
import { type Scripted, scriptedHttp } from './given.ts';

const signal = new AbortController().signal;
const request = (url: string) => ({
  url,
  method: 'GET',
  headers: [],
  connectTimeoutMs: 1,
  readTimeoutMs: 1,
  totalTimeoutMs: 1,
});

const CALLS = 20;

describe('the circuit of a host', () => {
  const given = async (answer: Scripted) => {
    const door = scriptedHttp();
    door.answers(answer);
    const breakers = new CircuitBreakers(createFakeClock(), true, () => undefined);
    const http = (name: string) => throughBreaker(door.http, breakers, name as Namespace);
    const codes: string[] = [];
    for (let n = 0; n < CALLS; n += 1) {
      const sent = await http('a').send(request('https://down.example/x'), signal);
      codes.push(sent.ok ? String(sent.value.statusCode) : sent.error.code);
    }
    return { door, http, codes };
  };

  it.each([
    [{ statusCode: 503 }],
    [{ code: 'TIMED_OUT', message: '' }],
    [{ code: 'CONNECTION_FAILED', message: '' }],
  ] as readonly (readonly [Scripted])[])('opens after it has failed again and again: %j', async (answer) => {
    const { door, http, codes } = await given(answer);
    expect(codes.at(-1)).toBe('CIRCUIT_OPEN');
    const sent = door.sent.length;
    expect(sent).toBeLessThan(CALLS);
    const refused = await http('a').send(request('https://down.example/y'), signal);
    expect(refused).toMatchObject({ ok: false, error: { retryAfterMs: expect.any(Number) } });
    await http('b').send(request('https://down.example/'), signal);
    await http('a').send(request('https://other.example/'), signal);
    expect(door.sent.length).toBe(sent + 2);
  });

  it.each([
    [{ statusCode: 404 }],
    [{ code: 'URL_NOT_ALLOWED', message: '' }],
    [{ code: 'ABORTED', message: '' }],
  ] as readonly (readonly [Scripted])[])('does not open for what only the request met: %j', async (answer) => {
    expect((await given(answer)).door.sent.length).toBe(CALLS);
  });
});
