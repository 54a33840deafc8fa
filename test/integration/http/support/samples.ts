import type { ExecutionDetail } from '../../../../src/application/use-cases.ts';
import { compilePlan } from '../../../../src/domain/definition/compile-plan.ts';
import { parseWorkflowDefinition } from '../../../../src/domain/definition/parse-definition.ts';
import { parseTaskDefinition } from '../../../../src/domain/definition/parse-task-definition.ts';
import type { TaskDefinition } from '../../../../src/domain/definition/task-definition.ts';
import type { WorkflowDefinition } from '../../../../src/domain/definition/workflow-definition.ts';
import type { SequencedEvent } from '../../../../src/domain/execution/events.ts';
import type { ExecutionView, TaskView } from '../../../../src/domain/execution/view.ts';
import type { ExecutionId, Instant, LeaseToken, Namespace } from '../../../../src/domain/kernel/brand.ts';
import { taskIdOf } from '../../../../src/domain/kernel/brand.ts';
import type { LeasedTask, OpenTaskRow } from '../../../../src/ports/engine-store.ts';
import type { ExecutionSummary } from '../../../../src/ports/execution-index.ts';

export const NAMESPACE = 'team' as Namespace;
export const OTHER_NAMESPACE = 'rivals' as Namespace;
export const RUN = '0192a3b4-c5d6-7e8f-9a0b-1c2d3e4f5a6b' as ExecutionId;
export const UNKNOWN_RUN = '0192a3b4-c5d6-7e8f-9a0b-000000000000' as ExecutionId;
export const TOKEN = '5b0e7f0c-4a55-4f0e-8f39-0d6f3f0f4a11' as LeaseToken;
export const TASK = taskIdOf(RUN, 2);
export const NOON = Date.UTC(2026, 0, 2, 12, 0, 0, 7) as Instant;
export const NOON_TEXT = '2026-01-02T12:00:00.007Z';

const unwrap = <T>(result: { ok: true; value: T } | { ok: false; error: unknown }): T => {
  if (!result.ok) throw new Error(JSON.stringify(result.error));
  return result.value;
};

export const WORKFLOW_DOCUMENT = {
  name: 'order',
  version: 3,
  tasks: [
    {
      name: 'choose',
      taskReferenceName: 'choose',
      type: 'SWITCH',
      evaluatorType: 'value-param',
      expression: 'tier',
      inputParameters: { tier: 'gold' },
      decisionCases: { gold: [{ name: 'gift', taskReferenceName: 'gift', type: 'SIMPLE', retryCount: 2 }] },
      defaultCase: [{ name: 'bill', taskReferenceName: 'bill', type: 'SIMPLE', startDelay: 5 }],
    },
  ],
};

export const TASK_DOCUMENT = { name: 'bill', retryCount: 2, retryDelaySeconds: 3, heartbeatTimeout: 20 };

export const WORKFLOW: WorkflowDefinition = unwrap(parseWorkflowDefinition(WORKFLOW_DOCUMENT, 'v1'));
export const PLAN = unwrap(compilePlan({ workflow: WORKFLOW, taskDefinitions: {} }, 'abc'));
export const TASK_DEFINITION: TaskDefinition = unwrap(parseTaskDefinition(TASK_DOCUMENT, 'v1'));

export const SUMMARY: ExecutionSummary = {
  executionId: RUN,
  name: 'order',
  version: 3,
  status: 'RUNNING',
  priority: 0,
  startedAt: NOON,
  updatedAt: NOON,
};

const TASK_VIEW: TaskView = {
  taskId: TASK,
  ref: 'bill',
  iteration: 0,
  attempt: 1,
  type: 'SIMPLE',
  taskName: 'bill',
  status: 'SCHEDULED',
  queue: 'bill',
  input: { amount: 5 },
  scheduledAt: NOON,
  retried: false,
};

export const VIEW: ExecutionView = {
  executionId: RUN,
  namespace: NAMESPACE,
  name: 'order',
  version: 3,
  definitionHash: 'abc',
  status: 'RUNNING',
  seq: 2,
  input: { tier: 'gold' },
  variables: {},
  priority: 0,
  parent: { executionId: UNKNOWN_RUN, taskId: taskIdOf(UNKNOWN_RUN, 3), ref: 'child', iteration: 0, attempt: 1 },
  startedAt: NOON,
  tasks: [TASK_VIEW],
};

const LIVE: OpenTaskRow = {
  taskId: TASK,
  ref: 'bill',
  iteration: 0,
  attempt: 1,
  family: 'worker',
  queue: 'bill',
  leased: true,
  workerId: 'w1',
  leaseExpiresAt: NOON,
  startedAt: NOON,
  visibleAt: NOON,
  progress: { done: 0.5 },
  hasOutcome: false,
};

export const DETAIL: ExecutionDetail = {
  row: { ...SUMMARY, namespace: NAMESPACE, definitionHash: 'abc', input: { tier: 'gold' } },
  view: VIEW,
  live: [LIVE],
  waitingFor: [{ ref: 'bill', iteration: 0, taskId: TASK, gate: 'LEASED', why: 'leased by w1' }],
  plan: PLAN,
};

export const LEASED: LeasedTask = {
  taskId: TASK,
  ref: 'bill',
  iteration: 0,
  executionId: RUN,
  namespace: NAMESPACE,
  taskType: 'SIMPLE',
  taskName: 'bill',
  queue: 'bill',
  attempt: 1,
  priority: 0,
  input: { amount: 5 },
  leaseToken: TOKEN,
  leaseExpiresAt: NOON,
  scheduledAt: NOON,
  startedAt: NOON,
  workerId: 'w1',
  heartbeatMs: 60_000,
};

/** The log of a run of `count` facts, the last of them terminal. */
export const logOf = (count: number): readonly SequencedEvent[] => [
  ...Array.from(
    { length: count - 1 },
    (_, index): SequencedEvent => ({
      seq: index + 1,
      event: { type: 'ExecutionPaused', at: NOON, by: `person-${index}`, reason: 'to see it' },
    }),
  ),
  { seq: count, event: { type: 'ExecutionClosed', at: NOON, status: 'COMPLETED', output: { count } } },
];
