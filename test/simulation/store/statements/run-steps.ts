import { isClosedExecution } from '../../../../src/domain/execution/statuses.ts';
import type { ExecutionId, Instant } from '../../../../src/domain/kernel/brand.ts';
import { parseTaskId } from '../../../../src/domain/kernel/brand.ts';
import type { LeasedTask, OpenedTask, RunStep, SteppedRuns, TaskReport } from '../../../../src/ports/engine-store.ts';
import { StatementFailure } from '../failure.ts';
import {
  attemptKey,
  closedKey,
  type ExecutionRecord,
  type QueueRow,
  queueKey,
  type TimerRow,
  timerKey,
} from '../rows.ts';
import type { Tx } from '../session.ts';
import type { Statement } from '../statement.ts';
import type { Cell } from '../table.ts';
import { limitsOf } from './gates.ts';
import { leasedTask } from './leases.ts';
import { reportHash } from './reports.ts';
import { identityInTheWay } from './tasks.ts';

type Good = Readonly<{
  step: RunStep;
  run: Cell<ExecutionRecord>;
  row: ExecutionRecord;
  held: readonly Cell<QueueRow>[];
}>;

const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

const seqOf = (taskId: TaskReport['taskId']): number => parseTaskId(taskId)?.scheduledSeq ?? 0;

/** Locks the run and the reported attempts, passing over what others hold; undefined: the step is left alone. */
const lockStep = async (session: Tx, statement: Statement, step: RunStep): Promise<Good | undefined> => {
  const { executions, taskQueue } = session.database.tables;
  await session.database.rowPoint(session.tx);
  const isRunning = (each: ExecutionRecord) => each.status === 'RUNNING' && each.namespace === step.namespace;
  const run = executions.find(step.executionId);
  const seen = statement.get(run);
  if (run === undefined || seen === undefined || !isRunning(seen)) return undefined;
  const row = statement.lockOrSkip(run, isRunning);
  if (row === undefined) return undefined;
  const held: Cell<QueueRow>[] = [];
  for (const report of step.reports) {
    const isHeld = (each: QueueRow) => each.leaseToken === report.leaseToken && each.outcome === undefined;
    const cell = taskQueue.find(queueKey(step.executionId, seqOf(report.taskId)));
    const task = statement.get(cell);
    if (cell === undefined || task === undefined || !isHeld(task)) return undefined;
    if (statement.lockOrSkip(cell, isHeld) === undefined) return undefined;
    held.push(cell);
  }
  const open = statement.scan(taskQueue.ofRun(step.executionId)).length;
  if (step.endsWork && open !== step.reports.length && session.plant !== 'step-ends-others') return undefined;
  return { step, run, row, held };
};

const open = async (
  session: Tx,
  statement: Statement,
  step: RunStep,
  { task, lease }: OpenedTask,
): Promise<readonly LeasedTask[]> => {
  const { executionId, namespace } = step;
  const { taskQueue, closedTasks } = session.database.tables;
  const isLimited = limitsOf(session.limits, namespace, task.taskName) !== undefined;
  const now = statement.now();
  const bare: QueueRow = { executionId, namespace, seq: seqOf(task.taskId), task, visibleAt: task.visibleAt };
  const row: QueueRow =
    lease === undefined || isLimited
      ? bare
      : {
          ...bare,
          leaseToken: lease.leaseToken,
          workerId: lease.workerId,
          leaseExpiresAt: now + (lease.leaseMs ?? task.heartbeatMs),
          startedAt: Math.floor(now) as Instant,
        };
  const isKnown = statement.find(closedTasks, closedKey(executionId, task)) !== undefined;
  if (isKnown) throw new StatementFailure('22012', `${attemptKey(task)} was opened before`);
  if (await identityInTheWay(session, row)) throw new StatementFailure('23505', `${attemptKey(task)} is open`);
  await statement.mustInsert(taskQueue, row);
  return row.leaseToken === undefined ? [] : [leasedTask(row, row.workerId ?? '')];
};

const close = async (
  session: Tx,
  statement: Statement,
  step: RunStep,
  held: readonly Cell<QueueRow>[],
): Promise<void> => {
  for (const cell of held) statement.write(cell, undefined);
  const reports = new Map(step.reports.map((report) => [report.taskId, report]));
  for (const { type: _type, ...closed } of step.closed) {
    const report = reports.get(closed.taskId);
    const key = { executionId: step.executionId, namespace: step.namespace, seq: seqOf(closed.taskId) };
    const hash = report === undefined ? {} : { reportHash: reportHash(report.leaseToken, report) };
    await statement.mustInsert(session.database.tables.closedTasks, { ...closed, ...key, ...hash });
  }
};

const project = (statement: Statement, { step, run, row }: Good): void => {
  const { projection } = step;
  if (projection === undefined) return;
  const { output: _output, reason: _reason, failedTask: _failed, endedAt: _ended, ...rest } = row;
  statement.write(run, {
    ...rest,
    status: projection.status,
    updatedAt: projection.at,
    ...(projection.output === undefined ? {} : { output: projection.output }),
    ...(projection.reason === undefined ? {} : { reason: projection.reason }),
    ...(projection.failedTask === undefined ? {} : { failedTask: projection.failedTask }),
    ...(isClosedExecution(projection.status) ? { endedAt: projection.at } : {}),
  });
};

const writeTimers = async (session: Tx, statement: Statement, step: RunStep): Promise<void> => {
  const { timers } = session.database.tables;
  const disarmed = new Set(step.disarmed.map(attemptKey));
  const goes = (row: TimerRow) => step.endsWork || disarmed.has(attemptKey(row));
  const found = statement.scan(timers.ofRun(step.executionId), goes);
  for (const { cell } of found.sort((a, b) => compareText(a.cell.key, b.cell.key))) {
    if ((await statement.lock(cell)) !== undefined) statement.write(cell, undefined);
  }
  for (const { ref, iteration, attempt, purpose, fireAt, alertOnly } of step.armed) {
    const underLock = purpose === 'EXECUTION' || (alertOnly && purpose !== 'WAIT');
    const key = { executionId: step.executionId, ref, iteration, attempt, purpose };
    if (statement.find(timers, timerKey(key)) !== undefined) throw new StatementFailure('23505', timerKey(key));
    await statement.mustInsert(timers, { ...key, namespace: step.namespace, fireAt, underLock });
  }
};

const sendMessages = async (session: Tx, statement: Statement, step: RunStep): Promise<void> => {
  for (const { topic, dedupKey, orderingKey, payload, visibleAt } of step.messages) {
    await statement.insert(session.database.tables.outbox, {
      id: session.database.nextId(),
      executionId: step.executionId,
      namespace: step.namespace,
      topic,
      dedupKey,
      orderingKey,
      payload,
      attempts: 0,
      availableAt: Math.max(visibleAt ?? 0, statement.now()),
    });
  }
};

/** What a step writes beside the row of its run. */
export const writeStepOf = async (
  session: Tx,
  statement: Statement,
  step: RunStep,
  held: readonly Cell<QueueRow>[],
): Promise<readonly LeasedTask[]> => {
  const { executionId, namespace } = step;
  const leased: LeasedTask[] = [];
  for (const { seq, event } of step.events) {
    await statement.mustInsert(session.database.tables.events, { executionId, namespace, seq, event });
  }
  await close(session, statement, step, held);
  for (const opened of step.opened) leased.push(...(await open(session, statement, step, opened)));
  await writeTimers(session, statement, step);
  await sendMessages(session, statement, step);
  return leased;
};

/** All steps in one statement: what is held by others is left alone, what an old fold did not know of fails the whole. */
export const stepRuns = (session: Tx, steps: readonly RunStep[]): Promise<SteppedRuns> =>
  session.run('step', async (statement) => {
    const good: Good[] = [];
    for (const step of steps.toSorted((a, b) => compareText(a.executionId, b.executionId))) {
      const locked = await lockStep(session, statement, step);
      if (locked !== undefined) good.push(locked);
    }
    const leased: LeasedTask[] = [];
    for (const each of good) {
      project(statement, each);
      leased.push(...(await writeStepOf(session, statement, each.step, each.held)));
    }
    const stepped = new Set<ExecutionId>(good.map(({ step }) => step.executionId));
    return { stepped, leased, now: Math.floor(statement.now()) as Instant };
  });
