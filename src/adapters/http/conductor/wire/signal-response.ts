import { z } from 'zod';
import type { ExecutionDetail } from '../../../../application/use-cases.ts';
import { isJsonObject, type JsonObject } from '../../../../domain/kernel/json.ts';
import type { AtRest, Blocking } from '../at-rest.ts';
import { type TaskBody, taskBodiesOf } from './task.ts';
import { liveRowsOf, taskRunOf, workflowBodyOf } from './workflow.ts';

/** What a caller who waits for a run is answered with. */
export const returnStrategy = z.enum(['TARGET_WORKFLOW', 'BLOCKING_WORKFLOW', 'BLOCKING_TASK', 'BLOCKING_TASK_INPUT']);
export type ReturnStrategy = z.output<typeof returnStrategy>;

const commonOf = (
  strategy: ReturnStrategy,
  { detail, timedOut }: AtRest,
  shown: ExecutionDetail,
  requestId: string,
): JsonObject => ({
  responseType: strategy,
  targetWorkflowId: detail.view.executionId,
  targetWorkflowStatus: detail.view.status,
  requestId,
  workflowId: shown.view.executionId,
  ...(shown.view.correlationId !== undefined && { correlationId: shown.view.correlationId }),
  ...(timedOut && { signalTimeout: true }),
});

/** Conductor's WorkflowRun. */
const workflowRunOf = (shown: ExecutionDetail): JsonObject => {
  const { input, output, priority, variables, tasks, createTime, status, updateTime } = workflowBodyOf(shown);
  return {
    input,
    output,
    priority,
    variables,
    tasks,
    createTime,
    status,
    updateTime,
    createdBy: '',
  } as unknown as JsonObject;
};

const bodyOf = ({ detail, task }: Blocking): TaskBody | undefined =>
  taskBodiesOf(detail.view.tasks, taskRunOf(detail), liveRowsOf(detail)).find(({ taskId }) => taskId === task.taskId);

/** Conductor's TaskRun. */
const taskRunBodyOf = (blocking: Blocking): JsonObject => {
  const task = bodyOf(blocking);
  if (task === undefined) return {};
  const { view } = blocking.detail;
  return {
    taskType: task.taskType,
    taskId: task.taskId,
    referenceTaskName: task.referenceTaskName,
    retryCount: task.retryCount,
    taskDefName: task.taskDefName,
    workflowType: task.workflowType,
    priority: task.workflowPriority,
    variables: view.variables,
    tasks: [],
    createdBy: '',
    createTime: task.scheduledTime,
    updateTime: task.updateTime,
    status: task.status,
    input: task.inputData,
    output: task.outputData,
    ...(task.retriedTaskId !== undefined && { retriedTaskId: task.retriedTaskId }),
    ...(task.reasonForIncompletion !== undefined && { reasonForIncompletion: task.reasonForIncompletion }),
  };
};

/**
 * Conductor's SignalResponse. Null where a blocking task is asked for and none is there; a blocking run is then the run
 * itself, since nothing below it waits.
 */
export const signalResponseOf = (rest: AtRest, strategy: ReturnStrategy, requestId: string): JsonObject | null => {
  const { detail, blocking } = rest;
  switch (strategy) {
    case 'TARGET_WORKFLOW':
      return { ...commonOf(strategy, rest, detail, requestId), ...workflowRunOf(detail) };
    case 'BLOCKING_WORKFLOW': {
      const shown = blocking?.detail ?? detail;
      return { ...commonOf(strategy, rest, shown, requestId), ...workflowRunOf(shown) };
    }
    case 'BLOCKING_TASK':
      if (blocking === undefined) return null;
      return { ...commonOf(strategy, rest, blocking.detail, requestId), ...taskRunBodyOf(blocking) };
    case 'BLOCKING_TASK_INPUT':
      if (blocking === undefined) return null;
      return {
        ...commonOf(strategy, rest, blocking.detail, requestId),
        ...taskRunBodyOf(blocking),
        output: {},
        input: isJsonObject(blocking.task.input) ? blocking.task.input : {},
      };
    default:
      return strategy satisfies never;
  }
};
