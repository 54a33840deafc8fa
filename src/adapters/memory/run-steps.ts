import type {
  EngineTx,
  LeasedTask,
  OpenedTask,
  Owed,
  RunStep,
  SteppedRuns,
  TaskReport,
} from '../../ports/engine-store.ts';
import { isGated } from './gates.ts';
import { heldTask, leaseTask } from './leases.ts';
import { isKnownAttempt, recordClosed } from './open-tasks.ts';
import { optional } from './optional.ts';
import { digestOf } from './reports.ts';
import { timerKey } from './rows.ts';
import type { MemoryState } from './state.ts';

const NOTHING: SteppedRuns = { stepped: new Set(), leased: [] };

const owedOf =
  ({ executionId, namespace }: RunStep) =>
  <T>(item: T): Owed<T> => ({ executionId, namespace, item });

/** Whether the step is to be written at all: its run goes on, and its reports hold. */
const holds = (state: MemoryState, { executionId, namespace, reports, endsWork }: RunStep): boolean => {
  const run = state.tables.executions.get(executionId);
  if (run?.status !== 'RUNNING' || run.namespace !== namespace) return false;
  if (!reports.every((report) => heldTask(state, namespace, report) !== undefined)) return false;
  return !endsWork || state.tables.openTasks.byRun.count(executionId) === reports.length;
};

/** Whether the step was decided from a fold that is as old as the log, and opens nothing that was opened before. */
const isUpToDate = (state: MemoryState, step: RunStep): boolean =>
  step.events[0]?.seq === state.events.get(step.executionId).length + 1 &&
  !step.opened.some(({ task }) => isKnownAttempt(state, owedOf(step)(task)));

const close = (state: MemoryState, step: RunStep): void => {
  const reported = new Map<string, TaskReport>(step.reports.map((report) => [report.taskId, report]));
  for (const closed of step.closed) {
    const report = reported.get(closed.taskId);
    const digest = report === undefined ? undefined : digestOf(report.leaseToken, report);
    const { executionId, namespace } = step;
    recordClosed(state, { executionId, namespace, closed, ...optional('report', digest) });
  }
};

const leaseOnTheWay = (state: MemoryState, { task, lease }: OpenedTask): readonly LeasedTask[] => {
  const row = state.tables.openTasks.get(task.taskId);
  if (row === undefined || lease === undefined || isGated(state, row)) return [];
  const { namespace } = row;
  const { leaseToken, workerId, leaseMs } = lease;
  const request = { namespace, queues: [task.queue], workerId, count: 1, tokens: [leaseToken] };
  return [leaseTask(state, row, { ...request, ...optional('leaseMs', leaseMs) }, leaseToken)];
};

/** Writes what the step owes, and leases of what it opens what a poll waits for. */
export const writeStep = async (state: MemoryState, tx: EngineTx, step: RunStep): Promise<readonly LeasedTask[]> => {
  const owed = owedOf(step);
  await tx.appendEvents(step.events.map(owed));
  if (step.projection !== undefined) await tx.projectExecutions([owed(step.projection)]);
  close(state, step);
  await tx.enqueueTasks(step.opened.map(({ task }) => owed(task)));
  await tx.cancelTimers(step.disarmed.map(owed));
  if (step.endsWork) {
    for (const timer of [...state.tables.timers.byRun.in(step.executionId)])
      state.tables.timers.delete(timerKey(timer));
  }
  await tx.armTimers(step.armed.map(owed));
  await tx.putMessages(step.messages.map(owed));
  return step.opened.flatMap((opened) => leaseOnTheWay(state, opened));
};

/** One step a run, in one transaction; each whole or not at all. */
export const stepRuns = async (state: MemoryState, tx: EngineTx, steps: readonly RunStep[]): Promise<SteppedRuns> => {
  const good = steps.filter((step) => holds(state, step));
  if (!good.every((step) => isUpToDate(state, step))) return NOTHING;
  const leased: LeasedTask[] = [];
  for (const step of good) leased.push(...(await writeStep(state, tx, step)));
  return { stepped: new Set(good.map(({ executionId }) => executionId)), leased, now: state.now() };
};
