import { setTimeout as delay } from 'node:timers/promises';

const LOOK_AGAIN_MS = 5;
const DEADLINE_MS = 20_000;

/**
 * Looks until the condition holds and returns what it found; undefined and false mean "not yet". Fails, with what was
 * waited for, after `deadlineMs`.
 */
export const eventually = async <T>(
  what: string,
  look: () => Promise<T | undefined | false> | T | undefined | false,
  deadlineMs: number = DEADLINE_MS,
): Promise<T> => {
  const deadline = performance.now() + deadlineMs;
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
    if (performance.now() > deadline) throw new Error(`after ${deadlineMs} ms still not: ${what}`);
    await delay(LOOK_AGAIN_MS);
  }
};
