import { admitCall, type Breaker, CLOSED_BREAKER, recordCall } from '../domain/execution/circuit-breaker.ts';
import type { Namespace } from '../domain/kernel/brand.ts';
import type { Clock } from '../ports/clock.ts';

/** Targets remembered per process; of those that were called longest ago what is known is forgotten. */
export const BREAKERS_MAX = 10_000;

/** What a call goes to, as finely as it can fail by itself: a host, a database, a broker. */
export type BreakerTarget = Readonly<{ namespace: Namespace; target: string }>;

export type ThroughBreaker<T> = Readonly<{ kind: 'called'; value: T } | { kind: 'open'; retryAfterMs: number }>;

export type BreakerChange = Readonly<BreakerTarget & { state: Breaker['state'] }>;

/**
 * Circuit breakers of the system tasks that leave this process, one a namespace and target. A target that fails again and
 * again is left alone for a while, so that a dead host costs no time-outs and is not kept dead by retries. Each process
 * learns for itself: nothing is stored, and nothing but a little patience depends on it.
 */
export class CircuitBreakers {
  private readonly clock: Clock;
  private readonly isOn: boolean;
  private readonly onChange: (change: BreakerChange) => void;
  private readonly breakers = new Map<string, Breaker>();

  constructor(clock: Clock, isOn: boolean, onChange: (change: BreakerChange) => void) {
    this.clock = clock;
    this.isOn = isOn;
    this.onChange = onChange;
  }

  /**
   * Makes the call unless the circuit to the target is open. `hasFailed` tells the failures that are the target's, such as no
   * answer or a 5xx, from those that only this request met; a call that throws has failed.
   */
  async through<T>(
    to: BreakerTarget,
    call: () => Promise<T>,
    hasFailed: (value: T) => boolean,
  ): Promise<ThroughBreaker<T>> {
    if (!this.isOn) return { kind: 'called', value: await call() };
    const key = `${to.namespace}/${to.target}`;
    const admitted = admitCall(this.breakers.get(key) ?? CLOSED_BREAKER, this.clock.monotonicMs());
    this.put(to, key, admitted.breaker);
    if (admitted.kind === 'refused') return { kind: 'open', retryAfterMs: admitted.retryAfterMs };
    const { round } = admitted.breaker;
    // What throws has failed, and is recorded all the same: else a probe would never end.
    let failed = true;
    try {
      const value = await call();
      failed = hasFailed(value);
      return { kind: 'called', value };
    } finally {
      const now = this.clock.monotonicMs();
      this.put(to, key, recordCall(this.breakers.get(key) ?? CLOSED_BREAKER, round, failed, now));
    }
  }

  private put({ namespace, target }: BreakerTarget, key: string, breaker: Breaker): void {
    const before = this.breakers.get(key) ?? CLOSED_BREAKER;
    this.breakers.delete(key);
    this.breakers.set(key, breaker);
    if (before.state !== breaker.state) this.onChange({ namespace, target, state: breaker.state });
    if (this.breakers.size <= BREAKERS_MAX) return;
    for (const oldest of this.breakers.keys()) {
      this.breakers.delete(oldest);
      break;
    }
  }
}
