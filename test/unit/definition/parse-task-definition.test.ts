import { describe, expect, it } from 'vitest';
import { parseWorkflowDefinition } from '../../../src/domain/definition/parse-definition.ts';
import { parseTaskDefinition } from '../../../src/domain/definition/parse-task-definition.ts';
import type { Dialect } from '../../../src/domain/definition/workflow-definition.ts';
import type { JsonValue } from '../../../src/domain/kernel/json.ts';

const problemsOf = (document: JsonValue, door: Dialect): readonly string[] => {
  const result = parseTaskDefinition(document, door);
  return result.ok ? [] : result.error.map(({ code, path }) => `${code} ${path}`);
};

describe('a task definition', () => {
  it('is filled with the defaults of /v1', () => {
    expect(parseTaskDefinition({ name: 'charge' }, 'v1')).toEqual({
      ok: true,
      value: {
        name: 'charge',
        policy: {
          retryCount: 3,
          retryLogic: 'EXPONENTIAL_BACKOFF',
          retryDelayMs: 1_000,
          backoffScaleFactor: 2,
          maxRetryDelayMs: 3_600_000,
          jitterShare: 0.2,
          jitterMs: 0,
          retryBudget: 0.3,
          nonRetryableErrors: [],
          scheduleToStartMs: 0,
          startToCloseMs: 0,
          scheduleToCloseMs: 0,
          heartbeatMs: 60_000,
          timeoutPolicy: 'RETRY',
        },
        concurrentExecLimit: 0,
        inputTemplate: {},
        enforceSchema: true,
        extra: {},
      },
    });
  });

  it('is filled with the defaults of Conductor on /api', () => {
    const result = parseTaskDefinition({ name: 'charge', createTime: 1, retryCount: null }, 'conductor');
    expect(result).toMatchObject({
      ok: true,
      value: {
        policy: {
          retryCount: 3,
          retryLogic: 'FIXED',
          retryDelayMs: 60_000,
          backoffScaleFactor: 1,
          maxRetryDelayMs: 0,
          jitterShare: 0,
          jitterMs: 0,
          retryBudget: 1,
          nonRetryableErrors: [],
          scheduleToStartMs: 0,
          startToCloseMs: 0,
          scheduleToCloseMs: 0,
          heartbeatMs: 3_600_000,
          timeoutPolicy: 'TIME_OUT_WF',
        },
        concurrentExecLimit: 0,
        enforceSchema: false,
        extra: {},
      },
    });
  });

  it('doubles in the exponential back-off of /api, whatever its factor says', () => {
    const result = parseTaskDefinition(
      { name: 'charge', retryLogic: 'EXPONENTIAL_BACKOFF', backoffScaleFactor: 5 },
      'conductor',
    );
    expect(result).toMatchObject({ ok: true, value: { policy: { backoffScaleFactor: 2 } } });
  });

  it('takes both spellings and turns seconds into milliseconds', () => {
    const result = parseTaskDefinition(
      { name: 'c', pollTimeoutSeconds: 1, timeoutSeconds: 20, totalTimeoutSeconds: 30, responseTimeoutSeconds: 4 },
      'v1',
    );
    expect(result).toMatchObject({
      ok: true,
      value: {
        policy: { scheduleToStartMs: 1_000, startToCloseMs: 20_000, scheduleToCloseMs: 30_000, heartbeatMs: 4_000 },
      },
    });
  });

  it('keeps what has no effect yet', () => {
    const document = { name: 'c', inputKeys: ['a'], secretOutputFields: ['t'] };
    const { name: _, ...extra } = document;
    expect(parseTaskDefinition(document, 'v1')).toMatchObject({ ok: true, value: { extra } });
  });

  it('names the leases of a rate window, and each semaphore once and by name', () => {
    const read = (document: JsonValue, door: Dialect) => {
      const result = parseTaskDefinition(document, door);
      return result.ok ? [result.value.rateLimit, result.value.semaphores] : result.error;
    };
    const document = {
      name: 'c',
      rateLimitPerFrequency: 5,
      rateLimitFrequencyInSeconds: 60,
      semaphores: ['b', 'a', 'b'],
    };
    expect(read(document, 'v1')).toEqual([{ leases: 5, windowSeconds: 60 }, ['a', 'b']]);
    expect(read({ name: 'c', rateLimitPerFrequency: 5 }, 'v1')).toEqual([{ leases: 5, windowSeconds: 1 }, undefined]);
    const none = { name: 'c', rateLimitPerFrequency: 0, rateLimitFrequencyInSeconds: 0, semaphores: [] };
    expect(read(none, 'conductor')).toEqual([undefined, undefined]);
  });

  it('takes a retry budget, which is 0.3 on /v1 and everything on /api where none is given', () => {
    const budget = (document: JsonValue, door: Dialect) => {
      const result = parseTaskDefinition(document, door);
      return result.ok ? result.value.policy.retryBudget : undefined;
    };
    expect([budget({ name: 'c' }, 'v1'), budget({ name: 'c' }, 'conductor')]).toEqual([0.3, 1]);
    expect(budget({ name: 'c', retryBudget: 0 }, 'v1')).toBe(0);
  });

  const refused: readonly (readonly [string, Dialect, JsonValue, readonly string[]])[] = [
    ['a text', 'v1', 'x', ['VALIDATION_FAILED ']],
    ['no name', 'v1', {}, ['VALIDATION_FAILED name']],
    ['a bad name', 'v1', { name: 'a b' }, ['INVALID_NAME name']],
    ['an unknown field', 'v1', { name: 'a', retries: 3 }, ['UNKNOWN_FIELD retries']],
    ['101 retries', 'v1', { name: 'a', retryCount: 101 }, ['VALIDATION_FAILED retryCount']],
    ['a limit of 2^31', 'v1', { name: 'a', concurrentExecLimit: 2 ** 31 }, ['VALIDATION_FAILED concurrentExecLimit']],
    ['a budget above 1', 'v1', { name: 'a', retryBudget: 1.1 }, ['VALIDATION_FAILED retryBudget']],
    [
      'a window of no length',
      'v1',
      { name: 'a', rateLimitFrequencyInSeconds: 0 },
      ['VALIDATION_FAILED rateLimitFrequencyInSeconds'],
    ],
    ['a semaphore that is no name', 'v1', { name: 'a', semaphores: ['a', ' '] }, ['INVALID_NAME semaphores[1]']],
    ['a factor below 1', 'v1', { name: 'a', backoffScaleFactor: 0.5 }, ['VALIDATION_FAILED backoffScaleFactor']],
    [
      'a template that does not parse',
      'v1',
      { name: 'a', inputTemplate: { x: '${a' } },
      ['EXPRESSION_INVALID inputTemplate.x'],
    ],
    [
      'a heartbeat longer than the attempt',
      'v1',
      { name: 'a', heartbeatTimeout: 11, startToCloseTimeout: 10 },
      ['VALIDATION_FAILED heartbeatTimeout'],
    ],
    [
      'an attempt longer than all of them, in its own spelling',
      'v1',
      { name: 'a', timeoutSeconds: 11, totalTimeout: 10 },
      ['VALIDATION_FAILED timeoutSeconds'],
    ],
    [
      'the default heartbeat of Conductor beside a shorter timeout',
      'conductor',
      { name: 'a', timeoutSeconds: 60 },
      ['VALIDATION_FAILED responseTimeoutSeconds'],
    ],
    [
      'no lease at all',
      'conductor',
      { name: 'a', responseTimeoutSeconds: 0 },
      ['VALIDATION_FAILED responseTimeoutSeconds'],
    ],
  ];

  it.each(refused)('is refused with %s (%s)', (_, door, document, problems) => {
    expect(problemsOf(document, door)).toEqual(problems);
  });

  it('may be shorter than the default heartbeat of /v1', () => {
    expect(problemsOf({ name: 'a', startToCloseTimeout: 5 }, 'v1')).toEqual([]);
  });
});

describe('timeouts of a task definition that contradict each other', () => {
  const wrong = { timeoutSeconds: 60, totalTimeoutSeconds: 30, responseTimeoutSeconds: 10 };

  it.each(['v1', 'conductor'] as const)('are refused when it is registered at the door %s', (door) => {
    const refused = parseTaskDefinition({ name: 'a', ...wrong }, door);
    expect(refused).toMatchObject({
      ok: false,
      error: [{ path: 'timeoutSeconds', message: '"timeoutSeconds" must not be longer than "totalTimeoutSeconds"' }],
    });
  });

  it('are refused inside of a node on /v1 only: Conductor does not compare them there', () => {
    const inside = (door: 'v1' | 'conductor') =>
      parseWorkflowDefinition(
        { name: 'w', tasks: [{ name: 'a', taskReferenceName: 'a', type: 'SIMPLE', taskDefinition: wrong }] },
        door,
      );
    expect(inside('v1')).toMatchObject({ error: [{ path: 'tasks[0].taskDefinition.timeoutSeconds' }] });
    expect(inside('conductor').ok).toBe(true);
  });
});

describe('a task definition without a name', () => {
  it('is refused by itself, and is called like its node inside of one', () => {
    expect(parseTaskDefinition({}, 'v1')).toMatchObject({ error: [{ path: 'name', message: 'a name is required' }] });
    const inside = parseWorkflowDefinition(
      { name: 'w', tasks: [{ name: 'a', taskReferenceName: 'r', type: 'SIMPLE', taskDefinition: { retryCount: 1 } }] },
      'v1',
    );
    expect(inside).toMatchObject({ ok: true, value: { tasks: [{ taskDefinition: { name: 'a' } }] } });
  });
});
