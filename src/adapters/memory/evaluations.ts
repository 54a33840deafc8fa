import { addMs, type ExecutionId, type TaskId } from '../../domain/kernel/brand.ts';
import type { EngineTx, LockedExecutions } from '../../ports/engine-store.ts';
import type { DecideRow } from './rows.ts';
import type { MemoryState } from './state.ts';
import { ALL } from './tables.ts';

const NOTHING_REPORTED: ReadonlySet<TaskId> = new Set();

/** Asks for a pass over each run; the key is the dedupe, a parked run is due again, and what was reported stays. */
export const requestEvaluations = (state: MemoryState, executionIds: Iterable<ExecutionId>): void => {
  for (const executionId of executionIds) requestRead(state, executionId, NOTHING_REPORTED);
};

/** The same for a run with attempts that the pass is to read the outcome of. */
export const requestRead = (state: MemoryState, executionId: ExecutionId, attempts: ReadonlySet<TaskId>): void => {
  const { decideRows } = state.tables;
  const waiting = decideRows.get(executionId);
  const reported = new Set([...(waiting?.reported ?? []), ...attempts]);
  const isWaiting = waiting !== undefined && waiting.parked === undefined;
  if (isWaiting && attempts.size === 0) return;
  decideRows.put(isWaiting ? { ...waiting, reported } : newRow(state, executionId, reported));
};

const newRow = (state: MemoryState, executionId: ExecutionId, reported: ReadonlySet<TaskId>): DecideRow => ({
  executionId,
  order: state.nextOrder(),
  dueAt: state.now(),
  reported,
});

/** Deletes the decide row; what it told of belongs to the transaction from now on. */
const claim = ({ tables, claimedReports }: MemoryState, executionId: ExecutionId): void => {
  const row = tables.decideRows.delete(executionId);
  if (row === undefined) return;
  claimedReports.set(executionId, new Set([...(claimedReports.get(executionId) ?? []), ...row.reported]));
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
      for (const executionId of claimed) claim(state, executionId);
      return lockedHeads(state, claimed);
    },
    claimEvaluationsOf: async (executionIds) => {
      for (const executionId of executionIds) claim(state, executionId);
      return lockedHeads(state, executionIds);
    },
    requestEvaluations: async (executionIds) => requestEvaluations(state, executionIds),
    parkEvaluation: async ({ executionId, attempts, retryAfterMs, reason }) =>
      decideRows.put({
        executionId,
        order: state.nextOrder(),
        dueAt: addMs(state.now(), retryAfterMs),
        reported: new Set([
          ...(decideRows.get(executionId)?.reported ?? []),
          ...(state.claimedReports.get(executionId) ?? []),
        ]),
        parked: { attempts, reason },
      }),
  };
};
