import { setTimeout as after } from 'node:timers/promises';

export type Backoff = Readonly<{ baseMs: number; capMs: number }>;

/** Doubling by attempt (from 1) up to the cap; the upper half is left to chance, so that many clients spread out. */
export const backoffMs = (attempt: number, { baseMs, capMs }: Backoff, random: () => number = Math.random): number => {
  const ceilingMs = Math.min(capMs, baseMs * 2 ** Math.min(attempt - 1, 30));
  return ceilingMs / 2 + (ceilingMs / 2) * random();
};

/** Waits; ends early and quietly when the signal aborts. */
export const pause = async (ms: number, signal: AbortSignal): Promise<void> => {
  if (signal.aborted) return;
  await after(ms, undefined, { signal }).catch(() => undefined);
};
