import type { BlockedExecution, ExecutionDetail } from '../../../../application/use-cases.ts';
import type { JsonObject } from '../../../../domain/kernel/json.ts';
import type { ReturnStrategy } from '../schemas/workflow.ts';
import { type TaskBody, taskBodiesOf, taskBodyOf } from './task.ts';
import { liveRowsOf, taskRunOf, type WorkflowBody, workflowBodyOf } from './workflow.ts';

type Common = Readonly<{
  responseType: ReturnStrategy;
  targetWorkflowId: string;
  targetWorkflowStatus: string;
  requestId: string;
  workflowId: string;
  correlationId?: string;
  input: JsonObject;
  output: JsonObject;
  signalTimeout?: true;
}>;

/** Conductor's WorkflowRun: a run as the answer to a call that waited for it. */
export type WorkflowRunBody = Common &
  Pick<WorkflowBody, 'priority' | 'variables' | 'tasks' | 'createdBy' | 'createTime' | 'status' | 'updateTime'>;

/** Conductor's TaskRun: the task that a run waits for. */
export type TaskRunBody = Common &
  Pick<
    TaskBody,
    | 'taskType'
    | 'taskId'
    | 'referenceTaskName'
    | 'retryCount'
    | 'taskDefName'
    | 'retriedTaskId'
    | 'workflowType'
    | 'reasonForIncompletion'
    | 'status'
  > &
  Readonly<{
    priority: number;
    variables: JsonObject;
    tasks: readonly TaskBody[];
    createTime: number;
    updateTime: number;
  }>;

const commonOf = (
  { target, timedOut }: BlockedExecution,
  responseType: ReturnStrategy,
  requestId: string,
): Pick<Common, 'responseType' | 'targetWorkflowId' | 'targetWorkflowStatus' | 'requestId' | 'signalTimeout'> => ({
  responseType,
  targetWorkflowId: target.view.executionId,
  targetWorkflowStatus: target.view.status,
  requestId,
  ...(timedOut && { signalTimeout: true as const }),
});

const runFields = (detail: ExecutionDetail) => {
  const body = workflowBodyOf(detail);
  const { workflowId, correlationId, input, output, priority, variables, tasks } = body;
  const { createdBy, createTime, status, updateTime, reasonForIncompletion } = body;
  return {
    workflowId,
    ...(correlationId !== undefined && { correlationId }),
    input,
    output,
    priority,
    variables,
    tasks,
    ...(createdBy !== undefined && { createdBy }),
    createTime,
    status,
    updateTime,
    ...(reasonForIncompletion !== undefined && { reasonForIncompletion }),
  };
};

const taskFields = ({ detail, task }: NonNullable<BlockedExecution['blocking']>, strategy: ReturnStrategy) => {
  const bodies = taskBodiesOf(detail.view.tasks, taskRunOf(detail), liveRowsOf(detail));
  const body = bodies.find(({ taskId }) => taskId === task.taskId) ?? taskBodyOf(task, taskRunOf(detail));
  const { inputData, outputData, scheduledTime, updateTime, workflowInstanceId, workflowPriority } = body;
  return {
    ...body,
    workflowId: workflowInstanceId,
    input: inputData,
    output: strategy === 'BLOCKING_TASK_INPUT' ? {} : outputData,
    priority: workflowPriority,
    variables: detail.view.variables,
    tasks: [],
    createTime: scheduledTime,
    updateTime,
  };
};

/** What a call that waited is answered; undefined: a task is asked for, and none waits. */
export const runResponseOf = (
  blocked: BlockedExecution,
  strategy: ReturnStrategy,
  requestId: string,
): WorkflowRunBody | TaskRunBody | undefined => {
  const common = commonOf(blocked, strategy, requestId);
  const { target, blocking } = blocked;
  switch (strategy) {
    case 'TARGET_WORKFLOW':
      return { ...runFields(target), ...common };
    case 'BLOCKING_WORKFLOW':
      return { ...runFields(blocking?.detail ?? target), ...common };
    case 'BLOCKING_TASK':
    case 'BLOCKING_TASK_INPUT':
      return blocking === undefined ? undefined : { ...taskFields(blocking, strategy), ...common };
    default:
      return strategy satisfies never;
  }
};
