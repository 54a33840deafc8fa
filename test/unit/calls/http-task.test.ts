import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { retryAfterSeconds } from '../../../src/application/calls/http-task.ts';
import { RETRY_AFTER_MS_MAX } from '../../../src/domain/execution/outcome.ts';
import type { ExecutionId, Instant } from '../../../src/domain/kernel/brand.ts';
import type { JsonObject } from '../../../src/domain/kernel/json.ts';
import { fork, join, loop, type Step, simple, switchOn } from '../../support/builders.ts';
import { NAMESPACE } from '../../support/engine.ts';
import { type MemoryServer, openMemoryServer } from '../../support/memory-server.ts';
import { noCalls } from '../../support/outbound.ts';
import { eventsOf, ofType, startRun, statusOf } from '../../support/runs.ts';
import { register, taskOf, viewOf, work } from '../children/given.ts';
import { call, type Scripted, scriptedHttp } from './given.ts';

describe('HTTP', () => {
  const door = scriptedHttp();
  let server: MemoryServer;
  let runs = 0;
  beforeAll(async () => {
    server = await openMemoryServer({ outbound: { ...noCalls, http: door.http } });
  });
  afterAll(() => server.close());

  /** Calls until there is nothing to call. */
  const makeCalls = async (): Promise<void> => {
    for (let made = -1; made !== door.sent.length; ) {
      made = door.sent.length;
      await server.runLoopOnce('calls');
      await server.settle();
    }
  };

  const run = async (tasks: readonly Step[], fields: JsonObject = {}): Promise<ExecutionId> => {
    runs += 1;
    await register(server, `http_${runs}`, tasks, fields);
    const id = await startRun(server, `http_${runs}`);
    await makeCalls();
    return id;
  };

  const runWith = (answer: Scripted, input: JsonObject = {}, fields: JsonObject = {}): Promise<ExecutionId> => {
    door.answers(answer);
    return run([call('c', input, fields)]);
  };

  it('completes with the answer: status, reason, headers, and JSON where the body is JSON', async () => {
    const headers = { 'content-type': ['application/json; charset=utf-8'] };
    const id = await runWith({ statusCode: 201, reasonPhrase: 'Made', headers, body: '{"a":[1]}' });
    expect((await taskOf(server, id, 'c')).output).toEqual({
      response: { statusCode: 201, reasonPhrase: 'Made', headers, body: { a: [1] } },
    });
    expect(await statusOf(server, id)).toBe('COMPLETED');
  });

  it.each([
    ['text/plain', 'plain', 'plain'],
    ['text/plain', '[1,2]', [1, 2]],
    ['text/html', '<p>', '<p>'],
    ['application/json', 'no json', 'no json'],
    ['application/problem+json', '"x"', 'x'],
    ['application/json', '', null],
    ['', '{"a":1}', { a: 1 }],
  ])('reads a body of type %j as what it is: %j', async (type, body, read) => {
    const id = await runWith({ headers: type === '' ? {} : { 'content-type': [type] }, body });
    expect((await taskOf(server, id, 'c')).output).toMatchObject({ response: { body: read } });
  });

  it.each([408, 425, 429, 500, 502, 503, 504])(
    'fails at %i such that another attempt may go better',
    async (statusCode) => {
      door.answers({ statusCode, reasonPhrase: 'No' }, {});
      const id = await run([call('c', {}, { name: `c_${statusCode}`, retryCount: 1, retryDelaySeconds: 5 })]);
      expect([await statusOf(server, id), door.sent.length]).toEqual(['RUNNING', 1]);
      await server.later(10_000);
      await makeCalls();
      expect([await statusOf(server, id), door.sent.length]).toEqual(['COMPLETED', 2]);
    },
  );

  it.each([301, 400, 401, 404, 409, 422])('fails for good at %i, whatever retries there are', async (statusCode) => {
    const id = await runWith({ statusCode, reasonPhrase: 'No', body: 'why' }, {}, { retryCount: 5 });
    const { status, reason, output } = await taskOf(server, id, 'c');
    expect([status, reason, door.sent.length]).toEqual(['FAILED_WITH_TERMINAL_ERROR', `HTTP ${statusCode} No`, 1]);
    expect(output).toMatchObject({ response: { statusCode, body: 'why' } });
    expect(await statusOf(server, id)).toBe('FAILED');
  });

  it.each([
    ['URL_NOT_ALLOWED', 'FAILED_WITH_TERMINAL_ERROR'],
    ['INVALID_REQUEST', 'FAILED_WITH_TERMINAL_ERROR'],
    ['TOO_MANY_REDIRECTS', 'FAILED_WITH_TERMINAL_ERROR'],
    ['RESPONSE_TOO_LARGE', 'FAILED_WITH_TERMINAL_ERROR'],
    ['CONNECTION_FAILED', 'FAILED'],
    ['TIMED_OUT', 'FAILED'],
  ] as const)('tells %s apart as %s', async (code, status) => {
    const id = await runWith({ code, message: 'so it is.' });
    expect(await taskOf(server, id, 'c')).toMatchObject({ status, reason: `${code}: so it is.` });
  });

  it('is refused where its request makes no sense, and nothing is sent', async () => {
    const id = await runWith({}, { method: 'FETCH' });
    expect(await taskOf(server, id, 'c')).toMatchObject({
      status: 'FAILED_WITH_TERMINAL_ERROR',
      reason: expect.stringContaining('INVALID_REQUEST: method is one of'),
    });
    expect(door.sent).toEqual([]);
  });

  it('takes what its task definition says of the request where the step leaves it open', async () => {
    door.answers({});
    const template = { http_request: { uri: 'https://defined.example/', method: 'PUT' } };
    const step = {
      name: 'c',
      taskReferenceName: 'c',
      type: 'HTTP',
      taskDefinition: { name: 'c', inputTemplate: template },
    };
    await run([step]);
    expect(door.sent[0]).toMatchObject({ url: 'https://defined.example/', method: 'PUT' });
  });

  it('does not come again before the host wants it, nor later than its longest delay', async () => {
    const later = async (headers: Record<string, string[]>, fields: JsonObject) => {
      door.answers({ statusCode: 503, headers }, {});
      const id = await run([call('c', {}, { retryCount: 1, retryDelaySeconds: 1, jitter: 0, ...fields })]);
      const [closed] = ofType(await eventsOf(server, id), 'TaskClosed');
      const { disposition } = closed ?? {};
      return disposition?.kind === 'retry' ? disposition.visibleAt - (closed?.at ?? 0) : undefined;
    };
    const inHalfAMinute = new Date(server.clock.now() + 30_000).toUTCString();
    expect(await later({ 'retry-after': ['20'] }, {})).toBe(20_000);
    expect(await later({ 'retry-after': [inHalfAMinute] }, {})).toBeGreaterThan(28_000);
    expect(await later({ 'retry-after': ['0'] }, {})).toBe(1_000);
    expect(await later({ 'retry-after': ['20'] }, { maxRetryDelaySeconds: 7 })).toBe(7_000);
    expect(await later({ 'retry-after': ['999999'] }, { maxRetryDelaySeconds: 0 })).toBe(RETRY_AFTER_MS_MAX);
    expect(await later({ 'retry-after': ['soon'] }, {})).toBe(1_000);
  });

  it('reads both forms of Retry-After', () => {
    const now = Date.parse('2026-01-01T00:00:00Z') as Instant;
    expect(retryAfterSeconds('120', now)).toBe(120);
    expect(retryAfterSeconds('Thu, 01 Jan 2026 00:00:30 GMT', now)).toBe(30);
    expect(retryAfterSeconds('Wed, 31 Dec 2025 00:00:00 GMT', now)).toBe(0);
    expect(retryAfterSeconds('-1', now)).not.toBe(-1);
    expect(retryAfterSeconds(undefined, now)).toBeUndefined();
  });

  it('with asyncComplete stays open after the call, with the answer to be seen, until somebody ends it', async () => {
    door.answers({ body: '{"job":7}' });
    const uri = 'https://jobs.example/';
    const id = await run([call('c', { uri }, { asyncComplete: true })]);
    const [row] = await server.index.openTasks(NAMESPACE, id);
    expect(row).toMatchObject({ leased: false, progress: { response: { body: { job: 7 } } } });
    await server.later(3_600_000);
    door.answers({});
    await makeCalls();
    expect([await statusOf(server, id), door.sent.filter(({ url }) => url === uri)]).toEqual(['RUNNING', []]);
    const { taskId, status } = await taskOf(server, id, 'c');
    expect(status).toBe('IN_PROGRESS');
    const ended = { status: 'COMPLETED', output: { done: true } } as const;
    expect((await server.useCases.doors.completeTask(NAMESPACE, taskId, ended, 'the job')).ok).toBe(true);
    expect((await viewOf(server, id)).output).toEqual({ done: true });
  });

  it('with asyncComplete may be ended before its answer is written down, and its end stands', async () => {
    door.answers('hangs');
    await register(server, 'early', [call('c', {}, { asyncComplete: true })]);
    const id = await startRun(server, 'early');
    const { taskId } = await taskOf(server, id, 'c');
    const ended = { status: 'COMPLETED', output: { early: true } } as const;
    server.startLoops('calls');
    await expect.poll(() => door.sent.length).toBe(1);
    expect((await server.useCases.doors.completeTask(NAMESPACE, taskId, ended, 'the job')).ok).toBe(true);
    door.answers({});
    await server.stopLoops();
    expect((await viewOf(server, id)).output).toEqual({ early: true });
  });

  it('without asyncComplete is ended by nobody else', async () => {
    door.answers({ statusCode: 503 });
    const id = await run([call('c', {}, { retryCount: 1, retryDelaySeconds: 60 })]);
    const { taskId } = await taskOf(server, id, 'c');
    const ended = { status: 'COMPLETED', output: {} } as const;
    expect((await server.useCases.doors.completeTask(NAMESPACE, taskId, ended, 'x')).ok).toBe(false);
  });

  it('runs in both branches of a fork, in each turn of a loop, and in a switch', async () => {
    door.answers({});
    const id = await run([
      loop('l', 2, [
        fork('f', [
          [call('c1'), simple('s1')],
          [call('c2'), switchOn('w', 'a', { a: [call('c3'), simple('s2')] })],
        ]),
        join('j'),
      ]),
    ]);
    for (let turn = 1; turn <= 2; turn += 1) {
      await work(server, 's1');
      await work(server, 's2');
      await makeCalls();
    }
    expect([await statusOf(server, id), door.sent.length]).toEqual(['COMPLETED', 6]);
  });

  it('is not made while its run is paused, and its answer counts where it was under way', async () => {
    door.answers({});
    await register(server, 'paused', [call('c'), call('d')]);
    const id = await startRun(server, 'paused');
    const { executions } = server.useCases;
    await executions.pause(NAMESPACE, id, 'operator');
    await makeCalls();
    expect([door.sent.length, await statusOf(server, id), (await taskOf(server, id, 'c')).status]).toEqual([
      1,
      'PAUSED',
      'COMPLETED',
    ]);
    await executions.resume(NAMESPACE, id, 'operator');
    await makeCalls();
    expect([door.sent.length, await statusOf(server, id)]).toEqual([2, 'COMPLETED']);
  });

  it('is given up where the server stops, and made again by the next one as the same attempt', async () => {
    door.answers('hangs', {});
    await register(server, 'stopped', [call('c')]);
    const id = await startRun(server, 'stopped');
    server.startLoops('calls');
    await expect.poll(() => door.sent.length).toBe(1);
    await server.stopLoops();
    expect(await server.index.openTasks(NAMESPACE, id)).toMatchObject([{ leased: false, attempt: 1 }]);
    await makeCalls();
    expect([await statusOf(server, id), (await taskOf(server, id, 'c')).attempt]).toEqual(['COMPLETED', 1]);
  });

  it('holds up no script: calls that hang take slots of their own', async () => {
    door.answers('hangs');
    const script = { name: 'i', taskReferenceName: 'i', type: 'INLINE', inputParameters: { expression: '1' } };
    await register(server, 'slow', [
      fork(
        'f',
        [1, 2, 3, 4, 5, 6].map((n) => [call(`c${n}`), simple(`s${n}`)]),
      ),
      join('j'),
    ]);
    await register(server, 'quick', [script]);
    const slow = await startRun(server, 'slow');
    server.startLoops('calls');
    await expect.poll(() => door.sent.length).toBe(4);
    const quick = await startRun(server, 'quick');
    await server.runLoopOnce('system-tasks');
    await server.settle();
    expect([await statusOf(server, quick), await statusOf(server, slow), door.sent.length]).toEqual([
      'COMPLETED',
      'RUNNING',
      4,
    ]);
    await server.useCases.executions.terminate(NAMESPACE, slow, 'operator', 'enough');
    await server.stopLoops();
  });
});
