import { z } from 'zod';
import type { Namespace } from '../../domain/kernel/brand.ts';
import type { NewInternalEvent } from '../../ports/engine-store.ts';
import type { OutboxIndex } from '../../ports/outbox-index.ts';
import type { Session } from './database.ts';
import { executionId, instant, jsonObject, prepared, preparedCommand, text } from './statement.ts';

const record = preparedCommand('internal_events_record');
const trim = preparedCommand('internal_events_trim');
const list = prepared(
  'internal_events_list',
  z.object({
    id: text,
    sink: text,
    executionId: executionId.exactOptional(),
    messageId: text,
    payload: jsonObject,
    recordedAt: instant,
  }),
);

const LAST_ID = '9223372036854775807';

/** Records the event and lets go of what is beyond the newest `keepMax` of its sink; a row that another trims is left to it. */
export const recordInternalEvent = async (
  session: Session,
  { namespace, sink, executionId: id, messageId, payload }: NewInternalEvent,
  keepMax: number,
): Promise<void> => {
  await session.run(record`
    insert into internal_events (namespace, sink, workflow_id, message_id, payload)
    values (${namespace}, ${sink}, ${id ?? null}, ${messageId}, ${JSON.stringify(payload)}::json)`);
  await session.run(trim`
    with beyond as (
      select id from internal_events
      where namespace = ${namespace} and sink = ${sink} and id <= (
        select id from internal_events
        where namespace = ${namespace} and sink = ${sink}
        order by id desc offset ${keepMax}::bigint limit 1
      )
      order by id
      for update skip locked
    )
    delete from internal_events e using beyond
    where e.namespace = ${namespace} and e.sink = ${sink} and e.id = any(array[beyond.id])`);
};

export const internalEvents = (
  session: Session,
  namespace: Namespace,
  sink: string,
  { limit, before = LAST_ID }: Parameters<OutboxIndex['internalEvents']>[2],
): ReturnType<OutboxIndex['internalEvents']> =>
  session.rows(list`
    select id::text, sink, workflow_id as execution_id, message_id, payload, recorded_at
    from internal_events
    where namespace = ${namespace} and sink = ${sink} and id < ${before}::bigint
    order by internal_events.id desc
    limit ${limit}::bigint`);
