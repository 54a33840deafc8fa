import { z } from 'zod';
import { type ExecutionStatus, isClosedExecution } from '../../domain/execution/statuses.ts';
import type { ExecutionId, Namespace } from '../../domain/kernel/brand.ts';
import type { IdempotencyClaim, IdempotencyHolder } from '../../ports/engine-store.ts';
import type { Session } from './database.ts';
import { inLockOrder } from './decide-queue.ts';
import { lockExecutions } from './executions.ts';
import { executionId, jsonRows, namespaceName, prepared, preparedCommand, text, word } from './statement.ts';

const claim = prepared('idempotency_claim', z.object({ executionId }));
const holders = prepared('idempotency_holders', z.object({ namespace: namespaceName, key: text, executionId }));
const takeOver = prepared('idempotency_take_over', z.object({ executionId }));
const release = preparedCommand('idempotency_release');
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

/** The locks on the holders come first: whoever removes or reopens a run has its lock before it touches the key. */
export const takeOverIdempotencyKeys = async (
  session: Session,
  claims: readonly IdempotencyClaim[],
): Promise<ReadonlySet<ExecutionId>> => {
  const wanted = claims.map(({ namespace, key }) => ({ namespace, key }));
  const held = await session.rows(holders`
    select k.namespace, k.key, k.workflow_id as execution_id
    from json_to_recordset(${jsonRows(wanted)}::json) as r (namespace text, key text)
    join idempotency_keys k on k.namespace = r.namespace and k.key = r.key`);
  const { heads } = await lockExecutions(session, inLockOrder(held.map((row) => row.executionId)));
  const ended = new Set(heads.filter(({ status }) => isClosedExecution(status)).map((head) => head.executionId));
  const rows = claims.flatMap(({ namespace, key, executionId, fingerprint }) => {
    const holder = held.find((row) => row.namespace === namespace && row.key === key)?.executionId;
    if (holder === undefined || !ended.has(holder)) return [];
    return [{ namespace, key, workflow_id: executionId, fingerprint, holder }];
  });
  if (rows.length === 0) return new Set();
  const won = await session.rows(takeOver`
    update idempotency_keys k
    set workflow_id = r.workflow_id, fingerprint = r.fingerprint, created_at = clock_timestamp()
    from json_to_recordset(${jsonRows(rows)}::json) as r (
      namespace text, key text, workflow_id uuid, fingerprint text, holder uuid
    )
    where k.namespace = r.namespace and k.key = r.key and k.workflow_id = r.holder
    returning k.workflow_id as execution_id`);
  return new Set(won.map((row) => row.executionId));
};

export const releaseIdempotencyKeys = async (
  session: Session,
  keys: readonly Pick<IdempotencyClaim, 'namespace' | 'key' | 'executionId'>[],
): Promise<void> => {
  const rows = keys.map(({ namespace, key, executionId }) => ({ namespace, key, workflow_id: executionId }));
  if (rows.length === 0) return;
  await session.run(release`
    delete from idempotency_keys k
    using json_to_recordset(${jsonRows(rows)}::json) as r (namespace text, key text, workflow_id uuid)
    where k.namespace = r.namespace and k.key = r.key and k.workflow_id = r.workflow_id`);
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
