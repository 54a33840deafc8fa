import type { ReportAnswer } from '../../../application/use-cases.ts';
import type { LeasedTask } from '../../../ports/engine-store.ts';
import type { WorkerSeen } from '../../../ports/execution-index.ts';
import type { LeasedTaskBody, ReportManyAnswerBody, WorkerListBody } from '../schemas/workers.ts';
import { isoText } from './instant-wire.ts';

export const leasedTaskOf = (task: LeasedTask): LeasedTaskBody => ({
  taskId: task.taskId,
  workflowId: task.executionId,
  taskRef: task.ref,
  iteration: task.iteration,
  attempt: task.attempt,
  taskName: task.taskName,
  taskType: task.taskType,
  queue: task.queue,
  priority: task.priority,
  leaseToken: task.leaseToken,
  leaseExpiresAt: isoText(task.leaseExpiresAt),
  input: task.input,
  scheduledAt: isoText(task.scheduledAt),
  startedAt: isoText(task.startedAt),
});

/** One answer of a batch of reports. */
export const reportAnswerOf = ({ taskId, result }: ReportAnswer): ReportManyAnswerBody['answers'][number] => {
  if (result.ok) return { taskId, status: 'settled', repeated: result.value.repeated };
  const { code, message, path } = result.error;
  return { taskId, status: 'refused', error: code, message, ...(path !== undefined && { path }) };
};

export const workerOf = ({ queue, workerId, lastPollAt }: WorkerSeen): WorkerListBody['workers'][number] => ({
  queue,
  workerId,
  lastPollAt: isoText(lastPollAt),
});
