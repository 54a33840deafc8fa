import { isClosedExecution } from '../../domain/execution/statuses.ts';
import type { ExecutionId, Namespace } from '../../domain/kernel/brand.ts';
import type { EngineTx, NewExecution, Owed, ProjectExecution } from '../../ports/engine-store.ts';
import { limitsStarts } from './admissions.ts';
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
): Pick<EngineTx, 'lookUpRun' | 'createExecutions' | 'projectExecutions' | 'reviseExecutions' | KeyMethods> => {
  const { executions } = state.tables;
  return {
    lookUpRun: async (executionId, startsIn) => {
      const row = executions.get(executionId);
      const isLimited = startsIn !== undefined && limitsStarts(state, startsIn);
      if (row === undefined) return { now: state.now(), isLimited };
      const { namespace, status, definitionHash } = row;
      return { now: state.now(), head: { executionId, namespace, status, definitionHash }, isLimited };
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
    ...keyWrites(state),
  };
};

type KeyMethods = 'claimIdempotencyKeys' | 'takeOverIdempotencyKeys' | 'releaseIdempotencyKeys';

const keyWrites = ({ tables }: MemoryState): Pick<EngineTx, KeyMethods> => {
  const { executions, idempotencyKeys } = tables;
  const heldBy = (namespace: Namespace, key: string): ExecutionId | undefined =>
    idempotencyKeys.get(inNamespace(namespace, key))?.executionId;
  return {
    claimIdempotencyKeys: async (claims) => {
      const won = new Set<ExecutionId>();
      for (const claim of claims) {
        if (heldBy(claim.namespace, claim.key) !== undefined) continue;
        idempotencyKeys.put(claim);
        won.add(claim.executionId);
      }
      return won;
    },
    takeOverIdempotencyKeys: async (claims) => {
      const won = new Set<ExecutionId>();
      for (const claim of claims) {
        const holder = executions.get(heldBy(claim.namespace, claim.key) ?? '');
        if (holder === undefined || !isClosedExecution(holder.status)) continue;
        idempotencyKeys.put(claim);
        won.add(claim.executionId);
      }
      return won;
    },
    releaseIdempotencyKeys: async (keys) => {
      for (const { namespace, key, executionId } of keys) {
        if (heldBy(namespace, key) === executionId) idempotencyKeys.delete(inNamespace(namespace, key));
      }
    },
  };
};
