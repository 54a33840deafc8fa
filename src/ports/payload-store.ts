import type { Instant, Namespace } from '../domain/kernel/brand.ts';
import type { JsonObject } from '../domain/kernel/json.ts';

/** Payloads that clients upload before they name them in a request. */
export interface PayloadStore {
  /** Keeps a payload under its path; one that is there is replaced. */
  putPayload(namespace: Namespace, path: string, content: JsonObject): Promise<void>;
  findPayload(namespace: Namespace, path: string): Promise<JsonObject | undefined>;
  /** Deletes what was uploaded so long ago, the oldest first, at most `limit`. Returns how many. */
  prunePayloads(olderThanMs: number, limit: number): Promise<number>;
}

/** What somebody may do without other credentials, until then. */
export type PayloadGrant = Readonly<{
  namespace: Namespace;
  path: string;
  operation: 'READ' | 'WRITE';
  expiresAt: Instant;
}>;

/** Makes and checks what proves such a grant. Every server over one database has the same seal. */
export interface PayloadSeal {
  token(grant: PayloadGrant): string;
  /** Undefined: the seal did not make it. Whether it has expired is for the caller to see. */
  grantOf(token: string): PayloadGrant | undefined;
}
