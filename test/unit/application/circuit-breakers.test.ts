import { describe, expect, it } from 'vitest';
import { type BreakerChange, CircuitBreakers } from '../../../src/application/circuit-breakers.ts';
import type { Namespace } from '../../../src/domain/kernel/brand.ts';
import { createFakeClock } from '../../support/fake-clock.ts';

const ALPHA = 'alpha' as Namespace;
const BETA = 'beta' as Namespace;

const given = (isOn: boolean) => {
  const clock = createFakeClock();
  const changes: BreakerChange[] = [];
  const breakers = new CircuitBreakers(clock, isOn, (change) => changes.push(change));
  let made = 0;
  const call = (answer: number, target = 'bank.example', namespace = ALPHA) =>
    breakers.through(
      { namespace, target },
      async () => {
        made += 1;
        return answer;
      },
      (status) => status >= 500,
    );
  const failTenTimes = async () => {
    for (let index = 0; index < 10; index += 1) await call(503);
  };
  return { clock, changes, breakers, call, failTenTimes, made: () => made };
};

describe('the circuit breakers of a process', () => {
  it('leave a target that fails alone, and none of the others', async () => {
    const { call, failTenTimes, made, changes } = given(true);
    await failTenTimes();
    expect(await call(200)).toEqual({ kind: 'open', retryAfterMs: 5_000 });
    expect(made()).toBe(10);
    expect(await call(200, 'post.example')).toEqual({ kind: 'called', value: 200 });
    expect(await call(200, 'bank.example', BETA)).toEqual({ kind: 'called', value: 200 });
    expect(changes).toEqual([{ namespace: ALPHA, target: 'bank.example', state: 'open' }]);
  });

  it('do not count failures that are the fault of the request', async () => {
    const { call } = given(true);
    for (let index = 0; index < 20; index += 1) expect(await call(404)).toEqual({ kind: 'called', value: 404 });
    expect(await call(200)).toEqual({ kind: 'called', value: 200 });
  });

  it('count a call that throws, and let its error through; a probe that throws is over', async () => {
    const { breakers, clock, call } = given(true);
    const broken = () =>
      breakers.through(
        { namespace: ALPHA, target: 'bank.example' },
        () => Promise.reject(new Error('reset')),
        () => false,
      );
    for (let index = 0; index < 10; index += 1) await expect(broken()).rejects.toThrow('reset');
    expect((await call(200)).kind).toBe('open');
    clock.advance(5_000);
    await expect(broken()).rejects.toThrow('reset');
    expect(await call(200)).toEqual({ kind: 'open', retryAfterMs: 10_000 });
    clock.advance(10_000);
    expect(await call(200)).toEqual({ kind: 'called', value: 200 });
    expect(await call(200)).toEqual({ kind: 'called', value: 200 });
  });

  it('that are off let every call through', async () => {
    const { call, failTenTimes, made, changes } = given(false);
    await failTenTimes();
    expect(await call(503)).toEqual({ kind: 'called', value: 503 });
    expect([made(), changes]).toEqual([11, []]);
  });
});
