import { isClosedExecution } from '../domain/execution/statuses.ts';
import type { ExecutionId, Namespace } from '../domain/kernel/brand.ts';
import { isJsonObject } from '../domain/kernel/json.ts';
import { err, ok } from '../domain/kernel/result.ts';
import type { EngineStore, OpenTaskRow } from '../ports/engine-store.ts';
import type { ExecutionIndex } from '../ports/execution-index.ts';
import { queueTopic, type WakeSignal } from '../ports/wake-signal.ts';
import { noExecution } from './control-execution.ts';
import type { Outcome } from './use-cases.ts';

export type ResetDeps = Readonly<{ engine: EngineStore; index: ExecutionIndex; wake: WakeSignal }>;

/** A worker gave it back for a time, and nobody holds it. */
const isPutOff = ({ family, leased, hasOutcome, callbackSeconds = 0 }: OpenTaskRow): boolean =>
  family === 'worker' && !leased && !hasOutcome && callbackSeconds > 0;

/**
 * Lets workers have the tasks of a run at once that others gave back for a time. Returns how many. Errors: NOT_FOUND,
 * TERMINAL_STATE.
 */
export const resetCallbacks =
  ({ engine, index, wake }: ResetDeps) =>
  async (namespace: Namespace, executionId: ExecutionId): Outcome<number> => {
    const row = await index.find(namespace, executionId);
    if (row === undefined) return err(noExecution(executionId));
    if (isClosedExecution(row.status)) {
      return err({ code: 'TERMINAL_STATE', message: `The execution has ended: ${row.status}.` });
    }
    const putOff = (await index.openTasks(namespace, executionId)).filter(isPutOff);
    const queues = await engine.transaction(async (tx) => {
      const moved: string[] = [];
      // Whoever took one meanwhile keeps it: the statement finds only what nobody holds.
      for (const { taskId, progress } of putOff) {
        const shown = isJsonObject(progress) ? progress : {};
        const done = await tx.putOffTask(namespace, { taskId, afterSeconds: 0, progress: shown });
        if (done !== undefined) moved.push(done.queue);
      }
      return moved;
    });
    wake.publish([...new Set(queues)].map((queue) => queueTopic(namespace, queue)));
    return ok(queues.length);
  };
