import type { ExecutionState } from '../domain/execution/state.ts';
import type { ExecutionId } from '../domain/kernel/brand.ts';

/** What a state is taken to weigh: a run, and each task of it, with typical payloads. */
const STATE_BYTES = 4_096;
const TASK_BYTES = 1_536;

/** An estimate that costs nothing: a pass over a run of ten thousand tasks must not count them. */
const weightOf = (state: ExecutionState): number =>
  STATE_BYTES + (state.tasks.size + state.latest.size + state.compensable.length) * TASK_BYTES;

/** A state that somebody changes in place, to be put back within one statement's time. */
export type Loan = Readonly<{
  state: ExecutionState;
  /** Puts the state back or, where it no longer tells the truth, nothing. To be called once, whatever happens. */
  end(state: ExecutionState | undefined): void;
}>;

/**
 * Folded states of open runs, least recently used first out. A state is taken out while a pass changes it in place and
 * put back after the commit: a pass that rolls back leaves nothing behind, and the next one folds the log again.
 */
export class FoldCache {
  private readonly states = new Map<ExecutionId, ExecutionState>();
  private readonly loans = new Map<ExecutionId, PromiseWithResolvers<void>>();
  private readonly bytesMax: number;
  private bytes = 0;

  constructor(bytesMax: number) {
    this.bytesMax = bytesMax;
  }

  /** What is cached of a run, to be read at once: who takes it may change it. */
  peek(id: ExecutionId): ExecutionState | undefined {
    return this.states.get(id);
  }

  take(id: ExecutionId): ExecutionState | undefined {
    const state = this.states.get(id);
    if (state === undefined) return undefined;
    this.states.delete(id);
    this.bytes -= weightOf(state);
    return state;
  }

  /** The same for a step, which is soon over: who needs the state meanwhile may wait for it instead of folding the log. */
  lend(id: ExecutionId): Loan | undefined {
    const state = this.take(id);
    if (state === undefined) return undefined;
    const loan = Promise.withResolvers<void>();
    this.loans.set(id, loan);
    return {
      state,
      end: (after) => {
        if (after !== undefined) this.put(after);
        this.loans.delete(id);
        loan.resolve();
      },
    };
  }

  /** Resolves when none of these states is lent. Never to be awaited with a connection in hand, for which a borrower may wait. */
  async returned(ids: readonly ExecutionId[]): Promise<void> {
    for (;;) {
      const lent = ids.flatMap((id) => this.loans.get(id)?.promise ?? []);
      if (lent.length === 0) return;
      await Promise.all(lent);
    }
  }

  put(state: ExecutionState): void {
    this.take(state.executionId);
    const weight = weightOf(state);
    if (weight > this.bytesMax) return;
    this.states.set(state.executionId, state);
    this.bytes += weight;
    for (const oldest of this.states.keys()) {
      if (this.bytes <= this.bytesMax) break;
      this.take(oldest);
    }
  }

  get size(): number {
    return this.states.size;
  }
}
