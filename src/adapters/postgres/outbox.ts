import { z } from 'zod';
import type { DeliveryFailure, OutboxMessage, Owed, PublishMessage } from '../../ports/engine-store.ts';
import type { Session } from './database.ts';
import {
  count,
  executionId,
  jsonObject,
  jsonRows,
  namespaceName,
  prepared,
  preparedCommand,
  sql,
  text,
  timestampOrNull,
} from './statement.ts';

const put = preparedCommand('outbox_put');
const claim = prepared(
  'outbox_claim',
  z.object({
    id: text,
    namespace: namespaceName,
    executionId,
    topic: text,
    dedupKey: text,
    orderingKey: text,
    payload: jsonObject,
    attempts: count,
  }),
);
const deliver = preparedCommand('outbox_delivered');
const fail = preparedCommand('outbox_failed');

export const putMessages = async (session: Session, messages: readonly Owed<PublishMessage>[]): Promise<void> => {
  if (messages.length === 0) return;
  const rows = messages.map(({ executionId, namespace, item }, position) => ({
    workflow_id: executionId,
    namespace,
    topic: item.topic,
    dedup_key: item.dedupKey,
    ordering_key: item.orderingKey,
    payload: item.payload,
    visible_at: timestampOrNull(item.visibleAt),
    position,
  }));
  await session.run(put`
    insert into outbox_events (workflow_id, namespace, topic, dedup_key, ordering_key, payload, available_at)
    select workflow_id, namespace, topic, dedup_key, ordering_key, payload, greatest(visible_at, clock_timestamp())
    from json_to_recordset(${jsonRows(rows)}::json) as r (
      workflow_id uuid, namespace text, topic text, dedup_key text, ordering_key text, payload json,
      visible_at timestamptz, position integer
    )
    order by workflow_id, position
    on conflict (workflow_id, dedup_key) do nothing`);
};

/**
 * The oldest message of each ordering key, those first that have been deliverable for longest: while it waits to be tried again or is in other hands, its followers wait
 * with it. Messages of one key are put under the lock of one run, so their ids have the order of their commits.
 */
export const claimMessages = async (
  session: Session,
  limit: number,
  holdMs: number,
): Promise<readonly OutboxMessage[]> =>
  session.rows(claim`
    with picked as (
      select o.id
      from outbox_events o
      where o.dead_at is null and o.available_at <= (select clock_timestamp())
        and not exists (
          select from outbox_events before
          where before.namespace = o.namespace and before.ordering_key = o.ordering_key
            and before.dead_at is null and before.id < o.id
          offset 0
        )
      order by o.available_at, o.id
      limit ${limit}::bigint
      for update of o skip locked
    ), held as (
      update outbox_events o
      set available_at = clock_timestamp() + ${holdMs}::bigint * interval '1 millisecond'
      from picked
      where o.id = any(array[picked.id])
      returning o.*
    )
    select id::text, namespace, workflow_id as execution_id, topic, dedup_key, ordering_key, payload, attempts
    from held
    order by held.id`);

export const markDelivered = async (session: Session, ids: readonly string[]): Promise<number> => {
  if (ids.length === 0) return 0;
  return session.run(deliver`delete from outbox_events where id = any(${sql.array(ids, 'int8')})`);
};

/** A dead letter is kept and can be sent again; it no longer stands in the way of its followers. */
export const markFailed = async (session: Session, failures: readonly DeliveryFailure[]): Promise<void> => {
  if (failures.length === 0) return;
  const rows = failures.map(({ id, reason, retryAfterMs, dead }) => ({
    id,
    reason,
    retry_after_ms: retryAfterMs,
    dead,
  }));
  await session.run(fail`
    update outbox_events o
    set attempts = o.attempts + 1, last_failure = r.reason,
      available_at = clock_timestamp() + r.retry_after_ms * interval '1 millisecond',
      dead_at = case when r.dead then clock_timestamp() end
    from json_to_recordset(${jsonRows(rows)}::json) as r (id bigint, reason text, retry_after_ms bigint, dead boolean)
    where o.id = any(array[r.id])`);
};
