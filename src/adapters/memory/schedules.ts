import { isClosedExecution } from '../../domain/execution/statuses.ts';
import type { Namespace } from '../../domain/kernel/brand.ts';
import type {
  ScheduleFilter,
  ScheduleRow,
  ScheduleRun,
  ScheduleStore,
  ScheduleTx,
} from '../../ports/schedule-store.ts';
import { inNamespace, type StoredScheduleRun } from './rows.ts';
import type { Serializer } from './serializer.ts';
import type { MemoryState } from './state.ts';
import { ALL } from './tables.ts';

/** One transaction at a time, so every lock is held by construction. */
export const scheduleWrites = (state: MemoryState): ScheduleTx => {
  const { schedules, scheduleRuns, quotas, executions } = state.tables;
  return {
    lockSchedule: async (namespace, name) => schedules.get(inNamespace(namespace, name)),
    claimSchedule: async () => {
      const [now, row] = [state.now(), schedules.byDue.first(ALL)];
      return row?.fireAt === undefined || row.fireAt > now ? undefined : { now, row };
    },
    insertSchedule: async (row) => {
      const limit = quotas.get(row.namespace)?.quotas.maxSchedules;
      const current = schedules.byName.count(row.namespace);
      if (limit !== undefined && current >= limit) return { quota: 'maxSchedules', limit, current };
      if (schedules.has(inNamespace(row.namespace, row.schedule.name))) return 'exists';
      schedules.put(row);
      return 'created';
    },
    updateSchedule: async (row) => {
      const stored = schedules.get(inNamespace(row.namespace, row.schedule.name));
      if (stored?.id === row.id) schedules.put(row);
    },
    deleteSchedule: async (namespace, name) => {
      const row = schedules.delete(inNamespace(namespace, name));
      if (row === undefined) return false;
      for (const { id } of [...scheduleRuns.ofSchedule.in(row.id)]) scheduleRuns.delete(id);
      return true;
    },
    openRuns: async (ids) =>
      ids.filter((id) => {
        const run = executions.get(id);
        return run !== undefined && !isClosedExecution(run.status);
      }),
    recordScheduleRun: async (run, keepMax) => {
      const recorded = [...scheduleRuns.ofSchedule.in(run.scheduleId)];
      if (recorded.some(({ executionId, state: as }) => executionId === run.executionId && as === run.state)) return;
      const order = state.nextOrder();
      scheduleRuns.put({ ...run, id: String(order), order, recordedAt: state.now() });
      for (const { id } of [...scheduleRuns.ofSchedule.in(run.scheduleId)].slice(keepMax)) scheduleRuns.delete(id);
    },
  };
};

const holds = ({ schedule, paused }: ScheduleRow, filter: ScheduleFilter): boolean => {
  const text = filter.text?.toLowerCase() ?? '';
  return (
    schedule.start.name === (filter.workflowName ?? schedule.start.name) &&
    paused === (filter.paused ?? paused) &&
    [schedule.name, schedule.description ?? ''].some((part) => part.toLowerCase().includes(text))
  );
};

const runOf = ({ order: _, ...run }: StoredScheduleRun): ScheduleRun => run;

const runsOf = ({ tables }: MemoryState, namespace: Namespace, name: string | undefined) => {
  if (name === undefined) return tables.scheduleRuns.ofNamespace.in(namespace);
  return tables.scheduleRuns.ofSchedule.in(tables.schedules.get(inNamespace(namespace, name))?.id ?? '');
};

/** Schedules in memory. */
export const createScheduleStore = (state: MemoryState, serializer: Serializer): ScheduleStore => ({
  findSchedule: (namespace, name) => serializer.read(() => state.tables.schedules.get(inNamespace(namespace, name))),
  listSchedules: (namespace, filter, { limit, after = '' }) =>
    serializer.read(() =>
      [...state.tables.schedules.byName.in(namespace)]
        .filter((row) => row.schedule.name > after && holds(row, filter))
        .slice(0, limit),
    ),
  listScheduleRuns: (namespace, name, { limit, before }) =>
    serializer.read(() =>
      [...runsOf(state, namespace, name)]
        .filter(({ order }) => before === undefined || order < Number(before))
        .slice(0, limit)
        .map(runOf),
    ),
  nextScheduleInMs: () =>
    serializer.read(() => {
      const due = state.tables.schedules.byDue.first(ALL)?.fireAt;
      return due === undefined ? undefined : Math.max(0, due - state.now());
    }),
});
