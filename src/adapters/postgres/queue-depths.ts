import { z } from 'zod';
import type { Namespace } from '../../domain/kernel/brand.ts';
import type { QueueDepth } from '../../ports/execution-index.ts';
import type { Session } from './database.ts';
import { count, prepared, text } from './statement.ts';

const depths = prepared(
  'index_queues',
  z.object({
    queue: text,
    ready: count,
    leased: count,
    delayed: count,
    oldestReadyAgeMs: count.exactOptional(),
    concurrentExecLimit: count.exactOptional(),
  }),
);

/** Each queue of the namespace that holds work for a worker or the server, by name. */
export const queueDepths = (session: Session, namespace: Namespace): Promise<readonly QueueDepth[]> =>
  session.rows(depths`
    with open as (
      select queue, task_name, visible_at, lease_token is not null as is_leased,
        visible_at <= (select clock_timestamp()) as is_visible
      from task_queue
      where namespace = ${namespace} and outcome is null and family <> 'waiting'
    ), depth as (
      select queue, min(task_name) as task_name,
        count(*) filter (where not is_leased and is_visible) as ready,
        count(*) filter (where is_leased) as leased,
        count(*) filter (where not is_leased and not is_visible) as delayed,
        floor(1000 * extract(epoch from
          (select clock_timestamp()) - min(visible_at) filter (where not is_leased and is_visible)
        ))::bigint as oldest_ready_age_ms
      from open group by queue
    )
    select depth.queue, ready, leased, delayed, oldest_ready_age_ms, nullif(d.concurrent_exec_limit, 0) as concurrent_exec_limit
    from depth left join task_definitions d on d.namespace = ${namespace} and d.name = depth.task_name
    order by depth.queue`);
