import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type Answer, type Fixture, startFixture } from './support/http-fixture.ts';
import { RawSocket } from './support/raw-socket.ts';
import { NAMESPACE, OTHER_NAMESPACE, RUN, TASK, TOKEN, UNKNOWN_RUN } from './support/samples.ts';

const ns = `/v1/ns/${NAMESPACE}`;
const START = `${ns}/executions/order`;
const REGISTER = `${ns}/definitions/workflows`;
const REPORT = `${ns}/tasks/${TASK}/report`;
const SEARCH = `${ns}/executions/search`;
const LEASE = `${ns}/queues/bill/lease`;
const MESSAGES = `${ns}/executions/${RUN}/messages`;
const COMPLETE = `${ns}/tasks/${TASK}/complete`;
const BULK = `/v1/ns/${NAMESPACE}/executions/bulk`;
const REPLAY = `/v1/ns/${NAMESPACE}/executions/${RUN}/replay`;
const RUN_AGAIN = `/v1/ns/${NAMESPACE}/executions/${RUN}/run-again`;
const manyIds = (count: number): string => JSON.stringify({ action: 'pause', ids: Array(count).fill('a') });
const RUN_PATH = `${ns}/executions/${RUN}`;

let fixture: Fixture;
let key: string;

beforeAll(async () => {
  fixture = await startFixture({
    overrides: {
      workers: {
        report: async (_, reports) =>
          reports.map((report) => ({
            taskId: report.taskId,
            result:
              report.leaseToken === TOKEN
                ? { ok: true, value: { repeated: false } }
                : { ok: false, error: { code: 'LEASE_LOST', message: 'This lease is over.' } },
          })),
      },
    },
  });
  key = await fixture.key(['admin', 'platform:admin']);
});
afterAll(() => fixture.server.stop());
afterEach(async () => {
  expect((await fixture.send('GET', '/health')).status).toBe(200);
  expect(({} as { x?: unknown }).x).toBe(undefined);
});

const post = (path: string, body: string | Uint8Array<ArrayBuffer>, headers = {}): Promise<Answer> =>
  fixture.send('POST', path, { key, body, headers: { 'content-type': 'application/json', ...headers } });

const nested = (depth: number, open: string, close: string) => open.repeat(depth) + close.repeat(depth);
const inInput = (text: string) => `{"input":{"a":${text}}}`;
const manyKeys = (count: number) => `{${Array.from({ length: count }, (_, index) => `"k${index}":1`).join(',')}}`;

/** Number of the row in the list of bad inputs, what it is, where it is sent, and the answer. */
type Row = [number, string, string, string | Uint8Array<ArrayBuffer>, number, string, string?];

const ROWS: Row[] = [
  [1, 'an empty body', START, '', 400, 'INVALID_JSON'],
  [2, 'half an object', START, '{', 400, 'INVALID_JSON'],
  [2, 'a trailing comma', START, '{"version":1,}', 400, 'INVALID_JSON'],
  [2, 'single quotes', START, "'a'", 400, 'INVALID_JSON'],
  [2, 'NaN', START, '{"version":NaN}', 400, 'INVALID_JSON'],
  [2, 'trailing garbage', START, '{} x', 400, 'INVALID_JSON'],
  [2, 'two documents', START, '{}{}', 400, 'INVALID_JSON'],
  [3, 'null', START, 'null', 400, 'VALIDATION_FAILED'],
  [3, 'a list', START, '[]', 400, 'VALIDATION_FAILED'],
  [3, 'a text', START, '"x"', 400, 'VALIDATION_FAILED'],
  [3, 'a number', START, '1', 400, 'VALIDATION_FAILED'],
  [4, 'a byte order mark', START, '\u{feff}{}', 400, 'INVALID_JSON'],
  [4, 'bytes that are not UTF-8', START, Uint8Array.of(0x22, 0xff, 0x22), 400, 'INVALID_JSON'],
  [4, 'an overlong encoding', START, Uint8Array.of(0x22, 0xc0, 0xaf, 0x22), 400, 'INVALID_JSON'],
  [4, 'UTF-16', START, new Uint8Array(Buffer.from('{}', 'utf16le')), 400, 'INVALID_JSON'],
  [14, 'lists nested 101 deep', START, nested(101, '[', ']'), 400, 'NESTING_TOO_DEEP'],
  [14, 'lists nested 10,000 deep', START, nested(10_000, '[', ']'), 400, 'NESTING_TOO_DEEP'],
  [14, 'lists nested 1,000,000 deep', START, nested(1_000_000, '[', ']'), 400, 'NESTING_TOO_DEEP'],
  [14, 'objects nested 101 deep', START, `${'{"a":'.repeat(101)}1${'}'.repeat(101)}`, 400, 'NESTING_TOO_DEEP'],
  [15, '100,001 keys in one object', START, inInput(manyKeys(100_001)), 400, 'LIMIT_EXCEEDED'],
  [16, 'a key twice', REGISTER, '{"name":"a","name":"b"}', 400, 'DUPLICATE_KEY', 'name'],
  [17, '__proto__ in a definition', REGISTER, '{"__proto__":{"x":1}}', 400, 'FORBIDDEN_KEY'],
  [17, '__proto__ deep in an output', REPORT, '{"output":{"a":[{"__proto__":{"x":1}}]}}', 400, 'FORBIDDEN_KEY'],
  [17, 'an escaped __proto__', START, '{"input":{"\\u005f_proto__":{"x":1}}}', 400, 'FORBIDDEN_KEY'],
  [17, 'constructor.prototype', REPORT, '{"output":{"constructor":{"prototype":1}}}', 400, 'FORBIDDEN_KEY'],
  [18, 'NUL in a value', START, inInput('"a\\u0000"'), 400, 'INVALID_STRING', 'input.a'],
  [18, 'NUL in a key', START, '{"input":{"\\u0000":1}}', 400, 'INVALID_STRING'],
  [19, 'half a surrogate pair', START, inInput('"\\ud800"'), 400, 'INVALID_STRING', 'input.a'],
  [20, 'a whole number beyond 2^53', START, inInput('9007199254740993'), 400, 'NUMBER_OUT_OF_RANGE', 'input.a'],
  [21, 'a number beyond double', START, inInput('1e400'), 400, 'NUMBER_OUT_OF_RANGE', 'input.a'],
  [21, 'a number below double', START, inInput('1e-400'), 400, 'NUMBER_OUT_OF_RANGE', 'input.a'],
  [21, 'a number with a huge exponent', START, inInput('-1e200000'), 400, 'NUMBER_OUT_OF_RANGE', 'input.a'],
  [22, 'a text for a number', START, '{"version":"1"}', 400, 'VALIDATION_FAILED', 'version'],
  [22, 'a fraction for a whole number', START, '{"version":1.5}', 400, 'VALIDATION_FAILED', 'version'],
  [22, 'a flag for a number', START, '{"priority":true}', 400, 'VALIDATION_FAILED', 'priority'],
  [22, 'a negative number', START, '{"priority":-1}', 400, 'VALIDATION_FAILED', 'priority'],
  [22, 'a number out of range', START, '{"priority":1e3}', 400, 'VALIDATION_FAILED', 'priority'],
  [22, 'a priority of 100', START, '{"priority":100}', 400, 'VALIDATION_FAILED', 'priority'],
  [22, 'a version beyond an integer', START, '{"version":2147483648}', 400, 'VALIDATION_FAILED', 'version'],
  [23, 'an unknown field', START, '{"inputt":{}}', 400, 'UNKNOWN_FIELD', 'inputt'],
  [23, 'a status of the caller', START, '{"status":"COMPLETED"}', 400, 'UNKNOWN_FIELD', 'status'],
  [23, 'an attempt of the caller', REPORT, `{"leaseToken":"${TOKEN}","attempt":1}`, 400, 'UNKNOWN_FIELD', 'attempt'],
  [23, 'a creator of the caller', START, '{"createdBy":"me"}', 400, 'UNKNOWN_FIELD', 'createdBy'],
  [24, 'a namespace that is no name', '/v1/namespaces', '{"name":"../x"}', 400, 'INVALID_NAME', 'name'],
  [24, 'an empty namespace name', '/v1/namespaces', '{"name":""}', 400, 'INVALID_NAME', 'name'],
  [28, 'another namespace', START, `{"namespace":"${OTHER_NAMESPACE}"}`, 400, 'NAMESPACE_MISMATCH', 'namespace'],
  [28, 'another namespace', REGISTER, `{"namespace":"${OTHER_NAMESPACE}"}`, 400, 'NAMESPACE_MISMATCH', 'namespace'],
  [28, 'a namespace that is no text', START, '{"namespace":1}', 400, 'UNKNOWN_FIELD', 'namespace'],
  [55, 'an empty idempotency key', START, '{"idempotencyKey":""}', 400, 'VALIDATION_FAILED', 'idempotencyKey'],
  [61, 'a bulk call without an action', BULK, '{"ids":["a"]}', 400, 'VALIDATION_FAILED', 'action'],
  [61, 'a bulk action nobody knows', BULK, '{"action":"explode","ids":["a"]}', 400, 'VALIDATION_FAILED', 'action'],
  [61, 'a bulk call for no run', BULK, '{"action":"pause","ids":[]}', 400, 'VALIDATION_FAILED', 'ids'],
  [61, 'a bulk call for 1,001 runs', BULK, manyIds(1_001), 400, 'VALIDATION_FAILED', 'ids'],
  [
    61,
    'a bulk call for a run without a name',
    BULK,
    '{"action":"pause","ids":[""]}',
    400,
    'VALIDATION_FAILED',
    'ids[0]',
  ],
  [
    61,
    'an unknown field of a bulk call',
    BULK,
    '{"action":"pause","ids":["a"],"force":true}',
    400,
    'UNKNOWN_FIELD',
    'force',
  ],
  [61, 'a replay of the version 0', REPLAY, '{"version":0}', 400, 'VALIDATION_FAILED', 'version'],
  [61, 'a run again with a status', RUN_AGAIN, '{"status":"COMPLETED"}', 400, 'UNKNOWN_FIELD', 'status'],
  [61, 'a run again with no object for its input', RUN_AGAIN, '{"input":[1]}', 400, 'VALIDATION_FAILED', 'input'],
  [56, 'no lease token', REPORT, '{"status":"COMPLETED"}', 400, 'VALIDATION_FAILED', 'leaseToken'],
  [56, 'a token that is none', REPORT, '{"leaseToken":"x","status":"COMPLETED"}', 409, 'LEASE_LOST'],
  [56, 'a token of nobody', REPORT, `{"leaseToken":"${RUN}","status":"COMPLETED"}`, 409, 'LEASE_LOST'],
  [
    59,
    'a status nobody knows',
    REPORT,
    `{"leaseToken":"${TOKEN}","status":"BANANA"}`,
    400,
    'VALIDATION_FAILED',
    'status',
  ],
  [59, 'an output too deep', REPORT, `{"output":${nested(101, '[', ']')}}`, 400, 'NESTING_TOO_DEEP'],
  [60, 'no tasks asked for', LEASE, '{"workerId":"w","count":0}', 400, 'VALIDATION_FAILED', 'count'],
  [60, 'minus one task asked for', LEASE, '{"workerId":"w","count":-1}', 400, 'VALIDATION_FAILED', 'count'],
  [60, 'a billion tasks asked for', LEASE, '{"workerId":"w","count":1e9}', 400, 'VALIDATION_FAILED', 'count'],
  [60, '1,001 tasks asked for', LEASE, '{"workerId":"w","count":1001}', 400, 'VALIDATION_FAILED', 'count'],
  [60, 'a wait of 61 s', LEASE, '{"workerId":"w","waitSeconds":61}', 400, 'VALIDATION_FAILED', 'waitSeconds'],
  [
    60,
    'a wait of a billion',
    LEASE,
    '{"workerId":"w","waitSeconds":1000000000}',
    400,
    'VALIDATION_FAILED',
    'waitSeconds',
  ],
  [
    60,
    '1,000 queues',
    LEASE,
    JSON.stringify({ workerId: 'w', queues: Array(1_000).fill('q') }),
    400,
    'VALIDATION_FAILED',
    'queues',
  ],
  [60, 'no worker', LEASE, '{}', 400, 'VALIDATION_FAILED', 'workerId'],
  [64, 'an unknown sort', SEARCH, '{"sort":"id;select pg_sleep(5)"}', 400, 'UNKNOWN_FIELD', 'sort'],
  [64, 'a limit of zero', SEARCH, '{"limit":0}', 400, 'VALIDATION_FAILED', 'limit'],
  [64, 'a limit of minus one', SEARCH, '{"limit":-1}', 400, 'VALIDATION_FAILED', 'limit'],
  [64, 'a limit of a billion', SEARCH, '{"limit":1000000000}', 400, 'VALIDATION_FAILED', 'limit'],
  [62, 'a message that is no object', MESSAGES, '[1]', 400, 'VALIDATION_FAILED'],
  [62, 'a message beyond a megabyte', MESSAGES, JSON.stringify({ a: 'x'.repeat(1_048_576) }), 413, 'PAYLOAD_TOO_LARGE'],
  [62, 'a message for an unknown run', MESSAGES.replace(RUN, UNKNOWN_RUN), '{}', 404, 'NOT_FOUND'],
  [62, 'a message for no run', MESSAGES.replace(RUN, 'x'), '{}', 404, 'NOT_FOUND'],
  [62, 'a task ended as BANANA', COMPLETE, '{"status":"BANANA"}', 400, 'VALIDATION_FAILED', 'status'],
  [62, 'a task ended with a list', COMPLETE, '{"output":[]}', 400, 'VALIDATION_FAILED', 'output'],
  [62, 'a task ended with a lease token', COMPLETE, '{"leaseToken":"x"}', 400, 'UNKNOWN_FIELD', 'leaseToken'],
  [62, 'an unknown task ended', COMPLETE.replace(/\.\d+/, '.999'), '{}', 404, 'NOT_FOUND'],
  [62, 'no task ended', `/v1/ns/${NAMESPACE}/tasks/x/complete`, '{}', 404, 'NOT_FOUND'],
  [69, 'a callback nobody sealed', '/v1/hooks/x', '{}', 401, 'UNAUTHENTICATED'],
  [69, 'a callback with a long token', `/v1/hooks/${'x'.repeat(4_000)}`, '{}', 401, 'UNAUTHENTICATED'],
  [69, 'a callback with a bad escape', '/v1/hooks/%zz', '{}', 404, 'NOT_FOUND'],
  [69, 'a callback that is no JSON', '/v1/hooks/good-token', '{', 400, 'INVALID_JSON'],
  [69, 'a callback beyond a megabyte', '/v1/hooks/good-token', `"${'x'.repeat(1_048_576)}"`, 413, 'PAYLOAD_TOO_LARGE'],
  [65, 'an endless cursor', SEARCH, JSON.stringify({ cursor: 'a'.repeat(65_536) }), 400, 'VALIDATION_FAILED', 'cursor'],
  ...[
    '2026-02-30T00:00:00Z',
    '2026-01-01T24:00:00Z',
    '+294277-01-01T00:00:00Z',
    'infinity',
    'now()',
    '1767225600000',
  ].map(
    (date): Row => [
      67,
      `the date ${date}`,
      SEARCH,
      JSON.stringify({ startedAfter: date }),
      400,
      'VALIDATION_FAILED',
      'startedAfter',
    ],
  ),
];

describe('a bad body is refused with one status, one code and the path', () => {
  test.each(ROWS)('row %i: %s at %s', async (_row, _what, path, body, status, error, at) => {
    const answer = await post(path, body);
    expect(answer.status, answer.text).toBe(status);
    expect(answer.json).toMatchObject({ error, requestId: expect.any(String), message: expect.any(String) });
    if (at !== undefined) expect(answer.json.path).toBe(at);
  });
});

test('every problem of a body is listed', async () => {
  const answer = await post(START, '{"version":"1","priority":100}');
  expect(answer.json.details).toMatchObject({ problems: [{ path: 'version' }, { path: 'priority' }] });
});

test('row 28: the namespace of the path may be repeated', async () => {
  expect((await post(START, `{"namespace":"${NAMESPACE}"}`)).status).toBe(201);
});

describe('rows 25 and 26: an id that is malformed or unknown is 404', () => {
  const IDS = ['not-a-uuid', "'%20OR%201=1--", UNKNOWN_RUN, `${RUN}x`, RUN.toUpperCase(), '%00', '%F0%9F%98%80', '%ZZ'];
  test.each(IDS)('the run %s', async (id) => {
    const answer = await fixture.send('GET', `${ns}/executions/${id}`, { key });
    expect(answer.status).toBe(404);
    expect(answer.json.error).toBe('NOT_FOUND');
  });

  test.each(['x', '1', `${RUN}`, `${RUN}.`, `${RUN}.-1`, `${RUN}.1e3`, `${RUN}.99999999999999999999`])(
    'the task %s',
    async (id) => {
      const body = { leaseToken: TOKEN, status: 'COMPLETED' };
      const one = await fixture.send('POST', `${ns}/tasks/${id}/report`, { key, json: body });
      expect(one.status).toBe(404);
      const many = await fixture.send('POST', `${ns}/tasks/report`, {
        key,
        json: {
          reports: [
            { ...body, taskId: id },
            { ...body, taskId: TASK },
          ],
        },
      });
      expect(many.json.answers).toEqual([
        { taskId: id, status: 'refused', error: 'NOT_FOUND', message: 'There is no such resource.' },
        { taskId: TASK, status: 'settled', repeated: false },
      ]);
    },
  );

  test.each(['x', '0', '-1', '01', '1.5', '2147483648', '99999999999999999999'])('the version %s', async (version) => {
    expect((await fixture.send('DELETE', `${REGISTER}/order/${version}`, { key })).status).toBe(404);
  });

  test('the key x', async () => {
    expect((await fixture.send('DELETE', `${ns}/keys/x`, { key })).status).toBe(404);
  });
});

describe('row 29: a path that is not plain reaches nothing', () => {
  test.each([
    `/v1/ns/${OTHER_NAMESPACE}/../${NAMESPACE}/queues`,
    `/v1/ns/${NAMESPACE}/../${OTHER_NAMESPACE}/queues`,
    `/v1/ns/%2e%2e/queues`,
    `/v1/ns//${NAMESPACE}/queues`,
    `//v1/ns/${NAMESPACE}/queues`,
    `/v1/ns/${NAMESPACE};x/queues`,
    `/v1/ns/${NAMESPACE}%00/queues`,
    `/v1/ns/${NAMESPACE.toUpperCase()}/queues`,
    `/v1/ns/${NAMESPACE}/queues/`,
    `/V1/ns/${NAMESPACE}/queues`,
    `/v1/ns/${NAMESPACE}/QUEUES`,
  ])('%s', async (path) => {
    const raw = await RawSocket.open(fixture.server.port);
    raw.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n`);
    expect(await raw.answer()).toMatchObject({ status: 404, error: 'NOT_FOUND' });
    raw.socket.destroy();
  });
});

describe('row 35: a method that a path does not have is 405 and says which it has', () => {
  test.each([
    ['PUT', `${ns}/executions/search`, 'DELETE, POST, GET, HEAD'],
    ['PATCH', `${ns}/queues`, 'GET, HEAD'],
    ['PUT', RUN_PATH, 'DELETE, GET, HEAD, POST'],
    ['OPTIONS', `${ns}/keys`, 'POST, GET, HEAD'],
  ])('%s %s', async (method, path, allow) => {
    const answer = await fixture.send(method, path, { key });
    expect(answer.status).toBe(405);
    expect(answer.headers.get('allow')).toBe(allow);
    expect(answer.json.error).toBe('METHOD_NOT_ALLOWED');
  });

  test('TRACE', async () => {
    const raw = await RawSocket.open(fixture.server.port);
    raw.write(`TRACE ${ns}/queues HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n`);
    expect(await raw.answer()).toMatchObject({ status: 405, error: 'METHOD_NOT_ALLOWED' });
    raw.socket.destroy();
  });

  test('and a method of a header counts for nothing', async () => {
    const headers = { 'x-http-method-override': 'DELETE' };
    expect((await fixture.send('GET', `${ns}/queues`, { key, headers })).status).toBe(200);
  });
});

describe('rows 55: the idempotency key of the header', () => {
  test.each(['', ' ', 'a'.repeat(256), 'a'.repeat(300), 'a\tb', 'caf\u00e9'])('"%.20s" is refused', async (value) => {
    const answer = await post(START, '{}', { 'idempotency-key': value });
    expect(answer.status).toBe(400);
    expect(answer.json).toMatchObject({ error: 'INVALID_HEADER', path: 'Idempotency-Key' });
  });

  test('of 12 kB is refused', async () => {
    expect((await post(START, '{}', { 'idempotency-key': 'a'.repeat(12_288) })).json.error).toBe('INVALID_HEADER');
  });

  test('must agree with that of the body', async () => {
    const headers = { 'idempotency-key': 'one' };
    expect((await post(START, '{"idempotencyKey":"two"}', headers)).json.error).toBe('INVALID_HEADER');
    expect((await post(START, '{"idempotencyKey":"one"}', headers)).status).toBe(201);
  });
});

describe('row 66: a query says each known thing once', () => {
  test.each([
    'limit=1&limit=2',
    'a[]=1&a[]=2',
    'a[__proto__][x]=1',
    '__proto__=1',
    'limit=',
    'limit=0',
    'limit=-1',
    'limit=1.5',
    'limit=1e3',
    'limit=+1',
    'limit=0x10',
    'limit=1001',
    'limit=99999999999999999999',
    'cursor=',
    'cursor=%00',
    'cursor=%ff',
    'cursor=%',
    'unknown',
  ])('%s', async (query) => {
    const answer = await fixture.send('GET', `${REGISTER}?${query}`, { key });
    expect(answer.status).toBe(400);
    expect(answer.json.error).toBe('VALIDATION_FAILED');
  });
});

describe('what the use cases refuse', () => {
  const CODES = [
    ['INVALID_DEFINITION', 400],
    ['INVALID_CURSOR', 400],
    ['NOT_FOUND', 404],
    ['CONFLICT', 409],
    ['TERMINAL_STATE', 409],
    ['INVALID_STATE', 409],
    ['LEASE_LOST', 409],
    ['PAYLOAD_TOO_LARGE', 413],
    ['IDEMPOTENCY_KEY_REUSED', 422],
    ['LIMIT_EXCEEDED', 429],
    ['UNAVAILABLE', 503],
  ] as const;

  test.each(CODES)('%s is %i', async (code, status) => {
    const refusing = await startFixture({
      overrides: {
        executions: {
          start: async () => ({ ok: false, error: { code, message: 'no', details: { retryAfterSeconds: 2.5 } } }),
        },
      },
    });
    const answer = await refusing.send('POST', START, { key: await refusing.key(['admin']), json: {} });
    expect(answer.status).toBe(status);
    expect(answer.json).toMatchObject({ error: code, message: 'no', details: { retryAfterSeconds: 2.5 } });
    if (status === 429) expect(answer.headers.get('retry-after')).toBe('3');
    if (status === 503) expect(answer.headers.get('retry-after')).toBe('1');
    await refusing.server.stop();
  });

  test('LIMIT_EXCEEDED at a place in the document is 400: no later try will mend it', async () => {
    const error = { code: 'LIMIT_EXCEEDED', message: 'too many tasks', path: 'tasks' } as const;
    const refusing = await startFixture({
      overrides: { definitions: { registerWorkflow: async () => ({ ok: false, error }) } },
    });
    const answer = await refusing.send('POST', REGISTER, { key: await refusing.key(['admin']), json: {} });
    expect(answer.status).toBe(400);
    await refusing.server.stop();
  });

  test('other content under a version that exists is 409', async () => {
    const definitions = fixture.useCases.definitions;
    const refusing = await startFixture({
      overrides: {
        definitions: {
          registerWorkflow: async (...args) => {
            const registered = await definitions.registerWorkflow(...args);
            return registered.ok ? { ok: true, value: { ...registered.value, outcome: 'conflict' } } : registered;
          },
        },
      },
    });
    const answer = await refusing.send('POST', REGISTER, { key: await refusing.key(['admin']), json: {} });
    expect([answer.status, answer.json.error]).toEqual([409, 'ALREADY_EXISTS']);
    await refusing.server.stop();
  });
});

describe('what breaks inside', () => {
  const failing = (cause: unknown) =>
    startFixture({
      overrides: {
        executions: {
          start: async () => {
            throw cause;
          },
        },
      },
    });

  test('is 500 without a word of it, and logged under the request id', async () => {
    const broken = await failing(new Error('relation "secret_table" does not exist'));
    const answer = await broken.send('POST', START, { key: await broken.key(['admin']), json: {} });
    expect(answer.status).toBe(500);
    expect(answer.json.error).toBe('INTERNAL');
    expect(answer.text).not.toContain('secret_table');
    const logged = broken.logLines.find(({ level }) => level === 'error');
    expect(logged?.fields).toMatchObject({ requestId: answer.json.requestId });
    await broken.server.stop();
  });

  test('while the database is away is 503 with a time to come back', async () => {
    const away = await failing(Object.assign(new Error('ECONNREFUSED 10.0.0.7'), { code: 'UNAVAILABLE' }));
    const answer = await away.send('POST', START, { key: await away.key(['admin']), json: {} });
    expect(answer.status).toBe(503);
    expect(answer.headers.get('retry-after')).toBe('1');
    expect(answer.text).not.toContain('10.0.0.7');
    await away.server.stop();
  });
});

test('a log line names the route, never what was in the request', async () => {
  await post(`${START}?secret=1`, '{"input":{"password":"hunter2"}}');
  const text = JSON.stringify(fixture.logLines);
  expect(text).toContain('/v1/ns/:ns/executions/:name');
  expect(text).not.toContain('hunter2');
  expect(text).not.toContain('secret=1');
});

test.each([
  ['a priority of 0', START, '{"priority":0}'],
  ['a priority of 99', START, '{"priority":99}'],
  ['1,000 tasks and a wait of a minute', LEASE, '{"workerId":"w","count":1000,"waitSeconds":60}'],
])('the largest and smallest that is allowed is taken: %s', async (_, path, body) => {
  expect((await post(path, body)).status).toBeLessThan(300);
});
