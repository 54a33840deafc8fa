import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { z } from 'zod';
import type { Route } from '../../../src/adapters/http/route.ts';
import { ROUTES } from '../../../src/adapters/http/route-table.ts';
import { type Fixture, startFixture } from './support/http-fixture.ts';
import { ROUTE_CASES } from './support/route-cases.ts';
import { NAMESPACE } from './support/samples.ts';

const nameOf = ({ method, path }: Route): string => `${method} ${path}`;

let fixture: Fixture;
let key: string;

beforeAll(async () => {
  fixture = await startFixture();
  key = await fixture.key(['admin', 'platform:admin']);
});
afterAll(() => fixture.server.stop());

/** The path of a case, with the id of a key that exists where it asks for one. */
const pathOf = async (path: string): Promise<string> => {
  if (!path.includes('{key}')) return path;
  const created = await fixture.useCases.access.createApiKey(NAMESPACE, { name: 'x', scopes: ['keys:read'] });
  return path.replace('{key}', created.ok ? created.value.id : '');
};

const isSchema = (reply: Route['replies'][number] | undefined): reply is z.ZodType =>
  typeof reply === 'object' && reply !== null;

describe('every route answers a good request with its status and in its documented shape', () => {
  test.each(ROUTES.map((route) => [nameOf(route), route] as const))('%s', async (name, route) => {
    const example = ROUTE_CASES[name];
    if (example === undefined) throw new Error(`no example for ${name}`);
    const { json } = example;
    const answer = await fixture.send(
      route.method,
      await pathOf(example.path),
      json === undefined ? { key } : { key, json },
    );
    expect(answer.status, answer.text).toBe(example.status);
    const reply = route.replies[answer.status];
    expect(reply, 'the status is documented').not.toBeUndefined();
    if (reply === null) expect(answer.text).toBe('');
    else if (isSchema(reply)) expect(reply.safeParse(answer.json)).toMatchObject({ success: true });
    else expect(answer.headers.get('content-type')).toContain('text/event-stream');
  });
});

test('no example is left of a route that is gone', () => {
  expect(Object.keys(ROUTE_CASES).sort()).toEqual(ROUTES.map(nameOf).sort());
});

test('every answer carries the security headers and the request id it was given', async () => {
  const answer = await fixture.send('GET', '/health', { headers: { 'x-request-id': 'trace-1' } });
  expect(answer.headers.get('x-request-id')).toBe('trace-1');
  expect(answer.headers.get('content-security-policy')).toContain("default-src 'none'");
  expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
  expect(answer.headers.get('cache-control')).toBe('no-store');
  expect(answer.headers.has('x-powered-by')).toBe(false);
  expect(answer.headers.has('etag')).toBe(false);
});

test('a request id that is not safe to repeat is replaced', async () => {
  const answer = await fixture.send('GET', '/health', { headers: { 'x-request-id': '<script>' } });
  expect(answer.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
});
