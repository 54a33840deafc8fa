import { isDeepStrictEqual } from 'node:util';
import type { TaskOutcome } from '../../domain/execution/requests.ts';
import type { ExecutionId, Namespace } from '../../domain/kernel/brand.ts';
import type { EngineTx, ReportOutcome, TaskReport } from '../../ports/engine-store.ts';
import { optional } from './optional.ts';
import { setOutcome } from './outcomes.ts';
import type { OpenTask } from './rows.ts';
import type { MemoryState } from './state.ts';

const isSameReport = ({ outcome }: OpenTask, report: TaskReport): boolean =>
  outcome?.status === report.status &&
  outcome.reason === report.reason &&
  isDeepStrictEqual(outcome.output, report.output);

const settle = (state: MemoryState, namespace: Namespace | undefined, report: TaskReport): ReportOutcome => {
  const row = state.tables.openTasks.get(report.taskId);
  const isHolder = row?.lease?.token === report.leaseToken && (namespace ?? row.namespace) === row.namespace;
  if (row === undefined || !isHolder) return 'leaseLost';
  if (row.outcome !== undefined) return isSameReport(row, report) ? 'repeated' : 'leaseLost';
  setOutcome(state, row, { status: report.status, output: report.output, ...optional('reason', report.reason) });
  return 'settled';
};

const waitingOutcomes = (state: MemoryState, executionId: ExecutionId): readonly OpenTask[] => [
  ...state.tables.openTasks.withOutcome.in(executionId),
];

const toldOutcomes = (state: MemoryState, executionId: ExecutionId): readonly TaskOutcome[] => {
  const told = state.claimedReports.get(executionId);
  if (told === undefined) return [];
  return waitingOutcomes(state, executionId).flatMap(({ task, outcome }) =>
    told.has(task.taskId) ? (outcome ?? []) : [],
  );
};

/** Reports of lease holders, and what the pass reads of them: an attempt that has an outcome keeps it (promise 7). */
export const reportWrites = (
  state: MemoryState,
): Pick<EngineTx, 'settleTasks' | 'readOutcomes' | 'readAllOutcomes'> => ({
  readOutcomes: async (executionIds) =>
    new Map(executionIds.map((executionId) => [executionId, toldOutcomes(state, executionId)])),
  readAllOutcomes: async (executionId) => waitingOutcomes(state, executionId).flatMap(({ outcome }) => outcome ?? []),
  settleTasks: async (namespace, reports) => reports.map((report) => settle(state, namespace, report)),
});
