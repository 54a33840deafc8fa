import type { ArmTimer, CancelTimers, Owed } from '../../ports/engine-store.ts';
import type { Session } from './database.ts';
import { jsonRows, preparedCommand, timestamp } from './statement.ts';

const arm = preparedCommand('timers_arm');
const cancel = preparedCommand('timers_cancel');

/** The deadline of a run, and one that only alerts, ends nothing by itself: a fact under the execution lock is all it is. */
const firesUnderLock = ({ purpose, alertOnly }: ArmTimer): boolean =>
  purpose === 'EXECUTION' || (alertOnly && purpose !== 'WAIT');

export const timerSlotRow = ({ executionId, item }: Owed<CancelTimers | ArmTimer>) => ({
  workflow_id: executionId,
  ref: item.ref,
  iteration: item.iteration,
  attempt: item.attempt,
});

export const timerRow = (timer: Owed<ArmTimer>) => ({
  ...timerSlotRow(timer),
  purpose: timer.item.purpose,
  namespace: timer.namespace,
  fire_at: timestamp(timer.item.fireAt),
  under_lock: firesUnderLock(timer.item),
});

/** Arms the timers, or moves those that are armed. */
export const armTimers = async (session: Session, timers: readonly Owed<ArmTimer>[]): Promise<void> => {
  if (timers.length === 0) return;
  const rows = timers.map((timer, position) => ({ ...timerRow(timer), position }));
  await session.run(arm`
    insert into timers (workflow_id, ref, iteration, attempt, purpose, namespace, fire_at, under_lock)
    select distinct on (workflow_id, ref, iteration, attempt, purpose)
      workflow_id, ref, iteration, attempt, purpose, namespace, fire_at, under_lock
    from json_to_recordset(${jsonRows(rows)}::json) as r (
      workflow_id uuid, ref text, iteration integer, attempt integer, purpose text, namespace text,
      fire_at timestamptz, under_lock boolean, position integer
    )
    order by workflow_id, ref, iteration, attempt, purpose, position desc
    on conflict (workflow_id, ref, iteration, attempt, purpose) do update
    set fire_at = excluded.fire_at, under_lock = excluded.under_lock`);
};

export const cancelTimers = async (session: Session, timers: readonly Owed<CancelTimers>[]): Promise<void> => {
  if (timers.length === 0) return;
  const rows = timers.map(timerSlotRow);
  await session.run(cancel`
    with canceled as materialized (
      select * from json_to_recordset(${jsonRows(rows)}::json) as r (
        workflow_id uuid, ref text, iteration integer, attempt integer
      )
      order by workflow_id, ref collate "C", iteration, attempt
    )
    delete from timers using canceled
    where timers.workflow_id = any(array[canceled.workflow_id]) and timers.ref = canceled.ref
      and timers.iteration = canceled.iteration and timers.attempt = canceled.attempt`);
};
