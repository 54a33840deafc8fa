import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ROUTES } from '../../../src/adapters/http/route-table.ts';
import { type Fixture, startFixture } from './support/http-fixture.ts';
import { RawSocket } from './support/raw-socket.ts';
import { ROUTE_CASES } from './support/route-cases.ts';
import { NAMESPACE, RUN } from './support/samples.ts';

const RUNS = 300;

let fixture: Fixture;
let key: string;

beforeAll(async () => {
  fixture = await startFixture();
  key = await fixture.key(['admin']);
});
afterAll(() => fixture.server.stop());

const bodyPaths = ROUTES.filter(({ body, isNamespaced }) => body !== undefined && isNamespaced).map(
  ({ method, path }) => ROUTE_CASES[`${method} ${path}`]?.path ?? '',
);
const anyPath = fc.constantFrom(...bodyPaths);

const FIELDS = [
  'input',
  'version',
  'status',
  'leaseToken',
  'output',
  'queues',
  'reports',
  'limit',
  'scopes',
  'expiresAt',
];
const anyBody = fc.oneof(
  fc.jsonValue({ maxDepth: 4 }),
  fc.dictionary(fc.oneof(fc.constantFrom(...FIELDS), fc.string()), fc.jsonValue({ maxDepth: 3 }), {
    noNullPrototype: true,
  }),
);

const post = (path: string, body: string | Uint8Array<ArrayBuffer>) =>
  fixture.send('POST', path, { key, body, headers: { 'content-type': 'application/json' } });

test('no JSON in any body makes the server fail', () =>
  fc.assert(
    fc.asyncProperty(anyPath, anyBody, async (path, body) => {
      const answer = await post(path, JSON.stringify(body));
      expect(answer.status, answer.text).toBeLessThan(500);
    }),
    { numRuns: RUNS },
  ));

test('no bytes in any body make the server fail or be taken for JSON', () =>
  fc.assert(
    fc.asyncProperty(anyPath, fc.uint8Array({ minLength: 1, maxLength: 200 }), async (path, bytes) => {
      const answer = await post(path, new Uint8Array(bytes));
      expect(answer.status, answer.text).toBeLessThan(500);
    }),
    { numRuns: RUNS },
  ));

test('no path, query or header makes the server fail', () =>
  fc.assert(
    fc.asyncProperty(
      fc.constantFrom('/', '/v1/', `/v1/ns/${NAMESPACE}/`, `/v1/ns/${NAMESPACE}/executions/${RUN}/`),
      fc.webPath(),
      fc.webQueryParameters(),
      fc.stringMatching(/^[\x20-\x7e]{0,40}$/),
      async (prefix, path, query, header) => {
        const headers = { 'last-event-id': header, 'idempotency-key': header, 'x-request-id': header };
        const answer = await fixture.send('GET', `${prefix}${path}?${query}`, { key, headers });
        expect(answer.status, answer.text).toBeLessThan(500);
      },
    ),
    { numRuns: RUNS },
  ));

test('no bytes on a connection keep the server from serving the next one', () =>
  fc.assert(
    fc.asyncProperty(fc.uint8Array({ minLength: 1, maxLength: 300 }), async (bytes) => {
      const raw = await RawSocket.open(fixture.server.port);
      raw.write(bytes);
      raw.socket.end();
      await raw.closed;
      expect(raw.text).not.toMatch(/^HTTP\/1\.1 5/);
      expect((await fixture.send('GET', '/health')).status).toBe(200);
    }),
    { numRuns: 100 },
  ));
