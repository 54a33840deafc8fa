import { isClosedExecution } from '../domain/execution/statuses.ts';
import type { ExecutionId, Namespace } from '../domain/kernel/brand.ts';
import { err, ok } from '../domain/kernel/result.ts';
import type { EngineStore } from '../ports/engine-store.ts';
import { executionTopic, type WakeSignal } from '../ports/wake-signal.ts';
import type { ApplicationError } from './application-error.ts';
import { noExecution } from './control-execution.ts';
import { claimRun } from './evaluate-executions.ts';
import type { FoldCache } from './fold-cache.ts';
import type { Outcome } from './use-cases.ts';

export type DeleteDeps = Readonly<{ engine: EngineStore; cache: FoldCache; wake: WakeSignal }>;

/** Carries a refusal out of the transaction: it rolls back, so that what the claim took in hand is there again. */
class Refused extends Error {
  readonly refusal: ApplicationError;

  constructor(refusal: ApplicationError) {
    super(refusal.message);
    this.refusal = refusal;
  }
}

const stillOpen = (status: string): ApplicationError => ({
  code: 'INVALID_STATE',
  message: `The execution is ${status}: only one that has ended can be deleted. Terminate it first.`,
});

const UNDELIVERED: ApplicationError = {
  code: 'INVALID_STATE',
  message: 'Messages of the execution are still to be delivered; it can be deleted once they are.',
};

/**
 * Removes a run that has ended, with its history, tasks, logs, dead letters and idempotency key. Its children are runs of
 * their own and stay. Errors: NOT_FOUND, INVALID_STATE.
 */
export const deleteExecution =
  ({ engine, cache, wake }: DeleteDeps) =>
  async (namespace: Namespace, executionId: ExecutionId): Outcome<null> => {
    const seen = await engine.findHead(namespace, executionId);
    if (seen === undefined) return err(noExecution(executionId));
    if (!isClosedExecution(seen.status)) return err(stillOpen(seen.status));
    try {
      await engine.transaction(async (tx) => {
        // It may have been reopened or deleted since it was seen: under its lock it is what it is.
        const [head] = (await claimRun(tx, executionId)).heads;
        if (head === undefined) throw new Refused(noExecution(executionId));
        if (!isClosedExecution(head.status)) throw new Refused(stillOpen(head.status));
        if ((await tx.deleteExecution(executionId)) === 'undelivered') throw new Refused(UNDELIVERED);
      });
    } catch (error) {
      if (error instanceof Refused) return err(error.refusal);
      throw error;
    }
    cache.take(executionId);
    wake.publish([executionTopic(executionId)]);
    return ok(null);
  };
