import type { Namespace } from '../domain/kernel/brand.ts';
import type { RetryCount } from '../ports/limits.ts';

export type Counts = Readonly<{ attempts: number; retries: number }>;

export const NO_COUNTS: Counts = { attempts: 0, retries: 0 };

/** A namespace has no slash in it. */
export const tallyKey = (namespace: Namespace, taskName: string): string => `${namespace}/${taskName}`;

/**
 * Attempts that one transaction closes, as far as their tasks have a retry budget: known to its own decisions at once, and to
 * those of others once it has committed. What was decided and not written has closed nothing.
 */
export class RetryTally {
  private readonly counts = new Map<string, RetryCount>();

  add(namespace: Namespace, taskName: string, isRetried: boolean): void {
    const key = tallyKey(namespace, taskName);
    const { attempts, retries } = this.counts.get(key) ?? NO_COUNTS;
    this.counts.set(key, { namespace, taskName, attempts: attempts + 1, retries: retries + (isRetried ? 1 : 0) });
  }

  of(namespace: Namespace, taskName: string): Counts {
    return this.counts.get(tallyKey(namespace, taskName)) ?? NO_COUNTS;
  }

  all(): Iterable<RetryCount> {
    return this.counts.values();
  }

  /** Its transaction begins anew. */
  clear(): void {
    this.counts.clear();
  }
}
