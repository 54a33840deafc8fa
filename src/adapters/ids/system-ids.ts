import { randomBytes, randomUUID } from 'node:crypto';
import type { ExecutionId, LeaseToken } from '../../domain/kernel/brand.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Ids } from '../../ports/ids.ts';

const SECRET_BYTES = 32;
/** `rand_a` and the top of `rand_b` together: 30 bits that count within one millisecond. */
const COUNTER_MAX = 2 ** 30 - 1;
/** A fresh millisecond starts in the lower half, so at least 2^29 ids fit before it runs over. */
const COUNTER_SEED_BITS = 29;

const hex = (value: number, digits: number): string => value.toString(16).padStart(digits, '0');

const formatUuidV7 = (timeMs: number, counter: number, tail: Buffer): string => {
  const time = hex(timeMs, 12);
  const high = hex(0x7000 | (counter >>> 18), 4);
  const middle = hex(0x8000 | ((counter >>> 4) & 0x3fff), 4);
  const low = hex(counter & 0xf, 1) + tail.toString('hex').slice(1);
  return `${time.slice(0, 8)}-${time.slice(8)}-${high}-${middle}-${low}`;
};

/**
 * UUIDv7 that strictly increase within this process: several in one millisecond count upwards, and a clock that steps back
 * does not take the ids with it, so the newest run never sorts behind an older one.
 */
const uuidV7Sequence = (clock: Clock): (() => string) => {
  let lastMs = -1;
  let counter = 0;
  return () => {
    const nowMs = clock.now();
    if (nowMs > lastMs || counter === COUNTER_MAX) {
      lastMs = Math.max(nowMs, lastMs + 1);
      counter = randomBytes(4).readUInt32BE() >>> (32 - COUNTER_SEED_BITS);
    } else {
      counter += 1;
    }
    return formatUuidV7(lastMs, counter, randomBytes(6));
  };
};

/** Ids for production: UUIDv7 for runs, random UUIDs for leases, 256 random bits for secrets. */
export const createSystemIds = (clock: Clock): Ids => {
  const nextUuidV7 = uuidV7Sequence(clock);
  return {
    executionId: () => nextUuidV7() as ExecutionId,
    leaseToken: () => randomUUID() as LeaseToken,
    secret: () => randomBytes(SECRET_BYTES).toString('base64url'),
  };
};
