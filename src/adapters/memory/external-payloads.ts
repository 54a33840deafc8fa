import type { PayloadStore } from '../../ports/payload-store.ts';
import { inNamespace } from './rows.ts';
import type { Serializer } from './serializer.ts';
import type { MemoryState } from './state.ts';

/** Uploaded payloads in memory; each write is a transaction of its own. */
export const createPayloadStore = (state: MemoryState, serializer: Serializer): PayloadStore => {
  const committed = <T>(work: () => T): Promise<T> =>
    serializer.transaction(async () => {
      const result = work();
      state.journal.commit();
      return result;
    });
  return {
    putPayload: (namespace, path, content) =>
      committed(() => state.tables.externalPayloads.put({ namespace, path, content, uploadedAt: state.now() })),
    findPayload: (namespace, path) =>
      serializer.read(() => state.tables.externalPayloads.get(inNamespace(namespace, path))?.content),
    prunePayloads: (olderThanMs, limit) =>
      committed(() => {
        const until = state.now() - olderThanMs;
        const old = [...state.tables.externalPayloads.values()]
          .filter(({ uploadedAt }) => uploadedAt <= until)
          .sort((a, b) => a.uploadedAt - b.uploadedAt)
          .slice(0, limit);
        for (const { namespace, path } of old) state.tables.externalPayloads.delete(inNamespace(namespace, path));
        return old.length;
      }),
  };
};
