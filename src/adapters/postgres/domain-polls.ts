import { z } from 'zod';
import type { Namespace } from '../../domain/kernel/brand.ts';
import type { NamedQueue } from '../../ports/engine-store.ts';
import type { Session } from './database.ts';
import { prepared, preparedCommand, sql, text } from './statement.ts';

const note = preparedCommand('domain_polls_note');
const polled = prepared('domain_polls_polled', z.object({ queue: text }));
const prune = preparedCommand('domain_polls_prune');

export const notePolls = async (session: Session, queues: readonly NamedQueue[]): Promise<void> => {
  if (queues.length === 0) return;
  const column = (name: keyof NamedQueue) =>
    sql.array(
      queues.map((one) => one[name]),
      'text',
    );
  await session.run(note`
    insert into domain_polls (namespace, queue, polled_at)
    select namespace, queue, clock_timestamp()
    from (
      select distinct namespace collate "C" as namespace, queue collate "C" as queue
      from unnest(${column('namespace')}, ${column('queue')}) as r (namespace, queue)
    ) as polled
    order by namespace, queue
    on conflict (namespace, queue) do update set polled_at = excluded.polled_at`);
};

export const polledQueues = async (
  session: Session,
  namespace: Namespace,
  queues: readonly string[],
  withinMs: number,
): Promise<ReadonlySet<string>> => {
  const rows = await session.rows(polled`
    select queue from domain_polls
    where namespace = ${namespace} and queue = any(${sql.array(queues, 'text')})
      and polled_at >= (select clock_timestamp()) - ${withinMs}::bigint * interval '1 millisecond'`);
  return new Set(rows.map(({ queue }) => queue));
};

export const prunePolls = (session: Session, olderThanMs: number): Promise<number> =>
  session.run(prune`
    delete from domain_polls p
    using (
      select namespace, queue from domain_polls
      where polled_at < (select clock_timestamp()) - ${olderThanMs}::bigint * interval '1 millisecond'
      for update skip locked
    ) as old
    where p.namespace = old.namespace and p.queue = old.queue`);
