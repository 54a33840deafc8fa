import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { POLL_INTERVAL_SECONDS_MAX, pollDelayMs, pollPlanOf } from '../../../src/application/calls/http-poll.ts';
import type { ExecutionId } from '../../../src/domain/kernel/brand.ts';
import type { JsonObject } from '../../../src/domain/kernel/json.ts';
import { fork, join, simple } from '../../support/builders.ts';
import { NAMESPACE } from '../../support/engine.ts';
import { type MemoryServer, openMemoryServer } from '../../support/memory-server.ts';
import { noCalls } from '../../support/outbound.ts';
import { startRun, statusOf } from '../../support/runs.ts';
import { register, taskOf, work } from '../children/given.ts';
import { call, scriptedHttp } from './given.ts';

const delays = (input: JsonObject): readonly number[] => {
  const plan = pollPlanOf(input);
  if (!plan.ok) throw new Error(plan.error);
  return [1, 2, 3, 40].map((n) => pollDelayMs(plan.value, n));
};

describe('the plan of a poll', () => {
  it('waits the same time, or longer each time, and never longer than a day', () => {
    expect(delays({})).toEqual([60_000, 60_000, 60_000, 60_000]);
    expect(delays({ pollingInterval: '2', pollingStrategy: 'LINEAR_BACKOFF' })).toEqual([2_000, 4_000, 6_000, 80_000]);
    const doubling = delays({ http_request: { pollingInterval: 1.5, pollingStrategy: 'exponential' } });
    expect(doubling).toEqual([1_500, 3_000, 6_000, POLL_INTERVAL_SECONDS_MAX * 1_000]);
  });

  it.each([
    { pollingInterval: 0 },
    { pollingInterval: 'soon' },
    { pollingInterval: POLL_INTERVAL_SECONDS_MAX + 1 },
    { pollingStrategy: 'RANDOM' },
    { pollCount: 0 },
    { pollCount: 1.5 },
    { terminationCondition: 3 },
  ] as readonly JsonObject[])('is refused as %j', (input) => expect(pollPlanOf(input).ok).toBe(false));
});

describe('HTTP_POLL', () => {
  const door = scriptedHttp();
  let server: MemoryServer;
  let runs = 0;
  beforeAll(async () => {
    server = await openMemoryServer({ outbound: { ...noCalls, http: door.http } });
  });
  afterAll(() => server.close());

  const poll = async (): Promise<void> => {
    await server.runLoopOnce('calls');
    await server.settle();
  };

  const DONE = '(function () { return $.output.response.body.state === "done"; })();';
  const polling = (input: JsonObject = {}, fields: JsonObject = {}) =>
    call('p', { terminationCondition: DONE, pollingInterval: 10, ...input }, { type: 'HTTP_POLL', ...fields });

  const start = async (input: JsonObject = {}, fields: JsonObject = {}): Promise<ExecutionId> => {
    runs += 1;
    await register(server, `poll_${runs}`, [polling(input, fields)]);
    return startRun(server, `poll_${runs}`);
  };

  const pending = { body: '{"state":"pending"}' };
  const done = { body: '{"state":"done"}' };

  it('calls until its condition holds, and no sooner again than its interval says', async () => {
    door.answers(pending, pending, done);
    const id = await start();
    await poll();
    await poll();
    expect([door.sent.length, await statusOf(server, id)]).toEqual([1, 'RUNNING']);
    await server.later(9_999);
    await poll();
    expect(door.sent.length).toBe(1);
    await server.later(1);
    await poll();
    expect(door.sent.length).toBe(2);
    await server.later(10_000);
    await poll();
    expect([door.sent.length, await statusOf(server, id)]).toEqual([3, 'COMPLETED']);
    const { output, attempt } = await taskOf(server, id, 'p');
    expect([attempt, output]).toMatchObject([1, { pollCount: 3, response: { body: { state: 'done' } } }]);
  });

  it('holds neither lease nor slot between two polls, and says when it goes on', async () => {
    door.answers(pending);
    const id = await start();
    await poll();
    const [row] = await server.index.openTasks(NAMESPACE, id);
    expect(row).toMatchObject({ leased: false, progress: { pollCount: 1, statusCode: 200 } });
    expect((await taskOf(server, id, 'p')).status).toBe('IN_PROGRESS');
    const detail = await server.useCases.executions.get(NAMESPACE, id);
    expect(detail.ok && detail.value.waitingFor).toMatchObject([
      { gate: 'TIMER', why: expect.stringContaining('goes on at') },
    ]);
    await server.useCases.executions.terminate(NAMESPACE, id, 'operator', 'enough');
    await server.later(10_000);
    await poll();
    expect([door.sent.length, await server.index.openTasks(NAMESPACE, id)]).toEqual([1, []]);
  });

  it('polls no more often than it may', async () => {
    door.answers(pending);
    const id = await start({ pollCount: 2 });
    await poll();
    await server.later(10_000);
    await poll();
    const { status, reason } = await taskOf(server, id, 'p');
    expect([status, reason]).toEqual([
      'FAILED_WITH_TERMINAL_ERROR',
      'POLLS_SPENT: The condition did not hold after 2 polls.',
    ]);
  });

  it('without a condition is done with its first answer', async () => {
    door.answers(pending);
    const id = await start({ terminationCondition: '' });
    await poll();
    expect(await statusOf(server, id)).toBe('COMPLETED');
  });

  it('fails by its call like HTTP, and with a condition that throws', async () => {
    door.answers({ statusCode: 404 });
    const missing = await start();
    await poll();
    door.answers(pending);
    const throws = await start({ terminationCondition: '$.output.none.at.all' });
    await poll();
    expect([await statusOf(server, missing), await statusOf(server, throws)]).toEqual(['FAILED', 'FAILED']);
    expect((await taskOf(server, throws, 'p')).reason).toContain('terminationCondition: SCRIPT_FAILED');
  });

  it('begins to count anew with another attempt', async () => {
    door.answers(pending, { statusCode: 503 }, pending, done);
    const id = await start({}, { name: 'p_retried', retryCount: 1, retryDelaySeconds: 1 });
    await poll();
    await server.later(10_000);
    await poll();
    await server.later(10_000);
    await poll();
    await server.later(10_000);
    await poll();
    expect((await taskOf(server, id, 'p')).output).toMatchObject({ pollCount: 2 });
  });

  it('ends by its deadline, whoever does not hold it then', async () => {
    door.answers(pending);
    const id = await start({}, { totalTimeout: 15, timeoutPolicy: 'TIME_OUT_WF' });
    await poll();
    await server.later(15_000);
    expect(await statusOf(server, id)).toBe('TIMED_OUT');
  });

  it('is paused between polls and goes on: what was asked for is still answered', async () => {
    door.answers(pending, done);
    runs += 1;
    await register(server, `poll_${runs}`, [
      fork('f', [
        [polling(), simple('a')],
        [simple('b'), simple('c')],
      ]),
      join('j'),
    ]);
    const id = await startRun(server, `poll_${runs}`);
    await poll();
    await server.useCases.executions.pause(NAMESPACE, id, 'operator');
    await server.later(10_000);
    await poll();
    expect((await taskOf(server, id, 'p')).status).toBe('COMPLETED');
    await server.useCases.executions.resume(NAMESPACE, id, 'operator');
    for (const name of ['a', 'b', 'c']) await work(server, name);
    expect(await statusOf(server, id)).toBe('COMPLETED');
  });
});
