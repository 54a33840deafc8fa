import type { ExecutionId, LeaseToken } from '../domain/kernel/brand.ts';

export interface Ids {
  /** A UUIDv7: the time it carries decides the partition of the run. */
  executionId(): ExecutionId;
  leaseToken(): LeaseToken;
  /** 32 random bytes in base64url, for keys and secrets. */
  secret(): string;
}
