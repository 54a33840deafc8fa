import type { EngineTx } from '../../ports/engine-store.ts';
import { inNamespace } from './rows.ts';
import type { MemoryState } from './state.ts';

/** Outputs that other runs may take over, and queues with a domain that were polled of late. */
export const cacheWrites = (
  state: MemoryState,
): Pick<
  EngineTx,
  'storeTaskOutputs' | 'findTaskOutput' | 'pruneTaskOutputs' | 'notePolls' | 'polledQueues' | 'prunePolls'
> => {
  const { taskOutputs, domainPolls } = state.tables;
  return {
    storeTaskOutputs: async (outputs) => {
      for (const { namespace, item } of outputs) taskOutputs.put({ namespace, ...item });
    },
    findTaskOutput: async (namespace, { taskName, key }, now) => {
      const row = taskOutputs.get(JSON.stringify([namespace, taskName, key]));
      return row !== undefined && row.expiresAt > now ? row.output : undefined;
    },
    pruneTaskOutputs: async (limit) => {
      const expired = [...taskOutputs.values()].filter((row) => row.expiresAt <= state.now()).slice(0, limit);
      for (const { namespace, taskName, key } of expired)
        taskOutputs.delete(JSON.stringify([namespace, taskName, key]));
      return expired.length;
    },
    notePolls: async (queues) => {
      for (const { namespace, queue } of queues) domainPolls.put({ namespace, queue, polledAt: state.now() });
    },
    polledQueues: async (namespace, queues, withinMs) => {
      const since = state.now() - withinMs;
      const polledAt = (queue: string) => domainPolls.get(inNamespace(namespace, queue))?.polledAt;
      return new Set(queues.filter((queue) => (polledAt(queue) ?? since - 1) >= since));
    },
    prunePolls: async (olderThanMs) => {
      const old = [...domainPolls.values()].filter((row) => row.polledAt < state.now() - olderThanMs);
      for (const { namespace, queue } of old) domainPolls.delete(inNamespace(namespace, queue));
      return old.length;
    },
  };
};
