import { z } from 'zod';
import type { ExecutionStatus } from '../../domain/execution/statuses.ts';
import type { ExecutionId, Namespace } from '../../domain/kernel/brand.ts';
import type { IdempotencyClaim, IdempotencyHolder } from '../../ports/engine-store.ts';
import type { Session } from './database.ts';
import { executionId, jsonRows, prepared, text, word } from './statement.ts';

const claim = prepared('idempotency_claim', z.object({ executionId }));
const find = prepared(
  'idempotency_find',
  z.object({ executionId, fingerprint: text, status: word<ExecutionStatus>() }),
);

/**
 * Each key is won by one run; the ids of the winners come back. A claim that another transaction has not committed yet is
 * waited for, in the order of the keys.
 */
export const claimIdempotencyKeys = async (
  session: Session,
  claims: readonly IdempotencyClaim[],
): Promise<ReadonlySet<ExecutionId>> => {
  if (claims.length === 0) return new Set();
  const rows = claims.map(({ namespace, key, executionId, fingerprint }, position) => ({
    namespace,
    key,
    workflow_id: executionId,
    fingerprint,
    position,
  }));
  const won = await session.rows(claim`
    insert into idempotency_keys (namespace, key, workflow_id, fingerprint)
    select namespace, key, workflow_id, fingerprint
    from json_to_recordset(${jsonRows(rows)}::json) as r (
      namespace text, key text, workflow_id uuid, fingerprint text, position integer
    )
    order by namespace collate "C", key collate "C", position
    on conflict (namespace, key) do nothing
    returning workflow_id as execution_id`);
  return new Set(won.map((row) => row.executionId));
};

/** Who holds the key: to be asked once the transaction that lost it has ended, when the winner is visible. */
export const findIdempotencyHolder = (
  session: Session,
  namespace: Namespace,
  key: string,
): Promise<IdempotencyHolder | undefined> =>
  session.row(find`
    select k.workflow_id as execution_id, k.fingerprint, w.status
    from idempotency_keys k join workflow_executions w on w.workflow_id = k.workflow_id
    where k.namespace = ${namespace} and k.key = ${key}`);
