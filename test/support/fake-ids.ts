import type { ExecutionId, LeaseToken } from '../../src/domain/kernel/brand.ts';
import type { Ids } from '../../src/ports/ids.ts';

const SECRET_CHARACTERS = 43;

/** Ids that count: the same test names the same things in every run, and ids sort in the order they were made. */
export const createFakeIds = (): Ids => {
  let made = 0;
  const nextHex = (): string => {
    made += 1;
    return made.toString(16).padStart(12, '0');
  };
  return {
    executionId: () => `01900000-0000-7000-8000-${nextHex()}` as ExecutionId,
    leaseToken: () => `00000000-0000-4000-8000-${nextHex()}` as LeaseToken,
    secret: () => nextHex().padStart(SECRET_CHARACTERS, 'S'),
  };
};
