/** Queues of the engine's own; no worker can name them, since no task name begins with `$`. */
export const SYSTEM_QUEUE = '$system';
/** Calls to the outside wait apart, so that a slow host never holds up a script. */
export const CALLS_QUEUE = '$calls';
export const WAITING_QUEUE = '$waiting';
