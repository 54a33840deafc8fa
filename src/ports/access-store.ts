import type { Instant, Namespace } from '../domain/kernel/brand.ts';

/** An API key as stored: never the key itself. */
export type ApiKeyRow = Readonly<{
  id: string;
  namespace: Namespace;
  name: string;
  /** First characters of the key, by which it is looked up. */
  prefix: string;
  /** SHA-256 of the whole key, hex. */
  digest: string;
  scopes: readonly string[];
  createdAt: Instant;
  expiresAt?: Instant;
  lastUsedAt?: Instant;
  revokedAt?: Instant;
}>;

/** What a namespace may have at most; what is absent is not limited. */
export type NamespaceQuotas = Readonly<{
  maxConcurrentExecutions?: number;
  maxExecutionsPerMinute?: number;
  maxWorkflowDefinitions?: number;
  maxSchedules?: number;
}>;

export interface AccessStore {
  findQuotas(namespace: Namespace): Promise<NamespaceQuotas>;
  /** Replaces them all. Holds for what is asked from then on; what is there already stays. */
  putQuotas(namespace: Namespace, quotas: NamespaceQuotas): Promise<void>;
  /** False when it exists already. */
  createNamespace(namespace: Namespace): Promise<boolean>;
  namespaceExists(namespace: Namespace): Promise<boolean>;
  listNamespaces(): Promise<readonly Namespace[]>;
  putApiKey(key: ApiKeyRow): Promise<void>;
  findApiKeyByPrefix(prefix: string): Promise<ApiKeyRow | undefined>;
  listApiKeys(namespace: Namespace): Promise<readonly ApiKeyRow[]>;
  /** False when there is no such key in the namespace. */
  revokeApiKey(namespace: Namespace, id: string): Promise<boolean>;
  touchApiKey(id: string): Promise<void>;
  /** The key that all servers over this database have for the purpose: the first one that any of them offers stays. */
  keepServerKey(purpose: string, fresh: string): Promise<string>;
}
