import type { PolledTask } from '../../../../application/unfenced/run-facts.ts';
import { isJsonObject } from '../../../../domain/kernel/json.ts';
import { pinnedWireOf } from './pinned.ts';
import { type TaskBody, taskBodyOf } from './task.ts';

const MS_PER_SECOND = 1_000;

/** A task as its worker gets it. */
export const polledTaskOf = ({ task, run }: PolledTask): TaskBody => {
  const { executionId, taskType: type, leaseExpiresAt, heartbeatMs, progress, callbacks = 0 } = task;
  const { plan, ...of } = run;
  return taskBodyOf(
    {
      ...task,
      type,
      status: 'IN_PROGRESS',
      pollCount: callbacks + 1,
      // Told now: the lease began, or began again, with this poll.
      updatedAt: Math.max(task.startedAt, leaseExpiresAt - heartbeatMs) as typeof leaseExpiresAt,
      responseTimeoutSeconds: Math.ceil(heartbeatMs / MS_PER_SECOND),
      callbackAfterSeconds: task.callbackSeconds ?? 0,
      ...(isJsonObject(progress) && { output: progress }),
    },
    { ...of, executionId, pinned: pinnedWireOf(plan) },
  );
};
