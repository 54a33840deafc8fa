import {
  type ExecutionId,
  type Instant,
  type LeaseToken,
  type Namespace,
  taskIdOf,
} from '../../../src/domain/kernel/brand.ts';
import type {
  EngineStore,
  EnqueueTask,
  LeasedTask,
  LeaseRequest,
  Owed,
  TaskReport,
} from '../../../src/ports/engine-store.ts';
import { createFakeIds } from '../../support/fake-ids.ts';

export const NAMESPACE = 'race' as Namespace;
export const ids = createFakeIds();

export const tokens = (count: number): readonly LeaseToken[] => Array.from({ length: count }, () => ids.leaseToken());

/** A run on record, without a decide row. */
export const givenRun = async (engine: EngineStore): Promise<ExecutionId> => {
  const executionId = ids.executionId();
  const startedAt = await engine.now();
  await engine.transaction((tx) =>
    tx.createExecutions([
      {
        executionId,
        namespace: NAMESPACE,
        definitionHash: 'hash',
        name: 'race',
        version: 1,
        input: {},
        priority: 0,
        startedAt,
      },
    ]),
  );
  return executionId;
};

export const taskOf = (
  executionId: ExecutionId,
  seq: number,
  at: Instant,
  overrides: Partial<EnqueueTask> = {},
): Owed<EnqueueTask> => ({
  namespace: NAMESPACE,
  executionId,
  item: {
    type: 'EnqueueTask',
    taskId: taskIdOf(executionId, seq),
    ref: `step-${seq}`,
    iteration: 0,
    attempt: 1,
    family: 'worker',
    taskType: 'SIMPLE',
    taskName: 'pack',
    queue: 'pack',
    priority: 0,
    workflowName: 'checkout',
    input: {},
    visibleAt: at,
    scheduledAt: at,
    heartbeatMs: 60_000,
    startToCloseMs: 0,
    alertOnly: false,
    ...overrides,
  },
});

/** A run with open tasks, seq 2 and up. */
export const givenTasks = async (
  engine: EngineStore,
  count: number,
  overrides: Partial<EnqueueTask> = {},
): Promise<ExecutionId> => {
  const executionId = await givenRun(engine);
  const now = await engine.now();
  const tasks = Array.from({ length: count }, (_, index) => taskOf(executionId, index + 2, now, overrides));
  await engine.transaction((tx) => tx.enqueueTasks(tasks));
  return executionId;
};

export const lease = (engine: EngineStore, overrides: Partial<LeaseRequest> = {}): Promise<readonly LeasedTask[]> => {
  const count = overrides.count ?? 1;
  const request = { namespace: NAMESPACE, queues: ['pack'], workerId: 'worker', count, tokens: tokens(count) };
  return engine.transaction((tx) => tx.leaseTasks({ ...request, ...overrides }));
};

export const leaseOne = async (engine: EngineStore, overrides: Partial<LeaseRequest> = {}): Promise<LeasedTask> => {
  const [task] = await lease(engine, overrides);
  if (task === undefined) throw new Error('expected a task to lease');
  return task;
};

export const completed = (task: Pick<LeasedTask, 'taskId' | 'leaseToken'>, by: string): TaskReport => ({
  taskId: task.taskId,
  leaseToken: task.leaseToken,
  status: 'COMPLETED',
  output: { by },
});

export const outcomesOf = (engine: EngineStore, executionId: ExecutionId) =>
  engine.transaction((tx) => tx.readAllOutcomes(executionId));

export const claimNow = async (engine: EngineStore): Promise<readonly ExecutionId[]> => {
  const { heads } = await engine.transaction((tx) => tx.claimEvaluations(100));
  return heads.map((head) => head.executionId);
};
