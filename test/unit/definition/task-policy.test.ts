import { describe, expect, it } from 'vitest';
import { parseTaskDefinition } from '../../../src/domain/definition/parse-task-definition.ts';
import type { TaskDefinition } from '../../../src/domain/definition/task-definition.ts';
import { defaultTaskPolicy, policyOf } from '../../../src/domain/definition/task-policy.ts';
import type { Dialect, TaskNodeDefinition } from '../../../src/domain/definition/workflow-definition.ts';
import type { JsonObject } from '../../../src/domain/kernel/json.ts';
import { node, parsed, simple, workflow } from './given-definitions.ts';

const nodeOf = (document: JsonObject, door: Dialect = 'v1'): TaskNodeDefinition => {
  const [first] = parsed(workflow([document]), door).tasks;
  if (first === undefined) throw new Error('no task');
  return first;
};

const registered = (document: JsonObject, door: Dialect = 'v1'): TaskDefinition => {
  const result = parseTaskDefinition({ name: 'a', ...document }, door);
  if (!result.ok) throw new Error(JSON.stringify(result.error));
  return result.value;
};

describe('the policy of a node', () => {
  it.each(['v1', 'conductor'] as const)('is the default of the door %s without a task definition', (door) => {
    expect(policyOf(nodeOf(simple('a'), door), undefined, door)).toEqual(defaultTaskPolicy(door));
  });

  it('is what the node says, over its task definition', () => {
    const definition = registered({ retryCount: 9, heartbeatTimeout: 30 });
    const policy = policyOf(nodeOf(simple('a', { retryCount: 0 })), definition, 'v1');
    expect(policy).toMatchObject({ retryCount: 0, heartbeatMs: 30_000 });
  });

  it('takes the definition inside the node before the registered one', () => {
    const inline = nodeOf(simple('a', { taskDefinition: { retryCount: 7 } }));
    expect(policyOf(inline, registered({ retryCount: 1 }), 'v1').retryCount).toBe(7);
  });

  it('keeps an exponential back-off growing when only the logic is overridden', () => {
    const fixed = registered({ retryLogic: 'FIXED', backoffScaleFactor: 1 });
    const override = nodeOf(simple('a', { retryLogic: 'EXPONENTIAL_BACKOFF' }));
    expect(policyOf(override, fixed, 'v1').backoffScaleFactor).toBe(2);
  });

  it.each(['LINEAR_BACKOFF', 'EXPONENTIAL_BACKOFF'])(
    'keeps the factor of its task definition under %s',
    (retryLogic) => {
      const fixed = registered({ retryLogic: 'FIXED', backoffScaleFactor: 5 });
      expect(policyOf(nodeOf(simple('a', { retryLogic })), fixed, 'v1').backoffScaleFactor).toBe(5);
    },
  );

  it('has every field of an attempt from the node, where it is given there', () => {
    const overrides = {
      retryCount: 7,
      retryLogic: 'LINEAR_BACKOFF',
      retryDelaySeconds: 8,
      backoffScaleFactor: 9,
      maxRetryDelaySeconds: 10,
      jitter: 0.11,
      backoffJitterMs: 12,
      nonRetryableErrors: ['13'],
      scheduleToStartTimeout: 14,
      startToCloseTimeout: 15,
      totalTimeout: 16,
      heartbeatTimeout: 11,
      timeoutPolicy: 'ALERT_ONLY',
    };
    expect(policyOf(nodeOf(simple('a', overrides)), registered({}), 'v1')).toEqual({
      retryCount: 7,
      retryLogic: 'LINEAR_BACKOFF',
      retryDelayMs: 8_000,
      backoffScaleFactor: 9,
      maxRetryDelayMs: 10_000,
      jitterShare: 0.11,
      jitterMs: 12,
      nonRetryableErrors: ['13'],
      scheduleToStartMs: 14_000,
      startToCloseMs: 15_000,
      scheduleToCloseMs: 16_000,
      heartbeatMs: 11_000,
      timeoutPolicy: 'ALERT_ONLY',
      retryBudget: 0.3,
    });
  });

  it.each(['INLINE', 'JSON_JQ_TRANSFORM', 'WAIT', 'YIELD'])('does not retry a %s unless asked', (type) => {
    expect(policyOf(nodeOf(node(type, 'a')), undefined, 'v1').retryCount).toBe(0);
    expect(policyOf(nodeOf(node(type, 'a', { retryCount: 2 })), undefined, 'v1').retryCount).toBe(2);
  });

  it('leaves a waiting task only its total deadline', () => {
    const waiting = nodeOf(
      node('WAIT', 'a', { heartbeatTimeout: 1, startToCloseTimeout: 2, scheduleToStartTimeout: 3, totalTimeout: 4 }),
    );
    expect(policyOf(waiting, undefined, 'v1')).toMatchObject({
      heartbeatMs: 0,
      startToCloseMs: 0,
      scheduleToStartMs: 0,
      scheduleToCloseMs: 4_000,
    });
  });
});
