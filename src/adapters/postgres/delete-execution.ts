import { z } from 'zod';
import type { ExecutionId } from '../../domain/kernel/brand.ts';
import type { Session } from './database.ts';
import { prepared, preparedCommand } from './statement.ts';

const pending = prepared('delete_pending_messages', z.object({ isPending: z.boolean() }));
const removeKey = preparedCommand('delete_idempotency_key');
const removeTasks = preparedCommand('delete_closed_tasks');
const removeLogs = preparedCommand('delete_task_logs');
const removeMessages = preparedCommand('delete_dead_letters');
const removeEvents = preparedCommand('delete_events');
const removeReferences = preparedCommand('delete_blob_references');
const removeRun = preparedCommand('delete_execution');

/**
 * Under the lock of the run, which has ended: it has no open task, timer or place any more. A message that was not
 * delivered is owed to somebody else, so it stays, and the run with it.
 */
export const deleteExecution = async (session: Session, id: ExecutionId): Promise<'deleted' | 'undelivered'> => {
  const { isPending } = await session.one(pending`
    select exists (select from outbox_events where workflow_id = ${id} and dead_at is null) as is_pending`);
  if (isPending) return 'undelivered';
  await session.run(removeKey`
    delete from idempotency_keys k using workflow_executions w
    where w.workflow_id = ${id} and k.namespace = w.namespace and k.workflow_id = w.workflow_id
      and k.key in (w.idempotency_key, w.name || E'\\n' || w.idempotency_key)`);
  await session.run(removeTasks`delete from task_executions where workflow_id = ${id}`);
  await session.run(removeLogs`delete from task_logs where workflow_id = ${id}`);
  await session.run(removeMessages`delete from outbox_events where workflow_id = ${id} and dead_at is not null`);
  await session.run(removeEvents`delete from workflow_events where workflow_id = ${id}`);
  await session.run(removeReferences`delete from blob_references where workflow_id = ${id}`);
  await session.run(removeRun`delete from workflow_executions where workflow_id = ${id}`);
  return 'deleted';
};
