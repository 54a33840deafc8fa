import { z } from 'zod';
import type { WorkerPollStore } from '../../ports/worker-polls.ts';
import type { Session } from './database.ts';
import { instant, jsonRows, prepared, preparedCommand, sql, text } from './statement.ts';

const noteStatement = preparedCommand('worker_polls_note');
const seenStatement = prepared('worker_polls_seen', z.object({ queue: text, workerId: text, lastPollAt: instant }));
const servedStatement = prepared('worker_polls_served', z.object({ queue: text }));
const forgetStatement = preparedCommand('worker_polls_forget');

/** Rows that one statement forgets. */
const FORGOTTEN_MAX = 1_000;

export const createWorkerPollStore = (session: Session): WorkerPollStore => ({
  note: async (polls) => {
    if (polls.length === 0) return;
    const rows = polls.map(({ namespace, queue, workerId, agoMs }) => ({ namespace, queue, workerId, agoMs }));
    await session.run(noteStatement`
      insert into worker_polls as present (namespace, queue, worker_id, polled_at)
      select r.namespace, r.queue, r."workerId", clock_timestamp() - min(r."agoMs") * interval '1 millisecond'
      from json_to_recordset(${jsonRows(rows)}::json) as r (
        namespace text, queue text, "workerId" text, "agoMs" double precision
      )
      group by r.namespace, r.queue, r."workerId"
      order by r.namespace collate "C", r.queue collate "C", r."workerId" collate "C"
      on conflict (namespace, queue, worker_id) do update
      set polled_at = greatest(present.polled_at, excluded.polled_at)`);
  },
  seen: (namespace, withinMs, limit) =>
    session.rows(seenStatement`
      select queue, worker_id, polled_at as last_poll_at from worker_polls
      where namespace = ${namespace}
        and polled_at >= (select clock_timestamp()) - ${withinMs}::bigint * interval '1 millisecond'
      order by queue, worker_id
      limit ${limit}::bigint`),
  servedQueues: async (namespace, queues, withinMs) => {
    const rows = await session.rows(servedStatement`
      select q.queue from unnest(${sql.array(queues, 'text')}) as q (queue)
      where exists (
        select from worker_polls p
        where p.namespace = ${namespace} and p.queue = q.queue
          and p.polled_at >= (select clock_timestamp()) - ${withinMs}::bigint * interval '1 millisecond'
      )`);
    return new Set(rows.map(({ queue }) => queue));
  },
  forget: (olderThanMs) =>
    session.run(forgetStatement`
      delete from worker_polls where (namespace, queue, worker_id) in (
        select namespace, queue, worker_id from worker_polls
        where polled_at < (select clock_timestamp()) - ${olderThanMs}::bigint * interval '1 millisecond'
        order by namespace, queue, worker_id
        limit ${FORGOTTEN_MAX}::bigint
        for update skip locked
      )`),
});
