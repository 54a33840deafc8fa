/** The share of failures is that of the calls of this long. */
export const BREAKER_WINDOW_MS = 30_000;
/** From this share of failures on, and this many calls, the circuit opens. */
export const BREAKER_FAILURE_RATIO = 0.5;
export const BREAKER_CALLS_MIN = 10;
/** How long it stays open at first; twice as long after each probe that fails, up to the most. */
export const BREAKER_OPEN_MS = 5_000;
export const BREAKER_OPEN_MS_MAX = 60_000;
/** While the probe is under way nobody knows how long that takes: who is refused asks again this much later. */
export const BREAKER_PROBE_WAIT_MS = 1_000;

/** The window is counted in slices: it moves on by one of them at a time. */
const SLICES = 10;
const SLICE_MS = BREAKER_WINDOW_MS / SLICES;

type Slice = Readonly<{ beginsAt: number; calls: number; failures: number }>;

/**
 * The circuit to one target. `round` counts its changes: what a call ends with is of interest only as long as the circuit
 * is in the state in which the call was let through.
 */
export type Breaker = Readonly<
  { round: number } & (
    | { state: 'closed'; slices: readonly Slice[] }
    | { state: 'open'; until: number; openMs: number }
    | { state: 'probing'; openMs: number }
  )
>;

export const CLOSED_BREAKER: Breaker = { state: 'closed', round: 0, slices: [] };

/** Whether a call may go out. A call that may has to be recorded, with the round of the circuit that let it through. */
export type Admitted = Readonly<{ breaker: Breaker } & ({ kind: 'go' } | { kind: 'refused'; retryAfterMs: number })>;

/** `now` is of a clock that only moves on. */
export const admitCall = (breaker: Breaker, now: number): Admitted => {
  switch (breaker.state) {
    case 'closed':
      return { kind: 'go', breaker };
    case 'open': {
      if (now < breaker.until) return { kind: 'refused', breaker, retryAfterMs: breaker.until - now };
      return { kind: 'go', breaker: { state: 'probing', round: breaker.round + 1, openMs: breaker.openMs } };
    }
    case 'probing':
      return { kind: 'refused', breaker, retryAfterMs: BREAKER_PROBE_WAIT_MS };
    default:
      return breaker satisfies never;
  }
};

/** What became of a call that was let through in `round`. */
export const recordCall = (breaker: Breaker, round: number, hasFailed: boolean, now: number): Breaker => {
  if (breaker.round !== round) return breaker;
  switch (breaker.state) {
    case 'closed':
      return counted(breaker, hasFailed, now);
    case 'probing':
      return hasFailed
        ? open(round + 1, Math.min(2 * breaker.openMs, BREAKER_OPEN_MS_MAX), now)
        : { state: 'closed', round: round + 1, slices: [] };
    case 'open':
      return breaker;
    default:
      return breaker satisfies never;
  }
};

const open = (round: number, openMs: number, now: number): Breaker => ({
  state: 'open',
  round,
  until: now + openMs,
  openMs,
});

const counted = (breaker: Extract<Breaker, { state: 'closed' }>, hasFailed: boolean, now: number): Breaker => {
  const beginsAt = Math.floor(now / SLICE_MS) * SLICE_MS;
  const kept = breaker.slices.filter((slice) => slice.beginsAt > beginsAt - BREAKER_WINDOW_MS);
  const current = kept.find((slice) => slice.beginsAt === beginsAt) ?? { beginsAt, calls: 0, failures: 0 };
  const failures = current.failures + (hasFailed ? 1 : 0);
  const slices = [...kept.filter((slice) => slice !== current), { beginsAt, calls: current.calls + 1, failures }];
  return isBroken(slices) ? open(breaker.round + 1, BREAKER_OPEN_MS, now) : { ...breaker, slices };
};

const isBroken = (slices: readonly Slice[]): boolean => {
  const calls = slices.reduce((sum, slice) => sum + slice.calls, 0);
  const failures = slices.reduce((sum, slice) => sum + slice.failures, 0);
  return calls >= BREAKER_CALLS_MIN && failures >= BREAKER_FAILURE_RATIO * calls;
};
