import type { Instant } from '../../../../domain/kernel/brand.ts';
import { isoText } from '../../wire/instant-wire.ts';
import type { ShownTask } from '../tasks-by-id.ts';

/** Conductor's TaskSummary: instants as text in GMT, payloads as text. */
export type TaskSummaryBody = Readonly<{
  workflowId: string;
  workflowType: string;
  correlationId?: string;
  scheduledTime: string;
  startTime?: string;
  updateTime: string;
  endTime?: string;
  status: string;
  reasonForIncompletion?: string;
  executionTime: number;
  queueWaitTime: number;
  taskDefName: string;
  taskType: string;
  referenceTaskName: string;
  input: string;
  output: string;
  taskId: string;
  workflowPriority: number;
  domain?: string;
}>;

const instantText = (ms: number): string => isoText(ms as Instant);

export const taskSummaryOf = ({ task, correlationId }: ShownTask): TaskSummaryBody => ({
  workflowId: task.workflowInstanceId,
  workflowType: task.workflowType,
  ...(correlationId !== undefined && { correlationId }),
  scheduledTime: instantText(task.scheduledTime),
  ...(task.startTime > 0 && { startTime: instantText(task.startTime) }),
  updateTime: instantText(task.updateTime),
  ...(task.endTime > 0 && { endTime: instantText(task.endTime) }),
  status: task.status,
  ...(task.reasonForIncompletion !== undefined && { reasonForIncompletion: task.reasonForIncompletion }),
  executionTime: task.startTime > 0 && task.endTime > 0 ? task.endTime - task.startTime : 0,
  queueWaitTime: task.queueWaitTime,
  taskDefName: task.taskDefName,
  taskType: task.taskType,
  referenceTaskName: task.referenceTaskName,
  input: JSON.stringify(task.inputData),
  output: JSON.stringify(task.outputData),
  taskId: task.taskId,
  workflowPriority: task.workflowPriority,
  ...(task.domain !== undefined && { domain: task.domain }),
});
