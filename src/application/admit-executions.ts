import type { ExecutionId } from '../domain/kernel/brand.ts';
import type { EngineStore } from '../ports/engine-store.ts';
import type { Evaluator } from './evaluate-executions.ts';

/** Queued runs that one turn looks at. */
const ADMISSION_BATCH_MAX = 100;
/** How long a run that could not be evaluated lets the others of its key by. */
export const FAILED_ADMISSION_DELAY_MS = 60_000;

/**
 * Gives queued runs the places that ended ones have freed. Each is admitted by a pass of its own: the place, the fact and
 * the first tasks are one transaction, so a server that dies in the middle has admitted nothing.
 */
export class AdmitExecutions {
  private readonly engine: EngineStore;
  private readonly evaluator: Evaluator;
  private readonly onError: (executionId: ExecutionId, error: unknown) => void;

  constructor(engine: EngineStore, evaluator: Evaluator, onError: (executionId: ExecutionId, error: unknown) => void) {
    this.engine = engine;
    this.evaluator = evaluator;
    this.onError = onError;
  }

  /** Returns how many were admitted. */
  async runOnce(): Promise<number> {
    let admitted = 0;
    for (const id of await this.engine.findAdmissible(ADMISSION_BATCH_MAX)) if (await this.admit(id)) admitted += 1;
    return admitted;
  }

  private async admit(id: ExecutionId): Promise<boolean> {
    let isAdmitted = false;
    try {
      await this.evaluator.request(id, { type: 'Admit' }, async (tx) => {
        isAdmitted = await tx.admitQueued(id);
        return isAdmitted;
      });
    } catch (error) {
      this.onError(id, error);
      await this.engine.transaction((tx) => tx.postponeAdmission(id, FAILED_ADMISSION_DELAY_MS));
      return false;
    }
    return isAdmitted;
  }
}
