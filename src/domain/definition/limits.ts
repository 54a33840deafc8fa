/** Steps of one definition, nested ones included. */
export const NODES_MAX = 10_000;
/** Levels of cases, branches and loop bodies inside each other. */
export const NESTING_MAX = 100;
/** Characters of a name of a workflow, task, reference or domain. */
export const NAME_CHARS_MAX = 255;
/** Attempts after the first. */
export const RETRY_COUNT_MAX = 100;
/** Largest number of seconds, milliseconds or permits that a definition may name. */
export const INT32_MAX = 2_147_483_647;
/** Factor by which a back-off may grow at each retry. */
export const BACKOFF_SCALE_FACTOR_MAX = 1_000;
/** Substrings that end retrying, and entries of other short lists of names. */
export const LIST_ENTRIES_MAX = 1_000;
/** Problems reported for one document; more would help nobody. */
export const PROBLEMS_MAX = 100;
/** Semaphores of which one task needs a permit. */
export const SEMAPHORES_PER_TASK_MAX = 20;
/** Length of a rate window: a day. */
export const RATE_WINDOW_SECONDS_MAX = 86_400;
