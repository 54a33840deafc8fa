import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { CliIo } from '../../../src/adapters/cli/cli-io.ts';
import { type EngineCommands, runCli } from '../../../src/adapters/cli/program.ts';
import { historyEventOf } from '../../../src/adapters/http/wire/event-wire.ts';
import { replayFile } from '../../../src/testing/replay-file.ts';
import { Run } from '../../support/drive.ts';
import { FakeServer, ok, type Route, refuse } from '../worker/fake-server.ts';

const ID = '01890000-0000-7000-8000-000000000001';
const ESC = '\u001b';

let server: FakeServer;

beforeEach(async () => {
  server = new FakeServer(() => refuse(404, 'NOT_FOUND'));
  await server.listen();
});

afterEach(() => server.close());

const serverCommands: EngineCommands = {
  runDev: async () => undefined,
  runServe: async () => {
    throw Object.assign(new Error('DATABASE_URL is missing\nSECRET is missing'), { code: 'CONFIG_INVALID' });
  },
  runMigrate: async () => ['0001_core'],
  runBootstrap: async ({ namespace }) => ({ namespace, key: 'rk_secret', scopes: ['admin'] }),
  runTestFile: async (file) => ({ file, cases: [] }),
  replayFile,
};

type Invocation = { files?: Record<string, string>; stdin?: string; colour?: boolean; env?: Record<string, string> };

const rondo = async (argv: readonly string[], { files = {}, stdin = '', colour = false, env }: Invocation = {}) => {
  let out = '';
  let err = '';
  const io: CliIo = {
    out: (text) => {
      out += text;
    },
    err: (text) => {
      err += text;
    },
    colour,
    env: env ?? { RONDO_URL: server.url },
    readFile: async (path) => {
      const text = files[path];
      if (text === undefined) throw new Error('no such file');
      return text;
    },
    readStdin: async () => stdin,
  };
  const exitCode = await runCli(argv, serverCommands, io);
  return { exitCode, out, err };
};

const at = '2026-01-02T03:04:05.678Z';
const summary = (status: string) => ({
  workflowId: ID,
  name: 'order',
  version: 1,
  status,
  startedAt: at,
  updatedAt: at,
});
const detail = (status: string, facts: object = {}) => ({
  ...summary(status),
  tasks: [],
  waitingFor: [],
  output: {},
  ...facts,
});

const frame = (event: { seq: number; type: string }) =>
  `id: ${event.seq}\ndata: ${JSON.stringify({ at, ...event })}\n\n`;

const END = 'event: end\ndata: {}\n\n';

const streamOf = (raw: ServerResponse, frames: readonly string[]): 'written' => {
  raw.writeHead(200, { 'content-type': 'text/event-stream' });
  raw.end(frames.join(''));
  return 'written';
};

/** Starts, streams the end at once, and then is in the status. */
const endingIn =
  (status: string, facts: object = {}): Route =>
  (call, raw) => {
    if (call.method === 'POST') return { status: 201, body: { ...summary('RUNNING'), created: true } };
    if (call.path.endsWith('/stream')) return streamOf(raw, [frame({ seq: 1, type: 'ExecutionClosed' }), END]);
    return ok(detail(status, facts));
  };

test.for([
  ['COMPLETED', 0],
  ['FAILED', 1],
  ['TIMED_OUT', 1],
  ['TERMINATED', 1],
] as const)('run --wait on a run that ends %s exits %d', async ([status, exitCode]) => {
  server.route = endingIn(status);
  const ran = await rondo(['run', 'order', '--input', '{"a":1}', '--wait']);
  expect(ran).toMatchObject({ exitCode, err: `started ${ID}\n` });
  expect(ran.out.split('\n')[0]).toBe(status);
  expect(server.calls[0]).toMatchObject({ path: '/v1/ns/default/executions/order', body: { input: { a: 1 } } });
});

test('run --wait exits 2 when the run still runs at the time-out', async () => {
  server.route = (call, raw) => {
    if (call.method === 'POST') return { status: 201, body: { ...summary('RUNNING'), created: true } };
    if (call.path.endsWith('/stream')) {
      raw.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
      return 'written';
    }
    return ok(detail('RUNNING'));
  };
  const ran = await rondo(['run', 'order', '--wait', '--timeout', '0.1', '--json']);
  expect(ran).toMatchObject({ exitCode: 2, err: '' });
  expect(JSON.parse(ran.out)).toMatchObject({ workflowId: ID, status: 'RUNNING' });
});

test('run without --wait answers the id and exits 0', async () => {
  server.route = endingIn('COMPLETED');
  const ran = await rondo(['run', 'order', '--version', '3', '--input', '@in.json', '--namespace', 'shop'], {
    files: { 'in.json': '{"from":"file"}' },
  });
  expect(ran).toEqual({ exitCode: 0, out: `${ID}  RUNNING\n`, err: '' });
  expect(server.calls[0]).toMatchObject({
    path: '/v1/ns/shop/executions/order',
    body: { version: 3, input: { from: 'file' } },
  });
});

test('input comes from stdin too', async () => {
  server.route = endingIn('COMPLETED');
  await rondo(['run', 'order', '--input', '-'], { stdin: '{"from":"stdin"}' });
  expect(server.calls[0]?.body).toEqual({ input: { from: 'stdin' } });
});

test.for([
  [['run', 'order', '--input', '{oops'], 'INVALID_JSON'],
  [['run', 'order', '--input', '[1]'], 'INVALID_JSON'],
  [['run', 'order', '--input', '@none.json'], 'FILE_UNREADABLE'],
  [['run', 'order', '--version', '0'], 'USAGE'],
  [['run', 'order', '--timeout', 'soon'], 'USAGE'],
  [['no-such-command'], 'USAGE'],
  [['executions', 'list', '--status', 'DONE'], 'USAGE'],
  [['queues', '--url', 'ftp://here'], 'USAGE'],
] as const)('%j is one line on stderr and exit 4', async ([argv, code]) => {
  const ran = await rondo(argv);
  expect(ran).toMatchObject({ exitCode: 4, out: '' });
  expect(ran.err).toMatch(new RegExp(`^error ${code}: [^\\n]+\\n$`));
  expect(server.calls).toEqual([]);
});

test('a refusal of the server is one line with its code and request, and exit 3', async () => {
  server.route = () => refuse(404, 'NOT_FOUND', 'no such run');
  expect(await rondo(['executions', 'get', ID])).toEqual({
    exitCode: 3,
    out: '',
    err: 'error NOT_FOUND: no such run [request request-1]\n',
  });
});

test('a server that cannot be reached is exit 5', async () => {
  const away = new FakeServer(() => ok({}));
  await away.listen();
  const { url } = away;
  await away.close();
  const ran = await rondo(['tail', ID, '--url', url]);
  expect(ran).toMatchObject({ exitCode: 5, out: '' });
  expect(ran.err).toMatch(/^error CONNECTION_FAILED: [^\n]+\n$/);
});

test('a server command that fails is one line too, whatever its message holds', async () => {
  expect(await rondo(['serve'])).toEqual({
    exitCode: 70,
    out: '',
    err: 'error CONFIG_INVALID: DATABASE_URL is missing\\nSECRET is missing\n',
  });
});

test('bootstrap shows the key on stdout, and nothing else there', async () => {
  expect(await rondo(['bootstrap', '--namespace', 'shop'])).toMatchObject({ exitCode: 0, out: 'rk_secret\n' });
  const ran = await rondo(['bootstrap', '--json']);
  expect(JSON.parse(ran.out)).toEqual({ namespace: 'default', key: 'rk_secret', scopes: ['admin'] });
});

test('flags win over the environment', async () => {
  server.route = () => ok({ queues: [] });
  await rondo(['queues', '--url', server.url, '--api-key', 'rk_flag', '--namespace', 'flag'], {
    env: { RONDO_URL: 'http://127.0.0.1:1', RONDO_API_KEY: 'rk_env', RONDO_NAMESPACE: 'shop' },
  });
  await rondo(['queues'], { env: { RONDO_URL: server.url, RONDO_API_KEY: 'rk_env', RONDO_NAMESPACE: 'shop' } });
  expect(server.calls.map(({ headers }) => headers.authorization)).toEqual(['Bearer rk_flag', 'Bearer rk_env']);
  expect(server.calls.map(({ path }) => path)).toEqual(['/v1/ns/flag/queues', '/v1/ns/shop/queues']);
});

test('workflows register sends every definition of every file in order', async () => {
  server.route = (call) =>
    ok({ outcome: 'created', name: call.body.name, version: 1, definition: { secret: 'not printed' } });
  const files = { 'a.json': '{"name":"a"}', 'b.json': '[{"name":"b"},{"name":"c"}]' };
  const ran = await rondo(['workflows', 'register', 'a.json', 'b.json', '--json'], { files });
  expect(JSON.parse(ran.out)).toEqual({
    registered: ['a', 'b', 'c'].map((name) => ({ name, version: 1, outcome: 'created' })),
  });
  expect(server.calls.map(({ path }) => path)).toEqual(Array(3).fill('/v1/ns/default/definitions/workflows'));
});

test('one unreadable file registers nothing', async () => {
  const ran = await rondo(['tasks', 'register', 'a.json', 'b.json'], { files: { 'a.json': '{}', 'b.json': '{' } });
  expect(ran.err).toMatch(/^error INVALID_JSON: b\.json: /);
  expect(server.calls).toEqual([]);
});

test('workflows validate exits 1 and lists the problems', async () => {
  const problem = { code: 'INVALID_GRAPH', path: 'tasks[0]', message: 'no join' };
  server.route = () => ok({ valid: false, problems: [problem] });
  const ran = await rondo(['workflows', 'validate', 'a.json'], { files: { 'a.json': '{}' } });
  expect(ran.exitCode).toBe(1);
  expect(ran.out).toMatch(/a\.json +tasks\[0\] +INVALID_GRAPH +no join/);
  server.route = () => ok({ valid: true, problems: [] });
  expect((await rondo(['workflows', 'validate', 'a.json'], { files: { 'a.json': '{}' } })).exitCode).toBe(0);
});

test('executions list reads pages up to its limit', async () => {
  server.route = (call) =>
    ok({
      executions: [summary('RUNNING')],
      ...(call.body.cursor === 'c2' ? {} : { nextCursor: call.body.cursor ? 'c2' : 'c1' }),
    });
  const ran = await rondo(['executions', 'list', '--status', 'RUNNING', 'PAUSED', '--name', 'or*', '--json']);
  expect(JSON.parse(ran.out).executions).toHaveLength(3);
  expect(server.calls.map(({ body }) => body)).toEqual([
    { limit: 50, statuses: ['RUNNING', 'PAUSED'], name: 'or*' },
    { limit: 49, statuses: ['RUNNING', 'PAUSED'], name: 'or*', cursor: 'c1' },
    { limit: 48, statuses: ['RUNNING', 'PAUSED'], name: 'or*', cursor: 'c2' },
  ]);
});

test('executions terminate starts the failure workflow where it is asked to', async () => {
  server.route = () => ok(summary('TERMINATED'));
  expect(await rondo(['executions', 'terminate', ID, '--failure-workflow'])).toMatchObject({ exitCode: 0 });
  expect(server.calls.at(-1)?.body).toEqual({ triggerFailureWorkflow: true });
});

test.for(['pause', 'resume', 'terminate', 'retry'])('executions %s acts on the run with the reason', async (action) => {
  server.route = () => ok(summary('PAUSED'));
  expect(await rondo(['executions', action, ID, '--reason', 'because'])).toEqual({
    exitCode: 0,
    out: `${ID}  PAUSED\n`,
    err: '',
  });
  expect(server.calls[0]).toMatchObject({
    method: 'POST',
    path: `/v1/ns/default/executions/${ID}/${action}`,
    body: { reason: 'because' },
  });
});

test('executions with several ids acts on all of them, says what came of each, and fails when one was refused', async () => {
  const other = ID.replace(/1$/, '2');
  server.route = () =>
    ok({
      answers: [
        { id: ID, outcome: 'done', status: 'TERMINATED' },
        { id: other, outcome: 'refused', error: 'TERMINAL_STATE', message: `it has ended${ESC}[0m` },
      ],
      done: 1,
      refused: 1,
    });
  expect(await rondo(['executions', 'terminate', ID, other, '--reason', 'because'])).toEqual({
    exitCode: 1,
    out: `${ID}  TERMINATED\n${other}  TERMINAL_STATE  it has ended\\u001b[0m\n`,
    err: '',
  });
  expect(server.calls[0]).toMatchObject({
    method: 'POST',
    path: '/v1/ns/default/executions/bulk',
    body: { action: 'terminate', ids: [ID, other], reason: 'because' },
  });
});

test('executions delete removes one run or many', async () => {
  server.route = () => ok({ answers: [{ id: ID, outcome: 'done' }], done: 1, refused: 0 });
  expect(await rondo(['executions', 'delete', ID])).toEqual({ exitCode: 0, out: `${ID}  deleted\n`, err: '' });
  expect(server.calls[0]?.body).toEqual({ action: 'delete', ids: [ID] });
});

test('replay with a definition replays the history in a file, without a server', async () => {
  const definition = { name: 'order', version: 1, tasks: [{ name: 'a', taskReferenceName: 'a', type: 'NOOP' }] };
  const { log } = new Run({ tasks: definition.tasks });
  const events = log.map(historyEventOf);
  const files = {
    'history.json': JSON.stringify({ workflowId: ID, events }),
    'bare.json': JSON.stringify(events),
    'order.json': JSON.stringify(definition),
    'other.json': JSON.stringify({ ...definition, tasks: [{ ...definition.tasks[0], taskReferenceName: 'b' }] }),
    'none.json': JSON.stringify({ events: [{ seq: 1, type: 'Nothing', at }] }),
  };
  const replayed = (...rest: readonly string[]) => rondo(['replay', ...rest], { files, env: {} });
  expect(await replayed('history.json', '--definition', 'order.json')).toEqual({
    exitCode: 0,
    out: `${events.length} events follow again from order.json\n`,
    err: '',
  });
  const other = await replayed('bare.json', '--definition', 'other.json', '--workflow-id', ID);
  expect(other.exitCode).toBe(1);
  expect(other.out).toMatch(/^other.json goes another way at event 2\nrecorded .*"ref":"a".*\nderived .*"ref":"b"/);
  expect(await replayed('bare.json', '--definition', 'order.json')).toMatchObject({ exitCode: 2 });
  expect(await replayed('none.json', '--definition', 'order.json')).toMatchObject({ exitCode: 2 });
  expect(await replayed('gone.json', '--definition', 'order.json')).toMatchObject({ exitCode: 2 });
});

test('replay says that a run follows again from its log, or where it does not', async () => {
  const replayed = { workflowId: ID, name: 'order', version: 1, recorded: 7, same: true };
  server.route = () => ok(replayed);
  const same = await rondo(['replay', ID]);
  expect(same).toEqual({ exitCode: 0, out: '7 events follow again from order 1\n', err: '' });
  expect(server.calls[0]).toMatchObject({ path: `/v1/ns/default/executions/${ID}/replay`, body: {} });
  const event = { seq: 3, type: 'TaskScheduled', at, taskRef: 'charge', iteration: 0, attempt: 1 };
  const difference = { seq: 3, recorded: event, derived: { ...event, taskRef: 'refund' } };
  server.route = () =>
    ok({ ...replayed, version: 2, same: false, difference, preview: { events: [event], unused: [4] } });
  const other = await rondo(['replay', ID, '--version', '2']);
  expect(other.exitCode).toBe(1);
  expect(other.out).toContain('order 2 goes another way at event 3\n');
  expect(other.out).toMatch(/recorded .*charge/);
  expect(other.out).toMatch(/derived .*refund/);
  expect(other.out).toContain('without a place in it: the events 4 of the record\n');
  expect(server.calls[1]?.body).toEqual({ version: 2 });
});

test('executions signal sends task, status and output', async () => {
  server.route = () => ok({ ...summary('RUNNING'), delivered: false });
  const ran = await rondo(['executions', 'signal', ID, '--ref', 'approval', '--output', '{"yes":true}']);
  expect(ran).toMatchObject({ exitCode: 0, err: 'kept until the task begins\n' });
  expect(server.calls[0]?.body).toEqual({ taskRef: 'approval', status: 'COMPLETED', output: { yes: true } });
});

test('history pages to the end', async () => {
  server.route = (call) => {
    const seq = Number(call.query.get('after')) + 1;
    return ok({
      events: [{ seq, type: 'TaskScheduled', at, taskRef: 'charge', iteration: 2, attempt: 3 }],
      ...(seq < 3 ? { nextCursor: String(seq) } : {}),
    });
  };
  const ran = await rondo(['history', ID]);
  expect(ran.out.split('\n')).toHaveLength(4);
  expect(ran.out).toContain('    1  03:04:05.678Z  TaskScheduled  charge__2 (attempt 3)');
  const json = await rondo(['history', ID, '--json', '--after', '1']);
  expect(JSON.parse(json.out).events.map(({ seq }: { seq: number }) => seq)).toEqual([2, 3]);
});

test('tail takes a broken stream up where it broke: every event once, in order', async () => {
  let opened = 0;
  server.route = (call, raw) => {
    if (!call.path.endsWith('/stream')) return ok(summary('RUNNING'));
    opened += 1;
    if (opened > 1) {
      return streamOf(raw, [
        frame({ seq: 3, type: 'TaskClosed' }),
        `event: note\ndata: {"progress":50}\n\n`,
        frame({ seq: 4, type: 'ExecutionClosed' }),
        END,
      ]);
    }
    raw.writeHead(200, { 'content-type': 'text/event-stream' });
    raw.write(frame({ seq: 1, type: 'ExecutionStarted' }));
    raw.write(frame({ seq: 2, type: 'TaskScheduled' }), () => raw.destroy());
    return 'written';
  };
  const ran = await rondo(['tail', ID, '--json']);
  expect(ran).toMatchObject({ exitCode: 0, err: 'connection lost, resuming after 2\n' });
  const lines = ran.out
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(lines.map(({ seq, progress }) => seq ?? progress)).toEqual([1, 2, 3, 50, 4]);
  expect(server.of('/stream').map(({ headers }) => headers['last-event-id'])).toEqual([undefined, '2']);
});

test('tail goes on after the first end of a run that was retried, even when the stream breaks there', async () => {
  server.route = (call, raw) => {
    if (!call.path.endsWith('/stream')) return ok(summary('RUNNING'));
    if (call.headers['last-event-id'] === '1') {
      return streamOf(raw, [
        frame({ seq: 2, type: 'ExecutionRetried' }),
        frame({ seq: 3, type: 'ExecutionClosed' }),
        END,
      ]);
    }
    return streamOf(raw, [frame({ seq: 1, type: 'ExecutionClosed' })]);
  };
  const ran = await rondo(['tail', ID]);
  expect(ran.out.match(/Execution\w+/g)).toEqual(['ExecutionClosed', 'ExecutionRetried', 'ExecutionClosed']);
});

test('tail from the last event of a closed run ends', async () => {
  server.route = (call, raw) => (call.path.endsWith('/stream') ? streamOf(raw, []) : ok(summary('COMPLETED')));
  expect(await rondo(['tail', ID, '--after', '9'])).toEqual({ exitCode: 0, out: '', err: '' });
});

test('control characters of data never reach the terminal', async () => {
  const evil = `${ESC}]0;owned\u0007 \u009b31m \u202egnp.exe\nnext`;
  server.route = () => ok({ executions: [{ ...summary('FAILED'), reason: evil }] });
  const listed = await rondo(['executions', 'list']);
  server.route = () => ok(detail('FAILED', { reason: evil, output: { evil } }));
  const got = await rondo(['executions', 'get', ID]);
  server.route = () => refuse(400, 'VALIDATION_FAILED', evil);
  const refused = await rondo(['executions', 'get', ID]);
  for (const text of [listed.out, got.out, refused.err]) {
    expect(text).toContain('owned');
    // biome-ignore lint/suspicious/noControlCharactersInRegex: none may be there.
    expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
  }
  expect(listed.out).toContain('\\u001b]0;owned\\u0007 \\u009b31m \\u202egnp.exe\\nnext');
});

test('--json stays the same JSON when it is made safe for a terminal', async () => {
  const queues = [{ queue: `${ESC}[31m\u009b\u202e`, ready: 1, leased: 0, delayed: 0 }];
  server.route = () => ok({ queues });
  const ran = await rondo(['queues', '--json'], { colour: true });
  expect(JSON.parse(ran.out)).toEqual({ queues });
  expect(ran.out).not.toContain('\u009b');
});

test('colours appear on a terminal only, and never in --json', async () => {
  server.route = () => ok({ executions: [summary('COMPLETED')] });
  expect((await rondo(['executions', 'list'], { colour: true })).out).toContain(`${ESC}[32mCOMPLETED${ESC}[39m`);
  expect((await rondo(['executions', 'list'])).out).not.toContain(ESC);
  expect((await rondo(['executions', 'list', '--json'], { colour: true })).out).not.toContain(ESC);
});

test.for([
  ['rerun', ['--from', 'b', '--task-input', '{"x":1}'], { fromTaskRef: 'b', taskInput: { x: 1 } }],
  ['rerun', ['--workflow-input', '{}', '--correlation-id', 'c'], { workflowInput: {}, correlationId: 'c' }],
  ['restart', ['--latest'], { useLatestDefinitions: true }],
  ['skip-task', ['b', '--output', '{"ok":true}'], { taskRef: 'b', taskOutput: { ok: true } }],
  ['cancel-task', ['b'], { taskRef: 'b' }],
  ['variables', ['{"a":1}'], { variables: { a: 1 } }],
  ['jump', ['b'], { taskRef: 'b' }],
  ['upgrade', ['--to', '2', '--task-output', '{"n":{}}'], { version: 2, taskOutput: { n: {} } }],
] as const)('executions %s sends what it was told, with the reason', async ([action, more, body]) => {
  server.route = () => ok(summary('RUNNING'));
  const ran = await rondo(['executions', action, ID, ...more, '--reason', 'because']);
  expect(ran).toEqual({ exitCode: 0, out: `${ID}  RUNNING\n`, err: '' });
  expect(server.calls[0]).toMatchObject({ method: 'POST', path: `/v1/ns/default/executions/${ID}/${action}` });
  expect(server.calls[0]?.body).toEqual({ reason: 'because', ...body });
});

test('executions rerun-tasks names what is stale', async () => {
  server.route = () => ok({ ...summary('PAUSED'), stale: ['c', 'd'] });
  const ran = await rondo(['executions', 'rerun-tasks', ID, 'a', 'b']);
  expect(ran).toMatchObject({ exitCode: 0, err: 'stale now: c, d\n' });
  expect(server.calls[0]?.body).toEqual({ taskRefs: ['a', 'b'], cascade: false });
});

test('lists dead letters over all pages, and sends them again or deletes them one by one', async () => {
  const letter = (id: string) => ({
    id,
    workflowId: ID,
    topic: 'event/kafka',
    orderingKey: ID,
    payload: {},
    attempts: 10,
    createdAt: at,
    deadAt: at,
    reason: `no handler ${ESC}[31m`,
  });
  const calls: string[] = [];
  server.route = ({ method, path, query }) => {
    calls.push(`${method} ${path}`);
    if (method === 'DELETE' && path.endsWith('/9')) return refuse(404, 'NOT_FOUND');
    if (method !== 'GET') return ok(null);
    return query.get('cursor') === 'more'
      ? ok({ deadLetters: [letter('2')] })
      : ok({ deadLetters: [letter('1')], nextCursor: 'more' });
  };
  const listed = await rondo(['dead-letters', 'list']);
  expect(listed.out).toContain('event/kafka');
  expect(listed.out).not.toContain(ESC);
  expect((await rondo(['dead-letters', 'redrive', '1', '2', '--json'])).out).toBe('{"redriven":["1","2"]}\n');
  expect((await rondo(['dead-letters', 'delete', '1'])).out).toBe('deleted: 1\n');
  expect((await rondo(['dead-letters', 'delete', '9'])).exitCode).not.toBe(0);
  const of = (id: string, verb = '') => `/v1/ns/default/dead-letters/${id}${verb}`;
  expect(calls.slice(2)).toEqual([
    `POST ${of('1', '/redrive')}`,
    `POST ${of('2', '/redrive')}`,
    `DELETE ${of('1')}`,
    `DELETE ${of('9')}`,
  ]);
});
