import { describe, expect, it } from 'vitest';
import { gatesOf, RATE_LIMIT_KEY_CHARS_MAX } from '../../../src/domain/execution/admission.ts';
import { type AdmissionRequest, admit, gateKey, type Occupancy } from '../../../src/domain/execution/admit.ts';
import type { ExecutionId, Namespace } from '../../../src/domain/kernel/brand.ts';
import type { JsonObject } from '../../../src/domain/kernel/json.ts';
import { simple } from '../../support/builders.ts';
import { Run } from '../../support/drive.ts';

const NAMESPACE = 'tests' as Namespace;

const runOf = (fields: JsonObject, input: JsonObject = {}): Run => new Run({ tasks: [simple('a')], fields }, { input });

const gates = (run: Run) => {
  const [started] = run.eventsOf('ExecutionStarted');
  if (started === undefined) throw new Error('expected a start');
  return gatesOf(run.state, started);
};

const perKey = (rateLimitKey: string, policy: 'QUEUE' | 'REJECT' = 'QUEUE') => ({
  rateLimitConfig: { rateLimitKey, concurrentExecLimit: 1, policy },
});
const BY_CUSTOMER = '${workflow.input.customer}';

const keyFor = (customer: JsonObject[string]): unknown => {
  const found = gates(runOf(perKey(BY_CUSTOMER), { customer }));
  return found.ok ? found.value[0]?.key : found.error;
};

describe('the gates of a run', () => {
  it('are none where its definition limits nothing', () => {
    expect(gates(runOf({}))).toEqual({ ok: true, value: [] });
  });

  it('are its definition and its key, where both are limited', () => {
    const found = gates(runOf({ maxConcurrentExecutions: 7, ...perKey(BY_CUSTOMER) }, { customer: 'x' }));
    expect(found).toEqual({
      ok: true,
      value: [
        { kind: 'DEFINITION', name: 'flow', key: '', limit: 7, waits: false },
        { kind: 'KEY', name: 'flow', key: 'x', limit: 1, waits: true },
      ],
    });
  });

  it('have keys of texts as they are, of other values as JSON with sorted names, and of nothing as an empty text', () => {
    expect([keyFor('x'), keyFor({ b: 1, a: [2] }), keyFor(7), keyFor(null)]).toEqual(['x', '{"a":[2],"b":1}', '7', '']);
    expect(gates(runOf(perKey(BY_CUSTOMER)))).toMatchObject({ ok: true, value: [{ key: '' }] });
  });

  it('have a key of the start alone, whatever the variables have become', () => {
    const run = new Run({
      tasks: [simple('a')],
      fields: { variables: { v: 'first' }, ...perKey('${workflow.variables.v}') },
    });
    run.request({ type: 'SetVariables', by: 'operator', variables: { v: 'second' } });
    expect(gates(run)).toMatchObject({ ok: true, value: [{ key: 'first' }] });
  });

  it('refuse a key that is too long by one character', () => {
    expect(keyFor('k'.repeat(RATE_LIMIT_KEY_CHARS_MAX))).toBe('k'.repeat(RATE_LIMIT_KEY_CHARS_MAX));
    expect(keyFor('k'.repeat(RATE_LIMIT_KEY_CHARS_MAX + 1))).toBe(
      `rateLimitKey resolves to ${RATE_LIMIT_KEY_CHARS_MAX + 1} characters; at most ${RATE_LIMIT_KEY_CHARS_MAX} are allowed.`,
    );
  });
});

describe('admitting runs', () => {
  const occupancy = (quota?: Partial<{ concurrentMax: number; perMinuteMax: number }>): Occupancy => ({
    gates: new Map(),
    quotas: new Map(
      quota === undefined
        ? []
        : [
            [
              NAMESPACE,
              {
                concurrentMax: undefined,
                perMinuteMax: undefined,
                ...quota,
                running: 0,
                startedThisMinute: 0,
                minuteEndsInMs: 900,
              },
            ],
          ],
    ),
  });

  const asking = (fields: JsonObject, customer: string, isStart = true): AdmissionRequest => {
    const found = gates(runOf(fields, { customer }));
    if (!found.ok) throw new Error(found.error);
    return { executionId: customer as ExecutionId, namespace: NAMESPACE, gates: found.value, isStart };
  };

  /** As the stores do it: every gate that is asked for is there. */
  const withGates = (requests: readonly AdmissionRequest[], { quotas }: Occupancy): Occupancy => ({
    quotas,
    gates: new Map(
      requests.flatMap((request) =>
        request.gates.map((gate) => [gateKey(NAMESPACE, gate), { held: 0, isAwaited: false }] as const),
      ),
    ),
  });

  const answers = (requests: readonly AdmissionRequest[], quota?: Parameters<typeof occupancy>[0]) =>
    admit(requests, withGates(requests, occupancy(quota)));

  const kinds = (requests: readonly AdmissionRequest[], quota?: Parameters<typeof occupancy>[0]) =>
    answers(requests, quota).map(({ kind }) => kind);

  const free = (isStart = true) => asking({}, 'x', isStart);

  it('that nothing limits admits them all', () => {
    expect(kinds([free(), free(), free()])).toEqual(['admitted', 'admitted', 'admitted']);
  });

  it('of a definition refuses those beyond its cap, and says what it is', () => {
    const one = asking({ maxConcurrentExecutions: 2 }, 'x');
    expect(answers([one, one, one])).toEqual([
      { kind: 'admitted' },
      { kind: 'admitted' },
      {
        kind: 'refused',
        exceeded: { scope: 'definition', quota: 'maxConcurrentExecutions', limit: 2, current: 2 },
      },
    ]);
  });

  it('of one key lets those beyond the limit wait, and others pass', () => {
    const [x, y] = [asking(perKey(BY_CUSTOMER), 'x'), asking(perKey(BY_CUSTOMER), 'y')];
    expect(answers([x, x, y])).toEqual([{ kind: 'admitted' }, { kind: 'queued', key: 'x' }, { kind: 'admitted' }]);
  });

  it('of one key refuses those beyond the limit where they may not wait', () => {
    const x = asking(perKey(BY_CUSTOMER, 'REJECT'), 'x');
    expect(answers([x, x])[1]).toEqual({
      kind: 'refused',
      exceeded: { scope: 'definition', quota: 'rateLimitConfig', limit: 1, current: 1, key: 'x' },
    });
  });

  it('puts a run behind those that wait already, whatever room there is', () => {
    const x = asking(perKey(BY_CUSTOMER), 'x');
    const [gate] = x.gates;
    if (gate === undefined) throw new Error('expected a gate');
    const use = { held: 0, isAwaited: true };
    expect(admit([x], { quotas: new Map(), gates: new Map([[gateKey(NAMESPACE, gate), use]]) })).toEqual([
      { kind: 'queued', key: 'x' },
    ]);
    expect(use).toEqual({ held: 0, isAwaited: true });
  });

  it('takes nothing for a run that is refused', () => {
    const both = asking({ maxConcurrentExecutions: 1, ...perKey(BY_CUSTOMER) }, 'x');
    const requests = [both, asking({ maxConcurrentExecutions: 1, ...perKey(BY_CUSTOMER) }, 'y')];
    const room = withGates(requests, occupancy());
    expect(admit(requests, room).map(({ kind }) => kind)).toEqual(['admitted', 'refused']);
    const [, keyOfY] = requests[1]?.gates ?? [];
    if (keyOfY === undefined) throw new Error('expected a gate');
    expect(room.gates.get(gateKey(NAMESPACE, keyOfY))).toEqual({ held: 0, isAwaited: false });
  });

  it('keeps the namespace to its runs at a time, reopened ones too', () => {
    expect(kinds([free(), free(false), free(), free(false)], { concurrentMax: 2 })).toEqual([
      'admitted',
      'admitted',
      'refused',
      'refused',
    ]);
    expect(answers([free(), free()], { concurrentMax: 1 })[1]).toEqual({
      kind: 'refused',
      exceeded: { scope: 'namespace', quota: 'maxConcurrentExecutions', limit: 1, current: 1 },
    });
  });

  it('keeps the namespace to its starts a minute, which a run that is reopened is not', () => {
    expect(kinds([free(), free(false), free(), free(false)], { perMinuteMax: 1 })).toEqual([
      'admitted',
      'admitted',
      'refused',
      'admitted',
    ]);
    expect(answers([free(), free()], { perMinuteMax: 1 })[1]).toEqual({
      kind: 'refused',
      exceeded: { scope: 'namespace', quota: 'maxExecutionsPerMinute', limit: 1, current: 1, retryAfterMs: 900 },
    });
  });
});
