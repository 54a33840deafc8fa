import type pg from 'pg';
import type { ExecutionId } from '../../../src/domain/kernel/brand.ts';
import type { LeasedTask } from '../../../src/ports/engine-store.ts';
import { eventually } from '../../support/eventually.ts';

/** Moves every deadline of a run into the past, as if the time had gone by. */
export const passDeadlines = async (observer: pg.Client, id: ExecutionId): Promise<void> => {
  await observer.query(
    `with armed as (
      select workflow_id, ref, iteration, attempt, purpose from timers where workflow_id = $1
      order by workflow_id, ref, iteration, attempt, purpose for update
    )
    update timers t set fire_at = clock_timestamp() - interval '1 millisecond'
    from armed where (t.workflow_id, t.ref, t.iteration, t.attempt, t.purpose)
      = (armed.workflow_id, armed.ref, armed.iteration, armed.attempt, armed.purpose)`,
    [id],
  );
};

/** Lets every lease of a run expire. */
export const expireLeases = async (observer: pg.Client, id: ExecutionId): Promise<void> => {
  await observer.query(
    `with leased as (
      select workflow_id, scheduled_seq from task_queue where workflow_id = $1 and lease_token is not null
      order by workflow_id, scheduled_seq for no key update
    )
    update task_queue t set lease_expires_at = clock_timestamp() - interval '1 millisecond'
    from leased where t.workflow_id = leased.workflow_id and t.scheduled_seq = leased.scheduled_seq`,
    [id],
  );
};

/** Lets the lease of a task expire: its worker has not been heard of. */
export const expireLease = async (observer: pg.Client, task: LeasedTask): Promise<void> => {
  const { rowCount } = await observer.query(
    `update task_queue set lease_expires_at = clock_timestamp() - interval '1 millisecond'
      where workflow_id = $1 and lease_token = $2`,
    [task.executionId, task.leaseToken],
  );
  if (rowCount !== 1) throw new Error(`${task.taskId} is not leased`);
};

/** Everything stored of the runs, as text: equal before and after what must change nothing. */
export const everythingStored = async (observer: pg.Client): Promise<string> => {
  const tables = ['workflow_executions', 'workflow_events', 'task_executions', 'task_queue', 'timers', 'outbox_events'];
  const dumps: string[] = [];
  for (const table of tables) {
    const { rows } = await observer.query<{ dump: string | null }>(
      `select string_agg(t::text, E'\\n' order by t::text) as dump from ${table} t`,
    );
    dumps.push(`${table}:\n${rows[0]?.dump ?? ''}`);
  }
  return dumps.join('\n');
};

/** Resolves once so many sessions of the database wait for a lock. */
export const whenBlocked = (observer: pg.Client, sessions = 1): Promise<true> =>
  eventually(`${sessions} sessions wait for a lock`, async () => {
    const { rows } = await observer.query<{ waiting: number }>(
      `select count(*)::integer as waiting from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`,
    );
    return (rows[0]?.waiting ?? 0) >= sessions;
  });

export const countOf = async (observer: pg.Client, query: string, values: readonly unknown[] = []): Promise<number> => {
  const { rows } = await observer.query<{ count: string }>(query, [...values]);
  return Number(rows[0]?.count);
};
