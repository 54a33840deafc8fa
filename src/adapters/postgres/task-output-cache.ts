import { z } from 'zod';
import type { Instant, Namespace } from '../../domain/kernel/brand.ts';
import type { JsonObject } from '../../domain/kernel/json.ts';
import type { OutputKey, Owed, StoreTaskOutput } from '../../ports/engine-store.ts';
import type { Session } from './database.ts';
import { jsonObject, jsonRows, prepared, preparedCommand, timestamp } from './statement.ts';

const store = preparedCommand('task_outputs_store');
const find = prepared('task_outputs_find', z.object({ output: jsonObject }));
const prune = preparedCommand('task_outputs_prune');

/** The last of several for one key counts; rows in key order, as everywhere. */
export const storeTaskOutputs = async (session: Session, outputs: readonly Owed<StoreTaskOutput>[]): Promise<void> => {
  if (outputs.length === 0) return;
  const rows = outputs.map(({ namespace, item }, position) => ({
    namespace,
    task_name: item.taskName,
    key: item.key,
    output: item.output,
    expires_at: timestamp(item.expiresAt),
    position,
  }));
  await session.run(store`
    insert into task_output_cache (namespace, task_name, key_digest, output, expires_at)
    select distinct on (namespace, task_name, key_digest) namespace, task_name, key_digest, output, expires_at
    from (
      select namespace collate "C" as namespace, task_name collate "C" as task_name,
        sha256(convert_to(key, 'UTF8')) as key_digest, output, expires_at, position
      from json_to_recordset(${jsonRows(rows)}::json) as r (
        namespace text, task_name text, key text, output json, expires_at timestamptz, position integer
      )
    ) as given
    order by namespace, task_name, key_digest, position desc
    on conflict (namespace, task_name, key_digest) do update
      set output = excluded.output, expires_at = excluded.expires_at`);
};

export const findTaskOutput = async (
  session: Session,
  namespace: Namespace,
  { taskName, key }: OutputKey,
  now: Instant,
): Promise<JsonObject | undefined> => {
  const row = await session.row(find`
    select output from task_output_cache
    where namespace = ${namespace} and task_name = ${taskName} and key_digest = sha256(convert_to(${key}, 'UTF8'))
      and expires_at > ${timestamp(now)}::timestamptz`);
  return row?.output;
};

export const pruneTaskOutputs = (session: Session, limit: number): Promise<number> =>
  session.run(prune`
    delete from task_output_cache c
    using (
      select namespace, task_name, key_digest from task_output_cache
      where expires_at <= (select clock_timestamp())
      order by expires_at
      limit ${limit}::bigint
      for update skip locked
    ) as expired
    where c.namespace = expired.namespace and c.task_name = expired.task_name and c.key_digest = expired.key_digest`);
