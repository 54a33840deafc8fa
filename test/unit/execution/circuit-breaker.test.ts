import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  admitCall,
  BREAKER_CALLS_MIN,
  BREAKER_OPEN_MS,
  BREAKER_OPEN_MS_MAX,
  BREAKER_WINDOW_MS,
  type Breaker,
  CLOSED_BREAKER,
  recordCall,
} from '../../../src/domain/execution/circuit-breaker.ts';

/** A circuit on a clock of its own. */
const circuit = () => {
  let breaker: Breaker = CLOSED_BREAKER;
  let now = 1_000_000;
  /** Lets a call begin; undefined: it was refused. */
  const begin = (): number | undefined => {
    const admitted = admitCall(breaker, now);
    breaker = admitted.breaker;
    return admitted.kind === 'go' ? admitted.breaker.round : undefined;
  };
  const end = (round: number | undefined, hasFailed: boolean): void => {
    if (round === undefined) throw new Error('the call was refused');
    breaker = recordCall(breaker, round, hasFailed, now);
  };
  return {
    begin,
    end,
    call: (hasFailed: boolean) => end(begin(), hasFailed),
    calls: (outcomes: string) => {
      for (const outcome of outcomes) end(begin(), outcome === 'f');
    },
    later: (ms: number) => {
      now += ms;
    },
    get state() {
      return breaker.state;
    },
    retryAfterMs: () => {
      const admitted = admitCall(breaker, now);
      return admitted.kind === 'refused' ? admitted.retryAfterMs : 0;
    },
  };
};

describe('a circuit breaker', () => {
  it.each([
    ['nine calls that all fail', 'f'.repeat(BREAKER_CALLS_MIN - 1), 'closed'],
    ['ten calls that all fail', 'f'.repeat(BREAKER_CALLS_MIN), 'open'],
    ['half of ten', 'ofofofofof', 'open'],
    ['less than half of eleven', 'ofofofofofo'.replace('f', 'o'), 'closed'],
    ['half of twenty, the failures last', `${'o'.repeat(11)}${'f'.repeat(10)}`, 'closed'],
  ])('after %s is as the share of failures says', (_, outcomes, state) => {
    const given = circuit();
    given.calls(outcomes);
    expect(given.state).toBe(state);
  });

  it('counts the calls of its window alone', () => {
    const given = circuit();
    given.calls('f'.repeat(9));
    given.later(BREAKER_WINDOW_MS + 1);
    given.call(true);
    expect(given.state).toBe('closed');
    given.later(BREAKER_WINDOW_MS / 2);
    given.calls('f'.repeat(9));
    expect(given.state).toBe('open');
  });

  it('lets nothing through while it is open, says for how long, and then one probe alone', () => {
    const given = circuit();
    given.calls('f'.repeat(10));
    expect([given.begin(), given.retryAfterMs()]).toEqual([undefined, BREAKER_OPEN_MS]);
    given.later(BREAKER_OPEN_MS - 1);
    expect([given.begin(), given.retryAfterMs()]).toEqual([undefined, 1]);
    given.later(1);
    const probe = given.begin();
    expect([given.begin(), given.begin()]).toEqual([undefined, undefined]);
    given.end(probe, false);
    expect(given.state).toBe('closed');
    given.calls('f'.repeat(9));
    expect(given.state).toBe('closed');
  });

  it('stays open twice as long after each probe that fails, up to a minute, and begins anew after one that does not', () => {
    const given = circuit();
    given.calls('f'.repeat(10));
    const waits: number[] = [];
    for (let probe = 0; probe < 6; probe += 1) {
      waits.push(given.retryAfterMs());
      given.later(given.retryAfterMs());
      given.call(true);
    }
    expect(waits).toEqual([5_000, 10_000, 20_000, 40_000, 60_000, BREAKER_OPEN_MS_MAX]);
    given.later(BREAKER_OPEN_MS_MAX);
    given.call(false);
    given.calls('f'.repeat(10));
    expect(given.retryAfterMs()).toBe(BREAKER_OPEN_MS);
  });

  it('does not listen to calls that began before it changed', () => {
    const given = circuit();
    const early = [given.begin(), given.begin(), given.begin()];
    given.calls('f'.repeat(10));
    given.end(early[0], false);
    expect(given.state).toBe('open');
    given.later(BREAKER_OPEN_MS);
    const probe = given.begin();
    given.end(early[1], true);
    expect(given.state).toBe('probing');
    given.end(probe, false);
    given.end(early[2], true);
    expect(given.state).toBe('closed');
  });

  it('never lets two probes through, and always lets a call through a minute after the last one ended', () => {
    const steps = fc.array(fc.tuple(fc.nat(20_000), fc.constantFrom('begin', 'ok', 'fail')), { maxLength: 60 });
    fc.assert(
      fc.property(steps, (drawn) => {
        const given = circuit();
        given.calls('f'.repeat(10));
        const open: (number | undefined)[] = [];
        for (const [ms, step] of drawn) {
          given.later(ms);
          if (step !== 'begin') {
            if (open.length > 0) given.end(open.shift(), step === 'fail');
            continue;
          }
          const before = given.state;
          const round = given.begin();
          if (round !== undefined) open.push(round);
          if (before === 'probing') expect(round).toBeUndefined();
        }
        for (const round of open) given.end(round, true);
        given.later(BREAKER_OPEN_MS_MAX);
        expect(given.begin()).toBeDefined();
      }),
      { numRuns: 200 },
    );
  });
});
