import type { TaskDefinition } from '../../src/domain/definition/task-definition.ts';
import type { WorkflowDefinition } from '../../src/domain/definition/workflow-definition.ts';

export const taskDefinition = (name: string, overrides: Partial<TaskDefinition> = {}): TaskDefinition => ({
  name,
  policy: {
    retryCount: 3,
    retryLogic: 'FIXED',
    retryDelayMs: 1_000,
    backoffScaleFactor: 2,
    maxRetryDelayMs: 0,
    jitterShare: 0,
    jitterMs: 0,
    nonRetryableErrors: [],
    scheduleToStartMs: 0,
    startToCloseMs: 0,
    scheduleToCloseMs: 0,
    heartbeatMs: 60_000,
    timeoutPolicy: 'RETRY',
  },
  concurrentExecLimit: 0,
  inputTemplate: {},
  extra: {},
  ...overrides,
});

export const workflowDefinition = (
  name: string,
  version: number,
  overrides: Partial<WorkflowDefinition> = {},
): WorkflowDefinition => ({
  dialect: 'v1',
  name,
  version,
  tasks: [],
  inputParameters: [],
  inputTemplate: {},
  variables: {},
  enforceSchema: false,
  timeoutSeconds: 0,
  timeoutPolicy: 'TIME_OUT_WF',
  failureWorkflow: '',
  restartable: true,
  tags: [],
  metadata: {},
  extra: {},
  ...overrides,
});
