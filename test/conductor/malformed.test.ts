import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CONDUCTOR_ROUTES } from '../../src/adapters/http/conductor/route-table.ts';
import type { Route } from '../../src/adapters/http/route.ts';
import { type ConductorServer, type Sent, startConductorServer } from './support/conductor-server.ts';

let server: ConductorServer;

beforeAll(async () => {
  server = await startConductorServer();
});
afterAll(() => server.close());

const HUGE = '9'.repeat(30);
const RUN = '0192a3b4-c5d6-7e8f-9a0b-000000000000';

/** What stands in for every parameter of a path. */
const IDS = [
  'nobody',
  RUN,
  `${RUN}.1`,
  HUGE,
  '-1',
  '%00',
  '%ff',
  '%2e%2e%2fx',
  "'%20or%20''='",
  '%F0%9F%92%A3',
  'a'.repeat(2_000),
];

/** And behind each path. */
const QUERIES = [
  'version=x&count=x&start=x&size=x&timeout=x&waitForSeconds=x&priority=x&startTime=x&endTime=x&limit=x',
  `version=${HUGE}&count=${HUGE}&start=${HUGE}&size=${HUGE}&timeout=${HUGE}&waitForSeconds=${HUGE}&limit=${HUGE}`,
  'version=-1&count=-1&start=-1&size=-1&timeout=-1&waitForSeconds=-1&priority=-1&limit=-1&timeoutMillis=-1',
  'status=NONSENSE&sort=nonsense:UP&query=((&freeText=%7B%22a&operation=x&payloadType=x&returnStrategy=NONE',
  'query=status+%3D+%27&sort=%27%3B--&freeText=%27%3B--&includeTasks=perhaps&overwrite=2',
  '%ff=%fe&=&&%00=1&a[]=1',
];

const deep = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
const JSON_TYPE = { 'content-type': 'application/json' };

/** Bodies that no route can take, or not all of. */
const BODIES: readonly Sent[] = [
  {},
  { body: '', headers: JSON_TYPE },
  { body: '{', headers: JSON_TYPE },
  { body: 'null', headers: JSON_TYPE },
  { body: '[]', headers: JSON_TYPE },
  { body: '[null]', headers: JSON_TYPE },
  { body: '[1,"a",{}]', headers: JSON_TYPE },
  { body: '"text"', headers: JSON_TYPE },
  { body: '{}', headers: JSON_TYPE },
  { body: `{"version":${HUGE},"priority":1e400}`, headers: JSON_TYPE },
  { body: deep(5_000), headers: JSON_TYPE },
  { body: '{"__proto__":{"a":1},"name":"\\u0000"}', headers: JSON_TYPE },
  {
    body: '{"name":{},"tasks":{},"input":[],"workflowId":[],"taskId":{},"status":[],"event":1,"actions":3}',
    headers: JSON_TYPE,
  },
  {
    body: '{"name":"a","tasks":[[]],"input":null,"version":"x","status":"NONE","cronExpression":"x"}',
    headers: JSON_TYPE,
  },
  { body: new Uint8Array([0xff, 0xfe, 0x00]), headers: JSON_TYPE },
  { body: '{}', headers: { 'content-type': 'application/json; charset=utf-16' } },
  { body: '{}', headers: { 'content-type': 'text/plain' } },
  { body: 'x', headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' } },
];

const filled = (path: string, value: string): string => path.replaceAll(/:[^/]+/g, value);

const requestsOf = (route: Route): readonly (readonly [string, Sent])[] => {
  const plain = filled(route.path, 'nobody');
  const hasBody = route.method !== 'GET' && route.body !== undefined;
  const good: Sent = hasBody ? { body: '{}', headers: JSON_TYPE } : {};
  return [
    ...IDS.map((id) => [filled(route.path, id), good] as const),
    ...QUERIES.map((query) => [`${plain}?${query}`, good] as const),
    ...(hasBody ? BODIES.flatMap((body) => [[plain, body] as const, [filled(route.path, RUN), body] as const]) : []),
  ];
};

const routes = CONDUCTOR_ROUTES.map((route) => [`${route.method} ${route.path}`, route] as const);

describe('whatever is sent', () => {
  test.each(routes)(
    '%s never fails on the side of the server, and refuses in the form of its clients',
    async (_, route) => {
      for (const [path, sent] of requestsOf(route)) {
        const answer = await server.send(route.method, path, sent);
        const what = `${path} with ${String(sent.body).slice(0, 60)} gave ${answer.text}`;
        expect(answer.status, what).toBeLessThan(500);
        if (answer.status >= 400) {
          expect(answer.json, what).toMatchObject({
            status: answer.status,
            message: expect.any(String),
            instance: expect.any(String),
            retryable: expect.any(Boolean),
          });
        }
      }
      expect(server.problems).toEqual([]);
    },
  );
});
