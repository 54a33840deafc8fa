import type { Instant, Namespace } from '../../domain/kernel/brand.ts';
import type { AccessStore, ApiKeyRow } from '../../ports/access-store.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Serializer } from './serializer.ts';
import type { MemoryState } from './state.ts';

const quotaMethods = (
  { tables, journal }: MemoryState,
  serializer: Serializer,
): Pick<AccessStore, 'findQuotas' | 'putQuotas'> => ({
  findQuotas: (namespace) => serializer.read(() => tables.quotas.get(namespace)?.quotas ?? {}),
  putQuotas: (namespace, quotas) =>
    serializer.transaction(async () => {
      const { minute = 0 as Instant, starts = 0 } = tables.quotas.get(namespace) ?? {};
      tables.quotas.put({ namespace, quotas, minute, starts });
      journal.commit();
    }),
});

/** Namespaces and API keys in memory. */
export const createAccessStore = (clock: Clock, state: MemoryState, serializer: Serializer): AccessStore => {
  const namespaces = new Set<Namespace>();
  const keys = new Map<string, ApiKeyRow>();
  const serverKeys = new Map<string, string>();
  return {
    ...quotaMethods(state, serializer),
    createNamespace: async (namespace) => {
      const isNew = !namespaces.has(namespace);
      namespaces.add(namespace);
      return isNew;
    },
    namespaceExists: async (namespace) => namespaces.has(namespace),
    listNamespaces: async () => [...namespaces].sort(),
    putApiKey: async (key) => {
      keys.set(key.id, key);
    },
    findApiKeyByPrefix: async (prefix) => [...keys.values()].find((key) => key.prefix === prefix),
    listApiKeys: async (namespace) => [...keys.values()].filter((key) => key.namespace === namespace),
    revokeApiKey: async (namespace, id) => {
      const key = keys.get(id);
      if (key?.namespace !== namespace) return false;
      keys.set(id, { ...key, revokedAt: key.revokedAt ?? clock.now() });
      return true;
    },
    touchApiKey: async (id) => {
      const key = keys.get(id);
      if (key !== undefined) keys.set(id, { ...key, lastUsedAt: clock.now() });
    },
    keepServerKey: async (purpose, fresh) => {
      const kept = serverKeys.get(purpose) ?? fresh;
      serverKeys.set(purpose, kept);
      return kept;
    },
  };
};
