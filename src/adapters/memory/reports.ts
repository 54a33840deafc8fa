import type { TaskOutcome } from '../../domain/execution/requests.ts';
import type { ExecutionId, LeaseToken, Namespace } from '../../domain/kernel/brand.ts';
import type { JsonObject } from '../../domain/kernel/json.ts';
import type { EngineTx, ReportOutcome, TaskReport } from '../../ports/engine-store.ts';
import { optional } from './optional.ts';
import { setOutcome } from './outcomes.ts';
import type { OpenTask } from './rows.ts';
import type { MemoryState } from './state.ts';

/** What two reports have in common that are the same: the token and every part of the body. */
export const digestOf = (
  leaseToken: LeaseToken,
  { status, reason, output }: Readonly<{ status: string; reason?: string; output: JsonObject }>,
): string => JSON.stringify([leaseToken, status, reason, output]);

/** The report that waits on an open attempt, as `digestOf` tells reports apart. */
export const reportOn = ({ lease, outcome }: OpenTask): string | undefined =>
  lease === undefined || outcome === undefined ? undefined : digestOf(lease.token, outcome);

const isRepetition = (state: MemoryState, namespace: Namespace | undefined, report: TaskReport): boolean => {
  const open = state.tables.openTasks.get(report.taskId);
  const closed = state.tables.closedTasks.byTask.first(report.taskId);
  const row = open ?? closed;
  if (row === undefined || row.namespace !== (namespace ?? row.namespace)) return false;
  return (open === undefined ? closed?.report : reportOn(open)) === digestOf(report.leaseToken, report);
};

const settle = (state: MemoryState, namespace: Namespace | undefined, report: TaskReport): ReportOutcome => {
  const row = state.tables.openTasks.get(report.taskId);
  const isHolder = row?.lease?.token === report.leaseToken && (namespace ?? row.namespace) === row.namespace;
  if (row === undefined || !isHolder || row.outcome !== undefined) {
    return isRepetition(state, namespace, report) ? 'repeated' : 'leaseLost';
  }
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
