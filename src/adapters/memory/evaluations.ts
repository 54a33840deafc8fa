import { addMs, type ExecutionId } from '../../domain/kernel/brand.ts';
import type { EngineTx, LockedExecutions } from '../../ports/engine-store.ts';
import type { DecideRow } from './rows.ts';
import type { MemoryState } from './state.ts';
import { ALL } from './tables.ts';

/** Asks for a pass over each run; the key is the dedupe, and a parked run is due again. */
export const requestEvaluations = (state: MemoryState, executionIds: Iterable<ExecutionId>): void => {
  const { decideRows } = state.tables;
  for (const executionId of executionIds) {
    const waiting = decideRows.get(executionId);
    if (waiting !== undefined && waiting.parked === undefined) continue;
    decideRows.put({ executionId, order: state.nextOrder(), dueAt: state.now() });
  }
};

const lockedHeads = (state: MemoryState, executionIds: readonly ExecutionId[]): LockedExecutions => ({
  now: state.now(),
  heads: [...new Set(executionIds)].sort().flatMap((executionId) => {
    const row = state.tables.executions.get(executionId);
    if (row === undefined) return [];
    const { namespace, status, definitionHash } = row;
    return [{ executionId, namespace, status, definitionHash }];
  }),
});

const dueRows = (state: MemoryState, limit: number): readonly DecideRow[] => {
  const now = state.now();
  const due: DecideRow[] = [];
  for (const row of state.tables.decideRows.byDue.in(ALL)) {
    if (row.dueAt > now || due.length >= limit) break;
    due.push(row);
  }
  return due;
};

/** The decide queue. A claim deletes its rows before anything of the run is read (promise 1). */
export const evaluationWrites = (
  state: MemoryState,
): Pick<EngineTx, 'claimEvaluations' | 'claimEvaluationsOf' | 'requestEvaluations' | 'parkEvaluation'> => {
  const { decideRows } = state.tables;
  return {
    claimEvaluations: async (limit) => {
      const claimed = dueRows(state, limit).map((row) => row.executionId);
      for (const executionId of claimed) decideRows.delete(executionId);
      return lockedHeads(state, claimed);
    },
    claimEvaluationsOf: async (executionIds) => {
      for (const executionId of executionIds) decideRows.delete(executionId);
      return lockedHeads(state, executionIds);
    },
    requestEvaluations: async (executionIds) => requestEvaluations(state, executionIds),
    parkEvaluation: async ({ executionId, attempts, retryAfterMs, reason }) =>
      decideRows.put({
        executionId,
        order: state.nextOrder(),
        dueAt: addMs(state.now(), retryAfterMs),
        parked: { attempts, reason },
      }),
  };
};
