import { isClosedExecution } from '../../domain/execution/statuses.ts';
import type { ExecutionId } from '../../domain/kernel/brand.ts';
import type { EngineTx, NewExecution, Owed, ProjectExecution } from '../../ports/engine-store.ts';
import { optional } from './optional.ts';
import { inNamespace, type StoredExecution } from './rows.ts';
import type { MemoryState } from './state.ts';

const newRow = (execution: NewExecution): StoredExecution => ({
  ...execution,
  status: 'RUNNING',
  updatedAt: execution.startedAt,
});

/** The row as of the projection: what an earlier end left (a retried run) does not outlive it. */
const projectedRow = (row: StoredExecution, { item }: Owed<ProjectExecution>): StoredExecution => {
  const { output: _output, reason: _reason, failedTask: _failedTask, endedAt: _endedAt, ...kept } = row;
  return {
    ...kept,
    status: item.status,
    updatedAt: item.at,
    ...optional('output', item.output),
    ...optional('reason', item.reason),
    ...optional('failedTask', item.failedTask),
    ...optional('endedAt', isClosedExecution(item.status) ? item.at : undefined),
  };
};

/** Rows of runs and the idempotency keys that lead to them. */
export const executionWrites = (
  state: MemoryState,
): Pick<
  EngineTx,
  'lookUpRun' | 'createExecutions' | 'projectExecutions' | 'reviseExecutions' | 'claimIdempotencyKeys'
> => {
  const { executions, idempotencyKeys } = state.tables;
  return {
    lookUpRun: async (executionId) => {
      const row = executions.get(executionId);
      if (row === undefined) return { now: state.now() };
      const { namespace, status, definitionHash } = row;
      return { now: state.now(), head: { executionId, namespace, status, definitionHash } };
    },
    createExecutions: async (created) => {
      for (const execution of created) {
        if (executions.has(execution.executionId)) throw new Error(`execution ${execution.executionId} exists already`);
        executions.put(newRow(execution));
      }
    },
    projectExecutions: async (projections) => {
      for (const projection of projections) {
        const row = executions.get(projection.executionId);
        if (row?.namespace === projection.namespace) executions.put(projectedRow(row, projection));
      }
    },
    reviseExecutions: async (revisions) => {
      for (const { executionId, namespace, item } of revisions) {
        const row = executions.get(executionId);
        if (row?.namespace !== namespace) continue;
        const { correlationId: _former, ...kept } = row;
        const { definitionHash, version, input, correlationId } = item;
        executions.put({ ...kept, definitionHash, version, input, ...optional('correlationId', correlationId) });
      }
    },
    claimIdempotencyKeys: async (claims) => {
      const won = new Set<ExecutionId>();
      for (const claim of claims) {
        if (idempotencyKeys.has(inNamespace(claim.namespace, claim.key))) continue;
        idempotencyKeys.put(claim);
        won.add(claim.executionId);
      }
      return won;
    },
  };
};
