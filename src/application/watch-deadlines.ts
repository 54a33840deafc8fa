import type { ExecutionRequest } from '../domain/execution/requests.ts';
import type { ExecutionId } from '../domain/kernel/brand.ts';
import type { DueTimer, EngineStore } from '../ports/engine-store.ts';
import type { WakeSignal } from '../ports/wake-signal.ts';
import type { Evaluator } from './evaluate-executions.ts';

/** Timers and expired leases that one transaction takes. */
const DEADLINE_BATCH_MAX = 500;
/** When a timer is tried again whose run could not be evaluated. */
const FAILED_TIMER_DELAY_MS = 60_000;

/** Fires due timers: each becomes an outcome on its open row, or a request under the execution lock. */
export class FireTimers {
  private readonly engine: EngineStore;
  private readonly evaluator: Evaluator;
  private readonly wake: WakeSignal;
  private readonly onError: (executionId: ExecutionId, error: unknown) => void;

  constructor(
    engine: EngineStore,
    evaluator: Evaluator,
    wake: WakeSignal,
    onError: (executionId: ExecutionId, error: unknown) => void,
  ) {
    this.engine = engine;
    this.evaluator = evaluator;
    this.wake = wake;
    this.onError = onError;
  }

  async runOnce(): Promise<number> {
    const { evaluated, underLock } = await this.engine.transaction((tx) => tx.fireTimers(DEADLINE_BATCH_MAX));
    if (evaluated.length > 0) this.wake.publish(['evaluations']);
    for (const due of underLock) await this.handle(due);
    return evaluated.length + underLock.length;
  }

  /** A run that cannot be evaluated must not keep the timers of all others from firing. */
  private async handle(due: DueTimer): Promise<void> {
    try {
      await this.passDeadline(due);
    } catch (error) {
      this.onError(due.executionId, error);
      await this.engine.transaction((tx) => tx.postponeTimers([due], FAILED_TIMER_DELAY_MS));
    }
  }

  /**
   * The timer goes in the transaction of the request, under the lock of the run: a timer that was armed anew since it was
   * seen, by a retry that gives the run its whole time again, passes nothing.
   */
  private async passDeadline(due: DueTimer): Promise<void> {
    const request = requestOf(due);
    if (request === undefined) return;
    await this.evaluator.request(due.executionId, request, async (tx) => (await tx.dropTimers([due])) > 0);
  }
}

const requestOf = ({ ref, iteration, attempt, purpose }: DueTimer): ExecutionRequest | undefined => {
  if (purpose === 'EXECUTION') return { type: 'PassExecutionDeadline' };
  if (purpose === 'WAIT') return undefined;
  return {
    type: 'SettleTask',
    outcome: { ref, iteration, attempt, status: 'TIMED_OUT', output: {}, deadline: purpose },
  };
};

/** Ends attempts whose worker was not heard of in time. */
export class ReclaimLeases {
  private readonly engine: EngineStore;
  private readonly wake: WakeSignal;

  constructor(engine: EngineStore, wake: WakeSignal) {
    this.engine = engine;
    this.wake = wake;
  }

  async runOnce(): Promise<number> {
    const expired = await this.engine.transaction((tx) => tx.expireLeases(DEADLINE_BATCH_MAX));
    if (expired.length > 0) this.wake.publish(['evaluations']);
    return expired.length;
  }
}
