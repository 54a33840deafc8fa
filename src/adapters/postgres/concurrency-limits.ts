import { z } from 'zod';
import type { Namespace } from '../../domain/kernel/brand.ts';
import type { Session } from './database.ts';
import { count, prepared, preparedCommand, sql, text } from './statement.ts';

const any = prepared('limits_any', z.object({ isLimited: z.boolean() }));
const peek = prepared('limits_peek', z.object({ name: text, concurrentExecLimit: count }));
const lock = preparedCommand('limits_lock');
const countLeased = prepared('limits_count', z.object({ taskName: text, leased: count }));

/** How many more tasks of each limited name may be leased in this transaction. */
export type Room = ReadonlyMap<string, number>;

const NO_LIMITS: Room = new Map();

/** Whether the namespace limits anything: hardly any does, and then a lease is one plain statement. */
export const hasLimits = async (session: Session, namespace: Namespace): Promise<boolean> => {
  const { isLimited } = await session.one(any`
    select exists (
      select from task_definitions where namespace = ${namespace} and concurrent_exec_limit > 0
    ) as is_limited`);
  return isLimited;
};

/** Limited names among the tasks that would be leased next. */
const limitedNext = (session: Session, namespace: Namespace, queues: readonly string[], wanted: number) =>
  session.rows(peek`
    select distinct d.name, d.concurrent_exec_limit
    from unnest(${sql.array(queues, 'text')}) as wanted (queue)
    cross join lateral (
      select q.task_name from task_queue q
      where q.namespace = ${namespace} and q.queue = wanted.queue
        and q.lease_token is null and q.outcome is null and q.family = 'worker'
        and q.visible_at <= (select clock_timestamp())
      order by q.priority desc, q.scheduled_at, q.workflow_id, q.scheduled_seq
      limit ${wanted}::bigint
    ) next
    join task_definitions d
      on d.namespace = ${namespace} and d.name = next.task_name and d.concurrent_exec_limit > 0
    order by d.name`);

/**
 * Counting and then leasing would let two transactions both see the last free place, so the limited names among the
 * next tasks are locked until this transaction ends (promise 9). Queues without limits take no lock.
 */
export const lockRoom = async (
  session: Session,
  namespace: Namespace,
  queues: readonly string[],
  wanted: number,
): Promise<Room> => {
  const limits = await limitedNext(session, namespace, queues, wanted);
  if (limits.length === 0) return NO_LIMITS;
  const names = sql.array(
    limits.map(({ name }) => name),
    'text',
  );
  await session.run(lock`
    select pg_advisory_xact_lock(hashtextextended(${namespace} || ':' || name, 0))
    from unnest(${names}) as limited (name)`);
  const leased = await session.rows(countLeased`
    select task_name, count(*) as leased from task_queue
    where namespace = ${namespace} and task_name = any(${names})
      and lease_expires_at is not null and outcome is null
    group by task_name`);
  const leasedByName = new Map(leased.map((row) => [row.taskName, row.leased]));
  const roomOf = (name: string, limit: number) => Math.max(0, limit - (leasedByName.get(name) ?? 0));
  return new Map(limits.map(({ name, concurrentExecLimit }) => [name, roomOf(name, concurrentExecLimit)]));
};

/** The room that is left after these tasks. */
export const roomAfter = (room: Room, leased: readonly Readonly<{ taskName: string }>[]): Room =>
  new Map([...room].map(([name, free]) => [name, free - leased.filter((task) => task.taskName === name).length]));

/** Queues that may hold something to lease: that of a name without room, with or without a domain, is not even read. */
export const queuesWithRoom = (queues: readonly string[], room: Room): readonly string[] => {
  const full = [...room].filter(([, free]) => free <= 0).map(([name]) => name);
  return queues.filter((queue) => !full.some((name) => queue === name || queue.endsWith(`:${name}`)));
};
