import { RETRY_BUDGET_WINDOW_SECONDS } from '../../domain/execution/retry-budget.ts';
import type { EngineTx } from '../../ports/engine-store.ts';
import type { RetryCount } from '../../ports/limits.ts';
import { inNamespace } from './rows.ts';
import type { MemoryState } from './state.ts';

const BUCKET_MS = 10_000;
const WINDOW_MS = RETRY_BUDGET_WINDOW_SECONDS * 1_000;

const add = (state: MemoryState, { namespace, taskName, attempts, retries }: RetryCount): void => {
  const bucketAt = Math.floor(state.now() / BUCKET_MS) * BUCKET_MS;
  const { retryBuckets } = state.tables;
  for (const row of [...retryBuckets.byTask.in(inNamespace(namespace, taskName))]) {
    if (row.bucketAt <= state.now() - WINDOW_MS)
      retryBuckets.delete(`${inNamespace(namespace, taskName)}@${row.bucketAt}`);
  }
  const present = retryBuckets.get(`${inNamespace(namespace, taskName)}@${bucketAt}`);
  retryBuckets.put({
    namespace,
    taskName,
    bucketAt,
    attempts: attempts + (present?.attempts ?? 0),
    retries: retries + (present?.retries ?? 0),
  });
};

const countsOf = (state: MemoryState, namespace: RetryCount['namespace'], taskName: string): RetryCount | undefined => {
  const since = state.now() - WINDOW_MS;
  const rows = [...state.tables.retryBuckets.byTask.in(inNamespace(namespace, taskName))].filter(
    ({ bucketAt }) => bucketAt > since,
  );
  if (rows.length === 0) return undefined;
  const sum = (of: (row: RetryCount) => number): number => rows.reduce((total, row) => total + of(row), 0);
  return { namespace, taskName, attempts: sum((row) => row.attempts), retries: sum((row) => row.retries) };
};

/** Attempts and retries of the last minutes, by task name. */
export const retryCounts = (
  state: MemoryState,
  namespace: RetryCount['namespace'],
  taskNames: readonly string[],
): ReadonlyMap<string, RetryCount> => {
  const counts = taskNames.map((name) => countsOf(state, namespace, name));
  return new Map(counts.flatMap((count) => (count === undefined ? [] : [[count.taskName, count]])));
};

/** What was counted of closed attempts. */
export const retryCountWrites = (
  state: MemoryState,
): Pick<EngineTx, 'retryCounts' | 'addRetryCounts' | 'forgetPastLimits'> => ({
  retryCounts: async (namespace, taskNames) => retryCounts(state, namespace, taskNames),
  addRetryCounts: async (counts) => {
    for (const count of counts) add(state, count);
  },
  // Counts go when others of their task come, and there is one window a task.
  forgetPastLimits: async () => 0,
});
