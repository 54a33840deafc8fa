import type { ExecutionId } from '../domain/kernel/brand.ts';
import type { EngineStore } from '../ports/engine-store.ts';

/** How long a run must have been idle before the sweeper looks at it. */
export const STUCK_IDLE_MS = 300_000;
const SWEEP_BATCH_MAX = 100;

/**
 * Finds runs that are RUNNING with nothing that could ever wake them. It must find none: a hit means that a promise was
 * broken, so it repairs and shouts.
 */
export class SweepStuck {
  private readonly engine: EngineStore;
  private readonly repair: (executionId: ExecutionId) => Promise<void>;
  private readonly onFound: (executionId: ExecutionId) => void;
  private readonly idleMs: number;

  constructor(options: {
    engine: EngineStore;
    repair: (executionId: ExecutionId) => Promise<void>;
    onFound: (executionId: ExecutionId) => void;
    idleMs: number;
  }) {
    this.engine = options.engine;
    this.repair = options.repair;
    this.onFound = options.onFound;
    this.idleMs = options.idleMs;
  }

  async runOnce(): Promise<number> {
    const stuck = await this.engine.findStuck(this.idleMs, SWEEP_BATCH_MAX);
    for (const executionId of stuck) {
      this.onFound(executionId);
      await this.repair(executionId);
    }
    return stuck.length;
  }
}
