import { z } from 'zod';
import type { Namespace } from '../../domain/kernel/brand.ts';
import type { OutboxIndex } from '../../ports/outbox-index.ts';
import type { Session } from './database.ts';
import { count, executionId, instant, jsonObject, prepared, preparedCommand, sql, text } from './statement.ts';

const list = prepared(
  'dead_letters_list',
  z.object({
    id: text,
    executionId,
    topic: text,
    orderingKey: text,
    payload: jsonObject,
    attempts: count,
    createdAt: instant,
    deadAt: instant,
    lastFailure: text,
  }),
);
const redrive = preparedCommand('dead_letters_redrive');
const remove = preparedCommand('dead_letters_delete');

export const deadLetters = (
  session: Session,
  namespace: Namespace,
  { limit, after = '0' }: Parameters<OutboxIndex['deadLetters']>[1],
): ReturnType<OutboxIndex['deadLetters']> =>
  session.rows(list`
    select id::text, workflow_id as execution_id, topic, ordering_key, payload, attempts, created_at, dead_at,
      coalesce(last_failure, '') as last_failure
    from outbox_events
    where namespace = ${namespace} and dead_at is not null and id > ${after}::bigint
    order by outbox_events.id
    limit ${limit}::bigint`);

/** It keeps its id, and so its place before all that was put after it under the same key. */
export const redriveDeadLetters = (session: Session, namespace: Namespace, ids: readonly string[]): Promise<number> =>
  session.run(redrive`
    with chosen as (
      select id from outbox_events
      where id = any(${sql.array(ids, 'int8')}) and namespace = ${namespace} and dead_at is not null
      order by id
      for update
    )
    update outbox_events o set dead_at = null, attempts = 0, available_at = clock_timestamp()
    from chosen where o.id = any(array[chosen.id])`);

export const deleteDeadLetters = (session: Session, namespace: Namespace, ids: readonly string[]): Promise<number> =>
  session.run(remove`
    with chosen as (
      select id from outbox_events
      where id = any(${sql.array(ids, 'int8')}) and namespace = ${namespace} and dead_at is not null
      order by id
      for update
    )
    delete from outbox_events o using chosen where o.id = any(array[chosen.id])`);
