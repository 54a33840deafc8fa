/** Lets one caller at a time through, in the order they came. */
export type Mutex = Readonly<{ run<T>(work: () => Promise<T>): Promise<T> }>;

export const createMutex = (): Mutex => {
  let last: Promise<unknown> = Promise.resolve();
  return {
    run: (work) => {
      const result = last.then(work);
      // The next caller waits for the end of this one, not for its success.
      last = result.catch(() => undefined);
      return result;
    },
  };
};
