import { inject } from 'vitest';
import type {} from './global-postgres.ts';
import { createDatabaseFrom } from './postgres-server.ts';

/**
 * Whether the server of this run may lose data in a crash of the machine. Rondo refuses such a server unless told
 * otherwise, so a test that starts Rondo passes this as `allowUnsafeDurability`. A given server is not ours to judge:
 * there the refusal stands. synchronous_commit is on everywhere, as in production.
 */
export const allowUnsafeDurability = (): boolean => inject('testPostgres').kind !== 'given';

/** Makes a migrated database for one test file. Call `drop` when the file is done. */
export const createTestDatabase = (): Promise<{ url: string; drop: () => Promise<void> }> =>
  createDatabaseFrom(inject('testPostgres'));
