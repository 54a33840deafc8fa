import { isBudgetSpent, type RetryBudget } from '../domain/execution/retry-budget.ts';
import type { Namespace } from '../domain/kernel/brand.ts';
import type { DecisionReads, EngineStore } from '../ports/engine-store.ts';
import type { RetryCount } from '../ports/limits.ts';
import { type Counts, NO_COUNTS, type RetryTally, tallyKey } from './retry-tally.ts';

/** How long what was read of all processes is good enough: a storm of failures reads once. */
const READ_GOOD_FOR_MS = 1_000;
/** Tasks counted between two flushes. Names that data makes up must not fill the memory: what goes beyond is not counted. */
const NAMES_MAX = 10_000;

type Read = Counts & Readonly<{ readAt: number }>;

/**
 * Which share of the recent executions of a task are retries. A closed attempt is counted in memory and nothing is written
 * for it; every few seconds the counts of all go to the store with one statement. A decision adds what this process has not
 * written yet to what is stored, so it knows its own retries at once and those of others some seconds late.
 */
export class RetryBudgets {
  private counted = new Map<string, RetryCount>();
  /** On their way to the store. */
  private flushing = new Map<string, RetryCount>();
  private readonly reads = new Map<string, Read>();

  /** Counts the attempts that a transaction has closed: once, when it has committed. */
  keep(tally: RetryTally): void {
    for (const { namespace, taskName, ...closed } of tally.all()) {
      const key = tallyKey(namespace, taskName);
      const before = this.counted.get(key);
      if (before === undefined && this.counted.size >= NAMES_MAX) continue;
      this.counted.set(key, { namespace, taskName, ...sum(before ?? NO_COUNTS, closed) });
    }
  }

  /** Whether the budget allows no retry of the attempt that is about to close, behind those of the tally. */
  async isSpent(reads: DecisionReads, namespace: Namespace, budget: RetryBudget, tally: RetryTally): Promise<boolean> {
    const key = tallyKey(namespace, budget.taskName);
    const stored = await this.stored(reads, namespace, budget.taskName);
    const [own, under] = [this.counted.get(key) ?? NO_COUNTS, this.flushing.get(key) ?? NO_COUNTS];
    const { attempts, retries } = sum(sum(stored, tally.of(namespace, budget.taskName)), sum(own, under));
    return isBudgetSpent(budget, { attempts: attempts + 1, retries });
  }

  private async stored(reads: DecisionReads, namespace: Namespace, taskName: string): Promise<Counts> {
    const key = tallyKey(namespace, taskName);
    const known = this.reads.get(key);
    const now = performance.now();
    if (known !== undefined && now - known.readAt <= READ_GOOD_FOR_MS) return known;
    const counts = (await reads.retryCounts(namespace, [taskName])).get(taskName) ?? NO_COUNTS;
    if (this.reads.size >= NAMES_MAX) this.reads.clear();
    this.reads.set(key, { attempts: counts.attempts, retries: counts.retries, readAt: now });
    return counts;
  }

  /** Adds what was counted since the last time to the store. Returns for how many tasks. */
  async flush(engine: EngineStore): Promise<number> {
    if (this.counted.size === 0) return 0;
    this.flushing = this.counted;
    this.counted = new Map();
    try {
      await engine.transaction((tx) => tx.addRetryCounts([...this.flushing.values()]));
    } catch (error) {
      for (const [key, lost] of this.flushing) {
        this.counted.set(key, { ...lost, ...sum(lost, this.counted.get(key) ?? NO_COUNTS) });
      }
      throw error;
    } finally {
      for (const key of this.flushing.keys()) this.reads.delete(key);
      this.flushing = new Map();
    }
    return this.counted.size;
  }
}

const sum = (a: Counts, b: Counts): Counts => ({ attempts: a.attempts + b.attempts, retries: a.retries + b.retries });
