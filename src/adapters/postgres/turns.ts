import { z } from 'zod';
import { FairTurns } from '../../domain/execution/fair-turns.ts';
import type { EnqueueTask, Owed } from '../../ports/engine-store.ts';
import type { Session } from './database.ts';
import { count, instant, jsonRows, prepared, sql } from './statement.ts';

const readEnds = prepared(
  'turns_read_ends',
  z.object({
    position: count,
    head: count.exactOptional(),
    last: count.exactOptional(),
    lastScheduledAt: instant.exactOptional(),
  }),
);

/** How long what was seen of a queue is good enough: it only tells where newcomers stand. */
const SEEN_GOOD_FOR_MS = 250;
const LINES_MAX = 10_000;

type Task = Owed<EnqueueTask>;
type Fragment = ReturnType<typeof sql.fragment>;
type LineKey = Readonly<{ family: string; namespace: string; queue: string; priority: number }>;

const lineOf = ({ namespace, item }: Task): LineKey => ({
  family: item.family,
  namespace: item.family === 'worker' ? namespace : '',
  queue: item.queue,
  priority: item.priority,
});
const nameOf = ({ namespace, queue, priority }: LineKey): string => `${namespace}/${queue}/${priority}`;

/**
 * Gives the tasks that this process enqueues their turns. What others enqueue it sees by the two ends of the queue, which it
 * reads again now and then, not with each pass.
 */
export class QueueTurns {
  private readonly turns = new FairTurns();
  private readonly readAt = new Map<string, number>();

  /** The turn of each task, in their order. */
  async of(session: Session, tasks: readonly Task[]): Promise<readonly number[]> {
    await this.readEnds(session, this.staleLines(tasks));
    return tasks.map((task) => {
      const { namespace, executionId, item } = task;
      if (item.family === 'waiting') return 0;
      return this.turns.turnOf({
        line: nameOf(lineOf(task)),
        flow: item.family === 'system' ? namespace : item.workflowName,
        run: executionId,
        scheduledAt: item.scheduledAt,
      });
    });
  }

  private staleLines(tasks: readonly Task[]): readonly LineKey[] {
    const now = performance.now();
    const stale = new Map<string, LineKey>();
    for (const task of tasks) {
      if (task.item.family === 'waiting') continue;
      const line = lineOf(task);
      const name = nameOf(line);
      if (now - (this.readAt.get(name) ?? Number.NEGATIVE_INFINITY) <= SEEN_GOOD_FOR_MS) continue;
      if (this.readAt.size >= LINES_MAX) this.readAt.clear();
      this.readAt.set(name, now);
      stale.set(name, line);
    }
    return [...stale.values()];
  }

  /** Both ends of each queue, as its index has them. */
  private async readEnds(session: Session, lines: readonly LineKey[]): Promise<void> {
    if (lines.length === 0) return;
    const rows = await session.rows(readEnds`
      select wanted.position, coalesce(worker.head, system.head) as head,
        coalesce(worker.last, system.last) as last,
        coalesce(worker.last_scheduled_at, system.last_scheduled_at) as last_scheduled_at
      from json_to_recordset(${jsonRows(lines.map((line, position) => ({ ...line, position })))}::json) as wanted (
        family text, namespace text, queue text, priority integer, position integer
      )
      left join lateral (
        ${bothEnds(sql.fragment`q.family = 'worker' and q.namespace = wanted.namespace`, sql.fragment`'worker'`)}
      ) as worker on true
      left join lateral (
        ${bothEnds(sql.fragment`q.family = 'system'`, sql.fragment`'system'`)}
      ) as system on true`);
    for (const { position, head, last, lastScheduledAt } of rows) {
      const line = lines[position];
      if (line === undefined) continue;
      if (head === undefined || last === undefined || lastScheduledAt === undefined) this.turns.empty(nameOf(line));
      else this.turns.see(nameOf(line), head, { turn: last, scheduledAt: lastScheduledAt });
    }
  }
}

const bothEnds = (scope: Fragment, family: Fragment): Fragment => {
  const ready = sql.fragment`wanted.family = ${family} and ${scope} and q.lease_token is null and q.outcome is null
            and q.queue = wanted.queue and q.priority = wanted.priority`;
  return sql.fragment`select head.turn as head, tail.turn as last, tail.scheduled_at as last_scheduled_at
        from (
          select q.turn from task_queue q where ${ready} and q.visible_at <= (select clock_timestamp())
          order by q.priority desc, q.turn, q.workflow_id, q.scheduled_seq limit 1
        ) as head
        cross join lateral (
          select q.turn, q.scheduled_at from task_queue q where ${ready}
          order by q.priority, q.turn desc, q.workflow_id desc, q.scheduled_seq desc limit 1
        ) as tail`;
};
