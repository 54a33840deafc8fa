import type { SequencedEvent } from '../../src/domain/execution/events.ts';
import {
  addMs,
  type ExecutionId,
  type Instant,
  type LeaseToken,
  type Namespace,
  taskIdOf,
} from '../../src/domain/kernel/brand.ts';
import type {
  ArmTimer,
  CloseTask,
  EngineStore,
  EngineTx,
  EnqueueTask,
  LeasedTask,
  LeaseRequest,
  NewExecution,
  OpenTaskRow,
  Owed,
  PublishMessage,
  TaskReport,
} from '../../src/ports/engine-store.ts';
import { createFakeIds } from '../support/fake-ids.ts';
import type { OpenHarness } from './harness.ts';

export const ALPHA = 'alpha' as Namespace;
export const BETA = 'beta' as Namespace;
export const ids = createFakeIds();

/** One call in a transaction of its own. */
export const inTx = <T>(engine: EngineStore, work: (tx: EngineTx) => Promise<T>): Promise<T> =>
  engine.transaction(work);

export class Abort extends Error {}

/** Runs the work and rolls it back. */
export const rolledBack = async (engine: EngineStore, work: (tx: EngineTx) => Promise<unknown>): Promise<void> => {
  const attempt = engine.transaction(async (tx) => {
    await work(tx);
    throw new Abort('roll back');
  });
  await attempt.catch((error: unknown) => {
    if (!(error instanceof Abort)) throw error;
  });
};

export const newExecution = (startedAt: Instant, overrides: Partial<NewExecution> = {}): NewExecution => ({
  executionId: ids.executionId(),
  namespace: ALPHA,
  definitionHash: 'hash-1',
  name: 'checkout',
  version: 1,
  input: { order: 7 },
  priority: 0,
  startedAt,
  ...overrides,
});

/** A run on record, without a decide row. */
export const givenExecution = async (
  { engine }: OpenHarness,
  overrides: Partial<NewExecution> = {},
): Promise<ExecutionId> => {
  const execution = newExecution(await engine.now(), overrides);
  await inTx(engine, (tx) => tx.createExecutions([execution]));
  return execution.executionId;
};

export const owed = <T>(executionId: ExecutionId, item: T, namespace: Namespace = ALPHA): Owed<T> => ({
  namespace,
  executionId,
  item,
});

export const pausedEvent = (seq: number, at: Instant, by = 'operator'): SequencedEvent => ({
  seq,
  event: { type: 'ExecutionPaused', at, by },
});

/** An attempt of a task that is visible at once; `seq` names it within its run. */
export const newTask = (
  executionId: ExecutionId,
  at: Instant,
  seq: number,
  overrides: Partial<EnqueueTask> = {},
): EnqueueTask => ({
  type: 'EnqueueTask',
  taskId: taskIdOf(executionId, seq),
  ref: `task-${seq}`,
  iteration: 0,
  attempt: 1,
  family: 'worker',
  taskType: 'SIMPLE',
  taskName: 'charge',
  queue: 'charge',
  priority: 0,
  workflowName: 'checkout',
  input: { amount: 12.5 },
  visibleAt: at,
  scheduledAt: at,
  heartbeatMs: 60_000,
  startToCloseMs: 0,
  alertOnly: false,
  ...overrides,
});

/** Puts on record that the task was scheduled: the first event of its run. */
export const givenScheduledEvent = ({ engine }: OpenHarness, task: LeasedTask): Promise<void> => {
  const { ref, iteration, attempt, taskType, taskName, queue, input, scheduledAt: at } = task;
  const slot = { ref, iteration, attempt, taskType, taskName, queue, input };
  const event = { type: 'TaskScheduled', at, ...slot, visibleAt: at, firstScheduledAt: at } as const;
  return inTx(engine, (tx) => tx.appendEvents([owed(task.executionId, { seq: 1, event }, task.namespace)]));
};

/** Ends the attempt as a pass does that has read its outcome. */
export const closeByPass = async ({ engine }: OpenHarness, task: LeasedTask): Promise<void> => {
  await inTx(engine, async (tx) => {
    const { now } = await tx.claimEvaluationsOf([task.executionId]);
    const [outcome] = (await tx.readOutcomes([task.executionId])).get(task.executionId) ?? [];
    if (outcome === undefined) throw new Error('expected an outcome to close the attempt with');
    const { taskId, taskType, taskName, scheduledAt, ref, iteration, attempt } = task;
    const slot = { taskId, taskType, taskName, scheduledAt, ref, iteration, attempt };
    const close = { type: 'CloseTask', ...slot, status: outcome.status, endedAt: now } as const;
    await tx.closeTasks([owed(task.executionId, close, task.namespace)]);
  });
};

type TaskOverrides = Partial<EnqueueTask> & Readonly<{ seq?: number; namespace?: Namespace; delayMs?: number }>;

/** Opens an attempt of a task of the run. */
export const givenTask = async (
  { engine }: OpenHarness,
  executionId: ExecutionId,
  { seq = 2, namespace = ALPHA, delayMs = 0, ...overrides }: TaskOverrides = {},
): Promise<EnqueueTask> => {
  const now = await engine.now();
  const task = newTask(executionId, now, seq, { visibleAt: addMs(now, delayMs), ...overrides });
  await inTx(engine, (tx) => tx.enqueueTasks([owed(executionId, task, namespace)]));
  return task;
};

export const leaseRequest = (overrides: Partial<LeaseRequest> = {}): LeaseRequest => {
  const count = overrides.count ?? 1;
  return {
    namespace: ALPHA,
    queues: ['charge'],
    workerId: 'worker-1',
    count,
    tokens: Array.from({ length: count }, () => ids.leaseToken()),
    ...overrides,
  };
};

export const lease = ({ engine }: OpenHarness, overrides: Partial<LeaseRequest> = {}): Promise<readonly LeasedTask[]> =>
  inTx(engine, (tx) => tx.leaseTasks(leaseRequest(overrides)));

/** Leases exactly one task. */
export const leaseOne = async (harness: OpenHarness, overrides: Partial<LeaseRequest> = {}): Promise<LeasedTask> => {
  const [task, ...others] = await lease(harness, overrides);
  if (task === undefined || others.length > 0) throw new Error('expected to lease exactly one task');
  return task;
};

/** A run with one task, leased. */
export const givenLeasedTask = async (
  harness: OpenHarness,
  overrides: TaskOverrides = {},
  request: Partial<LeaseRequest> = {},
): Promise<LeasedTask> => {
  const namespace = overrides.namespace ?? ALPHA;
  const executionId = await givenExecution(harness, { namespace });
  await givenTask(harness, executionId, overrides);
  return leaseOne(harness, { namespace, ...request });
};

export const reportOf = (
  task: Pick<LeasedTask, 'taskId' | 'leaseToken'>,
  overrides: Partial<TaskReport> = {},
): TaskReport => ({
  taskId: task.taskId,
  leaseToken: task.leaseToken,
  status: 'COMPLETED',
  output: { receipt: 'r-1' },
  ...overrides,
});

export const settle = async (
  { engine }: OpenHarness,
  report: TaskReport,
  namespace: Namespace | undefined = ALPHA,
): Promise<string | undefined> => {
  const [outcome] = await inTx(engine, (tx) => tx.settleTasks(namespace, [report]));
  return outcome;
};

export const heartbeat = async (
  { engine }: OpenHarness,
  task: Readonly<{ taskId: LeasedTask['taskId']; leaseToken: LeaseToken }>,
  leaseMs?: number,
  namespace: Namespace = ALPHA,
): Promise<Readonly<{ kind: string; leaseExpiresAt?: Instant }> | undefined> => {
  const beat = { taskId: task.taskId, leaseToken: task.leaseToken, ...(leaseMs === undefined ? {} : { leaseMs }) };
  const [outcome] = await inTx(engine, (tx) => tx.heartbeat(namespace, [beat]));
  return outcome;
};

export const closeOf = (task: EnqueueTask, endedAt: Instant, overrides: Partial<CloseTask> = {}): CloseTask => ({
  type: 'CloseTask',
  taskId: task.taskId,
  ref: task.ref,
  iteration: task.iteration,
  attempt: task.attempt,
  status: 'COMPLETED',
  taskType: task.taskType,
  taskName: task.taskName,
  scheduledAt: task.scheduledAt,
  endedAt,
  ...overrides,
});

export const timerOf = (
  slot: Pick<EnqueueTask, 'ref' | 'iteration' | 'attempt'>,
  purpose: ArmTimer['purpose'],
  fireAt: Instant,
  alertOnly = false,
): ArmTimer => ({
  type: 'ArmTimer',
  ref: slot.ref,
  iteration: slot.iteration,
  attempt: slot.attempt,
  purpose,
  fireAt,
  alertOnly,
});

export const messageOf = (dedupKey: string, overrides: Partial<PublishMessage> = {}): PublishMessage => ({
  type: 'PublishMessage',
  topic: 'start-failure-workflow',
  dedupKey,
  orderingKey: 'order-1',
  payload: { about: dedupKey },
  ...overrides,
});

/** Claims every due decide row and names the runs. */
export const claimAll = async ({ engine }: OpenHarness): Promise<readonly ExecutionId[]> => {
  const { heads } = await inTx(engine, (tx) => tx.claimEvaluations(100));
  return heads.map((head) => head.executionId);
};

/** What waits on the open attempts of the run, whether or not a pass is told of it. */
export const outcomesOf = ({ engine }: OpenHarness, executionId: ExecutionId) =>
  inTx(engine, (tx) => tx.readAllOutcomes(executionId));

/** Claims every due decide row and reads as a pass does: the refs of the outcomes, by run. */
export const readByPass = async (tx: EngineTx): Promise<Readonly<Record<ExecutionId, readonly string[]>>> => {
  const { heads } = await tx.claimEvaluations(100);
  const outcomes = await tx.readOutcomes(heads.map((head) => head.executionId));
  const some = [...outcomes].filter(([, read]) => read.length > 0);
  return Object.fromEntries(some.map(([id, read]) => [id, read.map(({ ref }) => ref)]));
};

export const eventsOf = async ({ engine }: OpenHarness, executionId: ExecutionId, after = 0) =>
  (await inTx(engine, (tx) => tx.readEvents(new Map([[executionId, after]])))).get(executionId) ?? [];

export const openTask = async (
  { index }: OpenHarness,
  executionId: ExecutionId,
  namespace: Namespace = ALPHA,
): Promise<OpenTaskRow | undefined> => (await index.openTasks(namespace, executionId))[0];
