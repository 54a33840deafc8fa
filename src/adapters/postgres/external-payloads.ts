import { z } from 'zod';
import type { PayloadStore } from '../../ports/payload-store.ts';
import type { Session } from './database.ts';
import { jsonObject, prepared, preparedCommand } from './statement.ts';

const put = preparedCommand('external_payloads_put');
const find = prepared('external_payloads_find', z.object({ content: jsonObject }));
const prune = preparedCommand('external_payloads_prune');

/** Uploaded payloads on PostgreSQL. */
export const createPayloadStore = (session: Session): PayloadStore => ({
  putPayload: async (namespace, path, content) => {
    await session.run(put`
      insert into external_payloads (namespace, path, content)
      values (${namespace}, ${path}, ${JSON.stringify(content)}::json)
      on conflict (namespace, path) do update set content = excluded.content, uploaded_at = clock_timestamp()`);
  },
  findPayload: async (namespace, path) => {
    const row = await session.row(find`
      select content from external_payloads where namespace = ${namespace} and path = ${path}`);
    return row?.content;
  },
  prunePayloads: (olderThanMs, limit) =>
    session.run(prune`
      delete from external_payloads p
      using (
        select namespace, path from external_payloads
        where uploaded_at <= (select clock_timestamp()) - ${olderThanMs}::bigint * interval '1 millisecond'
        order by uploaded_at
        limit ${limit}::bigint
        for update skip locked
      ) as old
      where p.namespace = old.namespace and p.path = old.path`),
});
