import type { Instant } from '../../domain/kernel/brand.ts';
import type { WorkerPollStore } from '../../ports/worker-polls.ts';
import { type WorkerPollRow, workerPollKey } from './rows.ts';
import type { Serializer } from './serializer.ts';
import type { MemoryState } from './state.ts';

/** Polls of workers in memory; each write is a transaction of its own. */
export const createWorkerPollStore = (state: MemoryState, serializer: Serializer): WorkerPollStore => {
  const { workerPolls } = state.tables;
  const committed = <T>(work: () => T): Promise<T> =>
    serializer.transaction(async () => {
      const result = work();
      state.journal.commit();
      return result;
    });
  const since = (row: WorkerPollRow, ms: number): boolean => row.lastPollAt >= state.now() - ms;
  return {
    note: (polls) =>
      committed(() => {
        for (const { namespace, queue, workerId, agoMs } of polls) {
          const polledAt = Math.floor(state.now() - agoMs);
          const before = workerPolls.get(workerPollKey({ namespace, queue, workerId }))?.lastPollAt ?? polledAt;
          workerPolls.put({ namespace, queue, workerId, lastPollAt: Math.max(before, polledAt) as Instant });
        }
      }),
    seen: (namespace, withinMs, limit) =>
      serializer.read(() =>
        [...workerPolls.byQueue.in(namespace)]
          .filter((row) => since(row, withinMs))
          .slice(0, limit)
          .map(({ queue, workerId, lastPollAt }) => ({ queue, workerId, lastPollAt })),
      ),
    servedQueues: (namespace, queues, withinMs) =>
      serializer.read(() => {
        const served = [...workerPolls.byQueue.in(namespace)].filter((row) => since(row, withinMs));
        const names = new Set(served.map(({ queue }) => queue));
        return new Set(queues.filter((queue) => names.has(queue)));
      }),
    forget: (olderThanMs) =>
      committed(() => {
        const old = [...workerPolls.values()].filter((row) => !since(row, olderThanMs));
        for (const row of old) workerPolls.delete(workerPollKey(row));
        return old.length;
      }),
  };
};
