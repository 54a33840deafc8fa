import { z } from 'zod';
import type { Namespace } from '../../domain/kernel/brand.ts';
import type { TaskGates } from '../../ports/limits.ts';
import type { Session } from './database.ts';
import { count, instant, jsonOf, prepared, sql, text } from './statement.ts';

const read = prepared(
  'index_task_gates',
  z.object({
    taskName: text,
    concurrentExecLimit: count,
    leased: count,
    rateLeases: count,
    used: count.exactOptional(),
    opensAt: instant.exactOptional(),
    semaphores: jsonOf<TaskGates['semaphores']>(),
  }),
);

/** The limits of the names that have any, with what is taken of them now. */
export const taskGates = async (
  session: Session,
  namespace: Namespace,
  taskNames: readonly string[],
): Promise<readonly TaskGates[]> => {
  const rows = await session.rows(read`
    select d.name as task_name, d.concurrent_exec_limit, d.rate_leases, w.used, w.closes_at as opens_at,
      (
        select count(*) from task_queue t
        where t.namespace = d.namespace and t.task_name = d.name
          and t.lease_expires_at is not null and t.outcome is null
      ) as leased,
      coalesce((
        select json_agg(json_build_object('name', s.name, 'permits', s.permits, 'held', (
          select count(*) from task_queue t
          where t.namespace = s.namespace and t.permits is not null and t.outcome is null and s.name = any(t.permits)
        )) order by s.name)
        from semaphores s where s.namespace = d.namespace and s.name = any(d.semaphores)
      ), '[]')::text as semaphores
    from task_definitions d
    left join rate_windows w
      on w.namespace = d.namespace and w.task_name = d.name and w.closes_at > clock_timestamp()
    where d.namespace = ${namespace} and d.name = any(${sql.array(taskNames, 'text')}) and d.gated`);
  return rows.map(({ taskName, concurrentExecLimit, leased, rateLeases, used, opensAt, semaphores }) => ({
    taskName,
    semaphores,
    ...(concurrentExecLimit === 0 ? {} : { concurrency: { limit: concurrentExecLimit, leased } }),
    ...(rateLeases === 0
      ? {}
      : { rate: { limit: rateLeases, used: used ?? 0, ...(opensAt === undefined ? {} : { opensAt }) } }),
  }));
};
