import { z } from 'zod';
import type { EngineStore } from '../../ports/engine-store.ts';
import type { Session } from './database.ts';
import { count, namespaceName, prepared, sql, text } from './statement.ts';

const ready = prepared(
  'engine_ready_queues',
  z.object({ namespace: namespaceName, queue: text, opensInMs: count.exactOptional() }),
);

/** When to look again at what is held back until somebody gives a place or a permit back: nothing tells of that. */
const HELD_BACK_LOOK_MS = 200;

/**
 * Which of the queues have something to lease: one query for all polls that are parked. A queue whose next task is held back
 * by a limit is told with the time until that may be over, so that nobody is woken for nothing.
 */
export const readyQueues = (
  session: Session,
  candidates: Parameters<EngineStore['readyQueues']>[0],
): ReturnType<EngineStore['readyQueues']> =>
  session.rows(ready`
    select wanted.namespace, wanted.queue, gate.opens_in_ms
    from unnest(
      ${sql.array(
        candidates.map(({ namespace }) => namespace),
        'text',
      )},
      ${sql.array(
        candidates.map(({ queue }) => queue),
        'text',
      )}
    ) as wanted (namespace, queue)
    cross join lateral (
      select q.task_name from task_queue q
      where q.namespace = wanted.namespace and q.queue = wanted.queue
        and q.lease_token is null and q.outcome is null and q.family = 'worker'
        and q.visible_at <= (select clock_timestamp())
      order by q.priority desc, q.turn, q.workflow_id, q.scheduled_seq
      limit 1
    ) as head
    left join lateral (
      select case
        when d.concurrent_exec_limit > 0 and d.concurrent_exec_limit <= (
          select count(*) from task_queue t
          where t.namespace = d.namespace and t.task_name = d.name
            and t.lease_expires_at is not null and t.outcome is null
        ) then ${HELD_BACK_LOOK_MS}::bigint
        when exists (
          select from semaphores s
          where s.namespace = d.namespace and s.name = any(d.semaphores) and s.permits <= (
            select count(*) from task_queue t
            where t.namespace = s.namespace and t.permits is not null and t.outcome is null and s.name = any(t.permits)
          )
        ) then ${HELD_BACK_LOOK_MS}::bigint
        when d.rate_leases > 0 then (
          select ceil(1000 * extract(epoch from w.closes_at - clock_timestamp()))::bigint
          from rate_windows w
          where w.namespace = d.namespace and w.task_name = d.name
            and w.used >= d.rate_leases and w.closes_at > clock_timestamp()
        )
      end as opens_in_ms
      from task_definitions d
      where d.namespace = wanted.namespace and d.name = head.task_name and d.gated
    ) as gate on true`);
