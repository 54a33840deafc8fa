/** The q-quantile of samples, by the nearest rank. */
export const quantile = (samples: readonly number[], q: number): number => {
  const sorted = [...samples].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? Number.NaN;
};

export const median = (samples: readonly number[]): number => quantile(samples, 0.5);

/** Runs `work` for each item, at most `width` at a time. */
export const inParallel = async <T>(
  items: Iterable<T>,
  width: number,
  work: (item: T) => Promise<void>,
): Promise<void> => {
  const iterator = items[Symbol.iterator]();
  const lane = async (): Promise<void> => {
    for (let next = iterator.next(); next.done !== true; next = iterator.next()) await work(next.value);
  };
  await Promise.all(Array.from({ length: width }, lane));
};

/** Open loop: begins `work` so many times a second, however long each takes, and waits for all of them. */
export const atRate = async (
  times: number,
  perSecond: number,
  work: (index: number) => Promise<void>,
): Promise<void> => {
  const begin = performance.now();
  const pending: Promise<void>[] = [];
  for (let index = 0; index < times; index += 1) {
    const waitMs = begin + (index * 1_000) / perSecond - performance.now();
    if (waitMs > 0) await pauseMs(waitMs);
    pending.push(work(index));
  }
  await Promise.all(pending);
};

export const pauseMs = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** `from`, `from` + 1 and so on, as many as told. */
export const numbers = (from: number, count: number): readonly number[] =>
  Array.from({ length: count }, (_, index) => from + index);

export const round = (value: number, digits = 1): number => Number(value.toFixed(digits));
