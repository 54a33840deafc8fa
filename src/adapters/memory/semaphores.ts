import type { Namespace } from '../../domain/kernel/brand.ts';
import type { SemaphoreStore, SemaphoreUse } from '../../ports/limits.ts';
import { heldPermits } from './gates.ts';
import { inNamespace, type SemaphoreRow } from './rows.ts';
import type { Serializer } from './serializer.ts';
import type { MemoryState } from './state.ts';

const useOf = (state: MemoryState, { namespace, ...semaphore }: SemaphoreRow): SemaphoreUse => ({
  ...semaphore,
  held: heldPermits(state, namespace, semaphore.name),
});

const put = (
  state: MemoryState,
  namespace: Namespace,
  name: string,
  permits: number,
): Awaited<ReturnType<SemaphoreStore['putSemaphore']>> => {
  const before = state.tables.semaphores.get(inNamespace(namespace, name));
  const now = state.now();
  const updatedAt = before?.permits === permits ? before.updatedAt : now;
  const row = { namespace, name, permits, createdAt: before?.createdAt ?? now, updatedAt };
  state.tables.semaphores.put(row);
  const outcome = before === undefined ? 'created' : before.permits === permits ? 'unchanged' : 'replaced';
  return { outcome, semaphore: useOf(state, row) };
};

/** Semaphores in memory; each write is a transaction of its own. */
export const createSemaphoreStore = (state: MemoryState, serializer: Serializer): SemaphoreStore => {
  const committed = <T>(work: () => T): Promise<T> =>
    serializer.transaction(async () => {
      const result = work();
      state.journal.commit();
      return result;
    });
  return {
    putSemaphore: (namespace, name, permits) => committed(() => put(state, namespace, name, permits)),
    findSemaphore: (namespace, name) =>
      serializer.read(() => {
        const row = state.tables.semaphores.get(inNamespace(namespace, name));
        return row && useOf(state, row);
      }),
    listSemaphores: (namespace, { limit, after }) =>
      serializer.read(() =>
        [...state.tables.semaphores.byName.in(namespace)]
          .filter(({ name }) => after === undefined || name > after)
          .slice(0, limit)
          .map((row) => useOf(state, row)),
      ),
    deleteSemaphore: (namespace, name) =>
      committed(() => state.tables.semaphores.delete(inNamespace(namespace, name)) !== undefined),
  };
};
